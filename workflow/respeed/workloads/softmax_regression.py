"""Softmax regression by stochastic gradient descent: the multi-layer perceptron (`mlp`) without hidden layers.

For B examples x (B, inputs) with labels y, weights W (inputs, outputs), bias b, learning rate r:

    z = x W + b    cost = -log softmax(z) at y    e = softmax(z) - onehot(y)    W += -r/B x^T e    b += -r/B sum(e)
"""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, mlp

PARAMETERS = {"inputs": "whole", "outputs": "whole", "batch": "whole", "learning_rate": "real"}
TESTS = {
    "smoke": {"inputs": 36, "outputs": 10, "batch": 12, "learning_rate": 0.1},
    "odd": {"inputs": 37, "outputs": 7, "batch": 29, "learning_rate": 0.1},
    "large": {"inputs": 320, "outputs": 320, "batch": 320, "learning_rate": 0.1},
}
ASKS = ("dense_layer", "labels", "softmax_error")


def build(backend: BackendContract, case: Case, inputs: Inputs) -> mlp.Mlp:
    return mlp.build(backend, _net(case), inputs)


def inputs(case: Case, seed: int) -> Inputs:
    return mlp.inputs(_net(case), seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return mlp.reference(_net(case), inputs, seen)


def flops(case: Case) -> float:
    """Two products of 2 B inputs outputs."""
    return mlp.flops(_net(case))


def traffic_bytes(case: Case) -> float:
    return mlp.traffic_bytes(_net(case))


def memory_bytes(case: Case) -> float:
    return mlp.memory_bytes(_net(case))


def _net(case: Case) -> Case:
    """The same as a net: of no hidden layer, how many units one would have, and with what activation, says nothing."""
    of_nets = {"layers": 0, "hidden": 0, "activation": "none", "weight_decay": 0.0}
    return Case(case.name, "mlp", {**case.parameters, **of_nets})
