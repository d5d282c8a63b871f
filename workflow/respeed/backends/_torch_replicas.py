"""Processes that each hold a replica of a program, and add up arrays by torch.distributed: gloo on the CPU, NCCL on
CUDA. They meet by a file, and speak over the loopback interface alone.
"""

import atexit
import functools
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import torch

from respeed.backends._torch_replica import LIBRARIES
from respeed.errors import NotMeasurable
from respeed.model.devices import split_device
from respeed.process import allowed_cpus, ignore_interrupts

LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
_THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


class TorchReplicas:
    """`count` replicas, each on one thread and a core of its own, or on a GPU of its own."""

    def __init__(self, count: int, device: str, precision: str, threads: int) -> None:
        if reason := why_not(count, device, threads):
            raise NotMeasurable(reason)
        self._processes = _pool().take(count)
        cpus = allowed_cpus() if device == "cpu" else []
        with tempfile.TemporaryDirectory(prefix="respeed-") as folder:
            self._ask(
                [("join", (rank, count, folder, device, precision, cpus[rank : rank + 1])) for rank in range(count)]
            )
        self.processes = tuple(process.pid for process in self._processes)

    def build(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._ask([("build", (make, *arguments))] * len(self._processes))

    def call(self, method: str) -> list[Any]:
        return self._ask([("call", (method,))] * len(self._processes))

    def _ask(self, orders: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        """Send each replica its order, and wait for all answers."""
        answers = []
        try:
            for process, order in zip(self._processes, orders, strict=True):
                assert process.stdin
                pickle.dump(order, process.stdin)
                process.stdin.flush()
            for process in self._processes:
                assert process.stdout
                answers.append(pickle.load(process.stdout))
        except (EOFError, OSError, pickle.UnpicklingError):
            _pool().end()
            raise RuntimeError("a replica's process ended") from None
        if failed := [text for well, text in answers if not well]:
            _pool().end()
            raise RuntimeError(f"a replica failed: {failed[0]}")
        return [answer for _, answer in answers]


def why_not(count: int, device: str, threads: int) -> str | None:
    """Why there cannot be so many replicas; None if there can."""
    kind, index = split_device(device)
    if kind not in LIBRARIES:
        return f"torch.distributed has no library for {kind}"
    if index is not None and count > 1:
        return f"needs {count} GPUs, and this row uses one, {device}"
    there, what = (threads, "cores") if kind == "cpu" else (torch.cuda.device_count(), "GPUs")
    return f"needs {count} {what}, has {there}" if count > there else None


class Pool:
    """Processes that are kept for the next program: to load torch takes as long as many a case."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def take(self, count: int) -> list[subprocess.Popen[bytes]]:
        """So many. Others end: of a larger group before, some would wait for them."""
        if len(self._processes) > count:
            self.end()
        while len(self._processes) < count:
            self._processes.append(_start())
        return list(self._processes)

    def end(self) -> None:
        """End them at once, and wait until they are gone."""
        for process in self._processes:
            process.kill()
            process.communicate()
        self._processes = []


@functools.cache
def _pool() -> Pool:
    """The one of this process."""
    pool = Pool()
    atexit.register(pool.end)
    return pool


def _start() -> subprocess.Popen[bytes]:
    counts = dict.fromkeys(_THREADS, "1")
    interfaces = {"GLOO_SOCKET_IFNAME": LOOPBACK, "NCCL_SOCKET_IFNAME": LOOPBACK}
    return subprocess.Popen(
        [sys.executable, "-m", "respeed.backends._torch_replica"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **counts, **interfaces},
        preexec_fn=ignore_interrupts,
    )
