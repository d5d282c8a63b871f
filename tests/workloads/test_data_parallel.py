"""Data-parallel training does what one replica with the whole mini-batch would do. Replicas are processes."""

import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import Pipe
from typing import Any
from unittest.mock import Mock

import psutil
import pytest
import torch

from respeed.backends import _replica
from respeed.measure.case import TOLERANCE
from respeed.workloads import _replicas
from respeed.workloads.arrays import largest_error
from respeed.workloads.data_parallel import ConvnetReplicas, DataParallel
from tests.backends.ranks import Wrong
from tests.conformance.programs import case_of, is_right, make, steps
from tests.systems import two_cores

SIZES: dict[str, Any] = {"visible": 53, "hidden": 37, "classes": 7, "batch": 30, "learning_rate": 0.5, "replicas": 2}
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of threads")


@pytest.fixture(scope="module", autouse=True)
def _none_left() -> Iterator[None]:
    yield
    _replicas.end_all()


@pytest.mark.parametrize("replicas", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_replicas_step_as_the_whole_batch(replicas: int) -> None:
    """A step of any number of replicas is a step with the whole mini batch."""
    made = make("torch", precision="fp64", threads=3)
    assert is_right(made.build(DataParallel(**SIZES | {"replicas": replicas}), 5))


def test_copies_learn_their_mean_gradient() -> None:
    """Copies of a net learn the mean of their gradients and stay the same."""
    workload = ConvnetReplicas(**case_of("convnet_replicas", "odd").parameters | {"batch": 6, "replicas": 2})
    program = make("torch", precision="fp64", threads=2).build(workload, 5)
    assert is_right(program)
    assert {"replicas unlike the first", "Conv2d 3x3 weight changes", "Linear bias gradients"} <= {*program.check()}


@pytest.mark.parametrize(
    ("how", "seen"), [("alone", "Linear weight gradients"), ("other", "replicas unlike the first")]
)
def test_a_replica_that_differs_is_seen(how: str, seen: str) -> None:
    program = steps(make("torch", threads=2).build(Wrong(**SIZES, how=how), 5), 1)
    assert largest_error(program.check()[seen]) > TOLERANCE["fp32"]


def test_replicas_have_a_core_or_a_gpu_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    for count, device, reason in (
        (2, "cpu", None), (3, "cpu", "needs 3 cores, has 2"), (1, "mps", "torch.distributed has no library for mps"),
        (4, "cuda", None), (5, "cuda", "needs 5 GPUs, has 4"), (1, "cuda:1", None),
        (2, "cuda:1", "needs 2 GPUs, and this row uses one, cuda:1"),
    ):  # fmt: skip
        assert _replicas.why_not(count, device, threads=2) == reason


def test_a_replica_takes_the_gpu_of_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_replica, "make_backend", makes := Mock(return_value=Mock(device="cpu")))
    monkeypatch.setattr(_replica, "distributed", group := Mock(**{"is_initialized.side_effect": [False, True]}))
    for count, device, own in ((2, "cuda", "cuda:1"), (1, "cuda:0", "cuda:0")):
        _replica.Replica(1).join(count, "/there", device, "fp32")
        makes.assert_called_with("torch", device=own, precision="fp32", threads=1, seed=1)
    group.init_process_group.assert_called_once_with("nccl", "file:///there/meeting", _replica.TIMEOUT, 2, 1)
    assert (group.all_reduce.call_count, group.destroy_process_group.call_count) == (1, 1)


def test_replicas_that_do_not_answer_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    (ours, theirs), process, replicas = Pipe(), Mock(), object.__new__(_replicas.Replicas)
    monkeypatch.setattr(_replicas, "_processes", {ours: process})
    monkeypatch.setattr(_replicas, "LONGEST_ORDER_SECONDS", 0.01)
    replicas.pids = (7,)
    with pytest.raises(RuntimeError, match=r"^no replica answered in 0 s$"):
        replicas.ask("step", 5)
    assert theirs.recv() == ("step", (5,))
    assert [name for name, *_ in process.method_calls] == ["kill", "wait"]
    assert (ours.closed, _replicas._processes) == (True, {})


@linux
@two_cores
def test_each_replica_has_a_private_core() -> None:
    """Each has a core of its own and none is reached from elsewhere."""
    allowed = sorted(os.sched_getaffinity(0))
    program = make("torch", threads=2).build(DataParallel(**SIZES), 5)
    pids = program.arrays.helpers
    assert [os.sched_getaffinity(pid) for pid in pids] == [{cpu} for cpu in allowed[:2]]
    for pid in pids:
        os.kill(pid, signal.SIGINT)  # as from the keyboard: the parent ends them
        its = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
        assert its.items() <= psutil.Process(pid).environ().items()
        for connection in psutil.Process(pid).net_connections("inet"):
            assert connection.laddr.ip in {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    program.step()


# The last ones, since new replicas take seconds to start.
@pytest.mark.parametrize(("how", "told"), [("fail", "ValueError: rank 1 has had enough"), ("end", "")])
def test_a_failed_replica_ends_the_others(how: str, told: str) -> None:
    """Replicas of which one fails are ended and the next program has others."""
    program = make("torch", threads=2).build(Wrong(**SIZES, how=how), 5)
    with pytest.raises(RuntimeError, match=f"^a replica failed: {told}"):
        program.step()
    assert not any(map(psutil.pid_exists, program.arrays.helpers))
