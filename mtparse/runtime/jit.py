"""The one way in which mtparse compiles a kernel.

Kernels see arrays, never objects. They release the GIL, so that threads run them side by side, and are
stored on disk (:mod:`mtparse.runtime.kernel_store`): only the first run after an installation compiles.
``error_model="numpy"`` lets divisions vectorise; no kernel relies on ``ZeroDivisionError``. ``fastmath``
stays off: ``-inf`` carries meaning here. `fused_kernel` and `summing_kernel` allow two rewrites that take no
number for finite.

A kernel that calls another is compiled together with all of the other's code, which for the large ones took
half of all the time. Those are called by their `address` instead, where one call does much work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

from mtparse.runtime.kernel_store import KernelCache, KernelStore
from mtparse.runtime.source_digest import DIGEST, PACKAGE

STORE = KernelStore(PACKAGE, DIGEST)
"""Where this version's compiled kernels are."""


def _compile(function: Callable, fastmath: set[str] | bool = False, nogil: bool = True) -> Callable:
    options = {"nogil": nogil, "error_model": "numpy", "fastmath": fastmath, "no_cfunc_wrapper": True}
    compiled = numba.njit(**options)(function)
    if not numba.config.DISABLE_JIT:
        compiled._cache = KernelCache(function, STORE)  # as ``cache=True`` does with numba's own class
    return compiled


def kernel(function: Callable) -> Callable:
    """Compile a function of arrays and tuples of arrays, when it is first called."""
    return _compile(function)


def fused_kernel(function: Callable) -> Callable:
    """`kernel` whose products and sums may be one instruction, rounded once: more exact, never less."""
    return _compile(function, {"contract"})


def summing_kernel(function: Callable) -> Callable:
    """`fused_kernel` whose sums may be taken in another order, as vector instructions need it.

    For sums of finite numbers in which no order is better than another. The order is the compiler's and
    depends on the processor's kind, as fusing does, but not on the run or on the number of threads.
    """
    return _compile(function, {"contract", "reassoc"})


def python_kernel(function: Callable) -> Callable:
    """`kernel` that keeps the GIL, for a block of Python (``with numba.objmode``) in a rare case."""
    return _compile(function, nogil=False)


def inlined(function: Callable) -> Callable:
    """A piece of a kernel, compiled as if it were written where it is called."""
    return numba.njit(inline="always", nogil=True, error_model="numpy")(function)


@cache
def address(compiled: Callable, signature: types.Type) -> Callable | int:
    """Where the code of a kernel is, which is compiled, or loaded, first if need be.

    Remembered, because numba asks for its lock even if nothing is to be compiled: a forked process, in which
    another thread of its parent's holds it, would wait for ever.

    Parameters
    ----------
    compiled
        The kernel, which lives as long as the process.
    signature
        Its numba signature, the return type included.

    Returns
    -------
    int
        What the functions that `calling` made of the same signature take; the kernel itself where
        NUMBA_DISABLE_JIT is set.
    """
    if numba.config.DISABLE_JIT:
        return compiled
    compiled.compile(signature.args)
    result = compiled.overloads[signature.args]
    if result.signature.return_type != signature.return_type:
        raise TypeError(f"{compiled.__name__} returns {result.signature.return_type}, not as in {signature}")
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def calling(signature: types.Type) -> Callable:
    """A function for kernels that calls the kernel at an `address`: ``call(address, ...)``.

    Parameters
    ----------
    signature
        The numba signature of the kernels that can be called, with three arguments.
    """
    if numba.config.DISABLE_JIT:
        return lambda compiled, *arguments: compiled(*arguments)
    returns, takes = signature.return_type, signature.args

    def code(context, builder, _, arguments):
        kind = context.call_conv.get_function_type(returns, takes)
        there = builder.inttoptr(arguments[0], kind.as_pointer())
        status, value = context.call_conv.call_function(builder, there, returns, takes, arguments[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value

    @intrinsic
    def call(typing_context, address, one, two, three):
        return returns(types.intp, *takes), code

    return call
