"""A training step of a convolutional net: forward, the gradient at the output, backward.

A net is a list of nodes; node i gives y_i (B, ...) by its layer and activation, y_0 being the images (`_networks.py`):

    y_i = f_i(layer_i(y_s, ...))                              s: the node's sources
    g_i = f_i'(y_i) sum over the nodes j that read i of (d layer_j / d y_i)^T g_j
    gradients of what layer i learns: (d layer_i / d parameters)^T g_i, over all examples

The last node's g is drawn (`update: none`), or that of the softmax loss of drawn labels, (softmax(y) - labels) / B, and
the step ends with parameters -= learning_rate * gradients (`update: sgd`).

Derivatives are torch's automatic ones. For speed, images lie in the layout that the library is fastest on
(`fastest_layout`), activations are computed in place, and cuDNN tries its algorithms for each shape beforehand. A step
allocates the outputs and gradients of the nodes, and its library what it needs within a convolution; that memory was in
use when the program was built. All outputs and gradients stay until the next step: what is checked is what was timed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from respeed.backends import BackendContract, Group
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._common import Drawn, WorkloadClass, sizes
from respeed.workloads._net_check import expected_values, found_values, make_plan, scaled
from respeed.workloads._networks import BiasedPool, LocalResponse, Network, Node, Normalization

# `network` at `width` times its channels, on `batch` images of side x side pixels, with so many `classes`.
# `update`: "none" is forward and backward alone, from a drawn gradient of the output, and `learning_rate` is 0;
# "sgd" begins backward at the softmax loss of drawn labels, and ends with parameters -= learning_rate * gradients.
# `gradients`: whether backward also computes that of the images, of which training has no use.
PARAMETERS = {
    "network": (
        "alexnet", "vgg16", "vgg19", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnet200",
        "inception-v1", "lenet", "lenet-pooled", "digits", "conv-small", "conv-medium", "conv-large",
    ),
    "width": "real", "batch": "whole", "side": "whole", "classes": "whole", "update": ("none", "sgd"),
    "learning_rate": "real", "gradients": ("parameters", "parameters-and-images"),
}  # fmt: skip
TESTS = {
    "smoke": {
        "network": "lenet", "width": 1.0, "batch": 20, "side": 28, "classes": 10, "update": "sgd",
        "learning_rate": 0.1, "gradients": "parameters",
    },
    "odd": {
        "network": "resnet50", "width": 0.07, "batch": 5, "side": 53, "classes": 7, "update": "none",
        "learning_rate": 0.0, "gradients": "parameters",
    },
    "large": {
        "network": "vgg16", "width": 0.25, "batch": 3, "side": 64, "classes": 320, "update": "none",
        "learning_rate": 0.0, "gradients": "parameters",
    },
}  # fmt: skip
BACKENDS = ("torch",)
PRECISIONS = ("fp32", "tf32", "fp64")
ALLOCATES = True

# Mini-batches that are cycled through where a step learns: on one alone it would soon have nothing to learn.
BATCHES = 4
# Channels that oneDNN works on at a time, with AVX-512.
BLOCK = 16
# Numbers that a layer keeps for each that it gives.
KEPT = {nn.MaxPool2d: 2, BiasedPool: 3, LocalResponse: 2}
# Free memory that a net begins with, over that of its outputs and gradients. An array often finds a hole that is a
# little too small, for alignment or for what a convolution keeps meanwhile, and goes elsewhere: over the first four
# steps ResNet-50 took 0.46 of theirs more.
SPARE = 0.5
PIECE = 2**26  # numbers; a larger array would not be kept when it is given up


class Net(nn.Module):  # type: ignore[misc]
    """The nodes' layers with their parameters (`learned`, of each node), all in the layout of the images. `outputs` and
    `gradients` have those of the last step, by node; `zeros` makes an array."""

    def __init__(self, net: Network, learned: Sequence[Sequence[Tensor]], zeros: Any, layout: Any) -> None:
        super().__init__()
        self.nodes = net.nodes
        self.outputs: dict[int, Tensor] = {}
        self.gradients: dict[int, Tensor] = {}
        self.layers = nn.ModuleList(node.layer or nn.Identity() for node in net.nodes)
        numbers = round((1 + SPARE) * (net.outputs + net.gradients))
        spare = [zeros(min(PIECE, numbers - begin)) for begin in range(0, numbers, PIECE)]
        self.layers.to_empty(device=spare[0].device).to(spare[0].dtype)
        for layer, arrays in zip(self.layers, learned, strict=True):
            for (name, _), array in zip(list(layer.named_parameters()), arrays, strict=True):
                setattr(layer, name, nn.Parameter(laid_out(array, layout)))
        self.start_over()
        del spare

    def start_over(self) -> None:
        """As before the first step."""
        self._forget()
        for layer in self.layers:
            if isinstance(layer, Normalization | LocalResponse):
                layer.start_over()

    def forward(self, images: Tensor) -> Tensor:
        """What the last node gives for images (B, C, H, W) in the layout of the net."""
        self._forget()
        # A view of its own: what is hooked to the images themselves would stay there.
        self.outputs[0] = y = images.view_as(images) if images.requires_grad else images
        if images.requires_grad:
            self._keep_gradient(0, y)
        for number, node in enumerate(self.nodes[1:], 1):
            y = self.layers[number](*(self.outputs[source] for source in node.read))
            for source in node.added:
                y.add_(self.outputs[source])
            if node.activation:
                y = {"relu": torch.relu_, "tanh": torch.tanh_}[node.activation](y)
            self._keep_gradient(number, y)
            self.outputs[number] = y
        return y

    def _keep_gradient(self, number: int, y: Tensor) -> None:
        kept = self.gradients  # and not `self`, which holds y: a circle would keep a program's memory
        y.register_hook(lambda gradient: kept.__setitem__(number, gradient))

    def _forget(self) -> None:
        self.outputs.clear()
        self.gradients.clear()
        self.zero_grad(set_to_none=True)


class ConvNet:
    """A step reads `images` and `target`. A captured one knows only these arrays: if there are more mini-batches, the
    next one is copied to them."""

    as_graph = True

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        net = Network(case)
        self.backend, self.plan, self.learns = backend, inputs["plan"], net.learns
        self.rate = case.parameters["learning_rate"]
        layout = fastest_layout(backend, net.nodes)
        self.batches = [
            laid_out(backend.array(np.asarray(batch)), layout).requires_grad_(net.images_too)
            for batch in inputs["images"]
        ]  # (B, C, H, W)
        self.targets = [backend.array(batch) for batch in inputs["targets"]]  # (B, classes)
        self.images = self.batches[0].detach().clone().requires_grad_(net.images_too)
        self.target = self.targets[0].clone()
        learned = [[backend.array(np.asarray(array)) for array in arrays] for arrays in inputs["parameters"]]
        self.net = Net(net, learned, backend.zeros, layout)
        self.loss = self.target.new_zeros(())
        self.before = self._checked_parameters()
        self.count = 0
        if not backend.synchronous:
            self._meet()
        self.captured = backend.captured(self.train) if self.as_graph else self.train

    def _meet(self) -> None:
        """Have an accelerator's libraries choose their algorithms, which they cannot do while a step is captured."""
        self.forward_and_backward()
        self.backend.sync()
        self.net.start_over()

    def step(self) -> None:
        images, target = (arrays[self.count % len(arrays)] for arrays in (self.batches, self.targets))
        if self.backend.synchronous:
            self.images, self.target = images, target
        elif len(self.batches) > 1:
            self.backend.copy(images, self.images)
            self.backend.copy(target, self.target)
        self.captured()
        self.count += 1

    def train(self) -> None:
        """Learn from the mini-batch, or only compute its gradients."""
        self.forward_and_backward()
        if self.learns:
            for array in self.net.parameters():
                array.add_(array.grad, alpha=-self.rate)

    def forward_and_backward(self) -> None:
        with torch.enable_grad():
            scores = self.net(self.images)  # (B, classes)
            if self.learns:
                loss = nn.functional.cross_entropy(scores, self.target)
                loss.backward()
                self.loss.copy_(loss.detach())
            else:
                scores.backward(self.target)

    def state(self) -> Arrays:
        """What `_net_check` looks at, and the loss."""
        host, seen = self.backend.host, {}
        for number, gradient in self.net.gradients.items():
            seen[f"g_{number}"] = host(gradient)
        for number, layer in enumerate(self.net.layers):
            seen[f"y_{number}"] = host(self.net.outputs[number].detach())
            for index, array in enumerate(layer.parameters()):
                seen[f"gradient_{number}_{index}"] = host(array.grad)
            if isinstance(layer, Normalization):
                seen[f"mean_{number}"], seen[f"variance_{number}"] = host(layer.running_mean), host(layer.running_var)
        if self.learns:
            for place, array in self._checked_parameters().items():
                seen[f"before_{place}"], seen[f"change_{place}"] = self.before[place], array - self.before[place]
            seen["loss"] = host(self.loss)
        return {**seen, **scaled(self.plan, found_values(self.plan, seen), seen)}

    def _checked_parameters(self) -> dict[str, np.ndarray]:
        """The entries whose change is checked, by node and parameter."""
        return {
            f"{number}_{index}": self.backend.host(array.detach()[entries]).astype(np.float64)
            for number, layer in enumerate(self.net.layers)
            for index, (array, entries) in enumerate(zip(layer.parameters(), self.plan.entries[number], strict=True))
        }


