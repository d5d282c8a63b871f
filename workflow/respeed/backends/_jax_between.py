"""What comes between the products, as functions of JAX's arrays: what goes in, and what comes out."""

from typing import Any

import jax
import jax.numpy as jnp

from respeed.backends import Activation

_FORWARD: dict[str, Any] = {"none": lambda z: z, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "relu": jax.nn.relu}
# f'(z) by way of out = f(z).
_SLOPES: dict[str, Any] = {
    "sigmoid": lambda out: out * (1 - out),
    "tanh": lambda out: 1 - out * out,
    "relu": lambda out: (out > 0).astype(out.dtype),
}


def dense_layer(x: Any, weights: Any, bias: Any, *, activation: Activation, transpose: bool, scale: float) -> Any:
    out = _FORWARD[activation](jnp.matmul(x, weights.mT if transpose else weights) + bias)
    return out if scale == 1.0 else scale * out


def through_slope(out: Any, error: Any, *, activation: Activation) -> Any:
    return error * _SLOPES[activation](out)


def costs_at(logits: Any, labels: Any) -> Any:
    """-log softmax(logits) at the labels, as a column."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)


def softmax_error(logits: Any, labels: Any) -> Any:
    return jax.nn.softmax(logits) - jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)


def sampled(out: Any, draws: Any, *, scale: float) -> Any:
    """1 where a draw is below the probability, which `out` is `scale` times of."""
    return (draws < (out if scale == 1.0 else out / scale)).astype(out.dtype)


def masked(x: Any, draws: Any, *, share: float) -> Any:
    return jnp.where(draws < share, 0, x)


def cut(image: Any, *, across: int) -> Any:
    """All windows of the image (G, G, B, n) one after another: (R^2, B, across^2 n)."""
    side, (batch, n) = image.shape[0] - across + 1, image.shape[2:]
    shifts = [(down, right) for down in range(across) for right in range(across)]
    tiles = [image[down : down + side, right : right + side] for down, right in shifts]
    return jnp.stack(tiles, axis=3).reshape(side * side, batch, across * across * n)


def add_up(added: Any, image: Any, *, across: int) -> Any:
    """The image with all windows added, each at its place."""
    side, (batch, n) = image.shape[0] - across + 1, image.shape[2:]
    windows = added.reshape(side, side, batch, across, across, n)
    for down in range(across):
        for right in range(across):
            image = image.at[down : down + side, right : right + side].add(windows[:, :, :, down, right])
    return image
