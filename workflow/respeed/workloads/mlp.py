"""Nets that classify: multi-layer perceptrons and softmax regression, trained by stochastic gradient descent; and the
cost and gradient that an optimiser asks for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from respeed.backends import Activation, Array, BackendContract, Step
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import (
    Drawn,
    MiniBatches,
    WorkloadClass,
    activated,
    checked_rows,
    sizes,
    slope,
    small_biases,
    softmax,
)

# Mini-batches that are cycled through, so that a step does not begin with the examples that the last one used.
BATCHES = 4


# Of softmax regression, a net without hidden layers, a case says nothing of them.


def decay_of(case: Case) -> float:
    return float(case.parameters.get("weight_decay", 0.0))


def activation_of(case: Case) -> Activation:
    activation: Activation = case.parameters.get("activation", "none")
    return activation


def _sizes(case: Case) -> list[tuple[int, int]]:
    """Units below and above each layer, the last one the output."""
    hidden = [int(case.parameters.get("hidden", 0))] * int(case.parameters.get("layers", 0))
    return list(pairwise([int(case.parameters["inputs"]), *hidden, int(case.parameters["outputs"])]))


@dataclass(frozen=True)
class Layer:
    """`below` and `above` are its units and those of the layer beneath it."""

    weights: Array  # (below, above)
    bias: Array  # (1, above)
    out: Array  # (B, above): a_l, or z of the output layer
    error: Array  # (B, above)


class MlpProgram(MiniBatches):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        B = int(case.parameters["batch"])
        self.backend, self.rows = backend, inputs["rows"]
        self.activation = activation_of(case)
        self.rate = case.parameters["learning_rate"]
        self.kept, self.reads = 1.0 - self.rate * decay_of(case), case.parameters.get("cost") == "read"
        self.layers = [
            Layer(
                backend.parameters(inputs[f"weights{place}"]),
                backend.parameters(inputs[f"bias{place}"][None]),
                backend.zeros(B, above),
                backend.zeros(B, above),
            )
            for place, (_, above) in enumerate(_sizes(case))
        ]
        self.pairs = list(pairwise(self.layers))
        self.costs = backend.zeros(B, 1)
        self.ones = backend.array(np.ones((1, B)))
        self.captured = self.capture(inputs["examples"], inputs["labels"])

    def capture(self, examples: Sequence[Any], labels: np.ndarray) -> list[Step]:
        """A step for each of the mini-batches, BATCHES x (B, inputs), which lie on the device from now on."""
        array, captured = self.backend.array, self.backend.captured
        return [
            captured(partial(self.train, array(batch), self.backend.labels(of)))
            for batch, of in zip(examples, labels, strict=True)
        ]

    def train(self, batch: Array, labels: Array) -> None:
        """Learn from one mini-batch (B, inputs)."""
        self.forward(batch)
        top = self.layers[-1]
        self.backend.softmax_error(top.out, labels, top.error, self.costs)
        self.backward(batch)

    def forward(self, batch: Array) -> None:
        x = batch
        for layer in self.layers:
            activation: Activation = "none" if layer is self.layers[-1] else self.activation
            self.backend.dense_layer(x, layer.weights, layer.bias, layer.out, activation=activation)
            x = layer.out

    def backward(self, batch: Array) -> None:
        """From the error of the output layer down."""
        for below, layer in reversed(self.pairs):
            self.backend.gemm(layer.error, layer.weights, below.error, transpose_b=True)
            self.backend.activation_backward(below.out, below.error, activation=self.activation)
            self.update(layer, below.out)
        self.update(self.layers[0], batch)

    def update(self, layer: Layer, x: Array) -> None:
        """`x` (B, below) is what the layer was given."""
        rate = -self.rate / len(x)
        self.backend.gemm(x, layer.error, layer.weights, transpose_a=True, alpha=rate, beta=self.kept)
        self.backend.gemm(self.ones, layer.error, layer.bias, alpha=rate, beta=1.0)

    def state(self) -> Arrays:
        host, found = self.backend.host, {"costs": self.backend.host(self.costs)[self.rows]}
        for place, layer in enumerate(self.layers):
            out, error = host(layer.out), host(layer.error)
            found |= {
                f"weights{place}": host(layer.weights),
                f"bias{place}": host(layer.bias)[0],
                f"out{place}": out[self.rows],
                f"error{place}": error[self.rows],
                f"all_out{place}": out,
                f"all_error{place}": error,
            }
        return found


class Mlp(WorkloadClass):
    """A multi-layer perceptron for classification, trained by stochastic gradient descent on mini-batches.

    For B examples a_0 = x with labels y, hidden layers l = 1 ... L of `hidden` units, weights W_l (n_l-1, n_l), biases
    b_l, activation f, learning rate r, and a decay d of the weights:

        a_l = f(a_l-1 W_l + b_l)    z = a_L W_o + b_o    cost = -log softmax(z) at y
        e_o = softmax(z) - onehot(y)    e_l = (e_l+1 W_l+1^T) f'(a_l)
        W_l += -r/B a_l-1^T e_l - r d W_l    b_l += -r/B sum(e_l)

    An error goes down by the weights that made it, before these change. A gradient is added into the weights by the
    product itself (beta = 1 - r d), so that they are read and written once, and no gradient is ever written down.
    Without hidden layers (`softmax_regression`) this is softmax regression.
    Source: Rumelhart, Hinton and Williams, Learning representations by back-propagating errors, 1986.
    """

    PARAMETERS: ClassVar = {
        "inputs": "whole", "hidden": "whole", "layers": "whole", "outputs": "whole", "batch": "whole",
        "learning_rate": "real", "weight_decay": "real", "activation": ("tanh", "sigmoid", "relu"),
    }  # fmt: skip
    TESTS: ClassVar = {
        "smoke": {
            "inputs": 36, "hidden": 24, "layers": 1, "outputs": 10, "batch": 12, "learning_rate": 0.1,
            "weight_decay": 0.0, "activation": "tanh",
        },
        "odd": {
            "inputs": 37, "hidden": 53, "layers": 3, "outputs": 7, "batch": 29, "learning_rate": 0.1,
            "weight_decay": 0.1, "activation": "relu",
        },
        "large": {
            "inputs": 320, "hidden": 320, "layers": 2, "outputs": 320, "batch": 320, "learning_rate": 0.1,
            "weight_decay": 0.1, "activation": "sigmoid",
        },
    }  # fmt: skip
    OPTIONS: ClassVar = {"cost": ("read",)}
    ASKS: tuple[str, ...] = ("dense_layer", "activation_backward", "labels", "softmax_error")
    program = MlpProgram

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Weights uniform in +-sqrt(6 / (below + above)), of sigmoid four times as wide, so that errors neither vanish
        nor grow from layer to layer (Glorot and Bengio, Understanding the difficulty of training deep feedforward
        neural networks, 2010); examples uniform in [0, 1), as pixel intensities are; labels even over the classes;
        small biases; `rows`: the examples that are checked."""
        B, outputs = int(case.parameters["batch"]), int(case.parameters["outputs"])
        random = np.random.Generator(np.random.SFC64(seed))
        parameters: dict[str, Any] = {}
        for place, (below, above) in enumerate(_sizes(case)):
            half = (4.0 if activation_of(case) == "sigmoid" else 1.0) * (6.0 / (below + above)) ** 0.5
            parameters[f"weights{place}"] = Drawn((below, above), -half, half, [seed, 2 + place])
            parameters[f"bias{place}"] = small_biases(random, above)
        return parameters | {
            "examples": Drawn((BATCHES, B, int(case.parameters["inputs"])), 0.0, 1.0, [seed, 1]),
            "labels": random.integers(0, outputs, (BATCHES, B)),
            "rows": checked_rows(B, seed),
        }

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The first step in float64 for the checked examples, errors by the slopes of the layers' outputs as they were
        seen, which are checked: relu's slope jumps where its output is near 0. What the step changed in the parameters
        from the outputs and errors of all examples, as they were seen."""
        rate, decay = float(case.parameters["learning_rate"]), decay_of(case)
        B, rows, activation = int(case.parameters["batch"]), inputs["rows"], activation_of(case)
        layers, examples = _sizes(case), np.asarray(inputs["examples"][0])
        expected: dict[str, np.ndarray | Product] = {}

        out, top = examples[rows].astype(np.float64), len(layers) - 1
        for place in range(len(layers)):
            z = inputs[f"weights{place}"].times(out) + inputs[f"bias{place}"]
            out = expected[f"out{place}"] = activated(activation if place < top else "none", z)

        error, right = softmax(out), (np.arange(len(rows)), inputs["labels"][0][rows])
        expected["costs"] = -np.log(error[right])[:, None]
        error[right] -= 1.0
        for place, (_, above) in reversed(list(enumerate(layers))):
            expected[f"error{place}"] = error
            x, errors = seen[f"all_out{place - 1}"] if place else examples, seen[f"all_error{place}"]
            expected[f"bias{place}"] = -rate / B * errors.sum(axis=0, dtype=np.float64)
            left, right_factor = x.T, errors
            if decay:  # x^T e + B d W as one product
                left = np.hstack([x.T, np.asarray(inputs[f"weights{place}"])])
                right_factor = np.vstack([errors, B * decay * np.eye(above)])
            expected[f"weights{place}"] = Product(left, right_factor, -rate / B)
            if place:
                back = inputs[f"weights{place}"].transposed_times(error)
                error = back * slope(activation, seen[f"out{place - 1}"].astype(np.float64))
        return expected

    def flops(self, case: Case) -> float:
        """2 B below above for each product: forward, the weights' gradient, and the error of the layer beneath, which
        the first layer has none of. The elementwise work is not counted."""
        first, *others = [below * above for below, above in _sizes(case)]
        return 2.0 * int(case.parameters["batch"]) * (2 * first + 3 * sum(others))

    def traffic_bytes(self, case: Case) -> float:
        """Weights read by two products, of the first layer by one, read and written by a third; outputs written once
        and read by the next product, the slope and the gradient; errors written once, and read by the product and the
        sum of their layer's update and, of all but the first layer, the product with the weights, fp32."""
        B, layers = int(case.parameters["batch"]), _sizes(case)
        weights = 4 * sum(below * above for below, above in layers) - layers[0][0] * layers[0][1]
        outputs = sum(4 * above for _, above in layers)
        errors = sum(4 * above for _, above in layers) - layers[0][1]
        return 4.0 * (weights + B * (2 * layers[0][0] + outputs + errors))

    def memory_bytes(self, case: Case) -> float:
        """Weights, the mini-batches, and outputs and errors of the layers, fp32."""
        B, layers = int(case.parameters["batch"]), _sizes(case)
        units = 2 * sum(above for _, above in layers)
        return 4.0 * (sum(below * above for below, above in layers) + BATCHES * B * layers[0][0] + B * units)


