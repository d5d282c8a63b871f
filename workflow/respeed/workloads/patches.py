"""An RBM over overlapping patches of an image, each patch with its own weights, biases and hidden units; CD-1.

The image is `side` x `side` pixels, a patch `patch` x `patch`, one at every `stride` pixels; `hidden` units a patch.
With x_p the pixels of patch p, W_p (patch^2, hidden), c_p (hidden,) and a bias b for each pixel:

    h0_p = sigmoid(x0_p W_p + c_p)                     s_p ~ Bernoulli(h0_p)
    v1 = sigmoid(sum over p of s_p W_p^T + b)          each patch adds at its own pixels
    h1_p = sigmoid(x1_p W_p + c_p)
    W_p += r/B (x0_p^T h0_p - x1_p^T h1_p)             c_p += r/B sum(h0_p - h1_p)    b += r/B sum(v0 - v1)

Five stacks of products, 2 B patch^2 hidden FLOP a patch each; the two of the gradient are one over 2 B rows. No weight
is shared and no matrix of all pixels by all hidden units exists.

The stride divides the patch, so that an image is a grid of blocks of stride x stride pixels, and a patch is a square of
(patch / stride)^2 blocks. Images are kept block by block, (G, G, B, stride^2): patches are then cut out of an image,
and added up to one, by as many strided copies as a patch has blocks, whatever the number of patches.
"""

import numpy as np

from respeed.backends import Array, BackendContract
from respeed.model.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Factors
from respeed.workloads._checked import checked_rows
from respeed.workloads._sigmoid import sigmoid

PARAMETERS = {
    "side": "whole", "patch": "whole", "stride": "whole", "hidden": "whole", "batch": "whole", "learning_rate": "real",
}  # fmt: skip

# Mini-batches that are cycled through; one image batch alone is larger than what the patches leave of any cache.
BATCHES = 2
# A draw this close to its probability may fall on either side of it in fp32 and in float64.
SAMPLE_MARGIN = 1e-5


class Geometry:
    """`grid` blocks a side of the image, `across` blocks a side of a patch, `rows` patches a side of the image."""

    def __init__(self, case: Case) -> None:
        side, patch, stride, self.hidden, self.batch = (
            int(case.parameters[name]) for name in ("side", "patch", "stride", "hidden", "batch")
        )
        if side % stride or patch % stride or patch > side:
            raise NotMeasurable(f"the stride {stride} must divide the side {side} and the patch {patch}, of at most it")
        self.grid, self.across, self.block = side // stride, patch // stride, stride * stride
        self.rows = self.grid - self.across + 1
        self.patches, self.pixels, self.visible = self.rows**2, patch * patch, side * side

    def windows(self, patches: Array) -> Array:
        """(P, B, patch^2) seen as (rows, rows, B, across, across, stride^2)."""
        across = (self.across, self.across, self.block)
        return patches.reshape(self.rows, self.rows, *patches.shape[1:-1], *across)

    def offsets(self) -> list[tuple[int, int]]:
        """The places of a patch's blocks."""
        return [(down, right) for down in range(self.across) for right in range(self.across)]

    def blocks_at(self, image: Array, down: int, right: int) -> Array:
        """The block at one place of every patch: (rows, rows, B, stride^2) of an image (G, G, B, stride^2)."""
        return image[down : down + self.rows, right : right + self.rows]


def cut(backend: BackendContract, geometry: Geometry, image: Array, windows: Array) -> None:
    """windows <- the patches of the image: the linear map K."""
    for down, right in geometry.offsets():
        backend.copy(geometry.blocks_at(image, down, right), windows[:, :, :, down, right])


def add_up(backend: BackendContract, geometry: Geometry, windows: Array, image: Array) -> None:
    """image <- image + the sum of the patches, each at its place: K^T, the adjoint of `cut`."""
    for down, right in geometry.offsets():
        backend.add(windows[:, :, :, down, right], geometry.blocks_at(image, down, right))


