"""Layers that learn without labels: restricted Boltzmann machines, and a denoising autoencoder.

V, H and B are the visible units, the hidden units, and the examples of a mini-batch.
"""

from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.random import Generator
from scipy.special import expit as sigmoid

from respeed.workloads import Arrays, Named, Pairs, Row, Uniform, Workload, workload
from respeed.workloads.arrays import (
    Drawn,
    Draws,
    Zeros,
    both,
    checked_rows,
    double,
    learned,
    moved,
    symmetric,
    times,
    times_transposed,
)

if TYPE_CHECKING:
    from jax import Array
    from torch import Tensor

# Mini-batches that are cycled through.
BATCHES = 4

Rows = TypeVar("Rows", np.ndarray, "Tensor")


def halves(rows: Rows) -> tuple[Rows, Rows]:
    """Return the first and the second half of the rows of an array, as views of it.

    They are slices, since torch's `split` and NumPy's `reshape` take up to three times as long: at the smallest sizes,
    a step on a CPU would take 5 to 18 % longer.
    """
    count = len(rows) // 2
    return rows[:count], rows[count:]


def hidden_units(x: np.ndarray, given: Arrays) -> np.ndarray:
    """Compute sigmoid(x W + c) in float64; x (rows, V)."""
    return np.asarray(sigmoid(times(double(x), given.W) + given.c))


@workload
class _Layer(Workload):
    """A layer that learns, with arrays named as in its equations: W (V, H), b (V,), c (H,), x (B, V).

    One matrix product over 2 B rows, v^T h, gives both terms of W's gradient: an update reads and writes W once.
    """

    visible: int
    hidden: int
    batch: int
    learning_rate: float

    together = True
    learned = ("W", "b", "c")
    cycled = ("x",)

    def draw(self, random: Generator, half: float) -> Named:
        """Draw weights in +-`half`, small biases, and examples from [0, 1), as pixel intensities are.

        Biases usually start from 0; here they are small values instead, so that a step without biases fails the check.
        """
        V = self.visible
        H = self.hidden
        B = self.batch
        return {
            "W": symmetric(random, half, V, H),
            "b": symmetric(random, 0.01, V),
            "c": symmetric(random, 0.01, H),
            "x": Drawn(random, (BATCHES, B, V)),
            "v": Zeros(2 * B, V),
            "h": Zeros(2 * B, H),
        }

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make the signs of the rows of `v` and `h` in the biases' gradients: equal ones, and those of two phases."""
        signs = np.repeat([1.0, -1.0], self.batch)
        a.phases = row.array(signs)
        a.equal = row.array(signs**2)

    prepare_numpy = prepare_torch

    def compare_changes(self, given: Arrays, seen: Arrays, v: np.ndarray, of_b: np.ndarray, of_c: np.ndarray) -> Pairs:
        """Compare the changes of W, b and c with r/B times v^T h and r/B times the sums of `of_b` and `of_c`.

        Parameters
        ----------
        v, of_b, of_c : (2 B, V), (rows, V), (rows, H)
            A factor of W's gradient, and the terms of the biases' gradients, as the step computed them.
        """
        r = self.learning_rate / self.batch
        change_b = r * of_b.sum(0, dtype=np.float64)
        change_c = r * of_c.sum(0, dtype=np.float64)
        b = moved(given.b, seen.b, change_b)
        c = moved(given.c, seen.c, change_c)
        W = learned(given.W, seen.W, r, v.T, seen.h)
        return {"W": W, "b, c": both(b, c)}

    def flops(self) -> float:
        """Count five matrix products of 2 B V H FLOP; as in the papers, operations between them are not counted."""
        return 10.0 * self.batch * self.visible * self.hidden


