"""An RBM over overlapping patches of an image, each patch with its own weights, biases and hidden units; CD-1.

The image is `side` x `side` pixels, a patch `patch` x `patch`, one at every `stride` pixels; `hidden` units a patch.
With x_p the pixels of patch p, W_p (patch^2, hidden), c_p (hidden,) and a bias b for each pixel:

    h0_p = sigmoid(x0_p W_p + c_p)                     s_p ~ Bernoulli(h0_p)
    v1 = sigmoid(sum over p of s_p W_p^T + b)          each patch adds at its own pixels
    h1_p = sigmoid(x1_p W_p + c_p)
    W_p += r/B (x0_p^T h0_p - x1_p^T h1_p)             c_p += r/B sum(h0_p - h1_p)    b += r/B sum(v0 - v1)

Five stacks of products, 2 B patch^2 hidden FLOP a patch each; the two of the gradient are one over 2 B rows. No weight
is shared and no matrix of all pixels by all hidden units exists.

The stride divides the patch, so that an image is a grid of tiles of stride x stride pixels, and a patch is a square of
(patch / stride)^2 tiles. Images are kept tile by tile, (G, G, B, stride^2): patches are then cut out of an image,
and added up to one, by as many strided copies as a patch has tiles, whatever the number of patches.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from respeed.backends import Array, BackendContract, Draws
from respeed.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import Drawn, MiniBatches, checked_rows, sigmoid, small_biases


class Geometry:
    """`grid` tiles a side of the image, `across` tiles a side of a patch, `rows` patches a side of the image."""

    def __init__(self, case: Case) -> None:
        side, patch, stride, self.hidden, self.batch = (
            int(case.parameters[name]) for name in ("side", "patch", "stride", "hidden", "batch")
        )
        if side % stride or patch % stride or patch > side:
            raise NotMeasurable(f"the stride {stride} must divide the side {side} and the patch {patch}, of at most it")
        self.grid, self.across, self.tile = side // stride, patch // stride, stride * stride
        self.rows = self.grid - self.across + 1
        self.patches, self.pixels, self.visible = self.rows**2, patch * patch, side * side

    def stacks(self, most: float) -> list[slice]:
        """Patches, as many together as have inputs of both phases of at most so many bytes; at least one."""
        # Not //, which makes nan of an accelerator's infinity.
        count = int(min(self.patches, max(1.0, most / (4 * 2 * self.batch * self.pixels))))
        return [slice(first, min(first + count, self.patches)) for first in range(0, self.patches, count)]

    def bands(self, lanes: int) -> list[slice]:
        """Rows of tiles of the image, in so many parts, or as many as there are rows."""
        parts = min(lanes, self.grid)
        return [slice(part * self.grid // parts, (part + 1) * self.grid // parts) for part in range(parts)]


PARAMETERS = {
    "side": "whole", "patch": "whole", "stride": "whole", "hidden": "whole", "batch": "whole", "learning_rate": "real",
}  # fmt: skip
TESTS = {
    "smoke": {"side": 16, "patch": 8, "stride": 4, "hidden": 8, "batch": 8, "learning_rate": 0.05},
    "odd": {"side": 33, "patch": 9, "stride": 3, "hidden": 7, "batch": 11, "learning_rate": 0.05},
    "large": {"side": 48, "patch": 24, "stride": 8, "hidden": 60, "batch": 60, "learning_rate": 0.05},
}
ASKS = ("each", "lanes", "stack_bytes", "sigmoid", "dense_layer", "sample_layer", "draws", "cut", "add_up")
# Of stacks that are slices of larger ones, torch hands the CPU's low-precision products copies.
ALLOCATES = ("bf16", "fp16")

# Mini-batches that are cycled through, so that a step does not begin with the examples that the last one used.
BATCHES = 2


class _Patches(MiniBatches):
    """Goes through the patches in stacks that stay in the caches, with their weights, from the first product of a phase
    to its last: twice a step, since every patch must have added its part before the reconstruction is known.
    On a CPU every lane goes through stacks of its own, on one core: cores meet four times a step, not at every product.
    """

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend, self.geometry = backend, (geometry := Geometry(case))
        P, B, H, G = geometry.patches, geometry.batch, geometry.hidden, geometry.grid
        self.rate, self.rows = case.parameters["learning_rate"] / B, inputs["rows"]
        self.weights = backend.parameters(inputs["weights"])  # (P, patch^2, H)
        visible_bias, hidden_bias = _biases(geometry, inputs)
        self.visible_bias = backend.parameters(visible_bias)  # (G, G, 1, stride^2)
        self.hidden_bias = backend.parameters(hidden_bias)  # (P, 1, H)
        self.hidden = backend.zeros(P, 2 * B, H)  # [h0_p; -h1_p]
        self.image = backend.zeros(G, G, B, geometry.tile)  # v1
        self.ones = backend.array(np.ones((1, 2 * B)))
        # With the draws of each.
        self.stacks = [
            (stack, backend.draws(stack.stop - stack.start, B, H)) for stack in geometry.stacks(backend.stack_bytes)
        ]
        self.bands = geometry.bands(backend.lanes)
        # Of one stack: the inputs of both phases [x0_p; x1_p], the sample, and what it says of the pixels, s_p W_p^T.
        lanes, most = backend.lanes, self.stacks[0][0].stop
        self.visible = backend.zeros(lanes, most, 2 * B, geometry.pixels)
        self.sums = backend.zeros(lanes, most, B, geometry.pixels)
        self.sample = backend.zeros(lanes, most, B, H)
        # A step for each of the mini-batches, BATCHES x (G, G, B, stride^2).
        self.captured = [backend.captured(partial(self._train, backend.array(batch))) for batch in inputs["examples"]]

    def _train(self, v0: Array) -> None:
        each = self.backend.each
        each(self.bands, self._begin)
        each(self.stacks, partial(self._up_and_down, v0))
        each(self.bands, partial(self._reconstruct, v0))
        each(self.stacks, partial(self._up_and_learn, v0))

    def _begin(self, band: slice, lane: int) -> None:
        """The image as the biases alone would have it."""
        self.backend.copy(self.visible_bias[band], self.image[band])

    def _up_and_down(self, v0: Array, stack_and_draws: tuple[slice, Draws], lane: int) -> None:
        """h0, its sample, and what that adds to the image."""
        stack, draws = stack_and_draws
        backend, across, B, count = self.backend, self.geometry.across, self.geometry.batch, stack.stop - stack.start
        visible, sample, sums = self.visible[lane, :count], self.sample[lane, :count], self.sums[lane, :count]
        backend.cut(v0, stack.start, across, visible, 0)
        h0 = self.hidden[stack, :B]
        backend.sample_layer(visible[:, :B], self.weights[stack], self.hidden_bias[stack], h0, sample, draws)
        backend.gemm(sample, self.weights[stack], sums, transpose_b=True)
        backend.add_up(sums, stack.start, across, self.image)

    def _reconstruct(self, v0: Array, band: slice, lane: int) -> None:
        """v1, and what the biases of its pixels learn."""
        backend, geometry, B = self.backend, self.geometry, self.geometry.batch
        image, here = self.image[band], (band.stop - band.start) * geometry.grid
        backend.sigmoid(image)
        tiles, bias = (here, B, geometry.tile), self.visible_bias[band].reshape(here, 1, geometry.tile)
        backend.gemm(self.ones[:, :B], v0[band].reshape(tiles), bias, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones[:, :B], image.reshape(tiles), bias, alpha=-self.rate, beta=1.0)

    def _up_and_learn(self, v0: Array, stack_and_draws: tuple[slice, Draws], lane: int) -> None:
        """h1, and the gradient of both phases in one product."""
        stack, _ = stack_and_draws
        backend, across, B, count = self.backend, self.geometry.across, self.geometry.batch, stack.stop - stack.start
        visible, hidden, weights, bias = (
            self.visible[lane, :count], self.hidden[stack], self.weights[stack], self.hidden_bias[stack],
        )  # fmt: skip
        if len(self.stacks) > 1:  # another one has been in the lane since
            backend.cut(v0, stack.start, across, visible, 0)
        backend.cut(self.image, stack.start, across, visible, B)
        backend.dense_layer(visible[:, B:], weights, bias, hidden[:, B:], activation="sigmoid", scale=-1.0)
        backend.gemm(visible, hidden, weights, transpose_a=True, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, hidden, bias, alpha=self.rate, beta=1.0)

    def state(self) -> Arrays:
        host, B, rows = self.backend.host, self.geometry.batch, self.rows
        hidden, image = host(self.hidden), host(self.image)
        uniform = np.concatenate([draws.last(rows) for _, draws in self.stacks])
        return {
            "weights": host(self.weights),
            "biases": np.concatenate([host(self.visible_bias).ravel(), host(self.hidden_bias).ravel()]),
            "image": image[:, :, rows],
            "h0": hidden[:, rows],
            "h1": hidden[:, B + rows],
            "uniform": uniform,
            "hidden": hidden,
            "all_of_image": image,
        }


build = _Patches


def inputs(case: Case, seed: int) -> Inputs:
    """Weights uniform in +-0.01; pixels uniform in [0, 1); small biases, visible then hidden; `rows`: the examples that
    are checked.
    """
    geometry = Geometry(case)
    random = np.random.Generator(np.random.SFC64(seed))
    image = (geometry.grid, geometry.grid, geometry.batch, geometry.tile)

    return {
        "weights": Drawn((geometry.patches, geometry.pixels, geometry.hidden), -0.01, 0.01, seed),
        "biases": small_biases(random, geometry.visible + geometry.patches * geometry.hidden),
        "examples": Drawn((BATCHES, *image), 0.0, 1.0, [seed, 1]),
        "rows": checked_rows(geometry.batch, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The first step in float64 for the checked examples, on the backend's own draws; what it changed in the weights
    and biases from the activations of all examples, as they were seen."""
    geometry, rows = Geometry(case), inputs["rows"]
    rate, v0 = case.parameters["learning_rate"] / geometry.batch, np.asarray(inputs["examples"][0])
    h0 = _hidden(geometry, inputs, v0[:, :, rows].astype(np.float64))
    # By the program's own h0, which is checked: a draw between the two falls on either side, whatever the precision.
    sample = (seen["uniform"] < seen["h0"]).astype(np.float64)
    image = np.zeros((geometry.grid, geometry.grid, len(rows), geometry.tile)) + _biases(geometry, inputs)[0]
    for patch, weights in enumerate(_each(inputs["weights"])):
        down, right = divmod(patch, geometry.rows)
        tiles = (sample[patch] @ weights.T).reshape(len(rows), geometry.across, geometry.across, geometry.tile)
        image[down : down + geometry.across, right : right + geometry.across] += tiles.transpose(1, 2, 0, 3)
    image = sigmoid(image)
    change = v0.sum(axis=2, dtype=np.float64) - seen["all_of_image"].sum(axis=2, dtype=np.float64)
    return {
        "h0": h0,
        "image": image,
        "h1": -_hidden(geometry, inputs, image),
        "weights": Product(_Cut(geometry, (v0, seen["all_of_image"])), seen["hidden"], rate),
        # One vector: what the hidden biases change by cancels almost wholly, and is no scale for their rounding.
        "biases": rate * np.concatenate([change.ravel(), seen["hidden"].sum(axis=1, dtype=np.float64).ravel()]),
    }


