"""Programs that move memory, also on some of a row's threads alone, and the large random inputs that they read."""

import os
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import NotMeasurable
from respeed.measure.timing import difference, seconds_now, take_snapshot
from respeed.model import Case
from respeed.workloads.arrays import Drawn, chunks
from respeed.workloads.vector_sum import on_host
from tests.conformance.programs import build, is_right, make
from tests.systems import two_cores

BOTH = pytest.mark.parametrize("backend", ["numpy", "torch"])
SUMS: list[tuple[str, dict[str, Any]]] = [("vector_sum", {"threads": 1}), ("vector_sum", {})]
SUMS += [("vector_sum_copied", {"memory": "pageable"}), ("memory_copy", {})]


@BOTH
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("workload", "more"), SUMS)
def test_vectors_of_any_length_are_right(backend: str, threads: int, workload: str, more: dict[str, Any]) -> None:
    for length in (1, 1025, 2**21 + 12347):
        assert is_right(build(make(backend, threads=threads), Case("sum", workload, {"length": length, **more})))


LIMITED = [("matmul", {"m": 1024, "k": 1024, "n": 1024}), ("vector_sum", {"length": 2**23})]
tells = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="no kernel that tells which threads ran")


def comes_to(threads: int, program: Any) -> bool:
    """Return whether so many run in some tenth of a second after the first: those of before may still look for work."""
    for number in range(30):
        before, end = take_snapshot(), seconds_now() + 0.1
        while seconds_now() < end:
            program.step()
        if number and difference(before, take_snapshot())["threads_ran"] == threads:
            return True
    return False


@two_cores
@tells
@BOTH
@pytest.mark.parametrize(("name", "sizes"), LIMITED)
def test_threads_change_from_one_to_two(backend: str, name: str, sizes: dict[str, int]) -> None:
    """One thread of two is one and then there are two again."""
    made = make(backend, threads=2)
    for threads in (1, 2, 1):
        assert comes_to(threads, build(made, Case("threads", name, {**sizes, "threads": threads})))
        assert made.threads == 2
    with pytest.raises(NotMeasurable, match="needs 3 cores, the row has 2"):
        build(made, Case("threads", name, {**sizes, "threads": 3}))


@two_cores
@tells
@BOTH
def test_a_small_step_wakes_all_threads(backend: str) -> None:
    made = make(backend, threads=2)
    for threads, how in ((1, "waited"), (2, "spread")):
        assert comes_to(threads, build(made, Case("small", "small_step", {"count": 4, "how": how})))


def test_only_nvidias_devices_use_pinned_memory() -> None:
    with pytest.raises(NotMeasurable, match="torch has no pinned memory for cpu"):
        on_host(torch.ones(2), "pinned")


@given(st.lists(st.integers(1, 70), min_size=2, max_size=3), st.floats(-4, 4), st.floats(-4, 4), st.integers(0, 2**31))
def test_draws_are_the_same_in_every_precision(shape: list[int], low: float, high: float, seed: int) -> None:
    drawn = Drawn(np.random.default_rng(seed), shape, low, high)
    single, double = np.asarray(drawn), np.asarray(drawn, np.float64)
    assert (single.itemsize, double.itemsize) == (4, 8)
    np.testing.assert_array_equal(double, single)
    np.testing.assert_array_equal(np.concatenate([values for _, values in chunks(drawn)]), single)
    np.testing.assert_array_equal(np.asarray(drawn[shape[0] - 1], np.float64), single[-1])