@workload
class Rbm(_Layer):
    """Train a binary restricted Boltzmann machine by contrastive divergence with one Gibbs step (CD-1).

    For a mini-batch v0 (B, V), weights W (V, H), visible bias b (V,), hidden bias c (H,), learning rate r::

        h0 = sigmoid(v0 W + c)         s ~ Bernoulli(h0)
        v1 = sigmoid(s W^T + b)        h1 = sigmoid(v1 W + c)
        W += r/B (v0^T h0 - v1^T h1)   b += r/B sum(v0 - v1)   c += r/B sum(h0 - h1)

    One matrix product over 2 B rows, [-v0; v1]^T [h0; h1], gives W's gradient: an update reads and writes W once. The
    sign is that of the copy of v0, which a step makes anyway; the biases' gradients are sums of rows with signs.

    Parameters
    ----------
    visible, hidden, batch : int
        V, H and B.
    learning_rate : float
        r, for the gradient's mean over a mini-batch.

    References
    ----------
    .. [1] G. Hinton, "Training products of experts by minimizing contrastive divergence", 2002.
    .. [2] G. Hinton, "A practical guide to training restricted Boltzmann machines", 2010, section 3: which units
       are sampled, and which are probabilities.
    """

    def arrays(self, random: Generator) -> Named:
        """Draw weights of standard deviation 0.01; add an array of draws, which h0 is compared with to sample.

        `v` is [-v0; v1], `h` is [h0; h1].
        """
        return {**self.draw(random, 0.01 * 3**0.5), "u": Draws(self.batch, self.hidden)}

    def step(self, a: Arrays, row: Row) -> None:
        """Learn from one mini-batch."""
        v0, v1 = halves(a.v)
        h0, h1 = halves(a.h)
        W, b, c = row.operands(a.W, a.b, a.c)
        row.units(c, a.x, W, out=h0, sampled=(a.u, h1))  # h1 is free until it is computed
        row.units(b, h1, W.T, out=v1, negated=(a.x, v0))
        row.units(c, v1, W, out=h1)
        self.learn(a, row)

    def learn(self, a: Arrays, row: Row) -> None:
        """Change W, b and c, given [-v0; v1] and [h0; h1]."""
        r = self.learning_rate / self.batch
        row.add_product(a.W, a.v.T, a.h, alpha=-r)
        row.add_rows(a.b, a.v, a.equal, alpha=-r)
        row.add_rows(a.c, a.h, a.phases, alpha=r)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Learn from one mini-batch."""
        import jax

        v0 = a.x
        h0 = jax.nn.sigmoid(v0 @ a.W + a.c)
        u = uniform(h0.shape)
        s = (u < h0).astype(h0.dtype)
        v1 = jax.nn.sigmoid(s @ a.W.T + a.b)
        h1 = jax.nn.sigmoid(v1 @ a.W + a.c)
        return {"u": u, **self.learn_jax(a, v0, h0, v1, h1)}

    def learn_jax(self, a: Arrays, v0: "Array", h0: "Array", v1: "Array", h1: "Array") -> Named:
        """Return the changed W, b and c, and the arrays that they follow from."""
        import jax.numpy as jnp

        r = self.learning_rate / self.batch
        v = jnp.concatenate([-v0, v1])
        h = jnp.concatenate([h0, h1])
        W = a.W - r * (v.T @ h)
        b = a.b + r * (v0 - v1).sum(0)
        c = a.c + r * (h0 - h1).sum(0)
        return {"W": W, "b": b, "c": c, "v": v, "h": h}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare activations of some examples, given the step's draws, and changes of parameters by all examples.

        The sample is repeated with the step's own h0, which is checked itself: an h0 computed anew, with another
        rounding error, may fall on the other side of a draw.
        """
        rows = checked_rows(self.batch)
        _, v1 = halves(seen.v)
        h0, h1 = halves(seen.h)
        sample = double(seen.u[rows] < h0[rows])
        x = sigmoid(times_transposed(sample, given.W) + given.b)
        return {
            **self.compare_data(given, seen),
            "v1": (v1[rows], x),
            "h1": (h1[rows], hidden_units(x, given)),
        }

    def compare_data(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare v0, h0 of some examples, and the changes of parameters by all examples."""
        v = -seen.v  # [v0; -v1]
        v0, _ = halves(v)
        h0, h1 = halves(seen.h)
        rows = checked_rows(self.batch)
        x = np.asarray(given.x)
        return {
            "v0": (v0, x),
            "h0": (h0[rows], hidden_units(x[rows], given)),
            **self.compare_changes(given, seen, v, v, h0 - h1),
        }

    def traffic_bytes(self) -> float:
        """Count W, read by four matrix products and written by one, and activations where written or read."""
        V = self.visible
        H = self.hidden
        return 4.0 * (5 * V * H + self.batch * (6 * V + 12 * H))


@workload
class RbmPcd(Rbm):
    """Train a binary restricted Boltzmann machine by persistent contrastive divergence (PCD-k).

    For a mini-batch v0 (B, V), weights W (V, H), visible bias b (V,), hidden bias c (H,), learning rate r, and B chains
    whose hidden units s persist from one step to the next::

        h0 = sigmoid(v0 W + c)
        k times:  v ~ Bernoulli(sigmoid(s W^T + b))    h = sigmoid(v W + c)    s ~ Bernoulli(h)
        W += r/B (v0^T h0 - v^T h)   b += r/B sum(v0 - v)   c += r/B sum(h0 - h)

    One matrix product gives W's gradient, as in `Rbm`.

    Parameters
    ----------
    visible, hidden, batch : int
        V, H and B.
    gibbs : int
        k, the number of Gibbs steps.
    learning_rate : float
        r, for the gradient's mean over a mini-batch.

    References
    ----------
    .. [1] T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", 2008.
    .. [2] Deep Learning Tutorials, rbm.py: which units are sampled, and which are probabilities.
    """

    gibbs: int

    state = ("s",)

    def arrays(self, random: Generator) -> Named:
        """Draw the arrays of `Rbm`, and chains whose hidden units are 0 or 1 with the same probability."""
        V = self.visible
        H = self.hidden
        B = self.batch
        return {
            **super().arrays(random),  # v is [-v0; v], h is [h0; h]
            "s": random.integers(0, 2, (B, H)).astype(np.float32),
            "between": Zeros(B, H),  # s that the last Gibbs step begins with, kept for the check
            "mean": Zeros(B, V),  # the probabilities of v
            "u_visible": Draws(B, V),  # draws that `mean` is compared with to sample v
        }

    def step(self, a: Arrays, row: Row) -> None:
        """Learn from one mini-batch."""
        v0, v = halves(a.v)
        h0, h = halves(a.h)
        W, b, c = row.operands(a.W, a.b, a.c)
        row.library.negative(a.x, out=v0)
        row.units(c, a.x, W, out=h0)
        s = a.s
        for taken in range(1, self.gibbs + 1):
            row.units(b, s, W.T, out=a.mean, sampled=(a.u_visible, v))
            s = a.s if taken == self.gibbs else a.between
            row.units(c, v, W, out=h, sampled=(a.u, s))
        a.taken = taken
        self.learn(a, row)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Learn from one mini-batch."""
        import jax

        h0 = jax.nn.sigmoid(a.x @ a.W + a.c)
        s = a.s
        for _ in range(self.gibbs):
            between = s
            mean = jax.nn.sigmoid(between @ a.W.T + a.b)
            u_visible = uniform(mean.shape)
            u = uniform(s.shape)
            v = (u_visible < mean).astype(mean.dtype)
            h = jax.nn.sigmoid(v @ a.W + a.c)
            s = (u < h).astype(s.dtype)
        last = {"s": s, "between": between, "mean": mean, "u_visible": u_visible, "u": u}
        return last | self.learn_jax(a, a.x, h0, v, h)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare the positive phase, the last Gibbs step, and the changes of the parameters.

        Each half of the last Gibbs step is repeated from the samples that the program itself had before this half. To
        repeat all k Gibbs steps would cost as much as the program, and show less: once one sample differs, chains
        diverge.
        """
        rows = checked_rows(self.batch)
        v = seen.v[self.batch + rows]
        h = seen.h[self.batch + rows]
        mean = seen.mean[rows]
        taken = getattr(seen, "taken", self.gibbs)  # JAX unrolls the Gibbs steps
        before = given.s if self.gibbs == 1 else seen.between
        s = double(before[rows])
        return {
            **self.compare_data(given, seen),
            "Gibbs steps": (taken, self.gibbs),
            "mean": (mean, sigmoid(times_transposed(s, given.W) + given.b)),
            "v": (v, double(seen.u_visible[rows] < mean)),
            "h": (h, hidden_units(v, given)),
            "s": (seen.s[rows], double(seen.u[rows] < h)),
        }

    def flops(self) -> float:
        """Count the matrix products: 1 for h0, 2 k for the chains, 2 for the gradient; drawing is not counted."""
        return 2.0 * (3 + 2 * self.gibbs) * self.batch * self.visible * self.hidden

    def traffic_bytes(self) -> float:
        """Count W, read by every matrix product and written by one, and the units where written and read.

        In each Gibbs step, probabilities and samples of visible and hidden units are written, and the samples read.
        """
        V = self.visible
        H = self.hidden
        k = self.gibbs
        return 4.0 * ((3 + 2 * k) * V * H + self.batch * (4 * V + 4 * H + k * 3 * (V + H)))


@workload
class RbmUp(Workload):
    """Compute a mini-batch's hidden probabilities, which a layer of a deep belief network hands to the next layer.

    ::

        h = sigmoid(x W + c)        x (B, V), W (V, H), c (H,)

    Parameters
    ----------
    visible, hidden, batch : int
        V, H and B.
    """

    visible: int
    hidden: int
    batch: int

    together = True

    def arrays(self, random: Generator) -> Named:
        """Draw examples from [0, 1), small biases, and weights in +-1.5 sqrt(3 / V), which saturate no unit."""
        V = self.visible
        H = self.hidden
        half = 1.5 * (3.0 / V) ** 0.5
        return {
            "x": Drawn(random, (self.batch, V)),
            "W": symmetric(random, half, V, H),
            "c": symmetric(random, 0.01, H),
            "h": Zeros(self.batch, H),
        }

    def step(self, a: Arrays, row: Row) -> None:
        """Compute the hidden probabilities of one mini-batch."""
        row.units(a.c, a.x, a.W, out=a.h)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Compute the hidden probabilities of one mini-batch."""
        import jax

        return {"h": jax.nn.sigmoid(a.x @ a.W + a.c)}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare the hidden probabilities of some examples."""
        rows = checked_rows(self.batch)
        return {"h": (seen.h[rows], hidden_units(np.asarray(given.x)[rows], given))}

    def flops(self) -> float:
        """Count one matrix product of 2 B V H FLOP."""
        return 2.0 * self.batch * self.visible * self.hidden

    def traffic_bytes(self) -> float:
        """Count examples and weights, which are read, and hidden units, which are written."""
        V = self.visible
        H = self.hidden
        return 4.0 * (V * H + self.batch * (V + H))


@workload
class Autoencoder(_Layer):
    """Train a denoising autoencoder with tied weights by stochastic gradient descent on the cross-entropy.

    For a mini-batch x (B, V), weights W (V, H), visible bias b (V,), hidden bias c (H,), learning rate r, and the share
    p of each example's elements that noise sets to 0::

        x~ = x, or 0 with probability p    y = sigmoid(x~ W + c)    z = sigmoid(y W^T + b)
        d = x - z                          e = (d W) y (1 - y)
        W += r/B (x~^T e + d^T y)          b += r/B sum(d)          c += r/B sum(e)

    The cross-entropy's gradient with respect to y W^T + b is -d; with respect to x~ W + c it is -e. One matrix product
    over 2 B rows, [x~; d]^T [e; y], gives both terms of W's gradient, one for each use of W: an update reads and
    writes W once.

    Parameters
    ----------
    visible, hidden, batch : int
        V, H and B.
    corruption : float
        p.
    learning_rate : float
        r, for the gradient's mean over a mini-batch.
    cost : {"", "computed"}
        Whether a step also computes each example's cross-entropy, -sum(x log z + (1 - x) log(1 - z)), which learning
        does not need.

    References
    ----------
    .. [1] P. Vincent et al., "Extracting and composing robust features with denoising autoencoders", 2008.
    """

    corruption: float
    cost: Literal["", "computed"] = ""

    def arrays(self, random: Generator) -> Named:
        """Draw weights as is usual for sigmoids; add arrays of draws, to be compared with p, and of costs if computed.

        `v` is [x~; d], `h` is [e; y].
        """
        arrays = self.draw(random, 4 * (6.0 / (self.visible + self.hidden)) ** 0.5)
        arrays["u"] = Draws(self.batch, self.visible)
        if self.cost:
            arrays["costs"] = Zeros(self.batch)
        return arrays

    def step(self, a: Arrays, row: Row) -> None:
        """Learn from one mini-batch."""
        x = a.x
        r = self.learning_rate / self.batch
        corrupted, d = halves(a.v)
        e, y = halves(a.h)
        W, b, c = row.operands(a.W, a.b, a.c)
        row.mask(corrupted, x, a.u, self.corruption)
        row.units(c, corrupted, W, out=y)
        if self.cost:
            row.affine(b, y, W.T, out=d)
            row.sigmoid_error(d, x, a.costs)
        else:
            row.units(b, y, W.T, out=d)
            row.library.subtract(x, d, out=d)
        row.add_product(e, d, W, beta=0.0)
        row.times_slope(e, y, "sigmoid")
        row.add_product(a.W, a.v.T, a.h, alpha=r)
        ones, _ = halves(a.equal)
        row.add_rows(a.c, e, ones, alpha=r)
        row.add_rows(a.b, d, ones, alpha=r)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare arrays of some examples, given the step's draws, and changes of parameters by all examples.

        Each array is computed from the step's own arrays before it: in bf16, errors would add up from array to array.
        """
        rows = checked_rows(self.batch)
        masked, errors = halves(seen.v)
        e, units = halves(seen.h)
        v = double(given.x)
        corrupted = np.where(seen.u < self.corruption, 0.0, v)
        x = v[rows]
        y = double(units[rows])
        d = double(errors[rows])
        z = times_transposed(y, given.W) + given.b
        slope = y * (1 - y)
        pairs = {
            "x~": (masked, corrupted),
            "y": (y, hidden_units(corrupted[rows], given)),
            "d": (d, x - sigmoid(z)),
            "e": (e[rows], times(d, given.W) * slope),
            **self.compare_changes(given, seen, seen.v, errors, e),
        }
        if self.cost:
            losses = np.logaddexp(0, z) - x * z
            pairs["costs"] = (seen.costs[rows], losses.sum(axis=1))
        return pairs

    def traffic_bytes(self) -> float:
        """Count W, read by four matrix products and written by one, and the arrays between the matrix products.

        x is read twice; x~ and d are written, and read twice; e is written, and read once; y is written, and read three
        times.
        """
        V = self.visible
        H = self.hidden
        return 4.0 * (5 * V * H + self.batch * (8 * V + 6 * H))
