"""The process of a replica: ``python -m respeed.backends._replica``.

It holds a program, does what its parent (`respeed.workloads._replicas`) asks for, and says when that is done. Orders
and answers are pickles on standard input and output. It ends with its parent, and when there are no more orders.
"""

import pickle
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed

from respeed.backends import make_backend
from respeed.machine.devices import split_device
from respeed.machine.process import bind, die_with_parent, private_stdout

# How long replicas wait for one another: longer than any step, and short enough to notice that one is gone.
TIMEOUT = timedelta(seconds=120)


class Replica:
    """What the parent may ask for."""

    def join(
        self, rank: int, count: int, folder: str, library: str, device: str, precision: str, cpus: list[int]
    ) -> None:
        """Become one of `count` replicas, which meet by a file in the folder, and speak by a library of torch's."""
        bind(cpus)
        kind, index = split_device(device)
        if kind == "cuda":
            device = f"{kind}:{rank if index is None else index}"
        self.rank, self.backend = rank, make_backend("torch", device=device, precision=precision, threads=1, seed=rank)
        if distributed.is_initialized():
            distributed.destroy_process_group()
        if count > 1:
            meeting = Path(folder, "meeting").as_uri()
            distributed.init_process_group(library, init_method=meeting, rank=rank, world_size=count, timeout=TIMEOUT)
            # NCCL connects at the first of these, by the file: while there is one.
            distributed.all_reduce(torch.zeros(1, device=self.backend.device))
            self.backend.sync()

    def build(self, workload: Any, seed: int) -> None:
        """Build a program of the workload, with the examples of this replica."""
        self.program = self.backend.build(replace(workload, rank=self.rank), seed)

    def step(self, seed: int) -> None:
        """Do a step; where the seed is another one, from inputs that are drawn anew: it will be checked."""
        if seed != self.program.seed:
            self.program.seed = seed
            self.program.begin_anew()
        self.program.step()
        self.backend.sync()

    def check(self) -> tuple[int, Any]:
        """Return what the inputs of the last step were drawn by, and what the workload's check found."""
        return self.program.seed, self.program.check()


def main() -> None:
    """Do what the parent asks for."""
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


if __name__ == "__main__":
    main()