class _Patches:
    def __init__(self, backend: BackendContract, case: Case, inputs: Arrays) -> None:
        self.backend, self.geometry = backend, (geometry := Geometry(case))
        P, B, H, G = geometry.patches, geometry.batch, geometry.hidden, geometry.grid
        self.rate, self.rows = case.parameters["learning_rate"] / B, inputs["rows"]
        self.examples = [backend.array(batch) for batch in inputs["examples"]]  # BATCHES x (G, G, B, stride^2)
        self.weights = backend.array(inputs["weights"])  # (P, patch^2, H)
        visible_bias, hidden_bias = _biases(geometry, inputs)
        self.visible_bias = backend.array(visible_bias)  # (G, G, 1, stride^2)
        self.hidden_bias = backend.array(hidden_bias)  # (P, 1, H)
        self.visible = backend.zeros(P, 2 * B, geometry.pixels)  # [x0_p; x1_p]
        self.hidden = backend.zeros(P, 2 * B, H)  # [h0_p; -h1_p]
        self.windows = geometry.windows(self.visible)
        self.sums = backend.zeros(P, B, geometry.pixels)  # s_p W_p^T
        self.image = backend.zeros(G, G, B, geometry.block)  # v1
        self.uniform = backend.zeros(P, B, H)
        self.sample = backend.zeros(P, B, H)
        self.ones = backend.array(np.ones((1, 2 * B)))
        self.count = 0

    def step(self) -> None:
        backend, geometry, B = self.backend, self.geometry, self.geometry.batch
        v0 = self.examples[self.count % len(self.examples)]
        self.count += 1
        cut(backend, geometry, v0, self.windows[:, :, :B])
        h0, h1 = self.hidden[:, :B], self.hidden[:, B:]
        backend.sigmoid_layer(self.visible[:, :B], self.weights, self.hidden_bias, h0)
        backend.bernoulli(h0, self.uniform, self.sample)
        backend.gemm(self.sample, self.weights, self.sums, transpose_b=True)
        backend.copy(self.visible_bias, self.image)
        add_up(backend, geometry, geometry.windows(self.sums), self.image)
        backend.sigmoid(self.image)
        cut(backend, geometry, self.image, self.windows[:, :, B:])
        backend.sigmoid_layer(self.visible[:, B:], self.weights, self.hidden_bias, h1)
        backend.scale(h1, -1.0)
        backend.gemm(self.visible, self.hidden, self.weights, transpose_a=True, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.hidden, self.hidden_bias, alpha=self.rate, beta=1.0)
        blocks = (geometry.grid**2, B, geometry.block)
        bias = self.visible_bias.reshape(geometry.grid**2, 1, geometry.block)
        backend.gemm(self.ones[:, :B], v0.reshape(blocks), bias, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones[:, :B], self.image.reshape(blocks), bias, alpha=-self.rate, beta=1.0)

    def state(self) -> Arrays:
        host, B, rows = self.backend.host, self.geometry.batch, self.rows
        visible, hidden = host(self.visible), host(self.hidden)
        return {
            "weights": host(self.weights),
            "biases": np.concatenate([host(self.visible_bias).ravel(), host(self.hidden_bias).ravel()]),
            "image": host(self.image)[:, :, rows],
            "h0": hidden[:, rows],
            "h1": hidden[:, B + rows],
            "sample": host(self.sample)[:, rows],
            "uniform": host(self.uniform)[:, rows],
            "visible": visible,
            "hidden": hidden,
            "all_of_image": host(self.image),
        }


def build(backend: BackendContract, case: Case, inputs: Arrays) -> _Patches:
    return _Patches(backend, case, inputs)


def inputs(case: Case, seed: int) -> Arrays:
    """Weights uniform in +-0.01; pixels uniform in [0, 1); small biases, visible then hidden; `rows`: the examples that
    are checked.
    """
    geometry = Geometry(case)
    random = np.random.Generator(np.random.SFC64(seed))
    image = (geometry.grid, geometry.grid, geometry.batch, geometry.block)

    def around_zero(*shape: int) -> np.ndarray:
        values = random.random(shape, dtype=np.float32)
        values -= np.float32(0.5)
        values *= np.float32(0.02)
        return values

    return {
        "weights": around_zero(geometry.patches, geometry.pixels, geometry.hidden),
        "biases": around_zero(geometry.visible + geometry.patches * geometry.hidden),
        "examples": random.random((BATCHES, *image), dtype=np.float32),
        "rows": checked_rows(geometry.batch, seed),
    }


