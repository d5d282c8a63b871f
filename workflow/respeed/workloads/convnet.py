"""A training step of a convolutional net: forward, the gradient at the output, backward.

A net is a list of nodes; node i gives y_i (B, ...) by its layer and activation, y_0 being the images (`_networks.py`):

    y_i = f_i(layer_i(y_s, ...))                              s: the node's sources
    g_i = f_i'(y_i) sum over the nodes j that read i of (d layer_j / d y_i)^T g_j
    gradients of what layer i learns: (d layer_i / d parameters)^T g_i, over all examples

The last node's g is drawn (`update: none`), or that of the softmax loss of drawn labels, (softmax(y) - labels) / B, and
the step ends with parameters -= learning_rate * gradients (`update: sgd`).

For speed: images lie pixel by pixel, as oneDNN and cuDNN are fastest on; activations, and what follows from their
slopes, are computed in place; cuDNN tries its algorithms for each shape beforehand. No automatic differentiation, whose
operations these are. A step allocates the outputs and gradients of the nodes, and its library what it needs within a
convolution; all of that memory was in use when the program was built.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._drawn import Drawn
from respeed.workloads._layers import pixel_by_pixel
from respeed.workloads._net import Net, own_gradients
from respeed.workloads._net_check import expected_values, found_values, make_plan, scaled
from respeed.workloads._network_sizes import Shape, multiply_adds, parameter_shapes, shapes, source_shape
from respeed.workloads._networks import Images, Linear, LocalResponse, MaxPool, Node, Normalization, make_network

# `network` at `width` times its channels, on `batch` images of side x side pixels, with so many `classes`.
# `update`: "none" is forward and backward alone, from a drawn gradient of the output, and `learning_rate` is 0;
# "sgd" begins backward at the softmax loss of drawn labels, and ends with parameters -= learning_rate * gradients.
# `gradients`: whether backward also computes that of the images, of which training has no use.
PARAMETERS = {
    "network": (
        "alexnet",
        "vgg16",
        "vgg19",
        "resnet18",
        "resnet34",
        "resnet50",
        "resnet101",
        "resnet152",
        "lenet",
        "digits",
    ),
    "width": "real",
    "batch": "whole",
    "side": "whole",
    "classes": "whole",
    "update": ("none", "sgd"),
    "learning_rate": "real",
    "gradients": ("parameters", "parameters-and-images"),
}
TESTS = {
    "smoke": {
        "network": "lenet",
        "width": 1.0,
        "batch": 20,
        "side": 28,
        "classes": 10,
        "update": "sgd",
        "learning_rate": 0.1,
        "gradients": "parameters",
    },
    "odd": {
        "network": "resnet50",
        "width": 0.07,
        "batch": 5,
        "side": 53,
        "classes": 7,
        "update": "none",
        "learning_rate": 0.0,
        "gradients": "parameters",
    },
    "large": {
        "network": "vgg16",
        "width": 0.25,
        "batch": 3,
        "side": 64,
        "classes": 320,
        "update": "none",
        "learning_rate": 0.0,
        "gradients": "parameters",
    },
}
BACKENDS = ("torch",)
PRECISIONS = ("fp32", "tf32", "fp64")
ALLOCATES = True

# Mini-batches that are cycled through where a step learns: on one alone it would soon have nothing to learn.
BATCHES = 4


@dataclass(frozen=True)
class Sizes:
    """What a case comes to: the nodes, the shape of what each gives for an example, and B."""

    nodes: tuple[Node, ...]
    shapes: list[Shape]
    batch: int
    learns: bool
    images_too: bool

    @property
    def learned(self) -> list[list[Shape]]:
        """The shapes of each node's parameters."""
        sources = (source_shape(self.nodes, self.shapes, number) for number in range(len(self.nodes)))
        return [parameter_shapes(node, source) for node, source in zip(self.nodes, sources, strict=True)]


