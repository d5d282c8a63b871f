"""The logistic function for references."""

import numpy as np


def sigmoid(z: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-z)) in float64; tanh neither overflows nor warns, whatever z is."""
    out: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return out
