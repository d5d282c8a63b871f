"""MKL where SciPy computes with it, as conda's may. (PyTorch has an MKL of its own: the backend torch.)"""

from respeed.backends import _scipy_blas
from respeed.backends._scipy_blas import SteeredBlas

DEVICES = _scipy_blas.DEVICES
PRECISIONS = _scipy_blas.PRECISIONS
OFFERS = _scipy_blas.OFFERS
LIBRARY = "mkl"


class Backend(SteeredBlas):
    library = LIBRARY
