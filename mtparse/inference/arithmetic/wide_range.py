"""Non-negative numbers of unlimited range, for scores that plain floating point cannot hold.

Logarithms would have the range too, but a logarithm of 10,000 carries an absolute error of 1e-12, which is
a relative error of the number itself, and each addition would cost an ``exp`` and a ``log``. Here a number
is ``mantissa * 2**(512 * exponent)`` with the mantissa in [2**-256, 2**256), or 0 with exponent 0; sums,
products and quotients keep the relative precision of float64 at any magnitude, and cost a few instructions.

A number travels as one complex128 whose real part is the mantissa and whose imaginary part is the exponent
(an integer, exact below 2**53), so that arrays of numbers stay single arrays. Nothing here is complex
arithmetic: use `add`, `multiply` and `divide`, never ``+`` or ``*``.
"""

from __future__ import annotations

import math

from mtparse.runtime.jit import kernel

ZERO = complex(0.0, 0.0)
ONE = complex(1.0, 0.0)

_RADIX = 2.0**512
_INVERSE = 2.0**-512
_TOP = 2.0**256
_BOTTOM = 2.0**-256
# ln 2 in two parts; the first has 32 significant bits, so that its product with |k| < 2**21 is exact.
_LN2_HIGH = float.fromhex("0x1.62e42feep-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


@kernel
def _normalised(mantissa, exponent):
    if mantissa >= _TOP:
        return complex(mantissa * _INVERSE, exponent + 1.0)
    if mantissa < _BOTTOM:
        if mantissa == 0.0:
            return ZERO
        return complex(mantissa * _RADIX, exponent - 1.0)
    return complex(mantissa, exponent)


@kernel
def multiply(a, b):
    """Product of two extended numbers."""
    return _normalised(a.real * b.real, a.imag + b.imag)


@kernel
def divide(a, b):
    """Quotient of two extended numbers; ``b`` must not be zero."""
    return _normalised(a.real / b.real, a.imag - b.imag)


@kernel
def add(a, b):
    """Sum of two extended numbers."""
    if a.real == 0.0:
        return b
    if b.real == 0.0:
        return a
    gap = a.imag - b.imag
    if gap == 0.0:
        return _normalised(a.real + b.real, a.imag)
    if gap == 1.0:
        return _normalised(a.real + b.real * _INVERSE, a.imag)
    if gap == -1.0:
        return _normalised(a.real * _INVERSE + b.real, b.imag)
    return a if gap > 0.0 else b


@kernel
def exponential(x):
    """``exp(x)`` as an extended number, x finite or -inf.

    The relative error is about 1e-16 for ``|x|`` up to 1e6 (Cody and Waite's two-part reduction), and that
    of one rounding of x beyond.
    """
    if x == -math.inf:
        return ZERO
    power = math.floor(x / (_LN2_HIGH + _LN2_LOW) + 0.5)
    rest = (x - power * _LN2_HIGH) - power * _LN2_LOW
    exponent = math.floor(power / 512.0 + 0.5)
    return _normalised(math.ldexp(math.exp(rest), int(power - 512.0 * exponent)), float(exponent))


@kernel
def logarithm(a):
    """Natural logarithm as a float; -inf for zero."""
    if a.real == 0.0:
        return -math.inf
    power = 512.0 * a.imag
    return power * _LN2_HIGH + (math.log(a.real) + power * _LN2_LOW)


@kernel
def to_float(a):
    """The number as a float64: 0 where it is too small. For numbers below 2**256."""
    if a.imag == 0.0:
        return a.real
    if a.imag == -1.0:
        return a.real * _INVERSE
    return 0.0
