"""The layers of a net in NumPy float64, at some places, from what was seen of the program: x what a layer read, g the
gradient of what it gave before its activation. Arrays are (B, C, H, W) or (B, units). Parameters: the weights first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from respeed.workloads._layers import EPSILON, MOMENTUM
from respeed.workloads._net_places import Place
from respeed.workloads._networks import Convolution, LocalResponse, MaxPool

# numpy.ndarray, of whose elements and operations the types say nothing.
Array = Any
Slices = tuple[slice, ...]


class ConvolutionReference:
    def outputs(self, layer: Convolution, x: Array, parameters: Sequence[Array], place: Place) -> Array:
        """b + sum over offsets W[offset] x[offset]."""
        kernels = _kernels(parameters[0], layer.groups, place.channels, slice(None))  # (channels, C, kernel, kernel)
        out = np.zeros((len(place.rows), len(kernels)))
        for down, right in np.ndindex(kernels.shape[2:]):
            rows = place.rows * layer.stride - layer.padding + down
            columns = place.columns * layer.stride - layer.padding + right
            out += _pixels(x, place.examples, rows, columns) @ kernels[:, :, down, right].T
        return out + parameters[1][place.channels] if layer.bias else out

    def share(self, layer: Convolution, x: Array, g: Array, parameters: Sequence[Array], place: Place) -> Array:
        """Sum of W[offset]^T g over the windows that have x, each at its offset."""
        kernels = _kernels(parameters[0], layer.groups, slice(None), place.channels)  # (K, channels, kernel, kernel)
        out = np.zeros((len(place.rows), kernels.shape[1]))
        for down, right in np.ndindex(kernels.shape[2:]):
            rows = _windows(place.rows + layer.padding - down, layer.stride)
            columns = _windows(place.columns + layer.padding - right, layer.stride)
            out += _pixels(g, place.examples, rows, columns) @ kernels[:, :, down, right]
        return out

    def gradients(self, layer: Convolution, x: Array, g: Array, entries: Sequence[Slices]) -> list[Array]:
        """Of W[offset]: the sum of g x[offset] over all examples and windows. Of b: that of g."""
        outputs, inputs = entries[0]
        group = x.shape[1] // layer.groups
        found = np.empty((outputs.stop - outputs.start, inputs.stop - inputs.start, layer.kernel, layer.kernel))
        for row, output in enumerate(range(outputs.start, outputs.stop)):
            there = g[:, output].astype(np.float64)  # (B, P, Q)
            first = output * layer.groups // g.shape[1] * group
            for column, channel in enumerate(range(first + inputs.start, first + inputs.stop)):
                padded = np.pad(x[:, channel].astype(np.float64), ((0, 0), *2 * [2 * [layer.padding]]))
                for down, right in np.ndindex(found.shape[2:]):
                    here = padded[:, down :: layer.stride, right :: layer.stride][:, : there.shape[1], : there.shape[2]]
                    found[row, column, down, right] = np.vdot(there, here)
        return [found, *(_sums(g[:, one[0]]) for one in entries[1:])]


class LinearReference:
    """Of images, the rows are their pixels one after another."""

    def outputs(self, layer: Any, x: Array, parameters: Sequence[Array], place: Place) -> Array:
        weights, biases = (array[place.channels].astype(np.float64) for array in parameters)
        return _rows(x)[place.examples].astype(np.float64) @ weights.T + biases

    def share(self, layer: Any, x: Array, g: Array, parameters: Sequence[Array], place: Place) -> Array:
        channels = np.arange(x.shape[1])[place.channels]
        if x.ndim == 4:
            channels = (place.rows * x.shape[3] + place.columns)[:, None] * x.shape[1] + channels
        inputs = np.broadcast_to(channels, (len(place.rows), channels.shape[-1]))
        weights = parameters[0][:, inputs].astype(np.float64)  # (units, P, channels)
        return np.einsum("pu,upc->pc", g[place.examples].astype(np.float64), weights)

    def gradients(self, layer: Any, x: Array, g: Array, entries: Sequence[Slices]) -> list[Array]:
        outputs, inputs = entries[0]
        weights = g[:, outputs].astype(np.float64).T @ _rows(x)[:, inputs].astype(np.float64)
        return [weights, _sums(g[:, entries[1][0]])]


class NormalizationReference:
    def outputs(self, layer: Any, x: Array, parameters: Sequence[Array], place: Place) -> Array:
        gain, shift = (array[place.channels].astype(np.float64) for array in parameters)
        mean, variance = moments(x[:, place.channels])
        return (place.of(x) - mean) / np.sqrt(variance + EPSILON) * gain + shift

    def share(self, layer: Any, x: Array, g: Array, parameters: Sequence[Array], place: Place) -> Array:
        """gain / deviation (g - mean of g - x^ mean of (g x^)), x^ being x without its mean over its deviation."""
        mean, variance = moments(x[:, place.channels])
        deviation, count = np.sqrt(variance + EPSILON), x.size / x.shape[1]
        by_gain, by_shift = self._gradients(x, g, place.channels)
        relative = (place.of(x) - mean) / deviation
        gain = parameters[0][place.channels].astype(np.float64)
        return gain / deviation * (place.of(g) - by_shift / count - relative * by_gain / count)

    def gradients(self, layer: Any, x: Array, g: Array, entries: Sequence[Slices]) -> list[Array]:
        return [self._gradients(x, g, one[0])[index] for index, one in enumerate(entries)]

    def _gradients(self, x: Array, g: Array, channels: slice) -> tuple[Array, Array]:
        """Sums over examples and pixels of g x^, and of g."""
        mean, variance = moments(x[:, channels])
        there = g[:, channels].astype(np.float64)
        with_x, alone = np.einsum("bchw,bchw->c", there, x[:, channels]), _sums(there)
        return (with_x - mean * alone) / np.sqrt(variance + EPSILON), alone


class LocalResponseReference:
    def outputs(self, layer: LocalResponse, x: Array, parameters: Sequence[Array], place: Place) -> Array:
        here = x[place.examples, :, place.rows, place.columns].astype(np.float64)  # (P, C)
        return (here * self._scale(layer, here) ** -layer.beta)[:, place.channels]

    def share(self, layer: LocalResponse, x: Array, g: Array, parameters: Sequence[Array], place: Place) -> Array:
        """g s^-beta - 2 beta alpha / size x sum of g' x' s'^(-beta - 1) over the neighbours."""
        here, there = (array[place.examples, :, place.rows, place.columns].astype(np.float64) for array in (x, g))
        scale = self._scale(layer, here)
        far = self._near(layer, there * here * scale ** (-layer.beta - 1))
        whole = there * scale**-layer.beta - 2 * layer.beta * layer.alpha / layer.size * here * far
        return whole[:, place.channels]

    def _scale(self, layer: LocalResponse, here: Array) -> Array:
        return 1 + layer.alpha / layer.size * self._near(layer, here**2)

    def _near(self, layer: LocalResponse, values: Array) -> Array:
        """Sums over neighbouring channels, values (P, C)."""
        half = layer.size // 2
        padded = np.pad(values, ((0, 0), (half, half)))
        return np.lib.stride_tricks.sliding_window_view(padded, layer.size, axis=1).sum(axis=2)


