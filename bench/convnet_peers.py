"""A step of a convolutional net as a tutorial writes it in PyTorch, over ours (workloads/convnet.py). Run by
bench/peers.py.

The same net, made of torch.nn's modules from the same data, with the same parameters: images lie channel by channel, as
they do by default, ReLU is in place, and derivatives are automatic. zero_grad, forward, backward from the same gradient
of the output; where ours learns, from the cross-entropy of the same labels, and a step of torch.optim's SGD.
"""

from typing import Any

import numpy as np
import torch
from paired import Step, paired_ratio
from torch import nn

from respeed.backends import make_backend
from respeed.model.paper import Case
from respeed.workloads import Inputs, convnet
from respeed.workloads._networks import Linear, LocalResponse, Mean, Network, Normalization

# A comparison that would take longer has fewer pairs, and says so.
MOST_SECONDS = 60.0

IMAGENET = {
    "width": 1.0, "batch": 16, "side": 224, "classes": 1000,
    "update": "none", "learning_rate": 0.0, "gradients": "parameters",
}  # fmt: skip
DIGITS = {
    "width": 1.0, "side": 28, "classes": 10, "update": "sgd", "learning_rate": 0.1, "gradients": "parameters",
}  # fmt: skip
CASES = (
    Case("ResNet-50", "convnet", IMAGENET | {"network": "resnet50"}),
    Case("LeNet", "convnet", DIGITS | {"network": "lenet", "batch": 500}),
    Case("small net on digits", "convnet", DIGITS | {"network": "digits", "batch": 128}),
)


class NaiveNet(nn.Module):
    """The same layers as a tutorial chooses them: images as rows channel by channel, activations as modules."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.nodes = Network(case).nodes
        self.layers = nn.ModuleList(_module(node.layer) for node in self.nodes)
        kinds = {"relu": nn.ReLU(inplace=True), "tanh": nn.Tanh(), "": nn.Identity()}
        self.activations = nn.ModuleList(kinds[node.activation] for node in self.nodes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        outputs = [images]
        for node, layer, activate in list(zip(self.nodes, self.layers, self.activations, strict=True))[1:]:
            y = layer(*(outputs[source] for source in node.read))
            for source in node.added:
                y += outputs[source]
            outputs.append(activate(y))
        return outputs[-1]


def _module(layer: Any) -> nn.Module:
    if isinstance(layer, Linear):
        return nn.Sequential(nn.Flatten(), nn.Linear(layer.in_features, layer.out_features))
    if isinstance(layer, LocalResponse):
        return nn.LocalResponseNorm(layer.size, layer.alpha, layer.beta, layer.k)
    if isinstance(layer, Mean):
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    if isinstance(layer, Normalization):
        return nn.BatchNorm2d(layer.num_features)
    return nn.Identity() if layer is None else layer.to_empty(device="cpu")


class NaiveTorch:
    """`step` trains the net, or only computes its gradients, on the case's first mini-batch."""

    def __init__(self, case: Case, inputs: Inputs) -> None:
        self.model, self.learns = NaiveNet(case), case.parameters["update"] == "sgd"
        _load(self.model, case, inputs)
        self.images = torch.from_numpy(np.array(inputs["images"][0]))
        self.images.requires_grad_(case.parameters["gradients"] == "parameters-and-images")
        self.target = torch.from_numpy(np.array(inputs["targets"][0]))
        self.labels, self.criterion = self.target.argmax(1), nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=case.parameters["learning_rate"])

    @torch.enable_grad()
    def step(self) -> None:
        self.optimizer.zero_grad()
        scores = self.model(self.images)
        if self.learns:
            self.criterion(scores, self.labels).backward()
            self.optimizer.step()
        else:
            scores.backward(self.target)


def _load(model: NaiveNet, case: Case, inputs: Inputs) -> None:
    """Our parameters. The inputs of a linear layer that reads images are in the order of their pixels there."""
    for node, layer, arrays in zip(model.nodes, model.layers, inputs["parameters"], strict=True):
        for place, array in zip(layer.parameters(), arrays, strict=True):
            values = torch.from_numpy(np.array(array))
            shape = model.nodes[node.sources[0]].shape if node.sources else ()
            if isinstance(node.layer, Linear) and values.dim() == 2 and len(shape) == 3:
                values = values.view(-1, *shape[1:], shape[0]).permute(0, 3, 1, 2).reshape(place.shape)
            place.data.copy_(values)


def compare_convnet(threads: int) -> None:
    """The tutorial's time over ours for each net."""
    for case in CASES:
        inputs = convnet.inputs(case, 1)
        backend = make_backend("torch", device="cpu", precision="fp32", threads=threads, seed=1)
        ours: Step = convnet.build(backend, case, inputs).step
        ratio = paired_ratio(NaiveTorch(case, inputs).step, ours, most_seconds=MOST_SECONDS)
        print(f"    {case.name:<20} PyTorch as in a tutorial {ratio} times as long as ours", flush=True)
