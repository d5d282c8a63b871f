"""Masking noise in any rows that a thread may get."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.kernels import elementwise
from respeed.kernels.parallel import SPREAD

KEY = np.array([7, 11], np.uint32)


@settings(deadline=None, max_examples=40)
@given(st.tuples(st.integers(1, 3), st.integers(1, 20), st.integers(1, 40)), st.floats(0, 1), st.integers(1, 4))
def test_what_is_masked_follows_from_the_place_and_the_key_whoever_does_it(
    shape: tuple[int, int, int], share: float, threads: int
) -> None:
    x = np.random.default_rng(0).normal(0, 1, shape).astype(np.float32)
    draws, out = np.empty(shape, np.float32), np.empty(shape, np.float32)
    elementwise.uniform_rows(np.arange(shape[1]), shape[1], draws, *KEY)
    SPREAD[elementwise.mask_rows](shape[0] * shape[1], threads, x, share, out, *KEY)
    np.testing.assert_array_equal(out, np.where(draws < np.float32(share), 0, x))


def test_rows_of_other_threads_are_left_alone() -> None:
    out = np.full((1, 4, 3), 5, np.float32)
    elementwise.mask_rows(1, 3, np.ones((1, 4, 3), np.float32), 0.0, out, *KEY)
    np.testing.assert_array_equal(out[0, :, 0], [5, 1, 1, 5])
