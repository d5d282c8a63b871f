"""What is simple where arrays lie in the host's memory and an operation is finished when it returns."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from respeed.backends import Mirror, Step, Stream
from respeed.backends._limited import Limited


class OnHost:
    """A part of the contract. The class has `threads`, `lanes` and `workers`, and `limit`, after
    which products that the calling thread asks for use so many threads."""

    def limited(self, threads: int) -> AbstractContextManager[None]:
        return Limited(self, threads)

    def captured(self, step: Step) -> Step:
        return step

    def stream(self, chunks: Sequence[np.ndarray]) -> Stream:
        return Copies(self, chunks)

    def mirrored(self, values: np.ndarray, *, pinned: bool) -> Mirror:
        return Same(self, values)

    def bytes_free(self) -> float | None:
        return None

    def sync(self) -> None:
        pass


class Copies:
    """Chunks that are copied when they are asked for: there is nobody to copy the next one meanwhile."""

    def __init__(self, backend: Any, chunks: Sequence[np.ndarray]) -> None:
        self._copy, self._chunks = backend.copy, [backend.array(chunk) for chunk in chunks]
        self.arrays = (backend.array(chunks[0]), backend.array(chunks[0]))
        self._asked = 0

    def advance(self) -> int:
        place = self._asked % 2
        self._copy(self._chunks[self._asked % len(self._chunks)], self.arrays[place])
        self._asked += 1
        return place


class Same:
    """An array that is its own twin: there is nothing to copy."""

    apart = False

    def __init__(self, backend: Any, values: np.ndarray) -> None:
        self.array, self._host = backend.array(values), backend.host

    def upload(self) -> None:
        pass

    def download(self) -> None:
        pass

    def values(self) -> np.ndarray:
        here: np.ndarray = self._host(self.array)
        return here
