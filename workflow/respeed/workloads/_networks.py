"""Convolutional nets of torch.nn's modules: nodes in the order in which they are computed, and what follows from them.

Sources: VGG, Simonyan and Zisserman 2015 (models D and E); ResNet, He et al. 2016, a bottleneck's stride at its 3x3
convolution, as fb.resnet.torch has it; ResNet-200, He et al., Identity mappings in deep residual networks, 2016, as its
preresnet.lua; AlexNet, Krizhevsky et al. 2012, as Caffe's bvlc_alexnet: two groups of channels, normalisation before
pooling, which rounds up. Dropout of VGG and AlexNet is left out: 8192 draws an example. Inception-V1 as the
googlenet.lua of soumith/inception.torch: no batch normalisation, one classifier, no dropout, poolings round down.
LeNet as in Theano's tutorial, with five and five kernels as in its speed test; `lenet-pooled` adds its biases after
pooling, to a quarter of the numbers, as the tutorial does. Digits as in the small net of course demonstrations;
conv-small, conv-medium and conv-large as ConvSmall, ConvMed and ConvLarge of DeepLearningBenchmarks (Bergstra et al.
2010), with tanh before each pooling and after it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from respeed.model.paper import Case

# Of one example: (channels, rows, columns) or (units,).
Shape = tuple[int, ...]


class Linear(nn.Linear):  # type: ignore[misc]
    """y = x W^T + b; of images (B, C, H, W), x is their pixels one after another, (B, H W C), a view if they lie so."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(rows_of(x))


class Normalization(nn.BatchNorm2d):  # type: ignore[misc]
    """By mean and variance of each channel over the mini-batch; keeps running means and unbiased variances."""

    def __init__(self, channels: int, device: str) -> None:
        super().__init__(channels, device=device)
        self.num_batches_tracked = None  # nobody asks for it

    def forward(self, x: Tensor) -> Tensor:
        if x.is_meta:
            return super().forward(x)
        known = x, self.weight, self.bias, self.running_mean, self.running_var, self.momentum, self.eps
        return torch.ops.aten._batch_norm_with_update(*known)[0]

    def start_over(self) -> None:
        self.running_mean.zero_()
        self.running_var.fill_(1.0)


