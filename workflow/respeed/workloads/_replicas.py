"""Replicas of a program, a process each, which average gradients by torch.distributed.

On the CPU each has a core of its own, and they speak by gloo; on CUDA each has a GPU, and they speak by NCCL. They meet
by a file, and use the loopback interface alone. What such a process does is `respeed.backends._replica`.
"""

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from multiprocessing.connection import wait
from typing import Any

from respeed.errors import NotMeasurable
from respeed.machine.devices import split_device
from respeed.machine.process import THREADS, allowed_cpus, ignore_interrupts

# By what replicas on a device speak with one another.
LIBRARIES = {"cpu": "gloo", "cuda": "nccl"}
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
# What any order may take: replicas that wait for one another in vain say so before.
LONGEST_ORDER_SECONDS = 600.0


class Replicas:
    """`count` replicas for a row, each on one thread and a core of its own, or on a GPU of its own.

    Raises
    ------
    NotMeasurable
        If the row has fewer cores, or the machine fewer GPUs.
    """

    def __init__(self, count: int, row: Any) -> None:
        device = str(row.device)
        if reason := why_not(count, device, row.threads):
            raise NotMeasurable(reason)
        if len(_processes) > count:  # of a larger group before, some would wait for the others
            end_all()
        _processes.extend(_start() for _ in range(count - len(_processes)))
        self.pids = tuple(process.pid for process in _processes)
        cpus = allowed_cpus() if device == "cpu" else []
        with tempfile.TemporaryDirectory(prefix="respeed-") as folder:
            how = count, folder, LIBRARIES[split_device(device)[0]], device, row.precision
            self._ask("join", [(rank, *how, cpus[rank:][:1]) for rank in range(count)])

    def ask(self, what: str, *arguments: Any) -> list[Any]:
        """Have every replica do something, wait for all, and return their answers."""
        return self._ask(what, [arguments] * len(self.pids))

    def _ask(self, what: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        try:
            for process, own in zip(_processes, arguments, strict=True):
                assert process.stdin
                with contextlib.suppress(BrokenPipeError):  # it has ended, as its answer will tell
                    pickle.dump((what, own), process.stdin)
                    process.stdin.flush()
            answers: dict[Any, Any] = dict.fromkeys(process.stdout for process in _processes)
            waiting = {*answers}
            while waiting:
                # Whoever is first: one that is gone or has failed leaves the others waiting for it.
                some = _receive(waiting)
                answers |= some
                waiting -= some.keys()
        except Exception:
            end_all()
            raise
        return [*answers.values()]


def _receive(pipes: set[Any]) -> dict[Any, Any]:
    """Return the answers of those replicas that are the first to answer, by the pipe that they came by."""
    answers: dict[Any, Any] = {}
    for pipe in wait(pipes, LONGEST_ORDER_SECONDS):
        try:
            well, answers[pipe] = pickle.load(pipe)  # type: ignore[arg-type]
        except (EOFError, OSError, pickle.UnpicklingError):
            well, answers[pipe] = False, "its process ended"
        if not well:
            raise RuntimeError(f"a replica failed: {answers[pipe]}")
    if not answers:
        raise RuntimeError(f"a replica failed: no answer in {LONGEST_ORDER_SECONDS:.0f} s")
    return answers


def why_not(count: int, device: str, threads: int) -> str | None:
    """Return why there cannot be so many replicas; None if there can."""
    kind, index = split_device(device)
    if kind not in LIBRARIES:
        return f"torch.distributed has no library for {kind}"
    if index is not None and count > 1:
        return f"needs {count} GPUs, and this row uses one, {device}"
    import torch

    there, what = (threads, "cores") if kind == "cpu" else (torch.cuda.device_count(), "GPUs")
    return f"needs {count} {what}, has {there}" if count > there else None


def of_all(mine: Any) -> list[Any]:
    """Return what every replica gives, in one of them: all must ask. Elsewhere return what is given alone."""
    from torch import distributed

    if not distributed.is_initialized():
        return [mine]
    every = [None] * distributed.get_world_size()
    distributed.all_gather_object(every, mine)
    return every


# Kept for the next program: to load torch takes as long as many a case.
_processes: list[subprocess.Popen[bytes]] = []


def _start() -> subprocess.Popen[bytes]:
    interfaces = {"GLOO_SOCKET_IFNAME": LOOPBACK, "NCCL_SOCKET_IFNAME": LOOPBACK}
    return subprocess.Popen(
        [sys.executable, "-m", "respeed.backends._replica"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **dict.fromkeys(THREADS, "1"), **interfaces},
        preexec_fn=ignore_interrupts,
    )


@atexit.register
def end_all() -> None:
    """End all processes at once, and wait until they are gone."""
    while _processes:
        process = _processes.pop()
        process.kill()
        process.communicate()
