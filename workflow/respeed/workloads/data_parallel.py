"""Synchronous data-parallel training: gradient descent on a mini-batch that is split over replicas of a net.

Replica r of R has a copy of the net, and the examples x (B/R, V) of its part with their labels. Each computes

    h = tanh(x W1 + b1)        z = h W2 + b2        e2 = softmax(z) - onehot(labels)        e1 = e2 W2^T (1 - h^2)
    g_r = -rate/B (x^T e1, sum e1, h^T e2, sum e2)

waits for all, and adds their sum, which is the mini-batch's average, to its parameters: p += g_1 + ... + g_R. As every
replica adds the same, their copies stay the same. Replicas are processes on one core each, or on one GPU each; the sum
is an all-reduce, over the loopback interface on the CPU.
"""

from typing import Any

import numpy as np

from respeed.backends import Array, BackendContract, Group, Replicas
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._common import sizes

PARAMETERS = {
    "visible": "whole", "hidden": "whole", "classes": "whole", "batch": "whole", "learning_rate": "real",
    "replicas": "whole",
}  # fmt: skip
TESTS = {
    "smoke": {"visible": 64, "hidden": 32, "classes": 10, "batch": 24, "learning_rate": 0.5, "replicas": 1},
    "odd": {"visible": 53, "hidden": 37, "classes": 7, "batch": 31, "learning_rate": 0.5, "replicas": 1},
    "large": {"visible": 320, "hidden": 320, "classes": 320, "batch": 320, "learning_rate": 0.5, "replicas": 1},
}
BACKENDS = ("torch",)
PRECISIONS = ("fp32", "fp64")
# In other processes: not by the backend of this one.
PRODUCTS = False
ASKS = ("replicas",)

# Mini-batches that are cycled through.
BATCHES = 4


