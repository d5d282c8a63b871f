"""What stands for torch's profiler on the pretended GPU: what a step asks of the device, a microsecond each.

A graph's run asks for nothing anew: while it is profiled, a graph runs the step that it was captured from.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.autograd import DeviceType

from tests.pretended_gpu import device

_active: list["Profiled"] = []


class Profiled:
    """In the place of `torch.profiler.profile`."""

    def __init__(self, **options: Any) -> None:
        self._notes: list[str] = []

    def __enter__(self) -> "Profiled":
        device.library().pretended_take_notes()
        _active.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _active.remove(self)
        self._notes = device.library().pretended_take_notes().decode().splitlines()

    def events(self) -> list[SimpleNamespace]:
        """Return an event for each kernel, copy, fill and product."""
        names = [note for note in self._notes if not note.startswith("wait")]
        return [
            SimpleNamespace(
                name=name, device_type=DeviceType.CUDA, time_range=SimpleNamespace(start=place, end=place + 1)
            )
            for place, name in enumerate(names)
        ]


def pretend() -> None:
    """Let this stand for the profiler from now on."""
    replay: Callable[[Any], None] = torch.cuda.CUDAGraph.replay

    def replay_or_step(graph: Any) -> None:
        if _active and hasattr(graph, "step"):
            graph.step()
        else:
            replay(graph)

    torch.cuda.CUDAGraph.replay = replay_or_step
    torch.profiler.profile = Profiled
