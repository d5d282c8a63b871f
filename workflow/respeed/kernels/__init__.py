"""Compiled loops for what no BLAS does: Numba, each on a range of rows, without Python's lock.

Every kernel takes the rows [start, stop) that it works on, so that `Workers` can spread them over threads. They are
compiled once and kept beside their source (or in NUMBA_CACHE_DIR).
"""

from respeed.kernels import _kept

_kept.forget_stale()
