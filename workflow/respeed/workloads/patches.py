"""Restricted Boltzmann machines over overlapping patches of an image, each patch with weights of its own."""

from itertools import product
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from scipy.special import expit as sigmoid

from respeed.errors import NotMeasurable
from respeed.kernels.blas import gemm
from respeed.kernels.layers import add_sigmoid, add_sigmoid_sample
from respeed.workloads import Arrays, Named, Pairs, Row, Uniform, Workload, workload
from respeed.workloads.arrays import (
    Drawn,
    Draws,
    Zeros,
    both,
    checked_rows,
    double,
    moved,
    random_vectors,
    small_size,
    symmetric,
)

if TYPE_CHECKING:
    from torch import Tensor

# Mini-batches that are cycled through.
BATCHES = 2
# The place of one patch, or of all patches: a slice of rows and a slice of columns of patches.
Place = tuple[slice, slice]


@workload
class Patches(Workload):
    """Train an RBM over overlapping patches by contrastive divergence with one Gibbs step (CD-1).

    With x0_p and x1_p the pixels of patch p in the images v0 and v1, the patch's weights W_p and hidden biases c_p, and
    a bias b for each pixel of the image::

        h0_p = sigmoid(x0_p W_p + c_p)                     s_p ~ Bernoulli(h0_p)
        v1 = sigmoid(sum over p of s_p W_p^T + b)          each patch adds at its own pixels
        h1_p = sigmoid(x1_p W_p + c_p)
        W_p += r/B (x0_p^T h0_p - x1_p^T h1_p)             c_p += r/B sum(h0_p - h1_p)    b += r/B sum(v0 - v1)

    Patches share no weights, and no matrix connects all pixels with all hidden units. The stride divides image and
    patch: an image is a grid of G x G tiles of n = stride^2 pixels, a patch is a square of K x K tiles, and there are
    R x R patches, R = G - K + 1. Images are stored tile by tile, (G, G, B, n), so that a few copies cut out a patch.

    On a CPU each thread takes one patch after another, so that a patch's weights and units stay in the caches of one
    core. A step goes over the patches twice: v1 is known only when every patch has added its part. A GPU, and a CPU in
    low precision, takes all patches at once.

    Parameters
    ----------
    side, patch, stride : int
        Pixels on a side of the image, on a side of a patch, and from one patch to the next.
    hidden, batch : int
        Hidden units of a patch (H), and examples in a mini-batch (B).
    learning_rate : float
        r, for the gradient's mean over a mini-batch.
    """

    side: int
    patch: int
    stride: int
    hidden: int
    batch: int
    learning_rate: float

    learned = ("W", "b", "c")
    cycled = ("x",)
    # A step cuts out the pixels of a patch anew.
    allocates = True
    divisible = True

    def __post_init__(self) -> None:
        """Refuse a stride that makes no grid."""
        if self.side % self.stride or self.patch % self.stride or self.patch > self.side:
            sizes = f"the side {self.side} and the patch {self.patch}, which must fit the side"
            raise NotMeasurable(f"the stride {self.stride} must divide {sizes}")

    @property
    def grid(self) -> tuple[int, int, int, int]:
        """Return G, K, R and n."""
        G = self.side // self.stride
        K = self.patch // self.stride
        return G, K, G - K + 1, self.stride**2

    def arrays(self, random: Generator) -> Named:
        """Draw small weights and biases, and pixels from [0, 1)."""
        G, K, R, n = self.grid
        B = self.batch
        H = self.hidden
        return {
            "W": symmetric(random, 0.01, R * R, K * K * n, H),
            "b": symmetric(random, 0.01, G, G, 1, n),
            "c": symmetric(random, 0.01, R * R, 1, H),
            "x": Drawn(random, (BATCHES, G, G, B, n)),
            "image": Zeros(G, G, B, n),  # v1
            "h": Zeros(R * R, 2 * B, H),  # [h0_p; h1_p]: one matrix product gives both terms of the gradient
            "u": Draws(R * R, B, H),  # draws that h0 is compared with to sample
        }

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make the signs of the rows of `h` in the hidden biases' gradients."""
        signs = np.repeat([1.0, -1.0], self.batch)
        a.phases = a.h.new_tensor(signs)

    def torch(self, a: Arrays, row: Row) -> None:
        """Learn from one mini-batch."""
        import torch

        if row.fused:
            from respeed.kernels import fused

        G, K, R, _ = self.grid
        B = self.batch
        r = self.learning_rate / B
        W, b, c = row.operands(a.W, a.b, a.c)
        h = a.h
        v0 = a.x
        v1 = a.image
        windows0 = _windows(v0, K)
        windows1 = _windows(v1, K)
        locks = [Lock() for _ in range(G)]  # a row of tiles is added to by one thread at a time

        def cut(region: Place) -> "Tensor":
            pixels = _room(windows0[region])
            torch.neg(windows0[region], out=pixels[:, :, 0])
            return pixels

        def up_and_down(place: Place) -> None:
            p = _patches(place, R)
            x = _flat(cut(place) if at_once is None else at_once)  # [-x0_p; x1_p]
            s = h[p, B:]  # the sample: h1 is free until it is computed
            W_p = W[p]
            h0 = h[p, :B]
            x0 = x[:, :B]
            row.units(c[p], x0, W_p, out=h0, sampled=(a.u[p], s), alpha=-1.0)
            sums = torch.bmm(s, W_p.mT)
            if row.fused:
                fused.add_up(v1, sums)
            else:
                first = place[0].start
                _add_up(sums, windows1[place], locks[first : first + K])

        def up_and_learn(place: Place) -> None:
            p = _patches(place, R)
            pixels = cut(place) if at_once is None else at_once
            pixels[:, :, 1].copy_(windows1[place])
            x = _flat(pixels)
            h_p = h[p]
            x1 = x[:, B:]
            row.units(c[p], x1, W[p], out=h_p[:, B:])
            row.add_product(a.W[p], x.mT, h_p, alpha=-r)
            row.add_rows(a.c[p], h_p, a.phases, alpha=r)

        places = [(slice(0, R), slice(0, R))]
        at_once = None
        if row.in_pieces:
            single = [slice(i, i + 1) for i in range(R)]
            places = list(product(single, single))
        else:
            at_once = cut(places[0])
        v1.copy_(b.expand_as(v1))
        row.each(places, up_and_down)
        v1.sigmoid_()
        ones = a.phases[:B]
        row.add_rows(a.b, v0.flatten(0, 1), ones, alpha=r)
        row.add_rows(a.b, v1.flatten(0, 1), ones, alpha=-r)
        row.each(places, up_and_learn)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Learn from one mini-batch, patch by patch, with one compiled pass between two matrix products."""
        G, K, R, n = self.grid
        B = self.batch
        r = self.learning_rate / B
        W = a.W
        c = a.c
        h = a.h
        v0 = a.x
        v1 = a.image
        locks = [Lock() for _ in range(G)]  # a row of tiles is added to by one thread at a time

        def up_and_down(p: int) -> None:
            i, j = divmod(p, R)
            W_p = W[p]
            x0, sums = np.empty((2, B, K, K, n), v0.dtype)
            x0[...] = _tiles(v0, i, j, K)
            h0 = h[p, :B]
            s = h[p, B:]  # the sample: h1 is free until it is computed
            gemm(x0.reshape(B, -1), W_p, out=h0)
            add_sigmoid_sample(h0, c[p, 0], sample=s, draws=row.uniform(a.u[p]))
            gemm(s, W_p.T, out=sums.reshape(B, -1))
            for k in range(K):
                with locks[i + k]:
                    v1[i + k, j : j + K] += sums[:, k].transpose(1, 0, 2)

        def up_and_learn(p: int) -> None:
            i, j = divmod(p, R)
            x = np.empty((2, B, K, K, n), v0.dtype)  # [-x0_p; x1_p]
            x[0] = _tiles(v0, i, j, K)
            x[1] = _tiles(v1, i, j, K)
            np.negative(x[0], out=x[0])  # from tile to tile it would take twice as long as the copy
            x = x.reshape(2 * B, -1)
            h_p = h[p]
            h1 = gemm(x[B:], W[p], out=h_p[B:])
            add_sigmoid(h1, c[p, 0])
            gemm(x.T, h_p, out=W[p], alpha=-r, beta=1.0)
            c[p] += r * (h_p[:B].sum(0) - h1.sum(0))

        v1[...] = a.b
        row.each(range(R * R), up_and_down)
        add_sigmoid(v1.reshape(-1, n), np.zeros(n, v1.dtype))
        a.b += r * (v0.sum(2, keepdims=True) - v1.sum(2, keepdims=True))
        row.each(range(R * R), up_and_learn)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Learn from one mini-batch."""
        import jax
        import jax.numpy as jnp

        _, K, R, n = self.grid
        B = self.batch
        r = self.learning_rate / B
        tiles = list(product(range(K), repeat=2))

        def cut(image: Any) -> Any:
            shifted = [image[i : i + R, j : j + R] for i, j in tiles]
            return jnp.stack(shifted, axis=3).reshape(R * R, B, K * K * n)

        x0 = cut(a.x)
        h0 = jax.nn.sigmoid(x0 @ a.W + a.c)
        u = uniform(h0.shape)
        s = (u < h0).astype(h0.dtype)
        sums = (s @ a.W.mT).reshape(R, R, B, K, K, n)
        image = jnp.broadcast_to(a.b, a.image.shape)
        for i, j in tiles:
            image = image.at[i : i + R, j : j + R].add(sums[:, :, :, i, j])
        image = jax.nn.sigmoid(image)
        x1 = cut(image)
        h1 = jax.nn.sigmoid(x1 @ a.W + a.c)
        x = jnp.concatenate([-x0, x1], axis=1)
        h = jnp.concatenate([h0, h1], axis=1)
        W = a.W - r * (x.mT @ h)
        b = a.b + r * (a.x - image).sum(2, keepdims=True)
        c = a.c + r * (h0 - h1).sum(1, keepdims=True)
        return {"W": W, "b": b, "c": c, "image": image, "h": h, "u": u}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare some examples' activations and the parameters' changes by all, using the step's own draws.

        h1 is computed from the step's own image, which is compared itself.
        """
        _, K, R, n = self.grid
        B = self.batch
        r = self.learning_rate / B
        rows = checked_rows(B)
        z = random_vectors(self.hidden)
        biases = double(given.c)
        v0 = double(given.x)
        v1 = double(seen.image)
        examples = np.concatenate([v0[:, :, rows], v1[:, :, rows]], axis=2)
        h = seen.h
        s = seen.u[:, rows] < h[:, rows]
        image = np.repeat(double(given.b), len(rows), axis=2)
        hidden = np.empty((R * R, 2 * len(rows), self.hidden))
        units = np.empty((R, R, 2 * B, z.shape[1]))  # [h0_p; h1_p] z
        start = np.empty((R, R, K, K, n, z.shape[1]))  # W_p z
        end = np.empty_like(start)
        for p, (i, j) in enumerate(product(range(R), repeat=2)):
            W = double(given.W[p])
            x = _tiles(examples, i, j, K)
            hidden[p] = sigmoid(x.reshape(len(x), -1) @ W + biases[p])
            tiles = _tiles(image, i, j, K)
            sums = s[p] @ W.T
            tiles += sums.reshape(tiles.shape)
            units[i, j] = double(h[p]) @ z
            start[i, j] = (W @ z).reshape(start[i, j].shape)
            end[i, j] = (double(seen.W[p]) @ z).reshape(start[i, j].shape)
        change = np.empty_like(start)
        for i, j in product(range(K), repeat=2):
            window = slice(i, i + R), slice(j, j + R)  # the (i, j)-th tile of each patch
            change[:, :, i, j] = r * (v0[window].mT @ units[:, :, :B] - v1[window].mT @ units[:, :, B:])
        of_b = v0.sum(2, keepdims=True) - v1.sum(2, keepdims=True)
        differences = h[:, :B] - h[:, B:]
        of_c = differences.sum(1, np.float64, keepdims=True)
        b = moved(given.b, seen.b, r * of_b)
        c = moved(given.c, seen.c, r * of_c)
        return {
            "h0": (h[:, rows], hidden[:, : len(rows)]),
            "image": (seen.image[:, :, rows], sigmoid(image)),
            "h1": (h[:, B + rows], hidden[:, len(rows) :]),
            "W": (end - start, change, small_size(start, seen.W)),
            "b, c": both(b, c),
        }

    def flops(self) -> float:
        """Count five matrix products of 2 B K^2 n H FLOP for each patch."""
        _, _, R, _ = self.grid
        return 10.0 * self.batch * R**2 * self.patch**2 * self.hidden

    def traffic_bytes(self) -> float:
        """Count the bytes of arrays that do not stay in the caches.

        Weights are read twice and written once. Hidden units count three times and images four times: both phases of a
        step write and read hidden units and images.
        """
        _, _, R, _ = self.grid
        weights = R**2 * self.patch**2 * self.hidden
        units = R**2 * self.hidden
        return 4.0 * (3 * weights + self.batch * (3 * units + 4 * self.side**2))

    def memory_bytes(self) -> float:
        """Count all arrays, and three arrays of all patches' pixels, which an accelerator cuts out at once; fp32."""
        _, _, R, _ = self.grid
        return super().memory_bytes() + 4.0 * 3 * self.batch * R**2 * self.patch**2


