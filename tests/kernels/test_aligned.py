"""Large arrays begin at a cache line, whoever makes them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.backends import make_backend
from respeed.kernels import compiled
from respeed.workloads._common import Drawn


@given(st.lists(st.integers(1, 40), min_size=1, max_size=3), st.sampled_from([np.float32, np.float64]))
def test_an_array_begins_at_a_cache_line(shape: list[int], dtype: type[np.floating[Any]]) -> None:
    array = compiled.empty_aligned(*shape, dtype=dtype)
    assert array.shape == tuple(shape)
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.ctypes.data % compiled.LINE == 0


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
@pytest.mark.parametrize("backend", ["openblas", "torch"])
@pytest.mark.parametrize(
    "values", [np.ones((300, 77)), Drawn((300, 77), 0.0, 1.0, 1), Drawn((5, 300, 77), 0.0, 1.0, 1)[3]]
)
def test_a_backends_arrays_begin_at_a_cache_line(backend: str, values: Any, precision: str) -> None:
    made = make_backend(backend, device="cpu", precision=precision, threads=1, seed=1)
    for array in (made.array(values), made.parameters(values), made.zeros(300, 77)):
        assert made.host(array).ctypes.data % compiled.LINE == 0
