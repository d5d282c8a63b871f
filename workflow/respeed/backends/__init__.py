"""Backends: where arrays live and how they are multiplied. One module each, named as in the hardware profiles.

Every module has DEVICES and PRECISIONS (tuples of names) and a class Backend that fulfils the contract below.
All operations write into arrays that exist already: a step that is built from them allocates nothing.
"""

import importlib
from typing import Any, Protocol

import numpy as np

# An array of the backend's own kind: numpy.ndarray, torch.Tensor, ...
Array = Any


class BackendContract(Protocol):
    """What a backend offers to workloads. Matrices are row-major; a row is an example.

    `synchronous` says that an operation is finished when it returns, so that single steps can be timed.
    """

    synchronous: bool

    def array(self, values: np.ndarray) -> Array:
        """A copy of `values` on the device, in the backend's precision."""

    def zeros(self, *shape: int) -> Array:
        """An array of zeros on the device."""

    def host(self, array: Array) -> np.ndarray:
        """A copy of `array` as NumPy float32."""

    def copy(self, source: Array, out: Array) -> None:
        """out <- source."""

    def gemm(
        self,
        a: Array,
        b: Array,
        out: Array,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """out (m, n) <- alpha op(a) (m, k) @ op(b) (k, n) + beta out."""

    def sigmoid_layer(self, x: Array, weights: Array, bias: Array, out: Array, *, transpose: bool = False) -> None:
        """out (m, n) <- 1 / (1 + exp(-(x (m, k) @ op(weights) (k, n) + bias (n,)))), one row an example."""

    def scale(self, out: Array, factor: float) -> None:
        """out <- factor out."""

    def bernoulli(self, probability: Array, uniform: Array, out: Array) -> None:
        """uniform <- fresh draws from [0, 1); out <- 1 where uniform < probability, else 0."""

    def sync(self) -> None:
        """Return when everything asked of the device is done."""

    def describe(self) -> dict[str, Any]:
        """Facts for the record: libraries, device, precision flags as they are in force."""


def make_backend(name: str, *, device: str, precision: str, threads: int, seed: int) -> BackendContract:
    """Import the backend `name` and set it up; NotMeasurable with the reason if the device is not there."""
    module = importlib.import_module(f"respeed.backends.{name}")
    backend: BackendContract = module.Backend(device=device, precision=precision, threads=threads, seed=seed)
    return backend