class Replica:
    """One copy of the net and its part of every mini-batch. Its backend offers what nets need."""

    def __init__(self, backend: BackendContract, group: Group, case: Case, inputs: Inputs) -> None:
        V, H, C, B = _sizes(case)
        self.backend, self.group = backend, group
        self.rate = case.parameters["learning_rate"] / B
        # All parameters side by side, and all changes: one array to add up.
        self.parameters = backend.array(inputs["parameters"])
        self.changes = backend.zeros(1, parameter_count(case))
        self.W1, self.b1, self.W2, self.b2 = views(self.parameters, V, H, C)
        self.dW1, self.db1, self.dW2, self.db2 = views(self.changes, V, H, C)
        part = slice(group.rank * B // group.count, (group.rank + 1) * B // group.count)
        self.batches = [
            (backend.array(np.asarray(x)[part]), backend.labels(labels[part]))
            for x, labels in zip(inputs["examples"], inputs["labels"], strict=True)
        ]
        own = part.stop - part.start
        self.h, self.e1 = backend.zeros(own, H), backend.zeros(own, H)
        self.z, self.e2 = backend.zeros(own, C), backend.zeros(own, C)
        self.costs = backend.zeros(own, 1)
        self.ones = backend.array(np.ones((1, own)))
        self.count = 0

    def step(self) -> None:
        x, labels = self.batches[self.count % len(self.batches)]
        self.gradient(x, labels)
        self.group.all_reduce(self.changes)
        self.backend.add(self.changes, self.parameters)
        self.count += 1

    def gradient(self, x: Array, labels: Array) -> None:
        """-rate/B of this part's gradient, into `changes`."""
        backend, down = self.backend, -self.rate
        backend.dense_layer(x, self.W1, self.b1, self.h, activation="tanh")  # (own, H)
        backend.dense_layer(self.h, self.W2, self.b2, self.z, activation="none")  # (own, C)
        backend.softmax_error(self.z, labels, self.e2, self.costs)
        backend.gemm(self.e2, self.W2, self.e1, transpose_b=True)
        backend.activation_backward(self.h, self.e1, activation="tanh")
        backend.gemm(x, self.e1, self.dW1, transpose_a=True, alpha=down)
        backend.gemm(self.ones, self.e1, self.db1, alpha=down)
        backend.gemm(self.h, self.e2, self.dW2, transpose_a=True, alpha=down)
        backend.gemm(self.ones, self.e2, self.db2, alpha=down)

    def state(self) -> np.ndarray:
        return self.backend.host(self.parameters)


class _DataParallel:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.replicas = backend.replicas(_replicas(case))
        _rehearse(self.replicas, _replicas(case))
        self.replicas.build(Replica, case, inputs)
        self.helpers = self.replicas.processes

    def step(self) -> None:
        self.replicas.call("step")

    def state(self) -> Arrays:
        """The parameters of the first, and how far those of each are from them."""
        every = self.replicas.call("state")
        return {"parameters": every[0], "apart": np.array([np.abs(one - every[0]).max() for one in every])}


def _rehearse(replicas: Replicas, count: int) -> None:
    """A tiny step in every replica: what its process loads at a first one would take longer than the step that is
    timed, 0.3 s where it takes 0.02."""
    tiny = Case("rehearsal", "data_parallel", {**TESTS["smoke"], "batch": 8 * count, "replicas": count})
    replicas.build(Replica, tiny, inputs(tiny, seed=0))
    replicas.call("step")


build = _DataParallel


def inputs(case: Case, seed: int) -> Inputs:
    """Weights of a standard deviation of 1 over the root of what comes in; biases in +-0.1; examples uniform in [0, 1),
    as pixel intensities are; labels uniform."""
    V, H, C, B = _sizes(case)
    random = np.random.default_rng(seed)
    parameters = np.empty((1, parameter_count(case)), np.float32)
    W1, b1, W2, b2 = views(parameters, V, H, C)
    W1[:], W2[:] = random.standard_normal(W1.shape) / V**0.5, random.standard_normal(W2.shape) / H**0.5
    b1[:], b2[:] = random.uniform(-0.1, 0.1, b1.shape), random.uniform(-0.1, 0.1, b2.shape)
    return {
        "parameters": parameters,
        "examples": random.random((BATCHES, B, V), dtype=np.float32),
        "labels": random.integers(0, C, (BATCHES, B)),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """What one replica with the whole mini-batch changes in its parameters, in float64; and that all are the same."""
    V, H, C, B = _sizes(case)
    W1, b1, W2, b2 = views(inputs["parameters"].astype(np.float64), V, H, C)
    x, labels = inputs["examples"][0].astype(np.float64), inputs["labels"][0]
    h = np.tanh(x @ W1 + b1)
    z = h @ W2 + b2
    e2 = np.exp(z - z.max(axis=1, keepdims=True))
    e2 /= e2.sum(axis=1, keepdims=True)
    e2[np.arange(B), labels] -= 1.0
    e1 = e2 @ W2.T * (1.0 - h**2)
    gradients = [x.T @ e1, e1.sum(axis=0), h.T @ e2, e2.sum(axis=0)]
    changes = np.concatenate([gradient.ravel() for gradient in gradients])[None, :]
    rate = case.parameters["learning_rate"] / B
    return {"parameters": -rate * changes, "apart": np.zeros(_replicas(case))}


def views(flat: Any, V: int, H: int, C: int) -> tuple[Any, Any, Any, Any]:
    """W1 (V, H), b1 (1, H), W2 (H, C) and b2 (1, C) in an array (1, n) that has them one after another."""
    ends = np.cumsum([V * H, H, H * C, C]).tolist()
    shapes = ((V, H), (1, H), (H, C), (1, C))
    first, second, third, fourth = (
        flat[0, start:end].reshape(*shape) for start, end, shape in zip([0, *ends], ends, shapes, strict=False)
    )
    return first, second, third, fourth


def parameter_count(case: Case) -> int:
    V, H, C, _ = _sizes(case)
    return V * H + H + H * C + C


def flops(case: Case) -> float:
    """Five products, 4 B V H + 6 B H C: the error is not carried on to the examples."""
    V, H, C, B = _sizes(case)
    return 4.0 * B * V * H + 6.0 * B * H * C


def traffic_bytes(case: Case) -> float:
    """Of every replica: parameters and changes read and written once each; examples read by two products, fp32."""
    V, _, _, B = _sizes(case)
    return 4.0 * (4 * _replicas(case) * parameter_count(case) + 2 * B * V)


def memory_bytes(case: Case) -> float:
    """Of every replica: parameters and changes; mini-batches, units and errors in parts, fp32."""
    V, H, C, B = _sizes(case)
    return 4.0 * (2 * _replicas(case) * parameter_count(case) + B * (BATCHES * V + 2 * H + 2 * C))


def _sizes(case: Case) -> tuple[int, ...]:
    return sizes(case, "visible", "hidden", "classes", "batch")


def _replicas(case: Case) -> int:
    return int(case.parameters["replicas"])
