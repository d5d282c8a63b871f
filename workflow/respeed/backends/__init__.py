"""Backends: where arrays live and how they are multiplied. One module each, named as in the hardware profiles.

Every module has, as literals (or as those of a module beside it: `_scipy_blas.OFFERS`), since they are read without
importing it,

- DEVICES and PRECISIONS: tuples of names, of which a hardware profile names one each;
- OFFERS: what it has of BackendContract beyond what it must have (Required); nothing if it is left out;
- LIBRARY: if it computes with SciPy's BLAS, the one that this must be;

and Backend(device=, precision=, threads=, seed=), a class or function: what fulfils the contract below, as far as the
module offers it. A workload says what it asks for (ASKS) and runs on the backends that offer all of it, so a backend of
REQUIRED alone runs matmul, and the probe and the ceilings that every round is measured with.

All operations write into arrays that exist already: a step that is built from them allocates nothing.
"""

import importlib
from typing import Any

import numpy as np

from respeed.backends._contract import (
    REQUIRED,
    Activation,
    Array,
    BackendContract,
    Draws,
    Facts,
    Group,
    Item,
    Mirror,
    Replicas,
    Required,
    Step,
    Stream,
)
from respeed.machine.software import LIBRARIES, OF_BEFORE, scipy_library
from respeed.model.precision import number_bytes

__all__ = [
    "REQUIRED", "Activation", "Array", "BackendContract", "Draws", "Facts", "Group", "Item", "Mirror", "Replicas",
    "Required", "Step", "Stream", "host_dtype", "make_backend", "scipy_backend",
]  # fmt: skip


def host_dtype(precision: str) -> np.dtype[Any]:
    """What arrays of a backend in this precision are as NumPy: exactly what they are there, low precisions widened."""
    return np.dtype(f"f{number_bytes(precision)}")


def scipy_backend() -> str:
    """The backend of the BLAS that SciPy computes with here; of one that none is for, another, which says so."""
    return scipy_library() if scipy_library() in LIBRARIES else OF_BEFORE


def make_backend(name: str, *, device: str, precision: str, threads: int, seed: int) -> BackendContract:
    """Import the backend `name` and set it up; NotMeasurable with the reason if the device is not there."""
    module = importlib.import_module(f"respeed.backends.{name}")
    backend: BackendContract = module.Backend(device=device, precision=precision, threads=threads, seed=seed)
    return backend
