"""Convolutional nets as data: nodes in the order in which they are computed, each a layer and what it reads.

Sources: VGG, Simonyan and Zisserman 2015 (models D and E); ResNet, He et al. 2016, a bottleneck's stride at its 3x3
convolution, as fb.resnet.torch has it; AlexNet, Krizhevsky et al. 2012, as Caffe's bvlc_alexnet: two groups of
channels, normalisation before pooling, which rounds up. Dropout of VGG and AlexNet is left out: 8192 draws an example.
LeNet as in Theano's tutorial, with five and five kernels as in its speed test; digits as in the small net of course
demonstrations.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Images:
    """Node 0, of `channels` channels; uniform in [low, high)."""

    channels: int
    low: float
    high: float


@dataclass(frozen=True)
class Convolution:
    """Without a bias where a normalisation follows."""

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    bias: bool = True


@dataclass(frozen=True)
class Normalization:
    """By mean and variance of each channel over the mini-batch; a second source is added before the activation."""


@dataclass(frozen=True)
class LocalResponse:
    """y = x / (1 + alpha / size sum x'^2)^beta over `size` neighbouring channels."""

    size: int = 5
    alpha: float = 1e-4
    beta: float = 0.75


@dataclass(frozen=True)
class MaxPool:
    """`up`: a window that begins inside counts, also where it does not end there."""

    kernel: int
    stride: int
    padding: int = 0
    up: bool = False


@dataclass(frozen=True)
class Mean:
    """Of each channel over its pixels."""


@dataclass(frozen=True)
class Linear:
    units: int


Layer = Images | Convolution | Normalization | LocalResponse | MaxPool | Mean | Linear


@dataclass(frozen=True)
class Node:
    """`activation`: "relu" or "tanh" of what the layer gives, or "" for none. `sources`: numbers of the nodes that it
    reads. One that is added to a normalisation has no activation, or is read by a convolution before that."""

    layer: Layer
    activation: str = ""
    sources: tuple[int, ...] = ()


PIXELS = Images(3, -128.0, 128.0)  # bytes without their mean, as Caffe's models take them
WHITENED = Images(3, -2.0, 2.0)
GREY = Images(1, 0.0, 1.0)

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
}


# Channels of a narrow net. With fewer, oneDNN writes beyond its memory in the weight gradient of a strided 1x1
# convolution of images that lie pixel by pixel (its issue 6035), and the process crashes.
LEAST = 16


class Network:
    """`nodes`; what is added reads the node before it, or those that are named. Channels are `width` times as many as
    in the source, even, so that two groups can share them, and no fewer than LEAST where the source has more."""

    def __init__(self, images: Images, width: float) -> None:
        self.nodes, self.width = [Node(images)], width

    def scaled(self, channels: int) -> int:
        return min(channels, LEAST) if channels * self.width < LEAST else 2 * round(channels * self.width / 2)

    def add(self, layer: Layer, activation: str = "", sources: tuple[int, ...] = ()) -> int:
        """The new node's number."""
        self.nodes.append(Node(layer, activation, sources or (len(self.nodes) - 1,)))
        return len(self.nodes) - 1

    def convolve(self, channels: int, kernel: int, activation: str = "", **geometry: Any) -> int:
        return self.add(Convolution(self.scaled(channels), kernel, **geometry), activation)

    def normalized(
        self, channels: int, kernel: int, stride: int, source: int, activation: str = "", *added: int
    ) -> int:
        """A convolution that keeps the size but for its stride, normalised, and a node added to that."""
        layer = Convolution(self.scaled(channels), kernel, stride, kernel // 2, bias=False)
        return self.add(Normalization(), activation, (self.add(layer, "", (source,)), *added))

    def decide(self, *units: int, activation: str) -> None:
        """Hidden layers of so many units."""
        for count in units:
            self.add(Linear(self.scaled(count)), activation)


def make_network(name: str, width: float, classes: int) -> tuple[Node, ...]:
    """The nodes of the net; the last one gives a number for each class."""
    if name in VGG:
        net = _vgg(VGG[name], width)
    elif name in RESNET:
        net = _resnet(*RESNET[name], width)
    else:
        net = {"alexnet": _alexnet, "lenet": _lenet, "digits": _digits}[name](width)
    net.add(Linear(classes))
    return tuple(net.nodes)


def _alexnet(width: float) -> Network:
    net = Network(PIXELS, width)
    net.convolve(96, 11, "relu", stride=4)
    net.add(LocalResponse())
    net.add(MaxPool(3, 2, up=True))
    net.convolve(256, 5, "relu", padding=2, groups=2)
    net.add(LocalResponse())
    net.add(MaxPool(3, 2, up=True))
    net.convolve(384, 3, "relu", padding=1)
    net.convolve(384, 3, "relu", padding=1, groups=2)
    net.convolve(256, 3, "relu", padding=1, groups=2)
    net.add(MaxPool(3, 2, up=True))
    net.decide(4096, 4096, activation="relu")
    return net


def _vgg(channels: tuple[int, ...], width: float) -> Network:
    net = Network(PIXELS, width)
    for count in channels:
        if count:
            net.convolve(count, 3, "relu", padding=1)
        else:
            net.add(MaxPool(2, 2))
    net.decide(4096, 4096, activation="relu")
    return net


def _resnet(blocks: tuple[int, ...], bottleneck: bool, width: float) -> Network:
    net = Network(WHITENED, width)
    net.normalized(64, 7, 2, 0, "relu")
    here, channels = net.add(MaxPool(3, 2, padding=1)), 64
    for stage, count in enumerate(blocks):
        inner = 64 * 2**stage
        outer = 4 * inner if bottleneck else inner
        for block in range(count):
            stride = 2 if stage and not block else 1
            shortcut = here if channels == outer else net.normalized(outer, 1, stride, here)
            if bottleneck:
                reduced = net.normalized(inner, 1, 1, here, "relu")
                branch = net.normalized(inner, 3, stride, reduced, "relu")
                here = net.normalized(outer, 1, 1, branch, "relu", shortcut)
            else:
                branch = net.normalized(inner, 3, stride, here, "relu")
                here = net.normalized(outer, 3, 1, branch, "relu", shortcut)
            channels = outer
    net.add(Mean())
    return net


def _lenet(width: float) -> Network:
    net = Network(GREY, width)
    for _ in range(2):
        net.convolve(5, 5)
        net.add(MaxPool(2, 2), "tanh")
    net.decide(500, activation="tanh")
    return net


def _digits(width: float) -> Network:
    net = Network(GREY, width)
    net.convolve(32, 3, "relu")
    net.convolve(64, 3, "relu")
    net.add(MaxPool(2, 2))
    net.decide(128, activation="relu")
    return net
