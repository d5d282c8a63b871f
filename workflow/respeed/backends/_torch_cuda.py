"""What only CUDA devices (and ROCm's, which torch calls the same) do: copies beside the computing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


class PinnedChunks:
    """Chunks in pinned memory of the host, and two arrays on the device that they are copied to on a stream of their
    own: while steps use the one, the next chunk comes into the other.

    Two events for each array keep the order without the host waiting: `_here` when its chunk has come, and `_used` when
    the last step on it is done, before which nothing may be written over it.
    """

    def __init__(
        self, chunks: Sequence[np.ndarray], host_dtype: np.dtype[Any], dtype: torch.dtype, device: torch.device
    ) -> None:
        # Rounded on the host, once, where precision is low: half the bytes to copy.
        whole = (torch.from_numpy(np.ascontiguousarray(chunk, dtype=host_dtype)) for chunk in chunks)
        self._chunks = [chunk.to(dtype).pin_memory() for chunk in whole]
        shape = self._chunks[0].shape
        first, second = (torch.empty(shape, dtype=dtype, device=device) for _ in range(2))
        self.arrays = (first, second)
        self._device, self._copying = device, torch.cuda.Stream(device)
        for array in self.arrays:
            # The last copy may still be under way when nobody needs the chunks any more: their memory is not free yet.
            array.record_stream(self._copying)
        self._here = [torch.cuda.Event() for _ in self.arrays]
        self._used = [torch.cuda.Event() for _ in self.arrays]
        self._asked = 0
        # The memory may have been another array's, which is perhaps still in use.
        self._used[0].record(self._computing())
        self._copy_next()

    def advance(self) -> int:
        """Asks for the copy of the chunk after this one: all steps on the array it comes to were asked for before."""
        now = (self._asked - 1) % 2
        self._computing().wait_event(self._here[now])
        self._used[1 - now].record(self._computing())
        self._copy_next()
        return now

    def _computing(self) -> torch.cuda.Stream:
        """The stream that steps are asked for on: while a step is captured, the graph's."""
        return torch.cuda.current_stream(self._device)

    def _copy_next(self) -> None:
        place, chunk = self._asked % 2, self._chunks[self._asked % len(self._chunks)]
        self._copying.wait_event(self._used[place])
        with torch.cuda.stream(self._copying):
            self.arrays[place].copy_(chunk, non_blocking=True)
            self._here[place].record(self._copying)
        self._asked += 1
