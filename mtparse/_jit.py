"""The one way in which mtparse compiles a kernel.

Kernels see arrays, never objects. They release the GIL, so that threads run them side by side, and are
cached on disk, so that only the first run after an installation compiles. ``error_model="numpy"`` lets
divisions vectorise; no kernel relies on ``ZeroDivisionError``. ``fastmath`` stays off: ``-inf`` carries
meaning here.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