class LocalResponse(nn.Module):  # type: ignore[misc]
    """y = x / (k + alpha / size sum x'^2)^beta over `size` neighbouring channels; the sum is a product with a band."""

    band: Tensor

    def __init__(self, channels: int, size: int = 5, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k
        self.register_buffer("band", torch.empty(channels, channels, device="meta"))

    def start_over(self) -> None:
        near = torch.ones_like(self.band).triu(-(self.size // 2)).tril(self.size // 2)
        self.band = near.mul_(self.alpha / self.size)

    def forward(self, x: Tensor) -> Tensor:
        return x * nn.functional.conv2d(x * x, self.band[:, :, None, None]).add(self.k).pow(-self.beta)


class BiasedPool(nn.MaxPool2d):  # type: ignore[misc]
    """The largest of each window, and a bias of each channel."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__(kernel)
        self.bias = nn.Parameter(torch.empty(channels, device="meta"))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.bias[:, None, None]


class Mean(nn.Module):  # type: ignore[misc]
    """Of each channel over its pixels."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


class Concatenation(nn.Module):  # type: ignore[misc]
    """The channels of several nodes, one node's after another's."""

    def forward(self, *images: Tensor) -> Tensor:
        return torch.cat(images, 1)


def rows_of(images: Any) -> Any:
    """Images (B, C, H, W) as rows (B, H W C), pixel by pixel; rows stay what they are."""
    return images.permute(0, 2, 3, 1).flatten(1) if images.ndim == 4 else images


@dataclass(frozen=True)
class Node:
    """`layer`: None of the images; else one on torch's device "meta", whose parameters are shapes without numbers.
    `activation`: "relu" or "tanh" of what the layer gives, or "" for none. `sources`: numbers of the nodes that it
    reads; the second is added to what the layer gives of the first, but a concatenation takes all. `shape`: of what it
    gives."""

    layer: Any
    activation: str
    sources: tuple[int, ...]
    shape: Shape

    @property
    def kind(self) -> str:
        names = {type(None): "images", nn.Conv2d: "convolution", nn.MaxPool2d: "pooling"}
        return names.get(type(self.layer), type(self.layer).__name__.lower())

    @property
    def read(self) -> tuple[int, ...]:
        """The sources that the layer takes; what the others gave is added."""
        return self.sources if isinstance(self.layer, Concatenation) else self.sources[:1]

    @property
    def added(self) -> tuple[int, ...]:
        return self.sources[len(self.read) :]

    @property
    def learned(self) -> list[Shape]:
        """The shapes of its parameters, the weights first."""
        return [tuple(array.shape) for array in self.layer.parameters()] if self.layer is not None else []


# Uniform in [low, high), of so many channels.
PIXELS = (3, -128.0, 128.0)  # bytes without their mean, as Caffe's models take them
WHITENED = (3, -2.0, 2.0)
GREY = (1, 0.0, 1.0)
SMALL = ("lenet", "lenet-pooled", "digits")

# Channels of VGG's convolutions; 0 is a pooling.
VGG = {
    "vgg16": (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0),
    "vgg19": (64, 64, 0, 128, 128, 0, *(256,) * 4, 0, *(512,) * 4, 0, *(512,) * 4, 0),
}
# Blocks of ResNet's four stages, and whether they are bottlenecks.
RESNET = {
    "resnet18": ((2, 2, 2, 2), False),
    "resnet34": ((3, 4, 6, 3), False),
    "resnet50": ((3, 4, 6, 3), True),
    "resnet101": ((3, 4, 23, 3), True),
    "resnet152": ((3, 8, 36, 3), True),
    "resnet200": ((3, 24, 36, 3), True),
}
# Channels of Inception-V1's blocks, by stage: of the 1x1; those that the 3x3 reads, and its own; the same of the 5x5;
# of the 1x1 after pooling.
INCEPTION = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 204, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 48, 128, 128), (384, 192, 384, 48, 128, 128)),
)  # fmt: skip
# Sides of the kernels of DeepLearningBenchmarks' nets, and of the first and the second pooling.
BENCHMARKS = {"conv-small": (5, 2, 2), "conv-medium": (7, 3, 3), "conv-large": (7, 5, 4)}


# Channels of a narrow net. With fewer, oneDNN writes beyond its memory in the weight gradient of a strided 1x1
# convolution of images that lie pixel by pixel (its issue 6035), and the process crashes.
LEAST = 16