def _biases(geometry: Geometry, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Of each pixel, tile by tile, and of each patch's hidden units."""
    visible, hidden = np.split(inputs["biases"], [geometry.visible])
    image = (geometry.grid, geometry.grid, 1, geometry.tile)
    return visible.reshape(image), hidden.reshape(geometry.patches, 1, geometry.hidden)


def _hidden(geometry: Geometry, inputs: Inputs, image: np.ndarray) -> np.ndarray:
    """sigmoid(x_p W_p + c_p) of every patch, float64, one patch at a time: all weights twice would not fit."""
    hidden = np.empty((geometry.patches, image.shape[2], geometry.hidden))
    bias = _biases(geometry, inputs)[1]
    for patch, (x, weights) in enumerate(zip(_Cut(geometry, (image,)), _each(inputs["weights"]), strict=True)):
        hidden[patch] = sigmoid(x.T @ weights + bias[patch])
    return hidden


def _each(weights: Drawn) -> Iterator[np.ndarray]:
    """The weights of one patch after the other."""
    for _, values in weights.chunks():
        yield from values


class _Cut:
    """The stack of [x0_p; x1_p; ...]^T, (P, patch^2, examples), one patch at a time: all of them would be many times
    the images."""

    def __init__(self, geometry: Geometry, images: Sequence[np.ndarray]) -> None:
        self.geometry, self.images = geometry, images

    def __len__(self) -> int:
        return self.geometry.patches

    def __iter__(self) -> Iterator[np.ndarray]:
        across = self.geometry.across
        for patch in range(self.geometry.patches):
            down, right = divmod(patch, self.geometry.rows)
            tiles = [image[down : down + across, right : right + across] for image in self.images]
            yield np.concatenate([tile.transpose(0, 1, 3, 2).reshape(self.geometry.pixels, -1) for tile in tiles], 1)


def flops(case: Case) -> float:
    """Five stacks of products, 10 B P patch^2 hidden; nothing elementwise is counted."""
    geometry = Geometry(case)
    return 10.0 * geometry.batch * geometry.patches * geometry.pixels * geometry.hidden


def traffic_bytes(case: Case) -> float:
    """Weights read in both phases and written in one; hidden units written in both and read once; images written, and
    read in both phases. What a stack of patches keeps in the caches is not counted."""
    g = Geometry(case)
    weights = g.patches * g.pixels * g.hidden
    return 4.0 * (3 * weights + 3 * g.batch * g.patches * g.hidden + 4 * g.batch * g.visible)


def memory_bytes(case: Case) -> float:
    """Weights, hidden units of both phases, images, and the inputs, samples and sums of all patches as one stack, which
    an accelerator has; fp32."""
    g = Geometry(case)
    stacks = g.batch * g.patches * (3 * g.pixels + 4 * g.hidden)
    return 4.0 * (g.patches * g.pixels * g.hidden + stacks + (BATCHES + 1) * g.batch * g.visible)