def _patches(place: Place, R: int) -> slice:
    """Return the slice of the patches at a place, where patches are numbered row by row."""
    rows, columns = place
    return slice(rows.start * R + columns.start, (rows.stop - 1) * R + columns.stop)


def _tiles(image: np.ndarray, i: int, j: int, K: int) -> np.ndarray:
    """Return a view of the tiles of a patch, (B, K, K, n)."""
    return image[i : i + K, j : j + K].transpose(2, 0, 1, 3)


def _windows(image: "Tensor", K: int) -> "Tensor":
    """Return a view of the tiles of all patches, (R, R, B, K, K, n)."""
    return image.unfold(0, K, 1).unfold(1, K, 1).permute(0, 1, 2, 4, 5, 3)


def _room(windows: "Tensor") -> "Tensor":
    """Return an array for the pixels of patches in both phases, (rows, columns, 2, B, K, K, n)."""
    rows, columns, *examples = windows.shape
    return windows.new_empty((rows, columns, 2, *examples))


def _flat(pixels: "Tensor") -> "Tensor":
    """Return a view of patches' pixels as matrices, (patches, 2 B, K K n)."""
    return pixels.flatten(4).flatten(2, 3).flatten(0, 1)


def _add_up(sums: "Tensor", windows: "Tensor", locks: list[Lock]) -> None:
    """Add what patches give to their pixels, `sums` (patches, B, K K n), to the image, by a view of their tiles."""
    tiles = sums.view(windows.shape)  # (rows, columns, B, K, K, n)
    is_single = len(sums) == 1  # one patch has no tile twice
    for i, lock in enumerate(locks):
        with lock:
            if is_single:
                windows[:, :, :, i].add_(tiles[:, :, :, i])
                continue
            for j in range(len(locks)):
                windows[:, :, :, i, j].add_(tiles[:, :, :, i, j])