class Network:
    """The nodes of a case's net, and what it comes to: B (`batch`), the range of the images, whether a step ends with
    an update (`learns`) and whether it computes the gradient of the images (`images_too`).

    What is added reads the node before it, or those that are named. Channels are `width` times as many as in the
    source, even, so that two groups can share them, and no fewer than LEAST where the source has more."""

    def __init__(self, case: Case) -> None:
        given = case.parameters
        self.batch, self.width = int(given["batch"]), float(given["width"])
        self.learns, self.images_too = given["update"] == "sgd", given["gradients"] == "parameters-and-images"
        name = given["network"]
        is_grey = name in SMALL or name in BENCHMARKS
        channels, self.low, self.high = GREY if is_grey else WHITENED if name in RESNET else PIXELS
        self.nodes = [Node(None, "", (), (channels, given["side"], given["side"]))]
        if name in VGG:
            self._vgg(VGG[name])
        elif name in RESNET:
            self._resnet(*RESNET[name], early=name == "resnet200")
        elif name in BENCHMARKS:
            self._benchmark(*BENCHMARKS[name])
        else:
            others = {"alexnet": self._alexnet, "inception-v1": self._inception, "digits": self._digits}
            others.get(name, partial(self._lenet, name == "lenet-pooled"))()
        self._linear(given["classes"])

    @property
    def parameters(self) -> int:
        """Numbers that the net learns."""
        return sum(math.prod(shape) for node in self.nodes for shape in node.learned)

    @property
    def outputs(self) -> int:
        """Numbers that all nodes give for a mini-batch, the images among them."""
        return self.batch * sum(math.prod(node.shape) for node in self.nodes)

    @property
    def gradients(self) -> int:
        """Numbers of those gradients of them that are arrays of their own: that of a node which is only added to a
        normalisation is the sum's, and that of one which is concatenated a part of the whole's."""
        owners = {node.read[0] for node in self.nodes[1:] if len(node.read) == 1} - (set() if self.images_too else {0})
        return self.batch * sum(math.prod(self.nodes[number].shape) for number in {*owners, len(self.nodes) - 1})

    @property
    def multiply_adds(self) -> list[int]:
        """Of each node's forward pass for one example: each weight once for every pixel that is computed from it."""
        return [
            math.prod(node.learned[0]) * math.prod(node.shape[1:])
            if isinstance(node.layer, nn.Conv2d | nn.Linear)
            else 0
            for node in self.nodes
        ]

    def _add(self, layer: nn.Module, activation: str = "", sources: Sequence[int] = ()) -> int:
        """The number of the node."""
        read = tuple(sources) or (len(self.nodes) - 1,)
        node = Node(layer, activation, read, ())
        there = [torch.empty(2, *self.nodes[number].shape, device="meta") for number in node.read]
        try:
            shape = layer(*there).shape[1:]
        except RuntimeError as error:
            side = self.nodes[read[0]].shape[-1]
            raise ValueError(f"images are too small for this net: {side} pixels come to {layer}") from error
        self.nodes.append(replace(node, shape=tuple(shape)))
        return len(self.nodes) - 1

    def _scaled(self, channels: int) -> int:
        return max(2 * round(channels * self.width / 2), min(channels, LEAST))

    def _convolve(
        self, channels: int, kernel: int, activation: str = "", *added: int, source: int = -1, **options: int
    ) -> int:
        read = source % len(self.nodes)
        layer = nn.Conv2d(self.nodes[read].shape[0], self._scaled(channels), kernel, device="meta", **options)
        return self._add(layer, activation, (read, *added))

    def _normalized(
        self,
        channels: int,
        kernel: int,
        stride: int,
        source: int,
        activation: str = "",
        *added: int,
        bare: bool = False,
    ) -> int:
        """A convolution without bias, normalised, and a node added to that; or `bare`, and a node added to it."""
        geometry = {"source": source, "stride": stride, "padding": kernel // 2, "bias": False}
        here = self._convolve(channels, kernel, "", *(added if bare else ()), **geometry)
        return here if bare else self._normalize(activation, here, *added)

    def _normalize(self, activation: str, *read: int) -> int:
        return self._add(Normalization(self.nodes[read[0]].shape[0], "meta"), activation, read)

    def _pool(self, kernel: int, stride: int, activation: str = "", *, padding: int = 0, up: bool = False) -> int:
        """`up`: a window that begins inside counts, also where it does not end there."""
        return self._add(nn.MaxPool2d(kernel, stride, padding, ceil_mode=up), activation)

    def _linear(self, units: int, activation: str = "") -> int:
        return self._add(Linear(math.prod(self.nodes[-1].shape), units, device="meta"), activation)

    def _decide(self, *units: int, activation: str) -> None:
        """Hidden layers of so many units."""
        for count in units:
            self._linear(self._scaled(count), activation)

    def _alexnet(self) -> None:
        for channels, kernel, stride, padding, groups in ((96, 11, 4, 0, 1), (256, 5, 1, 2, 2)):
            self._convolve(channels, kernel, "relu", stride=stride, padding=padding, groups=groups)
            self._add(LocalResponse(self.nodes[-1].shape[0]))
            self._pool(3, 2, up=True)
        self._convolve(384, 3, "relu", padding=1)
        self._convolve(384, 3, "relu", padding=1, groups=2)
        self._convolve(256, 3, "relu", padding=1, groups=2)
        self._pool(3, 2, up=True)
        self._decide(4096, 4096, activation="relu")

    def _inception(self) -> None:
        self._convolve(64, 7, "relu", stride=2, padding=3)
        self._pool(3, 2, padding=1)
        self._respond()
        self._convolve(64, 1, "relu")
        self._convolve(192, 3, "relu", padding=1)
        self._respond()
        for padding, blocks in zip((1, 0, 1), INCEPTION, strict=True):
            self._pool(3, 2, padding=padding)
            for block in blocks:
                self._block(*block)
        self._add(Mean())

    def _respond(self) -> None:
        self._add(LocalResponse(self.nodes[-1].shape[0], 11, 0.0011, 0.5, 2.0))

    def _block(self, direct: int, before_3: int, of_3: int, before_5: int, of_5: int, pooled: int) -> None:
        """Four branches, concatenated."""
        here = len(self.nodes) - 1
        ends = [self._convolve(direct, 1, "relu")]
        for kernel, reduced, channels in ((3, before_3, of_3), (5, before_5, of_5)):
            self._convolve(reduced, 1, "relu", source=here)
            ends.append(self._convolve(channels, kernel, "relu", padding=kernel // 2))
        self._add(nn.MaxPool2d(3, 1, 1), sources=(here,))
        ends.append(self._convolve(pooled, 1, "relu"))
        self._add(Concatenation(), sources=ends)

    def _vgg(self, channels: tuple[int, ...]) -> None:
        for count in channels:
            if count:
                self._convolve(count, 3, "relu", padding=1)
            else:
                self._pool(2, 2)
        self._decide(4096, 4096, activation="relu")

    def _resnet(self, blocks: tuple[int, ...], bottleneck: bool, early: bool) -> None:
        """`early`: a block but the first normalises what it reads; its last convolution and its shortcut are bare."""
        self._normalized(64, 7, 2, 0, "relu")
        here, channels = self._pool(3, 2, padding=1), 64
        for stage, count in enumerate(blocks):
            inner = 64 * 2**stage
            outer = 4 * inner if bottleneck else inner
            for block in range(count):
                stride, x = 2 if stage and not block else 1, here
                if early and (stage or block):
                    x = self._normalize("relu", here)
                shortcut = here if channels == outer else self._normalized(outer, 1, stride, x, bare=early)
                if bottleneck:
                    reduced = self._normalized(inner, 1, 1, x, "relu")
                    branch = self._normalized(inner, 3, stride, reduced, "relu")
                    here = self._normalized(outer, 1, 1, branch, "relu", shortcut, bare=early)
                else:
                    branch = self._normalized(inner, 3, stride, here, "relu")
                    here = self._normalized(outer, 3, 1, branch, "relu", shortcut)
                channels = outer
        if early:
            self._normalize("relu", here)
        self._add(Mean())

    def _lenet(self, late: bool) -> None:
        for _ in range(2):
            channels = self.nodes[self._convolve(5, 5, bias=not late)].shape[0]
            self._add(BiasedPool(channels, 2) if late else nn.MaxPool2d(2), "tanh")
        self._decide(500, activation="tanh")

    def _benchmark(self, kernel: int, *pools: int) -> None:
        for channels, pool in zip((6, 16), pools, strict=True):
            self._convolve(channels, kernel, "tanh")
            self._pool(pool, pool, "tanh")
        self._decide(120, activation="tanh")

    def _digits(self) -> None:
        self._convolve(32, 3, "relu")
        self._convolve(64, 3, "relu")
        self._pool(2, 2)
        self._decide(128, activation="relu")
