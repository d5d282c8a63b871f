"""Nets that classify, trained by stochastic gradient descent: multi-layer perceptrons and softmax regression.

`SoftmaxCost` computes only cost and gradient of softmax regression, over a full training set, as an optimiser needs.
"""

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from scipy.special import expit as sigmoid

from respeed.model import Names
from respeed.workloads import Arrays, Named, Pair, Pairs, Row, Uniform, Workload, workload
from respeed.workloads.arrays import (
    Drawn,
    Zeros,
    checked_rows,
    double,
    learned,
    moved,
    product,
    softmax_error,
    symmetric,
    times,
    times_transposed,
)

# Mini-batches that are cycled through.
BATCHES = 4

# f(z) in float64; and f'(z) as a function of a = f(z), for NumPy's arrays or JAX's.
_FUNCTIONS: dict[str, Any] = {"tanh": np.tanh, "sigmoid": sigmoid}
_SLOPES: dict[str, Any] = {"tanh": lambda a: 1 - a**2, "sigmoid": lambda a: a * (1 - a)}


@workload
class SoftmaxRegression(Workload):
    """Train softmax regression by stochastic gradient descent: `Mlp` without hidden layers.

    For B examples x (B, inputs) with labels y, weights W (inputs, outputs), bias b, learning rate r::

        z = x W + b    cost = -log softmax(z) at y    e = softmax(z) - onehot(y)    W += -r/B x^T e    b += -r/B sum(e)

    Parameters
    ----------
    inputs, outputs, batch : int
        Numbers of inputs, of classes, and of examples (B).
    learning_rate : float
        r, for the gradient's mean over a mini-batch.
    """

    inputs: int
    outputs: int
    batch: int
    learning_rate: float

    # Here there are no hidden layers: `Mlp` has them.
    hidden = layers = 0
    weight_decay = 0.0
    activation = "tanh"

    together = True
    cycled = ("x", "y")

    @property
    def units(self) -> list[int]:
        """Return the number of units of each layer, from the inputs up."""
        return [self.inputs, *[self.hidden] * self.layers, self.outputs]

    @property
    def rates(self) -> tuple[float, float]:
        """Return the factor of a gradient, -r/B, and the factor of the weights before it is added, 1 - r d."""
        return -self.learning_rate / self.batch, 1.0 - self.learning_rate * self.weight_decay

    @property
    def learned(self) -> Names:  # type: ignore[override]
        """Return the names of weights and biases."""
        numbers = range(1, self.layers + 2)
        return (*(f"W{i}" for i in numbers), *(f"b{i}" for i in numbers))

    def arrays(self, random: Generator) -> Named:
        """Draw weights, small biases, examples from [0, 1), as pixel intensities are, and uniform labels.

        Weights lie in +-sqrt(6 / (below + above)), with the numbers of units below and above them, and in four times
        this range below sigmoid units, so that errors neither vanish nor grow from layer to layer (Glorot and Bengio,
        "Understanding the difficulty of training deep feedforward neural networks", 2010).
        """
        B = self.batch
        arrays: Named = {}
        for i, (below, above) in enumerate(pairwise(self.units), 1):
            half = (6.0 / (below + above)) ** 0.5
            if self.activation == "sigmoid" and i <= self.layers:
                half *= 4.0
            arrays[f"W{i}"] = symmetric(random, half, below, above)
            arrays[f"b{i}"] = symmetric(random, 0.01, above)
            arrays[f"out{i}"] = Zeros(B, above)
            arrays[f"error{i}"] = Zeros(B, above)
        arrays["x"] = Drawn(random, (BATCHES, B, self.inputs))
        arrays["y"] = random.integers(0, self.outputs, (BATCHES, B, 1))
        arrays["costs"] = Zeros(B, 1)
        return arrays

    def lists(self, a: Arrays) -> list[list[Any]]:
        """Return four lists, each with one array of every layer, from the lowest layer up.

        The arrays are W (below, above); b (above,); out (B, above), which is a_l, or z in the last layer; and error
        (B, above).
        """
        numbers = range(1, self.layers + 2)
        return [[getattr(a, f"{name}{i}") for i in numbers] for name in ("W", "b", "out", "error")]

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Look up the arrays of all layers once, and make a sign for each example in the sums of biases' gradients."""
        a.net = self.lists(a)
        a.ones = row.array(np.ones(self.batch))

    prepare_numpy = prepare_torch

    def forward(self, a: Arrays, count: int, row: Row) -> list[Any]:
        """Compute the outputs of the first `count` layers; return their weights as matrix products read them."""
        W, b, out, _ = a.net
        x = a.x
        read = []
        for i in range(count):
            weights, bias = row.operands(W[i], b[i])
            row.affine(bias, x, weights, out=out[i], activation=self.activation if i < self.layers else "")
            read.append(weights)
            x = out[i]
        return read

    def step(self, a: Arrays, row: Row) -> None:
        """Learn from one mini-batch."""
        W, b, out, error = a.net
        rate, kept = self.rates
        read = self.forward(a, len(W), row)
        row.softmax_error(error[-1], out[-1], a.y, a.costs)
        inputs = [a.x, *out]
        for i in range(self.layers, -1, -1):
            x = inputs[i]
            e = error[i]
            if i:
                row.add_product(error[i - 1], e, read[i].T, beta=0.0)
                row.times_slope(error[i - 1], x, self.activation)
            row.add_product(W[i], x.T, e, alpha=rate, beta=kept)
            row.add_rows(b[i], e, a.ones, alpha=rate)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Learn from one mini-batch."""
        import jax

        W, b, _, _ = self.lists(a)
        rate, kept = self.rates
        slope = _SLOPES[self.activation]
        activate = getattr(jax.nn, self.activation)
        outs = [a.x]
        for i, weights in enumerate(W):
            z = outs[i] @ weights + b[i]
            outs.append(activate(z) if i < self.layers else z)
        logs = jax.nn.log_softmax(outs[-1])
        error = jax.numpy.exp(logs) - jax.nn.one_hot(a.y[:, 0], self.outputs, dtype=logs.dtype)
        changed = {"costs": -jax.numpy.take_along_axis(logs, a.y, 1)}
        for i in range(len(W), 0, -1):
            x = outs[i - 1]
            weights = W[i - 1]
            changed[f"out{i}"] = outs[i]
            changed[f"error{i}"] = error
            changed[f"W{i}"] = kept * weights + rate * (x.T @ error)
            changed[f"b{i}"] = b[i - 1] + rate * error.sum(0)
            error = (error @ weights.T) * slope(x)  # not needed below the first: XLA drops it
        return changed

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare outputs and errors of some examples, and the changes of parameters by all examples.

        Each array is computed from the step's own arrays before it: in bf16, rounding errors would add up from layer to
        layer.
        """
        rate, kept = self.rates
        rows = checked_rows(self.batch)
        activate = _FUNCTIONS[self.activation]
        slope = _SLOPES[self.activation]
        before, biases, _, _ = self.lists(given)
        W, b, out, error = self.lists(seen)
        inputs = [np.asarray(given.x), *out]
        pairs: dict[str, Pair] = {}
        for i, weights in enumerate(before):
            number = i + 1
            x = double(inputs[i][rows])
            e = error[i]
            z = times(x, weights) + biases[i]
            pairs[f"out{number}"] = (out[i][rows], activate(z) if i < self.layers else z)
            if i:
                down = times_transposed(double(e[rows]), weights)
                pairs[f"error{i}"] = (error[i - 1][rows], down * slope(x))
            change, expected, size = learned(weights, W[i], rate, inputs[i].T, e, kept)
            if i == self.layers:  # MKL adds to a narrow matrix example by example, and rounds the matrix each time
                size *= self.batch**0.5
            pairs[f"W{number}"] = (change, expected, size)
            pairs[f"b{number}"] = moved(biases[i], b[i], rate * e.sum(0, dtype=np.float64))
        costs, errors = softmax_error(out[-1][rows], given.y[rows])
        pairs["costs"] = (seen.costs[rows], costs)
        pairs[f"error{number}"] = (e[rows], errors)
        return pairs

    def flops(self) -> float:
        """Count each layer's matrix products: output, weight gradient and, except in the first, the error below."""
        first, *others = [below * above for below, above in pairwise(self.units)]
        return 2.0 * self.batch * (2 * first + 3 * sum(others))

    def traffic_bytes(self) -> float:
        """Count weights, outputs and errors where they are read or written.

        Weights are read for the output and, except in the first layer, for the error below; an update reads and writes
        them. Outputs are written, and read for the next output, the slope and the gradient. Errors are written, and
        read for the gradients of weights and biases and, except in the first layer, for the error below.
        """
        first, *others = [below * above for below, above in pairwise(self.units)]
        weights = 3 * first + 4 * sum(others)
        units = 2 * self.inputs - self.units[1] + 8 * sum(self.units[1:])
        return 4.0 * (weights + self.batch * units)


