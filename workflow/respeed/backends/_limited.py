"""A CPU backend that uses some of its threads alone."""

from types import TracebackType
from typing import Any

from respeed.errors import NotMeasurable


class Limited:
    """While it is entered, products, compiled steps and lanes of `backend` use `threads` threads.

    The limit is for a step, not for a program: the reference probe between two steps uses all threads, as always.
    """

    def __init__(self, backend: Any, threads: int) -> None:
        if threads > backend.threads:
            raise NotMeasurable(f"needs {threads} cores, the row has {backend.threads}")
        self._backend, self._threads = backend, threads
        self._workers = backend.workers.fewer(threads)
        self._before = backend.threads, backend.lanes, backend.workers

    def __enter__(self) -> None:
        self._set(self._threads, self._threads, self._workers)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._set(*self._before)

    def _set(self, threads: int, lanes: int, workers: Any) -> None:
        self._backend.threads, self._backend.lanes, self._backend.workers = threads, lanes, workers
        self._backend.limit(threads)