class ConvNet:
    """A step always reads the same `images` and `target`: where there are more mini-batches, the next one is copied to
    them."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        sizes = _sizes(case)
        self.backend, self.plan, self.learns = backend, inputs["plan"], sizes.learns
        self.rate = case.parameters["learning_rate"]
        self.batches = [backend.array(np.asarray(batch)) for batch in inputs["images"]]  # (B, C, side, side)
        self.targets = [backend.array(batch) for batch in inputs["targets"]]  # (B, classes)
        self.images, self.target = pixel_by_pixel(self.batches[0]), self.targets[0].clone()
        learned = [[backend.array(np.asarray(array)) for array in arrays] for arrays in inputs["parameters"]]
        self.net = Net(sizes.nodes, sizes.shapes, sizes.batch, learned, backend.zeros, sizes.images_too)
        self.error = torch.full_like(self.target, 0.0) if self.learns else self.target
        self.loss = self.error.new_zeros(())
        self.before = self._checked_parameters()
        self.count = 0
        if not backend.synchronous:
            self._meet()
        self.captured = backend.captured(self.train)

    def _meet(self) -> None:
        """Have an accelerator's libraries choose their algorithms, which they cannot do while a step is captured."""
        self.forward_and_backward()
        self.backend.sync()
        self.net.forget()

    def step(self) -> None:
        if self.count and len(self.batches) > 1:
            self.backend.copy(self.batches[self.count % len(self.batches)], self.images)
            self.backend.copy(self.targets[self.count % len(self.targets)], self.target)
        self.captured()
        self.count += 1

    def train(self) -> None:
        """Learn from the mini-batch, or only compute its gradients."""
        self.forward_and_backward()
        if self.learns:
            for array, gradient in self.net.learned():
                array.add_(gradient, alpha=-self.rate)

    def forward_and_backward(self) -> None:
        scores = self.net.forward(self.images)  # (B, classes)
        if self.learns:
            logarithms = torch.log_softmax(scores, 1)
            self.loss.copy_((logarithms * self.target).sum().div_(-len(scores)))
            torch.exp(logarithms, out=self.error).sub_(self.target).div_(len(scores))
        self.net.backward(self.error)

    def state(self) -> Arrays:
        """What `_net_check` looks at, and the loss."""
        host, seen = self.backend.host, {}
        for number in self.plan.with_gradients:
            seen[f"g_{number}"] = host(self.net.gradients[number])
        for number, layer in enumerate(self.net.layers):
            seen[f"y_{number}"] = host(self.net.outputs[number])
            for index, gradient in enumerate(layer.gradients if layer else ()):
                seen[f"gradient_{number}_{index}"] = host(gradient)
            for name, array in zip(("mean", "variance"), getattr(layer, "running", ()), strict=False):
                seen[f"{name}_{number}"] = host(array)
        if self.learns:
            after = self._checked_parameters()
            seen |= {name: array - self.before[name] for name, array in after.items()}
            seen["loss"] = host(self.loss)
        found = found_values(self.plan, seen)
        return {**seen, **scaled(found, found)}

    def _checked_parameters(self) -> dict[str, np.ndarray]:
        """The entries whose change is checked."""
        return {
            f"change_{number}_{index}": self.backend.host(array[entries]).astype(np.float64)
            for number, layer in enumerate(self.net.layers[1:], 1)
            for index, (array, entries) in enumerate(zip(layer.parameters, self.plan.entries[number], strict=True))
        }


