"""Replicas of a program, each in a process of its own, which average gradients by torch.distributed.

On a CPU each replica has a core of its own, and replicas communicate by gloo; on CUDA each has a GPU of its own, and
they communicate by NCCL. Replicas find one another by a file, and use no network interface but loopback. Each process
runs `respeed.backends._replica`.
"""

import atexit
import contextlib
import os
import subprocess
import sys
import tempfile
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from respeed.errors import NotMeasurable
from respeed.machine.devices import split_device
from respeed.machine.process import THREADS, ignore_interrupts
from respeed.workloads import Row

# The library by which replicas communicate, by the kind of their device.
LIBRARIES = {"cpu": "gloo", "cuda": "nccl"}
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
# The longest time that a call may take. Replicas that wait for one another in vain fail earlier.
LONGEST_ORDER_SECONDS = 600.0


class Replicas:
    """`count` replicas for a row, each on one thread and a core of its own, or on a GPU of its own.

    Raises
    ------
    NotMeasurable
        If the row has fewer cores, or the machine fewer GPUs.
    """

    def __init__(self, count: int, row: Row) -> None:
        device = str(row.device)
        if reason := why_not(count, device, row.threads):
            raise NotMeasurable(reason)
        if len(_processes) > count:  # a larger group was there before: some would wait for the others
            end_all()
        while len(_processes) < count:
            _start()
        self.pids = tuple(process.pid for process in _processes.values())
        with tempfile.TemporaryDirectory(prefix="respeed-") as folder:
            self.ask("join", count, folder, device, row.precision)

    def ask(self, what: str, *arguments: Any) -> list[Any]:
        """Call the method `what` of every replica, wait for all, and return their answers.

        If a replica fails, raise RuntimeError and end all replicas: the others would wait for the failed one.
        """
        answers: dict[Connection, Any] = {}
        try:
            for replica, _ in zip(_processes, self.pids, strict=True):  # none after they have been ended
                with contextlib.suppress(OSError):  # it has ended: its answer will be an error
                    replica.send((what, arguments))
            while waiting := _processes.keys() - answers:
                ready = cast(list[Connection], wait(waiting, LONGEST_ORDER_SECONDS))
                if not ready:
                    raise RuntimeError(f"no replica answered in {LONGEST_ORDER_SECONDS:.0f} s")
                answers |= {replica: _receive(replica) for replica in ready}
        finally:
            if len(answers) < len(self.pids):
                end_all()
        return [answers[replica] for replica in _processes]


# The processes by the connections to them, in the order of their ranks. They are kept for the next program: loading
# torch takes as long as many a case.
_processes: dict[Connection, subprocess.Popen[bytes]] = {}


def _receive(replica: Connection) -> Any:
    """Return a replica's answer; raise RuntimeError if it is an error, or if the replica has ended."""
    try:
        answer = replica.recv()
    except (EOFError, OSError):
        answer = RuntimeError("a replica failed: its process ended")
    if isinstance(answer, Exception):
        raise answer
    return answer


def _start() -> None:
    interfaces = {"GLOO_SOCKET_IFNAME": LOOPBACK, "NCCL_SOCKET_IFNAME": LOOPBACK}
    connection, end = Pipe()
    with end:
        number = end.fileno()
        command = [sys.executable, "-m", "respeed.backends._replica", str(number), str(len(_processes))]
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), **interfaces}
        _processes[connection] = subprocess.Popen(
            command, pass_fds=[number], env=environment, preexec_fn=ignore_interrupts
        )


@atexit.register
def end_all() -> None:
    """Kill the processes of all replicas, and wait until they are gone."""
    while _processes:
        connection, process = _processes.popitem()
        process.kill()
        process.wait()
        connection.close()


def why_not(count: int, device: str, threads: int) -> str | None:
    """Return why `count` replicas cannot run; None if they can."""
    kind, index = split_device(device)
    if kind not in LIBRARIES:
        return f"torch.distributed has no library for {kind}"
    if index is not None and count > 1:
        return f"needs {count} GPUs, and this row uses one, {device}"
    import torch

    available = threads
    unit = "cores"
    if kind == "cuda":
        available = torch.cuda.device_count()
        unit = "GPUs"
    return f"needs {count} {unit}, has {available}" if count > available else None


def of_all(value: Any) -> list[Any]:
    """Return every replica's `value`, by rank: each replica must call this. Outside of replicas, return [value]."""
    from torch import distributed

    if not distributed.is_initialized():
        return [value]
    values = [None] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values
