"""BLIS where SciPy computes with it, as conda's and Linux distributions' may."""

from respeed.backends import _scipy_blas
from respeed.backends._scipy_blas import SteeredBlas

DEVICES = _scipy_blas.DEVICES
PRECISIONS = _scipy_blas.PRECISIONS
OFFERS = _scipy_blas.OFFERS
LIBRARY = "blis"


class Backend(SteeredBlas):
    library = LIBRARY
