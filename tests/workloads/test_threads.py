"""Steps on some of a row's threads alone."""

import os
from collections.abc import Callable

import pytest

from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.timing.clock import seconds_now
from respeed.timing.disturbance import difference, take_snapshot
from respeed.workloads import load_workload

CASES = [("matmul_threads", {"m": 1024, "k": 1024, "n": 1024}), ("vector_sum_threads", {"length": 2**23})]
TELLS = os.path.exists("/proc/self/schedstat")


@pytest.mark.skipif(not TELLS, reason="this kernel does not tell which threads ran")
@pytest.mark.parametrize("backend", ["openblas", "torch"])
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_one_thread_of_two_is_one_thread_and_afterwards_there_are_two_again(
    backend: str, name: str, sizes: dict[str, int]
) -> None:
    made, workload = make_backend(backend, device="cpu", precision="fp32", threads=2, seed=1), load_workload(name)
    for threads in (1, 2, 1):
        case = Case("threads", name, {**sizes, "threads": threads})
        program = workload.build(made, case, workload.inputs(case, 1))
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
    made, workload = make_backend(backend, device="cpu", precision="fp32", threads=2, seed=1), load_workload(name)
    case = Case("threads", name, {**sizes, "threads": 3})
    with pytest.raises(NotMeasurable, match="needs 3 cores, the row has 2"):
        workload.build(made, case, workload.inputs(case, 1))


def test_what_is_raised_within_a_limit_leaves_the_limit() -> None:
    made = make_backend("openblas", device="cpu", precision="fp32", threads=2, seed=1)
    limited = made.limited(1)
    with pytest.raises(KeyError), limited:
        raise KeyError
    assert made.threads == made.lanes == made.workers.threads == 2
