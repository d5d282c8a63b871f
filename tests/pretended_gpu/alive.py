"""Whether memory is still its array's when the device comes to use it.

Torch hands memory that was freed to the next array at once: on the stream that it was allocated on, which does one
thing after another, that is right. For two things it is not: what another stream was asked for and has not done, and a
graph, which remembers addresses for as long as it runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from tests.pretended_gpu import device


@dataclass
class _Birth:
    storage: StorageWeakRef
    stream: int
    captured: bool
    # Streams that torch was told of (record_stream): it waits for them before the memory is another array's.
    waited_for: set[int] = field(default_factory=set)


class Alive:
    """Knows of every array's memory on which stream it was allocated, and whether within a capture."""

    def __init__(self) -> None:
        self._births: dict[int, _Birth] = {}
        self._device = device.library()

    def saw(self, tensors: Sequence[torch.Tensor]) -> None:
        for tensor in tensors:
            storage = tensor.untyped_storage()
            known = self._births.get(storage._cdata)
            if known is None or known.storage.expired():
                captured = torch.cuda.is_current_stream_capturing()
                stream = torch.cuda.current_stream().cuda_stream
                self._births[storage._cdata] = _Birth(StorageWeakRef(storage), stream, captured)

    def recorded(self, tensor: torch.Tensor, stream: torch.Stream) -> None:
        self.saw([tensor])
        same = torch.cuda.Stream(
            stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
        )
        self._births[tensor.untyped_storage()._cdata].waited_for.add(same.cuda_stream)

    def check_of(self, name: str, tensors: Sequence[torch.Tensor], *, captured: bool) -> Callable[[], None]:
        """What to ask once the operator runs."""
        births = {id(birth): birth for birth in (self._births[one.untyped_storage()._cdata] for one in tensors)}
        here = torch.cuda.current_stream().cuda_stream
        if captured:
            asked = [birth for birth in births.values() if not birth.captured]
        else:
            asked = [birth for birth in births.values() if here not in {birth.stream, *birth.waited_for}]

        def check() -> None:
            for birth in asked:
                if not birth.storage.expired():
                    continue
                if captured:
                    self._tell(f"{name}, in a graph: an array of before its capture was freed, and may be another's")
                elif not self._device.pretended_comes_before(birth.stream):
                    self._tell(f"{name}: an array of another stream was freed before this one was done with it")

        return check

    def _tell(self, problem: str) -> None:
        self._device.pretended_add_problem(problem.encode())