def laid_out(array: Tensor, layout: Any) -> Tensor:
    """The same images (B, C, H, W), or kernels, in the layout; other arrays as they are."""
    return array.contiguous(memory_format=layout) if array.dim() == 4 else array


def fastest_layout(backend: BackendContract, nodes: Sequence[Node]) -> Any:
    """Images pixel by pixel (channels_last) for oneDNN, on which a convolution in fp32 was up to 2.5 times as fast as
    on images that lie channel by channel, and for Tensor Cores, which compute on nothing else. Channel by channel where
    a convolution has fewer channels than oneDNN takes at a time, and for cuDNN's strict fp32 and fp64, whose algorithms
    are made for that.
    """
    narrow = any(isinstance(node.layer, nn.Conv2d) and node.layer.out_channels < BLOCK for node in nodes)
    strict = not backend.synchronous and backend.describe()["precision"] != "tf32"
    return torch.contiguous_format if narrow or strict else torch.channels_last


build = ConvNet


def inputs(case: Case, seed: int) -> Inputs:
    """Images, and targets: labels drawn evenly, as rows of zeros and a one, or the gradient at the output itself,
    uniform with variance 1. Parameters as is usual before training: weights uniform with a variance of 2 over the
    numbers that an output reads. Biases are usually 0 and gains 1; these are near, so that a step that left them out
    would not pass as correct. `plan`: what is checked.
    """
    net = Network(case)
    B, classes, batches = net.batch, net.nodes[-1].shape[0], BATCHES if net.learns else 1
    random = np.random.Generator(np.random.SFC64([seed, 0]))
    if net.learns:
        targets = np.eye(classes, dtype=np.float32)[random.integers(0, classes, (batches, B))]
    else:
        targets = np.float32(12**0.5) * (random.random((batches, B, classes), dtype=np.float32) - np.float32(0.5))
    return {
        "images": Drawn((batches, B, *net.nodes[0].shape), net.low, net.high, [seed, 1]),
        "targets": targets,
        "parameters": [
            [_start(node, shape, index, [seed, 2, number, index]) for index, shape in enumerate(node.learned)]
            for number, node in enumerate(net.nodes)
        ],
        "plan": make_plan(net, seed),
    }