@workload
class Mlp(SoftmaxRegression):
    """Train a multi-layer perceptron for classification by stochastic gradient descent on mini-batches.

    For B examples a_0 = x with labels y, hidden layers l = 1 ... L, weights W_l (n_l-1, n_l), biases b_l, activation f,
    learning rate r, and weight decay d::

        a_l = f(a_l-1 W_l + b_l)    z = a_L W_o + b_o    cost = -log softmax(z) at y
        e_o = softmax(z) - onehot(y)    e_l = (e_l+1 W_l+1^T) f'(a_l)
        W_l += -r/B a_l-1^T e_l - r d W_l    b_l += -r/B sum(e_l)

    The error of the layer below is computed with the weights before their update. The gradient's matrix product adds to
    the weights itself (beta = 1 - r d), so that the update reads and writes them once, and no gradient is stored.

    Parameters
    ----------
    inputs, hidden, layers, outputs, batch : int
        n_0, the number of units in each hidden layer, L, the number of classes, and B.
    learning_rate, weight_decay : float
        r, for the gradient's mean over a mini-batch, and d.
    activation : {"tanh", "sigmoid"}
        f.
    cost : {"", "read"}
        Whether the host reads the costs after each step, and waits for them.

    References
    ----------
    .. [1] D. Rumelhart, G. Hinton and R. Williams, "Learning representations by back-propagating errors", 1986.
    """

    hidden: int
    layers: int
    weight_decay: float
    activation: Literal["tanh", "sigmoid"]
    cost: Literal["", "read"] = ""

    @property
    def read(self) -> str:  # type: ignore[override]
        """Return the name of the array that the host reads after each step, or ""."""
        return "costs" if self.cost else ""