class SoftmaxRegression(Mlp):
    """Softmax regression by stochastic gradient descent: the multi-layer perceptron (`mlp`) without hidden layers.

    For B examples x (B, inputs) with labels y, weights W (inputs, outputs), bias b, learning rate r:

        z = x W + b    cost = -log softmax(z) at y    e = softmax(z) - onehot(y)    W += -r/B x^T e    b += -r/B sum(e)
    """

    PARAMETERS: ClassVar = {"inputs": "whole", "outputs": "whole", "batch": "whole", "learning_rate": "real"}
    TESTS: ClassVar = {
        "smoke": {"inputs": 36, "outputs": 10, "batch": 12, "learning_rate": 0.1},
        "odd": {"inputs": 37, "outputs": 7, "batch": 29, "learning_rate": 0.1},
        "large": {"inputs": 320, "outputs": 320, "batch": 320, "learning_rate": 0.1},
    }
    ASKS = ("dense_layer", "labels", "softmax_error")


class _Cost:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        D, C, N, B = _cost_sizes(case)
        self.backend, self.rows = backend, inputs["rows"]
        self.places = [slice(first, min(first + B, N)) for first in range(0, N, B)]
        self.examples = backend.array(inputs["examples"])  # (N, D)
        self.labels = backend.labels(inputs["labels"])
        self.weights = backend.array(inputs["weights"])  # (D, C)
        self.bias = backend.array(inputs["bias"][None])  # (1, C)
        self.logits, self.errors = backend.zeros(N, C), backend.zeros(N, C)
        self.costs, self.ones = backend.zeros(N, 1), backend.array(np.ones((1, N)))
        # Sums over all examples, however low the precision is.
        self.cost = backend.parameters(np.zeros((1, 1)))
        self.gradient = backend.parameters(np.zeros((D, C)))
        self.bias_gradient = backend.parameters(np.zeros((1, C)))
        self.step = backend.captured(self._evaluate)

    def _evaluate(self) -> None:
        backend, each = self.backend, 1.0 / len(self.logits)
        for part in self.places:
            x, logits, errors = self.examples[part], self.logits[part], self.errors[part]
            backend.dense_layer(x, self.weights, self.bias, logits, activation="none")
            backend.softmax_error(logits, self.labels[part], errors, self.costs[part])
            backend.gemm(x, errors, self.gradient, transpose_a=True, alpha=each, beta=1.0 if part.start else 0.0)
        backend.gemm(self.ones, self.errors, self.bias_gradient, alpha=each)
        backend.gemm(self.ones, self.costs, self.cost, alpha=each)

    def state(self) -> Arrays:
        host = self.backend.host
        errors, costs = host(self.errors), host(self.costs)
        return {
            "logits": host(self.logits)[self.rows],
            "errors": errors[self.rows],
            "costs": costs[self.rows],
            "gradient": host(self.gradient),
            "bias_gradient": host(self.bias_gradient)[0],
            "cost": host(self.cost),
            "all_errors": errors,
            "all_costs": costs,
        }