def reference(case: Case, inputs: Arrays, seen: Arrays) -> Expected:
    """The first step in float64 for the checked examples, on the backend's own draws; what it changed in the weights
    and biases from the activations of all examples, as they were seen."""
    geometry, rows = Geometry(case), inputs["rows"]
    rate, v0 = case.parameters["learning_rate"] / geometry.batch, inputs["examples"][0]
    h0 = _hidden(geometry, inputs, v0[:, :, rows].astype(np.float64))
    sample = np.where(np.abs(seen["uniform"] - h0) < SAMPLE_MARGIN, seen["sample"], seen["uniform"] < h0)
    sample = sample.astype(np.float64)
    image = np.zeros((geometry.grid, geometry.grid, len(rows), geometry.block)) + _biases(geometry, inputs)[0]
    for patch, weights in enumerate(inputs["weights"]):
        down, right = divmod(patch, geometry.rows)
        blocks = (sample[patch] @ weights.T.astype(np.float64)).reshape(
            len(rows), geometry.across, geometry.across, geometry.block
        )
        image[down : down + geometry.across, right : right + geometry.across] += blocks.transpose(1, 2, 0, 3)
    image = sigmoid(image)
    change = v0.sum(axis=2, dtype=np.float64) - seen["all_of_image"].sum(axis=2, dtype=np.float64)
    return {
        "h0": h0,
        "sample": sample,
        "image": image,
        "h1": -_hidden(geometry, inputs, image),
        "weights": Factors(seen["visible"].transpose(0, 2, 1), seen["hidden"], rate),
        # One vector: what the hidden biases change by cancels almost wholly, and is no scale for their rounding.
        "biases": rate * np.concatenate([change.ravel(), seen["hidden"].sum(axis=1, dtype=np.float64).ravel()]),
    }


def _biases(geometry: Geometry, inputs: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Of each pixel, block by block, and of each patch's hidden units."""
    visible, hidden = np.split(inputs["biases"], [geometry.visible])
    image = (geometry.grid, geometry.grid, 1, geometry.block)
    return visible.reshape(image), hidden.reshape(geometry.patches, 1, geometry.hidden)


def _hidden(geometry: Geometry, inputs: Arrays, image: np.ndarray) -> np.ndarray:
    """sigmoid(x_p W_p + c_p) of every patch, float64, one patch at a time: all weights twice would not fit."""
    hidden = np.empty((geometry.patches, image.shape[2], geometry.hidden))
    bias = _biases(geometry, inputs)[1]
    for patch, weights in enumerate(inputs["weights"]):
        down, right = divmod(patch, geometry.rows)
        blocks = image[down : down + geometry.across, right : right + geometry.across]
        x = blocks.transpose(2, 0, 1, 3).reshape(image.shape[2], geometry.pixels)
        hidden[patch] = sigmoid(x @ weights.astype(np.float64) + bias[patch])
    return hidden


def flops(case: Case) -> float:
    """Five stacks of products, 10 B P patch^2 hidden; nothing elementwise is counted."""
    geometry = Geometry(case)
    return 10.0 * geometry.batch * geometry.patches * geometry.pixels * geometry.hidden


def traffic_bytes(case: Case) -> float:
    """Weights read by four stacks of products and written by one; activations written once, read by what uses them."""
    g = Geometry(case)
    weights = g.patches * g.pixels * g.hidden
    return 4.0 * (5 * weights + g.batch * g.patches * (8 * g.pixels + 12 * g.hidden) + 4 * g.batch * g.visible)


def memory_bytes(case: Case) -> float:
    """Weights, images, and the stacks of both phases, fp32."""
    g = Geometry(case)
    stacks = g.batch * g.patches * (3 * g.pixels + 4 * g.hidden)
    return 4.0 * (g.patches * g.pixels * g.hidden + stacks + (BATCHES + 1) * g.batch * g.visible)
