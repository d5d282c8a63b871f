"""Activations f, their slopes and softmax for references, in float64."""

from collections.abc import Callable

import numpy as np

from respeed.backends import Activation
from respeed.workloads._sigmoid import sigmoid

_OUT: dict[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda z: z,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
}
_SLOPE: dict[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "none": np.ones_like,
    "sigmoid": lambda out: out * (1 - out),
    "tanh": lambda out: 1 - out**2,
    "relu": np.sign,
}


def activated(activation: Activation, z: np.ndarray) -> np.ndarray:
    """f(z)."""
    return _OUT[activation](z)


def slope(activation: Activation, out: np.ndarray) -> np.ndarray:
    """f'(z), where out = f(z)."""
    return _SLOPE[activation](out)


def softmax(z: np.ndarray) -> np.ndarray:
    """Of each row."""
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    out: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return out
