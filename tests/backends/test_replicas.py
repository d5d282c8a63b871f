"""Replicas are processes: each on a core of its own, and none is left behind, however their parent ends."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from respeed.backends import BackendContract, make_backend
from respeed.backends._torch_replicas import _pool
from respeed.errors import NotMeasurable
from tests.backends.ranks import Ranks

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")


@pytest.fixture(scope="module", autouse=True)
def _none_left() -> Iterator[None]:
    yield
    _pool().end()


def backend(threads: int = 3) -> BackendContract:
    return make_backend("torch", device="cpu", precision="fp32", threads=threads, seed=1)


def gone(pid: int) -> bool:
    """Whether it has ended, if perhaps nobody has asked for its exit code."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


@pytest.mark.parametrize("count", [1, 3, 2])
def test_an_all_reduce_is_the_sum_over_all_replicas(count: int) -> None:
    replicas = backend().replicas(count)
    replicas.build(Ranks)
    for _ in range(2):
        totals = replicas.call("total")
        assert len(totals) == count
        for total in totals:
            np.testing.assert_array_equal(total, count * (count + 1) / 2)


def test_more_replicas_than_cores_are_said_so() -> None:
    with pytest.raises(NotMeasurable, match="needs 3 cores, has 2"):
        backend(threads=2).replicas(3)


@linux
def test_each_has_a_core_of_its_own_and_none_is_reached_from_elsewhere() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("needs two cores")
    replicas = backend().replicas(2)
    assert [os.sched_getaffinity(pid) for pid in replicas.processes] == [{cpu} for cpu in allowed[:2]]
    for pid in replicas.processes:
        for connection in psutil.Process(pid).net_connections("inet"):
            assert connection.laddr.ip in {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.parametrize(("method", "told"), [("fail", "rank 0 has had enough"), ("end", "process ended")])
def test_a_replica_that_fails_is_told_and_the_next_program_has_others(method: str, told: str) -> None:
    replicas = backend().replicas(2)
    replicas.build(Ranks)
    with pytest.raises(RuntimeError, match=told):
        replicas.call(method)
    assert all(gone(pid) for pid in replicas.processes)
    anew = backend().replicas(2)
    anew.build(Ranks)
    np.testing.assert_array_equal(anew.call("total")[1], 3.0)
    assert not set(anew.processes) & set(replicas.processes)


@pytest.mark.slow
@linux
@pytest.mark.parametrize("how", [signal.SIGKILL, None])
def test_no_replica_outlives_the_process_that_started_it(how: signal.Signals | None) -> None:
    code = f"""
        from respeed.backends import make_backend
        from tests.backends.ranks import Ranks
        replicas = make_backend("torch", device="cpu", precision="fp32", threads=2, seed=1).replicas(2)
        replicas.build(Ranks)
        print(*replicas.processes, flush=True)
        while {how is not None}:
            replicas.call("total")
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        if how is not None:
            parent.send_signal(how)
        parent.wait()
    end = time.monotonic() + 10
    while not all(gone(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert all(gone(pid) for pid in pids)
