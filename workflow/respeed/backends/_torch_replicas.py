"""Processes that each hold a replica of a program, and add up arrays by torch.distributed: gloo on the CPU, NCCL on
CUDA. They meet by a file, and speak over the loopback interface alone.

`python -m respeed.backends._torch_replicas` is the process of one replica. It does what its parent asks for, and says
when it is done. Orders and answers are pickles on standard input and output. It ends with its parent, and when there
are no more orders.
"""

import atexit
import functools
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed
from torch import Tensor

from respeed.backends import Group, make_backend
from respeed.errors import NotMeasurable
from respeed.machine.accelerators import split_device
from respeed.machine.process import allowed_cpus, bind, die_with_parent, ignore_interrupts, private_stdout

# Of waiting for another replica: longer than any step, and short enough to notice that one is gone.
TIMEOUT = timedelta(seconds=120)
# By what replicas on a device speak with one another.
LIBRARIES = {"cpu": "gloo", "cuda": "nccl"}


class TorchGroup:
    """This replica's place among all of them."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count

    def all_reduce(self, array: Tensor) -> None:
        if self.count > 1:
            distributed.all_reduce(array)


class Replica:
    """What the parent may ask for."""

    def join(self, rank: int, count: int, folder: str, device: str, precision: str, cpus: list[int]) -> None:
        """Become one of `count` replicas, which meet by a file in the folder."""
        bind(cpus)
        kind, index = split_device(device)
        if kind == "cuda":
            torch.cuda.set_device(rank if index is None else index)
        if distributed.is_initialized():
            distributed.destroy_process_group()
        if count > 1:
            distributed.init_process_group(
                LIBRARIES[kind], init_method=Path(folder, "meeting").as_uri(), rank=rank, world_size=count,
                timeout=TIMEOUT,
            )  # fmt: skip
        self.backend = make_backend("torch", device=device, precision=precision, threads=1, seed=rank)
        self.group: Group = TorchGroup(rank, count)
        # NCCL connects at the first of these, by the file: while there is one.
        self.group.all_reduce(self.backend.zeros(1))
        self.backend.sync()

    def build(self, make: Callable[..., Any], *arguments: Any) -> None:
        self.program = make(self.backend, self.group, *arguments)

    def call(self, method: str) -> Any:
        answer = getattr(self.program, method)()
        self.backend.sync()
        return answer


def main() -> None:
    answers = private_stdout()
    die_with_parent()
    replica = Replica()
    while True:
        try:
            what, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = (True, getattr(replica, what)(*arguments))
        except Exception as error:  # whatever it is, the parent tells it; the others are lost with this one
            answer = (False, f"{type(error).__name__}: {error}")
        pickle.dump(answer, answers.buffer)
        answers.buffer.flush()


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
        [sys.executable, "-m", "respeed.backends._torch_replicas"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **counts, **interfaces},
        preexec_fn=ignore_interrupts,
    )


if __name__ == "__main__":
    main()
