"""Data-parallel training does what one replica with the whole mini-batch would do. Replicas are processes: each on a
core of its own, and all end where one fails."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from respeed.errors import NotMeasurable
from respeed.measure.case import TOLERANCE
from respeed.measure.timing import difference, take_snapshot
from respeed.workloads._replicas import end_all
from respeed.workloads.arrays import largest_error
from respeed.workloads.data_parallel import ConvnetReplicas, DataParallel
from tests.backends.ranks import Wrong
from tests.conformance.programs import case_of, is_right, make, steps

SIZES: dict[str, Any] = {"visible": 53, "hidden": 37, "classes": 7, "batch": 30, "learning_rate": 0.5, "replicas": 2}
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of threads")


@pytest.fixture(scope="module", autouse=True)
def _none_left() -> Iterator[None]:
    yield
    end_all()


@pytest.mark.parametrize("replicas", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_step_of_any_number_of_replicas_is_a_step_with_the_whole_mini_batch(replicas: int) -> None:
    made = make("torch", precision="fp64", threads=3)
    assert is_right(made.build(DataParallel(**SIZES | {"replicas": replicas}), 5))


def test_copies_of_a_net_learn_the_mean_of_their_gradients_and_stay_the_same() -> None:
    workload = ConvnetReplicas(**case_of("convnet_replicas", "odd").parameters | {"batch": 6, "replicas": 2})
    program = make("torch", precision="fp64", threads=2).build(workload, 5)
    assert is_right(program)
    assert {"replicas unlike the first", "Conv2d 3x3 weight changes", "Linear bias gradients"} <= {*program.check()}


@pytest.mark.parametrize(
    ("how", "seen"), [("alone", "Linear weight gradients"), ("other", "replicas unlike the first")]
)
def test_a_replica_that_goes_its_own_way_is_seen(how: str, seen: str) -> None:
    program = steps(make("torch", threads=2).build(Wrong(**SIZES, how=how), 5), 1)
    assert largest_error(program.check()[seen]) > TOLERANCE["fp32"]


def test_more_replicas_than_cores_are_said_so() -> None:
    with pytest.raises(NotMeasurable, match="needs 3 cores, has 2"):
        make("torch", threads=2).build(DataParallel(**SIZES | {"replicas": 3}), 5)


@linux
def test_each_has_a_core_of_its_own_and_none_is_reached_from_elsewhere() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two cores")
    pids = make("torch", threads=2).build(DataParallel(**SIZES), 5).arrays.helpers
    assert [os.sched_getaffinity(pid) for pid in pids] == [{cpu} for cpu in allowed[:2]]
    for pid in pids:
        for connection in psutil.Process(pid).net_connections("inet"):
            assert connection.laddr.ip in {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@linux
def test_a_block_counts_the_replicas_that_ran_and_not_that_they_wait_for_one_another() -> None:
    workload = DataParallel(**SIZES | {"visible": 784, "hidden": 500, "batch": 600})
    program = steps(make("torch", threads=2).build(workload, 5), 1)
    ran = []
    for _ in range(5):
        before = take_snapshot(program.arrays.helpers)
        steps(program, 10)
        seen = difference(before, take_snapshot(program.arrays.helpers))
        ran.append(seen["threads_ran"])
    # The process that asks has steps so short to wait for that it may be seen at work as well.
    assert min(ran) in (2, 3)
    assert seen["run_delay_seconds"] is None


# The last ones, since new replicas take seconds to start.
@pytest.mark.parametrize(("how", "told"), [("fail", "rank 1 has had enough"), ("end", "a replica failed: ")])
def test_replicas_of_which_one_fails_are_ended_and_the_next_program_has_others(how: str, told: str) -> None:
    program = make("torch", threads=2).build(Wrong(**SIZES, how=how), 5)
    with pytest.raises(RuntimeError, match=told):
        program.step()
    assert all(map(is_gone, program.arrays.helpers))


def is_gone(pid: int) -> bool:
    """Return whether it has ended, if perhaps nobody has asked for its exit code."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True
