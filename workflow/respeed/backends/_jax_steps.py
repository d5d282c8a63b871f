"""What comes between the products, on JAX's arrays: functions of these, each with what goes in and what comes out. XLA
puts the operations of a captured step together."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from respeed.backends import Activation, Draws, Item, Stream
from respeed.backends._cpu import Copies
from respeed.backends._jax import Box, Jax, KeyedDraws

_FORWARD: dict[str, Any] = {"none": lambda z: z, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "relu": jax.nn.relu}
# f'(z) by way of out = f(z).
_SLOPES: dict[str, Any] = {
    "sigmoid": lambda out: out * (1 - out),
    "tanh": lambda out: 1 - out * out,
    "relu": lambda out: (out > 0).astype(out.dtype),
}


def _dense_layer(x: Any, weights: Any, bias: Any, *, activation: Activation, transpose: bool, scale: float) -> Any:
    out = _FORWARD[activation](jnp.matmul(x, weights.mT if transpose else weights) + bias)
    return out if scale == 1.0 else scale * out


def _through_slope(out: Any, error: Any, *, activation: Activation) -> Any:
    return error * _SLOPES[activation](out)


def _costs_at(logits: Any, labels: Any) -> Any:
    """-log softmax(logits) at the labels, as a column."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)


def _softmax_error(logits: Any, labels: Any) -> Any:
    return jax.nn.softmax(logits) - jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)


def _sigmoid_costs(x: Any, z: Any) -> Any:
    return (jax.nn.softplus(z) - x * z).sum(1, keepdims=True)


def _sigmoid_error(x: Any, z: Any) -> Any:
    return x - jax.nn.sigmoid(z)


def _sampled(out: Any, draws: Any, *, scale: float) -> Any:
    """1 where a draw is below the probability, which `out` is `scale` times of."""
    return (draws < (out if scale == 1.0 else out / scale)).astype(out.dtype)


def _masked(x: Any, draws: Any, *, share: float) -> Any:
    return jnp.where(draws < share, 0, x)


def _cut(image: Any, *, across: int) -> Any:
    """All windows of the image (G, G, B, n) one after another: (R^2, B, across^2 n)."""
    side, (batch, n) = image.shape[0] - across + 1, image.shape[2:]
    shifts = [(down, right) for down in range(across) for right in range(across)]
    tiles = [image[down : down + side, right : right + side] for down, right in shifts]
    return jnp.stack(tiles, axis=3).reshape(side * side, batch, across * across * n)


def _add_up(added: Any, image: Any, *, across: int) -> Any:
    """The image with all windows added, each at its place."""
    side, (batch, n) = image.shape[0] - across + 1, image.shape[2:]
    windows = added.reshape(side, side, batch, across, across, n)
    for down in range(across):
        for right in range(across):
            image = image.at[down : down + side, right : right + side].add(windows[:, :, :, down, right])
    return image


class JaxSteps(Jax):
    # The more at once, the better XLA spreads it.
    stack_bytes = math.inf
    lanes = 1
    # The thread that asks works beside those of XLA's pool; a matrix is inverted by SciPy's LAPACK, which has its own.
    pools = 3

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        super().__init__(device, precision, threads)
        with jax.default_device(self._device):
            key = jax.random.key(seed)
        self._key = jax.device_put(key, self._device)

    def each(self, items: Sequence[Item], work: Callable[[Item, int], None]) -> None:
        for item in items:
            work(item, 0)

    def stream(self, chunks: Sequence[np.ndarray]) -> Stream:
        if self._device.platform != "cpu":
            return _Chunks(chunks, self.dtype, self._device)
        copies = Copies(self, chunks)
        self.copy(copies.arrays[0], copies.arrays[1])  # compiled now, not when the first chunk is asked for
        return copies

    def sigmoid(self, out: Box) -> None:
        self.do(jax.nn.sigmoid, out, out=out)

    def dense_layer(
        self,
        x: Box,
        weights: Box,
        bias: Box,
        out: Box,
        *,
        activation: Activation,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        options = {"activation": activation, "transpose": transpose, "scale": scale}
        self.do(_dense_layer, x, weights, bias, out=out, **options)

    def activation_backward(self, out: Box, error: Box, *, activation: Activation) -> None:
        self.do(_through_slope, out, error, out=error, activation=activation)

    def labels(self, values: np.ndarray) -> Box:
        return self._box(np.asarray(values, np.int32))

    def softmax_error(self, logits: Box, labels: Box, out: Box, costs: Box) -> None:
        self.do(_costs_at, logits, labels, out=costs)
        self.do(_softmax_error, logits, labels, out=out)

    def sigmoid_error(self, x: Box, out: Box, costs: Box) -> None:
        self.do(_sigmoid_costs, x, out, out=costs)
        self.do(_sigmoid_error, x, out, out=out)

    def draws(self, *shape: int) -> Draws:
        self._key, key, used = jax.random.split(self._key, 3)
        return KeyedDraws(shape, key, used)

    def sample_layer(
        self,
        x: Box,
        weights: Box,
        bias: Box,
        out: Box,
        sample: Box,
        draws: Any,
        *,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        self.dense_layer(x, weights, bias, out, activation="sigmoid", transpose=transpose, scale=scale)
        self.do(_sampled, out, draws.fresh(), out=sample, scale=scale)

    def mask(self, x: Box, share: float, out: Box, draws: Any) -> None:
        self.do(_masked, x, draws.fresh(), out=out, share=share)

    def cut(self, image: Box, first: int, across: int, out: Box, top: int) -> None:
        self.do(_cut, image, out=out[:, top : top + image.shape[2]], across=across)

    def add_up(self, added: Box, first: int, across: int, image: Box) -> None:
        self.do(_add_up, added, image, out=image, across=across)


class _Chunks:
    """Chunks in the host's memory. The next one is on its way while the last is used: it comes to memory of its own,
    and what was in the array before lives as long as somebody uses it."""

    def __init__(self, chunks: Sequence[np.ndarray], dtype: np.dtype[Any], device: Any) -> None:
        self._chunks, self._device = [np.ascontiguousarray(chunk, dtype=dtype) for chunk in chunks], device
        self.arrays = (Box(self._put(0)), Box(self._put(0)))
        self._asked = 1

    def _put(self, number: int) -> Any:
        return jax.device_put(self._chunks[number % len(self._chunks)], self._device)

    def advance(self) -> int:
        """Asks for the chunk after this one."""
        now = (self._asked - 1) % 2
        self.arrays[1 - now].value = self._put(self._asked)
        self._asked += 1
        return now
