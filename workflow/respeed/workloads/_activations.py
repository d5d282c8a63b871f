"""Activations, their slopes and softmax for references, in float64."""

import numpy as np

from respeed.backends import Activation
from respeed.workloads._sigmoid import sigmoid


def activated(activation: Activation, z: np.ndarray) -> np.ndarray:
    """f(z)."""
    outs: dict[Activation, np.ndarray] = {
        "none": z,
        "sigmoid": sigmoid(z),
        "tanh": np.tanh(z),
        "relu": np.maximum(z, 0.0),
    }
    return outs[activation]


def slope(activation: Activation, out: np.ndarray) -> np.ndarray:
    """f'(z), where out = f(z)."""
    slopes: dict[Activation, np.ndarray] = {
        "none": np.ones_like(out),
        "sigmoid": out * (1 - out),
        "tanh": 1 - out**2,
        "relu": np.sign(out),
    }
    return slopes[activation]


def softmax(z: np.ndarray) -> np.ndarray:
    """Of each row."""
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    out: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return out
