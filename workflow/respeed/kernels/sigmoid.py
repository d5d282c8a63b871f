"""The logistic function in compiled code, as exact as its argument; without a call, so that loops are vectorised.

    1 / (1 + 2^x)    x = -z log2 e = whole + f, |f| <= 1/2

2^f is its Taylor series, and 2^whole is written into the exponent of a number.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from respeed.kernels.compiled import compiled

_LN2 = np.log(2.0)
_SERIES = [_LN2**n / np.prod(np.arange(1.0, n + 1)) for n in range(1, 13)]

# The first term left out is 1.2e-7 / 2^x, a rounding error in float32.
_C1, _C2, _C3, _C4, _C5, _C6 = (np.float32(term) for term in _SERIES[:6])
_LOG2_E = np.float32(1 / _LN2)
_ONE, _HALF, _LARGEST = np.float32(1.0), np.float32(0.5), np.float32(126.0)
# Exponent of a float32: its offset, and where it begins.
_OFFSET, _EXPONENT = np.int32(127), np.int32(23)

# Likewise in float64: the first term left out is 1.7e-16.
_D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10, _D11, _D12 = _SERIES
_WIDE_LARGEST, _WIDE_OFFSET, _WIDE_EXPONENT = 1022.0, np.int32(1023), np.int64(52)


@compiled
def _single(z: np.float32) -> np.float32:
    """Within 1e-7."""
    x = -z * _LOG2_E
    # Comparisons, not min and max, which would have to order NaN: it goes through, and the checks see it.
    x = -_LARGEST if x < -_LARGEST else x
    x = _LARGEST if x > _LARGEST else x
    whole = np.floor(x + _HALF)
    f = x - whole
    fraction = (((((_C6 * f + _C5) * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _ONE
    power: np.float32 = np.int32(np.int32(np.int32(whole) + _OFFSET) << _EXPONENT).view(np.float32)
    probability: np.float32 = _ONE / (_ONE + fraction * power)
    return probability


@compiled
def _double(z: np.float64) -> np.float64:
    """Within 3e-16."""
    x = -z / _LN2
    x = -_WIDE_LARGEST if x < -_WIDE_LARGEST else x
    x = _WIDE_LARGEST if x > _WIDE_LARGEST else x
    whole = np.floor(x + 0.5)
    f = x - whole
    upper = (((((_D12 * f + _D11) * f + _D10) * f + _D9) * f + _D8) * f + _D7) * f + _D6
    fraction = (((((upper * f + _D5) * f + _D4) * f + _D3) * f + _D2) * f + _D1) * f + 1.0
    # By way of 32 bits, as far as numbers are made whole many at a time.
    biased = np.int64(np.int32(np.int32(whole) + _WIDE_OFFSET))
    power: np.float64 = np.int64(biased << _WIDE_EXPONENT).view(np.float64)
    probability: np.float64 = 1.0 / (1.0 + fraction * power)
    return probability


def sigmoid(z: float) -> float:
    """1 / (1 + exp(-z)); in compiled code by one of the two above."""
    return float(1.0 / (1.0 + np.exp(-z)))


@overload(sigmoid, strict=False)  # type: ignore[untyped-decorator]
def _by_type(z: types.Type) -> Any:
    exact: Any = _single if z == types.float32 else _double
    return lambda z: exact(z)