def build(backend: BackendContract, case: Case, inputs: Inputs) -> ConvNet:
    return ConvNet(backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    """Images, and targets: labels drawn evenly, as rows of zeros and a one, or the gradient at the output itself, uniform
    with variance 1. Parameters as is usual before training: weights uniform with a variance of 2 over the numbers that an
    output reads. Biases are usually 0 and gains 1; these are near, so that a step that left them out would not pass as
    correct. `plan`: what is checked.
    """
    sizes = _sizes(case)
    images = sizes.nodes[0].layer
    assert isinstance(images, Images)
    B, classes, batches = sizes.batch, sizes.shapes[-1][0], BATCHES if sizes.learns else 1
    random = np.random.Generator(np.random.SFC64([seed, 0]))
    if sizes.learns:
        targets = np.eye(classes, dtype=np.float32)[random.integers(0, classes, (batches, B))]
    else:
        targets = (12**0.5 * (random.random((batches, B, classes), dtype=np.float32) - 0.5)).astype(np.float32)
    return {
        "images": Drawn((batches, B, *sizes.shapes[0]), images.low, images.high, [seed, 1]),
        "targets": targets,
        "parameters": [
            [_start(node, shape, index, [seed, 2, number, index]) for index, shape in enumerate(learned)]
            for number, (node, learned) in enumerate(zip(sizes.nodes, sizes.learned, strict=True))
        ],
        "plan": make_plan(sizes.nodes, sizes.shapes, B, sizes.images_too, seed),
    }


def _start(node: Node, shape: Shape, index: int, seed: list[int]) -> Drawn:
    """A parameter before the first step."""
    if index:
        return Drawn(shape, -0.1, 0.1, seed)
    if isinstance(node.layer, Normalization):
        return Drawn(shape, 0.5, 1.5, seed)
    half = (6.0 / math.prod(shape[1:])) ** 0.5
    return Drawn(shape, -half, half, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The first step in float64, node by node (`_net_check`)."""
    sizes, plan = _sizes(case), inputs["plan"]
    error, target, rate = inputs["targets"][0], inputs["targets"][0], None
    given = {**seen, "y_0": np.asarray(inputs["images"][0])}
    extra = {}
    if sizes.learns:
        scores = seen[f"y_{len(sizes.nodes) - 1}"].astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        logarithms = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        error, rate = (np.exp(logarithms) - target) / sizes.batch, case.parameters["learning_rate"]
        extra["loss"] = -(logarithms * target).sum(keepdims=True)[0, :1] / sizes.batch
    expected = expected_values(plan, inputs["parameters"], error, given, rate)
    return {**scaled(expected, found_values(plan, seen)), **extra}


def flops(case: Case) -> float:
    """Two for every multiply-add of convolutions and linear layers: forward, for the gradients of the weights, and, but
    for what reads the images, for those of the inputs. The elementwise work is not counted."""
    sizes = _sizes(case)
    counts = multiply_adds(sizes.nodes, sizes.shapes[0][1])
    unneeded = 0 if sizes.images_too else sum(
        count for node, count in zip(sizes.nodes, counts, strict=True) if node.sources == (0,)
    )
    return 2.0 * sizes.batch * (3 * sum(counts) - unneeded)


def traffic_bytes(case: Case) -> float:
    """Parameters read by both passes, their gradients written; outputs written, and read by both passes; their gradients
    written, and read twice: for the inputs and for the parameters. Fp32."""
    sizes = _sizes(case)
    outputs, gradients, learned = _numbers(sizes)
    update = 3 * learned if sizes.learns else 0
    return 4.0 * (3 * learned + update + 3 * outputs + 3 * gradients)


def memory_bytes(case: Case) -> float:
    """Parameters and their gradients, images, outputs, their gradients, fp32; what pooling and local responses keep."""
    sizes = _sizes(case)
    outputs, gradients, learned = _numbers(sizes)
    images = sizes.batch * math.prod(sizes.shapes[0]) * (BATCHES if sizes.learns else 1)
    kept = {MaxPool: 2, LocalResponse: 1}  # 64-bit indices; the scale
    beside = sum(
        kept.get(type(node.layer), 0) * sizes.batch * math.prod(shape)
        for node, shape in zip(sizes.nodes, sizes.shapes, strict=True)
    )
    return 4.0 * (2 * learned + images + outputs + gradients + beside)


def _numbers(sizes: Sizes) -> tuple[float, float, float]:
    """Of the nodes' outputs, images included; of those gradients of them that are arrays of their own; of parameters."""
    each = [sizes.batch * math.prod(shape) for shape in sizes.shapes]
    gradients = sum(each[number] for number in own_gradients(sizes.nodes, sizes.images_too)) + each[-1]
    learned = sum(math.prod(shape) for shapes in sizes.learned for shape in shapes)
    return sum(each), gradients, learned


def _sizes(case: Case) -> Sizes:
    given = case.parameters
    nodes = make_network(str(given["network"]), float(given["width"]), int(given["classes"]))
    return Sizes(
        nodes,
        shapes(nodes, int(given["side"])),
        int(given["batch"]),
        str(given["update"]) == "sgd",
        str(given["gradients"]) == "parameters-and-images",
    )
