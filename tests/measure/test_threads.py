"""How many threads really ran: what must be caught is caught. Each in a process of its own, as threads are set once."""

import importlib.util
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from respeed.errors import NotMeasurable
from respeed.machine.cpu import usable_cores
from respeed.measure.case import check_threads, threads_allowed
from respeed.protocol import REAL, contamination
from tests.measure.test_turn import take
from tests.orders import order_of
from tests.signals import lines_of
from tests.systems import two_cores

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/schedstat"), reason="this kernel does not tell which threads ran"
)
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")


@pytest.fixture(autouse=True)
def _in_a_folder_and_with_a_lock_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@two_cores
def test_the_proof_says_how_many_threads_ran() -> None:
    """What is caught is an environment that says it too late. The backend sets no limit itself here."""
    code = """
import os, numpy, scipy.linalg.blas
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
from respeed.backends import make_backend, numpy as module
from respeed.measure.case import make_bench
module.Backend.set_threads = module.threadpool_limits = lambda *threads: None
made = make_backend("numpy", device="cpu", precision="fp32", threads=1, seed=1)
print(make_bench(made)[1]["threads_ran"])
"""
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=two, text=True, stdout=subprocess.PIPE, check=True)
    assert done.stdout == "2\n"


@two_cores
def test_a_row_of_two_threads_runs_on_two() -> None:
    code = """
from respeed.backends import make_backend
made = make_backend("numpy", device="cpu", precision="fp32", threads=2, seed=1)
print(made.describe()["threads_set"])
"""
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=two, text=True, stdout=subprocess.PIPE, check=True)
    assert done.stdout == "2\n"


@pytest.mark.slow
@two_cores
def test_two_threads_on_a_core_void_blocks() -> None:
    """Both run, so that their number is right: each block tells how long they waited, and is discarded for it."""
    core = min(os.sched_getaffinity(0))
    order = order_of("openblas-all", threads=2, cpus=(core,), timing=REAL)
    (one,) = take(replace(order, cases=order.cases[-1:]))[0].results
    assert one.blocks or "threads ran, 2 asked" in (one.reason or "")
    for block in one.blocks:
        assert "waited for a core" in contamination(block, 2, REAL)


@pytest.mark.parametrize(
    ("threads", "ran", "taken", "complaint"),
    [
        (1, 2, None, "2 threads ran, 1 asked"), (1, 1, None, None), (1, None, None, None),
        (2, 2, None, None), (2, 1, None, "1 thread ran, 2 asked"), (2, 3, None, "3 threads ran, 2 asked"),
        # On many cores a library may choose fewer, down to half.
        (16, 7, None, "7 threads ran, 16 asked"), (16, 8, None, None), (16, 17, None, "17 threads ran, 16 asked"),
        # A library may have no more than 64.
        (140, 64, None, None), (140, 63, None, "63 threads ran, 140 asked"),
        # Threads that share their cores by design are held to their number and one, and to the time of as many CPUs.
        (2, 2, 1.99, None), (2, 3, 1.99, None), (2, None, 1.99, None),
        (2, 4, 1.99, "4 threads ran, 2 asked"), (2, 1, 0.99, "1 thread ran, 2 asked"),
        # Where nothing is bound, or no thread is seen, time is what tells.
        *((2, ran, 2.6, "took the time of 2.6 CPUs, 2 asked") for ran in (2, 3, None)),
    ],
)  # fmt: skip
def test_a_round_of_other_threads_is_untimed(
    threads: int, ran: int | None, taken: float | None, complaint: str | None
) -> None:
    """A round whose threads are not those asked for is not timed."""
    proof = {"threads_ran": ran, "cpus_taken": taken}
    with pytest.raises(NotMeasurable, match=f"^{complaint}$") if complaint else nullcontext():
        check_threads(threads, proof, min(threads, 64), is_shared=taken is not None)


@pytest.mark.slow
@needs_jax
@two_cores
def test_jax_takes_the_threads_of_its_row() -> None:
    """Jax runs on as many threads as its row has and the one that asks."""
    order = order_of("jax-all", threads=2, cpus=tuple(usable_cores())[:2])
    start, one = lines_of(take(replace(order, cases=order.cases[:1]))[0].path)
    assert (one["status"], one["reason"]) == ("measured", None)
    assert start["backend"]["threads_set"] == 2
    assert start["environment"]["PJRT_NPROC"] == "2"
    assert {block["run_delay_seconds"] for block in one["blocks"]} == {None}
    assert start["threads_proof"]["threads_ran"] in (2, 3)


def test_a_step_takes_each_pools_threads_alone() -> None:
    """The calling thread works in every pool; only a library that shares its cores by design has one more."""
    assert [threads_allowed(threads, pools) for threads, pools in ((1, 1), (1, 2), (2, 1), (2, 2))] == [1, 1, 2, 3]
    assert threads_allowed(2, 1, is_shared=True) == 3
