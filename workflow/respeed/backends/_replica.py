"""The process of a replica: ``python -m respeed.backends._replica CONNECTION RANK``.

The process holds a program. CONNECTION is the file descriptor of a connection to its parent
(`respeed.workloads._replicas`), which sends names of methods; the process calls each and sends back the result. It ends
when its parent ends or the connection is closed.
"""

import contextlib
import sys
from dataclasses import replace
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed

from respeed.backends import make_backend
from respeed.machine.devices import split_device
from respeed.machine.process import allowed_cpus, bind, die_with_parent
from respeed.workloads._replicas import LIBRARIES

# How long replicas wait for one another: longer than any step, and short enough to notice that one is gone.
TIMEOUT = timedelta(seconds=120)


class Replica:
    """A replica of a program, with the methods that the parent may call."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.cpus = allowed_cpus()[rank:][:1]

    def join(self, count: int, folder: str, device: str, precision: str) -> None:
        """Become one of `count` replicas, on a core or GPU of its own; they find one another by a file in `folder`."""
        kind, index = split_device(device)
        if kind == "cuda":
            device = f"{kind}:{self.rank if index is None else index}"
        else:
            bind(self.cpus)
        self.backend = make_backend("torch", device=device, precision=precision, threads=1, seed=self.rank)
        if distributed.is_initialized():
            distributed.destroy_process_group()
        if count > 1:
            meeting = Path(folder, "meeting").as_uri()
            distributed.init_process_group(LIBRARIES[kind], meeting, TIMEOUT, count, self.rank)
            # NCCL connects at the first reduction, by the file, which must still be there.
            distributed.all_reduce(torch.zeros(1, device=self.backend.device))
            self.backend.sync()

    def build(self, workload: Any, seed: int) -> None:
        """Build a program of the workload, with this replica's share of the training examples."""
        self.program = self.backend.build(replace(workload, rank=self.rank), seed)

    def step(self, seed: int) -> None:
        """Run a step; if `seed` is a new one, draw new inputs first, because this step will be checked."""
        if seed != self.program.seed:
            self.program.seed = seed
            self.program.begin_anew()
        self.program.step()
        self.backend.sync()

    def check(self) -> tuple[int, Any]:
        """Return the seed of the last step's inputs, and the result of the workload's check."""
        return self.program.seed, self.program.check()


def main() -> None:
    """Call the methods that the parent names and send back results or errors; on an error it ends all replicas."""
    die_with_parent()
    parent = Connection(int(sys.argv[1]))
    replica = Replica(int(sys.argv[2]))
    with contextlib.suppress(EOFError):  # the parent has ended
        while True:
            what, arguments = parent.recv()
            try:
                answer = getattr(replica, what)(*arguments)
            except Exception as error:  # of any library
                answer = RuntimeError(f"a replica failed: {type(error).__name__}: {error}")
            parent.send(answer)


if __name__ == "__main__":
    main()
