"""The process of one replica: does what its parent asks for, and says when it is done.

Run as `python -m respeed.backends._torch_replica` by `_torch_replicas`. Orders and answers are pickles on standard
input and output. It ends with its parent, and when there are no more orders.
"""

import pickle
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed

from respeed.backends import Group, make_backend
from respeed.model.devices import split_device
from respeed.process import bind, die_with_parent, private_stdout

# Of waiting for another replica: longer than any step, and short enough to notice that one is gone.
TIMEOUT = timedelta(seconds=120)
# By what replicas on a device speak with one another.
LIBRARIES = {"cpu": "gloo", "cuda": "nccl"}


class TorchGroup:
    """This replica's place among all of them."""

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count

    def all_reduce(self, array: torch.Tensor) -> None:
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


if __name__ == "__main__":
    main()
