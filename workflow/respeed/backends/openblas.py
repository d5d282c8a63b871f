"""OpenBLAS as SciPy ships it: the descendant of the Goto BLAS that the paper's CPU rows used."""

from respeed.backends import _scipy_blas
from respeed.backends._scipy_blas import SteeredBlas

DEVICES = _scipy_blas.DEVICES
PRECISIONS = _scipy_blas.PRECISIONS
OFFERS = _scipy_blas.OFFERS
LIBRARY = "openblas"


class Backend(SteeredBlas):
    library = LIBRARY
