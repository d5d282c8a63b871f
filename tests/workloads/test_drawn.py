"""Large random inputs are the same numbers, whoever reads them and in whatever precision."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from respeed.workloads._common import Drawn

ends = st.floats(-4, 4)


@given(st.lists(st.integers(1, 70), min_size=2, max_size=3), ends, ends, st.integers(0, 2**31))
def test_a_drawn_array_has_the_same_values_in_every_precision(
    shape: list[int], low: float, high: float, seed: int
) -> None:
    drawn = Drawn(tuple(shape), low, high, seed)
    single, double = np.asarray(drawn), np.asarray(drawn, np.float64)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(double, single)
    np.testing.assert_array_equal(np.concatenate([values.copy() for _, values in drawn.chunks()]), single)
    np.testing.assert_array_equal(np.asarray(drawn[shape[0] - 1], np.float64), single[-1])
