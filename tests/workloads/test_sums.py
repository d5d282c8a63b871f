"""Programs that move memory, also on some of a row's threads alone: every element counts, wherever a share ends; and
the large random inputs that they read."""

import os
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.backends._torch_device import HostTwin
from respeed.errors import NotMeasurable
from respeed.measure.case import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.timing.clock import seconds_now
from respeed.timing.disturbance import difference, take_snapshot
from respeed.workloads._common import Drawn
from respeed.workloads.vector_sum import CHECKED, VectorSum, _places, _summary
from tests.conformance.programs import build, errors_of, make

BACKENDS = [(name, threads) for name in ("openblas", "torch") for threads in (1, 2)]
# A length that every backend spreads over its threads, and that no number of pieces divides.
SPREAD = 2**21 + 12347


@pytest.mark.parametrize(("name", "threads"), BACKENDS)
@pytest.mark.parametrize(
    ("workload", "more"),
    [("vector_sum", {}), ("vector_sum_copied", {"memory": "pageable"}), ("vector_sum_threads", {"threads": 1})],
)
def test_a_sum_agrees_with_float64(name: str, threads: int, workload: str, more: dict[str, str | int]) -> None:
    made = make(name, threads=threads)
    for length in (1, 1025, SPREAD):
        assert max(errors_of(made, Case("sum", workload, {"length": length, **more})).values()) <= TOLERANCE["fp32"]


@settings(max_examples=20)
@given(st.integers(1, 200_000), st.data())
def test_one_element_that_is_missing_is_seen(length: int, data: st.DataObject) -> None:
    case = Case("sum", "vector_sum", {"length": length})
    inputs = VectorSum().inputs(case, seed=3)
    c = np.asarray(inputs["a"]) + np.asarray(inputs["b"])
    place = data.draw(st.integers(0, length - 1))
    expected = VectorSum().reference(case, inputs, {})
    assert max(state_errors(inputs, _summary(c), expected).values()) <= TOLERANCE["fp32"]
    # One that happens to be near 0 is hardly missing.
    c[place] = 0.0 if c[place] > 0.5 else c[place] + 1.0
    assert max(state_errors(inputs, _summary(c), expected).values()) > TOLERANCE["fp32"]


def test_the_checked_places_are_spread_from_the_first_to_the_last() -> None:
    places = _places(2**25)
    assert (places[0], places[-1], len(places)) == (0, 2**25 - 1, CHECKED)
    np.testing.assert_array_equal(_places(5), np.arange(5))


@pytest.mark.parametrize("name", ["openblas", "torch"])
def test_on_a_cpu_a_copied_sum_copies_nothing_and_bare_copies_say_why_they_are_not_run(name: str) -> None:
    made = make(name)
    mirror = made.mirrored(np.arange(5.0), pinned=True)
    assert not mirror.apart
    assert np.shares_memory(made.host(mirror.array), mirror.values())
    with pytest.raises(NotMeasurable, match="nothing to copy"):
        build(made, Case("copy", "copies", {"length": 64, "direction": "to", "memory": "pinned"}))


def test_an_array_of_a_device_and_its_twin_differ_until_they_are_copied() -> None:
    """As on an accelerator, where there is none."""
    values = np.arange(1.0, 6.0, dtype=np.float32)
    twin = HostTwin(torch.from_numpy(values.copy()), pinned=False)
    np.testing.assert_array_equal(twin.values(), values)
    np.testing.assert_array_equal(twin.array.numpy(), 0.0)
    twin.upload()
    np.testing.assert_array_equal(twin.array.numpy(), values)
    twin.array.mul_(2.0)
    twin.download()
    np.testing.assert_array_equal(twin.values(), 2 * values)


CASES = [("matmul_threads", {"m": 1024, "k": 1024, "n": 1024}), ("vector_sum_threads", {"length": 2**23})]
TELLS = os.path.exists("/proc/self/schedstat")


@pytest.mark.skipif(not TELLS, reason="this kernel does not tell which threads ran")
@pytest.mark.parametrize("backend", ["openblas", "torch"])
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_one_thread_of_two_is_one_thread_and_afterwards_there_are_two_again(
    backend: str, name: str, sizes: dict[str, int]
) -> None:
    made = make(backend, threads=2)
    for threads in (1, 2, 1):
        program = build(made, Case("threads", name, {**sizes, "threads": threads}))
        assert _threads_ran(program.step) == threads
        assert made.threads == made.workers.threads == 2


def _threads_ran(step: Callable[[], None]) -> int:
    """In the second of two tenths of a second: in the first, threads of the step before may still look for work."""
    for _ in range(2):
        before, end = take_snapshot(), seconds_now() + 0.1
        while seconds_now() < end:
            step()
    return int(difference(before, take_snapshot())["threads_ran"])


@pytest.mark.parametrize("backend", ["openblas", "torch"])
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_more_threads_than_the_row_has_are_said_so(backend: str, name: str, sizes: dict[str, int]) -> None:
    with pytest.raises(NotMeasurable, match="needs 3 cores, the row has 2"):
        build(make(backend, threads=2), Case("threads", name, {**sizes, "threads": 3}))


def test_what_is_raised_within_a_limit_leaves_the_limit() -> None:
    made = make("openblas", threads=2)
    limited = made.limited(1)
    with pytest.raises(KeyError), limited:
        raise KeyError
    assert made.threads == made.lanes == made.workers.threads == 2


@given(st.lists(st.integers(1, 70), min_size=2, max_size=3), st.floats(-4, 4), st.floats(-4, 4), st.integers(0, 2**31))
def test_a_drawn_array_has_the_same_values_in_every_precision(
    shape: list[int], low: float, high: float, seed: int
) -> None:
    drawn = Drawn(tuple(shape), low, high, seed)
    single, double = np.asarray(drawn), np.asarray(drawn, np.float64)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(double, single)
    np.testing.assert_array_equal(np.concatenate([values.copy() for _, values in drawn.chunks()]), single)
    np.testing.assert_array_equal(np.asarray(drawn[shape[0] - 1], np.float64), single[-1])
