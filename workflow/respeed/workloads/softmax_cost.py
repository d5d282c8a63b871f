"""Cost and gradient of softmax regression over all mini-batches of a training set, as an optimiser asks for them.

For N (`batch`) examples x with labels y, in mini-batches of `mini_batch`, weights W (inputs, outputs), bias b:

    z = x W + b    cost = 1/N sum(-log softmax(z) at y)    e = softmax(z) - onehot(y)
    dW = 1/N x^T e    db = 1/N sum(e)

One step is all of them: what an iteration of conjugate gradients asks for once or more. Cost and gradient share the
product x W. The gradient is added up by the products themselves, over the mini-batches.
"""

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import Drawn, checked_rows, softmax

PARAMETERS = {"inputs": "whole", "outputs": "whole", "batch": "whole", "mini_batch": "whole"}
TESTS = {
    "smoke": {"inputs": 36, "outputs": 10, "batch": 36, "mini_batch": 12},
    "odd": {"inputs": 37, "outputs": 7, "batch": 139, "mini_batch": 29},
    "large": {"inputs": 320, "outputs": 320, "batch": 640, "mini_batch": 320},
}
ASKS = ("dense_layer", "labels", "softmax_error")


class _Cost:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        D, C, N, B = _sizes(case)
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


build = _Cost


def inputs(case: Case, seed: int) -> Inputs:
    """Examples uniform in [0, 1), labels even over the classes, weights uniform in +-sqrt(6 / (inputs + outputs)),
    small biases; `rows`: the examples that are checked."""
    D, C, N, _ = _sizes(case)
    random, half = np.random.Generator(np.random.SFC64(seed)), (6.0 / (D + C)) ** 0.5
    return {
        "weights": Drawn((D, C), -half, half, seed),
        "bias": random.random(C, dtype=np.float32) * np.float32(0.02) - np.float32(0.01),
        "examples": Drawn((N, D), 0.0, 1.0, [seed, 1]),
        "labels": random.integers(0, C, N),
        "rows": checked_rows(N, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """In float64 for the checked examples; the sums from the errors and costs of all examples, as they were seen."""
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


def flops(case: Case) -> float:
    """Two products of 2 N inputs outputs; the elementwise work is not counted."""
    D, C, N, _ = _sizes(case)
    return 4.0 * N * D * C


def traffic_bytes(case: Case) -> float:
    """Examples read by both products; weights read, the gradient read and written for every mini-batch; logits written
    and read, errors written and read by two products, costs written and read; fp32."""
    D, C, N, B = _sizes(case)
    return 4.0 * (N * (2 * D + 5 * C + 2) + 3 * N / B * D * C)


def memory_bytes(case: Case) -> float:
    """All examples, weights and gradient, logits and errors of all examples, fp32."""
    D, C, N, _ = _sizes(case)
    return 4.0 * (N * (D + 2 * C) + 2 * D * C)


def _sizes(case: Case) -> tuple[int, int, int, int]:
    inputs, outputs, batch, mini_batch = (int(case.parameters[name]) for name in PARAMETERS)
    return inputs, outputs, batch, mini_batch