class MaxPoolReference:
    def outputs(self, layer: MaxPool, x: Array, parameters: Sequence[Array], place: Place) -> Array:
        return self._windows(layer, x, place, place.rows, place.columns).max(axis=0)

    def share(self, layer: MaxPool, x: Array, g: Array, parameters: Sequence[Array], place: Place) -> Array:
        """g of the windows in which x is the largest: the first of equals."""
        out = np.zeros((len(place.rows), place.channels.stop - place.channels.start))
        for offset, (down, right) in enumerate(np.ndindex(layer.kernel, layer.kernel)):
            rows = _windows(place.rows + layer.padding - down, layer.stride)
            columns = _windows(place.columns + layer.padding - right, layer.stride)
            largest = self._windows(layer, x, place, rows, columns).argmax(axis=0) == offset
            out += largest * _pixels(g[:, place.channels], place.examples, rows, columns)
        return out

    def _windows(self, layer: MaxPool, x: Array, place: Place, rows: Array, columns: Array) -> Array:
        """The pixels (kernel^2, P, channels) of the windows at rows and columns; -inf outside of the image."""
        return np.stack(
            [
                _pixels(
                    x[:, place.channels],
                    place.examples,
                    rows * layer.stride - layer.padding + down,
                    columns * layer.stride - layer.padding + right,
                    outside=-np.inf,
                )
                for down, right in np.ndindex(layer.kernel, layer.kernel)
            ]
        )


class MeanReference:
    def outputs(self, layer: Any, x: Array, parameters: Sequence[Array], place: Place) -> Array:
        return x[place.examples, place.channels].mean(axis=(2, 3), dtype=np.float64)

    def share(self, layer: Any, x: Array, g: Array, parameters: Sequence[Array], place: Place) -> Array:
        return g[place.examples, place.channels].astype(np.float64) / (x.shape[2] * x.shape[3])


def moments(x: Array) -> tuple[Array, Array]:
    """Mean and variance (C,) of x (B, C, H, W)."""
    wide = x.astype(np.float64)
    mean = wide.mean(axis=(0, 2, 3))
    return mean, np.square(wide - mean[:, None, None]).mean(axis=(0, 2, 3))


def running_moments(x: Array) -> tuple[Array, Array]:
    """Running mean and unbiased variance (C,) after the first mini-batch, from 0 and 1."""
    (mean, variance), count = moments(x), x.size / x.shape[1]
    return MOMENTUM * mean, 1 - MOMENTUM + MOMENTUM * variance * count / (count - 1)


def _kernels(weights: Array, groups: int, outputs: slice, inputs: slice) -> Array:
    """W (outputs, inputs, kernel, kernel) in float64, with zeros where an output does not read an input's group."""
    of_group, group = len(weights) // groups, weights.shape[1]
    rows, columns = np.arange(len(weights))[outputs, None], np.arange(group * groups)[inputs]
    reads = rows // of_group == columns // group
    return weights[rows, columns % group].astype(np.float64) * reads[:, :, None, None]


def _windows(pixels: Array, stride: int) -> Array:
    """Numbers of the windows that begin at these pixels; -1, which is none, where none begins."""
    return np.where(pixels % stride == 0, pixels // stride, -1)


def _pixels(array: Array, examples: Array, rows: Array, columns: Array, outside: float = 0.0) -> Array:
    """array (B, C, H, W) at these places, (P, C) in float64; `outside` where there is no such pixel."""
    inside = (rows >= 0) & (columns >= 0) & (rows < array.shape[2]) & (columns < array.shape[3])
    taken = array[examples, :, np.where(inside, rows, 0), np.where(inside, columns, 0)].astype(np.float64)
    return np.where(inside[:, None], taken, outside)


def _rows(x: Array) -> Array:
    """(B, H W C) of images, a view where they lie pixel by pixel."""
    return x.transpose(0, 2, 3, 1).reshape(len(x), -1) if x.ndim == 4 else x


def _sums(g: Array) -> Array:
    """Over everything but the second dimension."""
    return g.sum(axis=(0, *range(2, g.ndim)), dtype=np.float64)