class SoftmaxCost(WorkloadClass):
    """Cost and gradient of softmax regression over all mini-batches of a training set, as an optimiser asks for them.

    For N (`batch`) examples x with labels y, in mini-batches of `mini_batch`, weights W (inputs, outputs), bias b:

        z = x W + b    cost = 1/N sum(-log softmax(z) at y)    e = softmax(z) - onehot(y)
        dW = 1/N x^T e    db = 1/N sum(e)

    One step is all of them: what an iteration of conjugate gradients asks for once or more. Cost and gradient share the
    product x W. The gradient is added up by the products themselves, over the mini-batches.
    """

    PARAMETERS: ClassVar = {"inputs": "whole", "outputs": "whole", "batch": "whole", "mini_batch": "whole"}
    TESTS: ClassVar = {
        "smoke": {"inputs": 36, "outputs": 10, "batch": 36, "mini_batch": 12},
        "odd": {"inputs": 37, "outputs": 7, "batch": 139, "mini_batch": 29},
        "large": {"inputs": 320, "outputs": 320, "batch": 640, "mini_batch": 320},
    }
    ASKS = ("dense_layer", "labels", "softmax_error")
    program = _Cost

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Examples uniform in [0, 1), labels even over the classes, weights uniform in +-sqrt(6 / (inputs + outputs)),
        small biases; `rows`: the examples that are checked."""
        D, C, N, _ = _cost_sizes(case)
        random, half = np.random.Generator(np.random.SFC64(seed)), (6.0 / (D + C)) ** 0.5
        return {
            "weights": Drawn((D, C), -half, half, seed),
            "bias": small_biases(random, C),
            "examples": Drawn((N, D), 0.0, 1.0, [seed, 1]),
            "labels": random.integers(0, C, N),
            "rows": checked_rows(N, seed),
        }

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """In float64 for the checked examples; the sums from the errors and costs of all examples, as they were
        seen."""
        each, rows = 1.0 / len(seen["all_costs"]), inputs["rows"]
        examples = np.asarray(inputs["examples"])
        logits = inputs["weights"].times(examples[rows].astype(np.float64)) + inputs["bias"]
        errors, right = softmax(logits), (np.arange(len(rows)), inputs["labels"][rows])
        costs = -np.log(errors[right])[:, None]
        errors[right] -= 1.0
        return {
            "logits": logits,
            "errors": errors,
            "costs": costs,
            "gradient": Product(examples.T, seen["all_errors"], each),
            "bias_gradient": each * seen["all_errors"].sum(axis=0, dtype=np.float64),
            "cost": each * seen["all_costs"].sum(axis=0, keepdims=True, dtype=np.float64),
        }

    def flops(self, case: Case) -> float:
        """Two products of 2 N inputs outputs; the elementwise work is not counted."""
        D, C, N, _ = _cost_sizes(case)
        return 4.0 * N * D * C

    def traffic_bytes(self, case: Case) -> float:
        """Examples read by both products; weights read, the gradient read and written for every mini-batch; logits
        written and read, errors written and read by two products, costs written and read; fp32."""
        D, C, N, B = _cost_sizes(case)
        return 4.0 * (N * (2 * D + 5 * C + 2) + 3 * N / B * D * C)

    def memory_bytes(self, case: Case) -> float:
        """All examples, weights and gradient, logits and errors of all examples, fp32."""
        D, C, N, _ = _cost_sizes(case)
        return 4.0 * (N * (D + 2 * C) + 2 * D * C)


def _cost_sizes(case: Case) -> tuple[int, ...]:
    return sizes(case, "inputs", "outputs", "batch", "mini_batch")
