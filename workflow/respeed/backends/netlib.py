"""The reference BLAS of Netlib, where SciPy computes with it: loops in Fortran, on one thread."""

from respeed.backends import Facts, _scipy_blas
from respeed.backends._scipy_blas import ScipyBlas
from respeed.errors import NotMeasurable

DEVICES = _scipy_blas.DEVICES
PRECISIONS = _scipy_blas.PRECISIONS
OFFERS = _scipy_blas.OFFERS
LIBRARY = "netlib"


class Backend(ScipyBlas):
    library = LIBRARY

    def take_threads(self) -> None:
        if self.threads > 1:
            raise NotMeasurable("Netlib's reference BLAS has one thread")

    def limit(self, threads: int) -> None:
        pass

    def describe(self) -> Facts:
        return self.facts(1)
