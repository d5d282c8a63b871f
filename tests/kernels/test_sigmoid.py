"""The compiled sigmoid is as exact as the type of its argument."""

from typing import Any

import numpy as np
import pytest

from respeed.kernels.elementwise import sigmoid_elements


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-7), (np.float64, 3e-16)])
def test_a_sigmoid_is_as_exact_as_its_type(dtype: type[np.floating[Any]], error: float) -> None:
    random = np.random.default_rng(1)
    z = np.concatenate([10 * random.standard_normal(100_000), np.linspace(-1000, 1000, 10_001)]).astype(dtype)
    found = z.copy()
    sigmoid_elements(0, len(found), found)
    with np.errstate(over="ignore"):
        wanted = 1 / (1 + np.exp(-z.astype(np.longdouble)))
    assert np.abs(found - wanted).max() <= error


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sigmoid_goes_from_0_to_1_and_lets_nan_through(dtype: type[np.floating[Any]]) -> None:
    z = np.array([-np.inf, -1e30, 0.0, 1e30, np.inf, np.nan], dtype)
    sigmoid_elements(0, len(z), z)
    np.testing.assert_allclose(z, [0.0, 0.0, 0.5, 1.0, 1.0, np.nan], rtol=0, atol=1e-37)