@workload
class SoftmaxCost(Workload):
    """Compute cost and gradient of softmax regression over a full training set, mini-batch by mini-batch.

    For N examples x with labels y, weights W (inputs, outputs), bias b::

        z = x W + b    cost = 1/N sum(-log softmax(z) at y)    e = softmax(z) - onehot(y)
        dW = 1/N x^T e    db = 1/N sum(e)

    One step takes all mini-batches; an iteration of conjugate gradients needs one such step or more. Cost and gradient
    share the matrix product x W. The matrix products x^T e of the mini-batches add to dW themselves.

    Parameters
    ----------
    inputs, outputs, batch, mini_batch : int
        Numbers of inputs, of classes, of examples (N), and of examples in a mini-batch.
    """

    inputs: int
    outputs: int
    batch: int
    mini_batch: int

    together = True
    # Sums over all examples: in fp32 however low the precision is.
    learned = ("cost", "dW", "db")

    def arrays(self, random: Generator) -> Named:
        """Draw weights in +-sqrt(6 / (inputs + outputs)), small biases, examples, and uniform labels."""
        D = self.inputs
        C = self.outputs
        N = self.batch
        half = (6.0 / (D + C)) ** 0.5
        return {
            "W": symmetric(random, half, D, C),
            "b": symmetric(random, 0.01, C),
            "x": Drawn(random, (N, D)),
            "y": random.integers(0, C, (N, 1)),
            "z": Zeros(N, C),
            "e": Zeros(N, C),
            "costs": Zeros(N, 1),
            "cost": Zeros(1),
            "dW": Zeros(D, C),
            "db": Zeros(C),
        }

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make a sign for each example, to sum up by a matrix product: NumPy's own sum goes row by row."""
        a.ones = row.array(np.ones(self.batch))

    prepare_numpy = prepare_torch

    def step(self, a: Arrays, row: Row) -> None:
        """Compute cost and gradient once."""
        share = 1.0 / self.batch
        for begin in range(0, self.batch, self.mini_batch):
            rows = slice(begin, begin + self.mini_batch)
            x = a.x[rows]
            e = a.e[rows]
            z = a.z[rows]
            row.affine(a.b, x, a.W, out=z)
            row.softmax_error(e, z, a.y[rows], a.costs[rows])
            row.add_product(a.dW, x.T, e, alpha=share, beta=1.0 if begin else 0.0)
        for total, terms in ((a.db, a.e), (a.cost, a.costs)):
            total[...] = 0.0
            row.add_rows(total, terms, a.ones, alpha=share)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare arrays of some examples, and the step's sums with float64 sums of its own errors and costs."""
        rows = checked_rows(self.batch)
        x = np.asarray(given.x)
        e = seen.e
        z = times(double(x[rows]), given.W) + given.b
        costs, errors = softmax_error(z, given.y[rows])
        db = e.mean(0, dtype=np.float64)
        cost = seen.costs.mean(0, dtype=np.float64)
        return {
            "z": (seen.z[rows], z),
            "e": (e[rows], errors),
            "costs": (seen.costs[rows], costs),
            "dW": product(seen.dW, x.T, e, 1.0 / self.batch),
            "db": (seen.db, db),
            "cost": (seen.cost, cost),
        }

    def flops(self) -> float:
        """Count two matrix products of 2 N inputs outputs FLOP."""
        return 4.0 * self.batch * self.inputs * self.outputs

    def traffic_bytes(self) -> float:
        """Count examples, read by both matrix products, the weights, and the arrays between the matrix products.

        Weights are read, and the gradient is read and written, for every mini-batch. Logits are written and read,
        errors are written and read for dW and for db, costs are written and read.
        """
        D = self.inputs
        C = self.outputs
        N = self.batch
        return 4.0 * (N * (2 * D + 5 * C + 2) + 3 * N / self.mini_batch * D * C)
