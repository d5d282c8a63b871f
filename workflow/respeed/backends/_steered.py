"""Libraries of SciPy's whose threads threadpoolctl sets at any time: OpenBLAS, MKL, BLIS."""

from threading import Thread

from threadpoolctl import threadpool_limits

from respeed.backends import Facts
from respeed.backends._scipy_blas import ScipyBlas
from respeed.errors import NotMeasurable
from respeed.kernels import scipy_blas
from respeed.model.blas import library_label


class SteeredFacts(Facts):
    version: str
    kernel: str
    threading: str


class SteeredBlas(ScipyBlas):
    def take_threads(self) -> None:
        found = scipy_blas.controller(self.library)
        if found is None:
            label = library_label(self.library)
            raise NotMeasurable(f"threadpoolctl does not find this SciPy's {label}, and cannot set its threads")
        self._library = found
        # The environment has set this before the libraries were loaded; said again for callers from Python.
        self._limits = threadpool_limits(self.threads)
        if self.threads > 1 and not self._is_of_the_process():
            self.each_alone = self._alone

    def _alone(self) -> None:
        self._library.set_num_threads(1)

    def _is_of_the_process(self) -> bool:
        """Whether a thread that sets the number sets it for all, as in some libraries and some of their versions. (The
        others either keep a number for each thread, or listen to this one alone.)"""
        other = Thread(target=self._alone)
        other.start()
        other.join()
        changed = bool(self._library.num_threads != self.threads)
        self._library.set_num_threads(self.threads)
        return changed

    def limit(self, threads: int) -> None:
        self._library.set_num_threads(threads)

    def describe(self) -> SteeredFacts:
        pool = self._library.info()
        return {
            **self.facts(pool["num_threads"]),
            "version": pool.get("version") or "unknown",
            "kernel": pool.get("architecture") or "unknown",
            "threading": pool.get("threading_layer") or "unknown",
        }