def _start(node: Node, shape: Sequence[int], index: int, seed: list[int]) -> Drawn:
    """A parameter before the first step."""
    if index or isinstance(node.layer, BiasedPool):
        return Drawn(tuple(shape), -0.1, 0.1, seed)
    if isinstance(node.layer, Normalization):
        return Drawn(tuple(shape), 0.5, 1.5, seed)
    half = (6.0 / math.prod(shape[1:])) ** 0.5
    return Drawn(tuple(shape), -half, half, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The first step in float64, node by node (`_net_check`)."""
    net, plan = Network(case), inputs["plan"]
    error, rate, extra = inputs["targets"][0], None, {}
    if net.learns:
        scores = seen[f"y_{len(net.nodes) - 1}"].astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        logarithms = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        extra["loss"] = -(logarithms * error).sum(keepdims=True)[0, :1] / net.batch
        error, rate = (np.exp(logarithms) - error) / net.batch, case.parameters["learning_rate"]
    seen = {**seen, "y_0": np.asarray(inputs["images"][0])}
    return {**scaled(plan, expected_values(plan, inputs["parameters"], error, seen, rate), seen), **extra}


def flops(case: Case) -> float:
    """Two for every multiply-add of convolutions and linear layers: forward, for the gradients of the weights, and, but
    for what reads the images, for those of the inputs. The elementwise work is not counted."""
    net = Network(case)
    counts = net.multiply_adds
    first = sum(count for node, count in zip(net.nodes, counts, strict=True) if node.sources == (0,))
    return 2.0 * net.batch * (3 * sum(counts) - (0 if net.images_too else first))


def traffic_bytes(case: Case) -> float:
    """Parameters read by both passes, their gradients written, and all three for the update; outputs written, and read
    by both passes; their gradients written, and read for those of the inputs and of the parameters. Fp32."""
    net = Network(case)
    return 4.0 * ((6 if net.learns else 3) * net.parameters + 3 * net.outputs + 3 * net.gradients)


def memory_bytes(case: Case) -> float:
    """Parameters and their gradients, mini-batches, outputs and their gradients, fp32, and what pooling (64-bit places)
    and local responses keep; and the memory that is free between these (SPARE)."""
    net = Network(case)
    kept = sum(KEPT.get(type(node.layer), 0) * net.batch * math.prod(node.shape) for node in net.nodes)
    batches = BATCHES * net.batch * math.prod(net.nodes[0].shape) if net.learns else 0
    return 4.0 * (2 * net.parameters + batches + (1 + SPARE) * (net.outputs + net.gradients) + kept)


class Replica(ConvNet):
    """A copy of the net with its part of the mini-batch; its gradients are the mean of those of all replicas. As all
    draw the same examples, that mean is what one net computes alone, and the first is checked as one."""

    as_graph = False

    def __init__(self, backend: BackendContract, group: Group, case: Case, seed: int) -> None:
        self.group, self.case, self.given = group, case, inputs(case, seed)
        super().__init__(backend, case, self.given)

    def forward_and_backward(self) -> None:
        super().forward_and_backward()
        for array in self.net.parameters():
            self.group.all_reduce(array.grad)
            array.grad.div_(self.group.count)

    def check(self) -> tuple[Arrays, Expected, np.ndarray]:
        """What the first one computed, what it must be, and of each the sums of its parameters."""
        seen = {} if self.group.rank else self.state()
        wanted = reference(self.case, self.given, seen) if seen else {}
        sums = [float(array.detach().double().sum()) for array in self.net.parameters()]
        return {name: seen[name] for name in wanted}, wanted, np.array(sums)


class _Replicas:
    def __init__(self, backend: BackendContract, case: Case, given: Inputs) -> None:
        self.replicas = backend.replicas(sizes(case, "replicas")[0])
        self.replicas.build(Replica, _part(case), given["seed"])
        self.helpers = self.replicas.processes

    def step(self) -> None:
        self.replicas.call("step")

    def state(self) -> Arrays:
        (found, wanted, first), *_ = every = self.replicas.call("check")
        apart = np.array([np.abs(sums - first).max() for _, _, sums in every])
        return {**found, **{f"wanted {name}": one for name, one in wanted.items()}, "apart": apart}


def _part(case: Case) -> Case:
    """What one replica does of it."""
    batch = int(case.parameters["batch"]) // sizes(case, "replicas")[0]
    return replace(case, parameters={**case.parameters, "batch": batch})


class Convnet(WorkloadClass):
    """A net on one device."""

    program = ConvNet
    inputs, reference, flops = staticmethod(inputs), staticmethod(reference), staticmethod(flops)
    traffic_bytes, memory_bytes = staticmethod(traffic_bytes), staticmethod(memory_bytes)


class ConvnetReplicas(WorkloadClass):
    """A net on several devices, or cores: a process each has a copy of it and its part of the mini-batch, and all wait
    for the mean of their gradients."""

    PARAMETERS: ClassVar = {
        "network": ("alexnet", "vgg16", "resnet50", "resnet152"), "width": "real", "batch": "whole", "side": "whole",
        "classes": "whole", "update": ("sgd",), "learning_rate": "real", "gradients": ("parameters",),
        "replicas": "whole",
    }  # fmt: skip
    TESTS: ClassVar = {
        "smoke": {"network": "alexnet", "width": 0.1, "batch": 4, "side": 67, "classes": 10, "update": "sgd",
                  "learning_rate": 0.1, "gradients": "parameters", "replicas": 1},
        "odd": {"network": "resnet50", "width": 0.07, "batch": 5, "side": 53, "classes": 7, "update": "sgd",
                "learning_rate": 0.1, "gradients": "parameters", "replicas": 1},
        "large": {"network": "vgg16", "width": 0.25, "batch": 3, "side": 64, "classes": 320, "update": "sgd",
                  "learning_rate": 1e-5, "gradients": "parameters", "replicas": 1},
    }  # fmt: skip
    PRECISIONS = ("fp32", "fp64")
    PRODUCTS = False
    ASKS = ("replicas",)

    program = _Replicas

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Every replica draws its own."""
        return {"seed": seed}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """As the first replica worked it out from what it saw; and that all are the same."""
        wanted = {name.removeprefix("wanted "): one for name, one in seen.items() if name.startswith("wanted ")}
        return wanted | {"apart": np.zeros(len(seen["apart"]))}

    def flops(self, case: Case) -> float:
        return sizes(case, "replicas")[0] * flops(_part(case))

    def traffic_bytes(self, case: Case) -> float:
        return sizes(case, "replicas")[0] * traffic_bytes(_part(case))

    def memory_bytes(self, case: Case) -> float:
        """Of one replica: each has a device of its own."""
        return memory_bytes(_part(case))
