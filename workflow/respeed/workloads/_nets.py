"""Convolutional nets of torch.nn's modules, as their users write them.

Sources:

- VGG: Simonyan and Zisserman 2015 (models D and E).
- ResNet: He et al. 2016; a bottleneck's stride is at its 3x3 convolution, as in fb.resnet.torch.
- ResNet-200: He et al., Identity mappings in deep residual networks, 2016, as in fb.resnet.torch's preresnet.lua.
- AlexNet: Krizhevsky et al. 2012, as in Caffe's bvlc_alexnet: two groups of channels, normalisation before pooling, and
  poolings that round sizes up. AlexNet and VGG have no dropout here, which would take 8192 draws for each example.
- Inception-V1: as in googlenet.lua of soumith/inception.torch, without batch normalisation and dropout, with one
  classifier, and with poolings that round sizes down.
- LeNet: as in Theano's tutorial, with five and five kernels as in its speed test. Biases are added after pooling, to a
  quarter of the elements.
- Digits: the small net of course demonstrations.
- conv-small, conv-medium, conv-large: ConvSmall, ConvMed and ConvLarge of DeepLearningBenchmarks (Bergstra et al.
  2010), with tanh before and after each pooling.
"""

import math
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

# Convolutions in each of VGG's stages, which end with a pooling; and their channels.
VGG = {"vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}
VGG_CHANNELS = (64, 128, 256, 512, 512)
# Blocks in each of ResNet's stages.
RESNET = {
    "resnet18": (2, 2, 2, 2),
    "resnet34": (3, 4, 6, 3),
    "resnet50": (3, 4, 6, 3),
    "resnet101": (3, 4, 23, 3),
    "resnet152": (3, 8, 36, 3),
    "resnet200": (3, 24, 36, 3),
}
# The nets whose blocks are no bottlenecks.
SHALLOW = ("resnet18", "resnet34")
# Channels of the convolutions in Inception-V1's blocks: 1x1; the 1x1 before the 3x3, and the 3x3; the 1x1 before the
# 5x5, and the 5x5; the 1x1 after pooling. Each stage begins with the padding of the pooling before its blocks.
INCEPTION = (
    (1, (64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (0, (192, 96, 204, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
     (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128)),
    (1, (256, 160, 320, 48, 128, 128), (384, 192, 384, 48, 128, 128)),
)  # fmt: skip
# Sides of the kernels of DeepLearningBenchmarks' nets, and of the first and the second pooling.
BENCHMARKS = {"conv-small": (5, 2, 2), "conv-medium": (7, 3, 3), "conv-large": (7, 5, 4)}

# Channels of images, and the range of their uniform pixels: bytes less their mean, as for Caffe's models; whitened
# images; grey images.
PIXELS = (3, -128.0, 128.0)
WHITENED = (3, -2.0, 2.0)
GREY = (1, 0.0, 1.0)

# The fewest channels of a narrow net. With fewer, oneDNN writes beyond its memory in the weight gradient of a strided
# 1x1 convolution of images that lie pixel by pixel (its issue 6035), and the process crashes.
LEAST = 16


class Tanh(nn.Module):  # type: ignore[misc]
    """Compute y = tanh(x) in place."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh_(x)


class Rows(nn.Module):  # type: ignore[misc]
    """Lay out images (B, C, H, W) as rows (B, H W C), pixel by pixel: a view if the memory format is channels_last."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)


class LocalResponse(nn.Module):  # type: ignore[misc]
    """Compute y = x / (k + alpha / size sum x'^2)^beta, the sum over `size` neighbouring channels.

    A 1x1 convolution with a band matrix computes the sum in less time than the pooling of nn.LocalResponseNorm.
    """

    def __init__(self, size: int = 5, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, x: Tensor) -> Tensor:
        channels = x.shape[1]
        reach = self.size // 2
        band = x.new_full((channels, channels), self.alpha / self.size).triu(-reach).tril(reach)
        return x * nn.functional.conv2d(x * x, band[:, :, None, None]).add(self.k).pow(-self.beta)


class BiasedPool(nn.MaxPool2d):  # type: ignore[misc]
    """Take the largest element of each window, and add the channel's bias."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__(kernel)
        self.bias = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.bias[:, None, None]


class Block(nn.Module):  # type: ignore[misc]
    """Compute a residual block, late(branch(a) + shortcut(a)) with a = early(x); without a shortcut, x is added."""

    def __init__(self, early: nn.Module, branch: nn.Module, shortcut: nn.Module | None, late: nn.Module) -> None:
        super().__init__()
        self.early = early
        self.branch = branch
        self.shortcut = shortcut
        self.late = late

    def forward(self, x: Tensor) -> Tensor:
        a = self.early(x)
        y = self.branch(a)
        y += self.shortcut(a) if self.shortcut else x
        return self.late(y)


class Inception(nn.Module):  # type: ignore[misc]
    """Concatenate the output channels of several branches."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Shortcut(nn.Sequential):  # type: ignore[misc]
    """Convolve the shortcut of a residual block, where the number of channels or pixels changes."""


# Layers that are not counted: activations, which work in place; and views, which are not checked either.
ACTIVATIONS = (nn.ReLU, Tanh)
VIEWS = (nn.Identity, nn.Flatten, Rows)
# Elements (fp32) that a layer keeps for each element of its output.
KEPT = {nn.MaxPool2d: 2, BiasedPool: 3, LocalResponse: 2}


def layers(net: nn.Module) -> dict[str, nn.Module]:
    """Return the modules that have no submodules, except views, by name."""
    modules = net.named_modules()
    return {name: module for name, module in modules if not isinstance(module, VIEWS) and not [*module.children()]}


@dataclass(frozen=True)
class Counts:
    """Hold what one net counts for an example.

    Attributes
    ----------
    parameters : int
        Array elements that the net learns.
    multiply_adds, first : int
        Multiply-adds of one example's forward pass: of all layers, and of the first layer, which reads the images. Each
        weight counts once for every pixel that is computed with it.
    outputs : int
        Array elements in the outputs of all layers for one example, and in its image; activations work in place.
    gradients : int
        Array elements of outputs, without the image, that have a gradient array of their own: a shortcut shares the
        sum's gradient, and concatenated branches share one.
    kept : int
        Array elements (fp32) that layers keep besides their outputs; a pooling's index of 64 bits counts as two.
    """

    parameters: int
    multiply_adds: int
    first: int
    outputs: int
    gradients: int
    kept: int


def count(net: nn.Module, shape: tuple[int, ...]) -> Counts:
    """Count a net's operations and array elements on the device "meta", for an example of this shape."""
    sizes = Counter[type[nn.Module]]()
    multiply_adds: list[int] = []

    def note(module: nn.Module, _: tuple[Tensor, ...], output: Tensor) -> None:
        example = output[0]
        sizes[type(module)] += example.numel()
        if isinstance(module, nn.Conv2d | nn.Linear):
            pixels = example[0].numel()
            multiply_adds.append(module.weight.numel() * pixels)

    watched = deepcopy(net)
    for module in watched.modules():
        module.register_forward_hook(note)
    watched(torch.empty(2, *shape, device="meta"))
    kinds = set(map(type, layers(net).values())).difference(ACTIVATIONS)
    of_layers = sum(sizes[kind] for kind in kinds)
    return Counts(
        parameters=sum(array.numel() for array in net.parameters()),
        multiply_adds=sum(multiply_adds),
        first=multiply_adds[0],
        outputs=math.prod(shape) + of_layers + sizes[Inception],
        gradients=of_layers - sizes[Shortcut],
        kept=sum(factor * sizes[kind] for kind, factor in KEPT.items()),
    )


def make_net(network: str, width: float, side: int, classes: int) -> nn.Module:
    """Return a net on the device "meta", where arrays have shapes but no elements.

    A layer has `width` times the source's channels, rounded to an even number, so that two groups can share them, and
    at least `LEAST`, or the source's number if that is smaller.

    Raises
    ------
    ValueError
        If images are too small for the net.
    """
    with torch.device("meta"):
        body = nn.Sequential(*_body(network))
        _narrow(body, width)
        net = nn.Sequential(*body, nn.LazyLinear(classes))
        try:
            net(torch.empty(2, *image_of(network)[:1], side, side))
        except RuntimeError as error:
            raise ValueError(f"images are too small for this net: {side} pixels") from error
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.num_batches_tracked = None  # not needed
    return net


def _narrow(net: nn.Module, width: float) -> None:
    """Multiply the channels and units of layers, which have no arrays yet, by `width`."""

    def narrow(count: int) -> int:
        return max(2 * round(count * width / 2), min(count, LEAST))

    for module in net.modules():
        if isinstance(module, nn.LazyConv2d):
            module.out_channels = narrow(module.out_channels)
        elif isinstance(module, nn.LazyLinear):
            module.out_features = narrow(module.out_features)
        elif isinstance(module, BiasedPool):
            module.bias = nn.Parameter(torch.empty(narrow(len(module.bias))))


def image_of(network: str) -> tuple[int, float, float]:
    """Return the number of channels of a net's images, and the least and the largest value of a pixel."""
    if network in RESNET:
        return WHITENED
    return PIXELS if network in {*VGG, "alexnet", "inception-v1"} else GREY


def _body(network: str) -> list[nn.Module]:
    """Return all layers of a net except the last, which classifies."""
    if network in RESNET:
        return _resnet(network)
    if network in VGG:
        return _vgg(network)
    if network in BENCHMARKS:
        kernel, *pools = BENCHMARKS[network]
        net = []
        for channels, pool in zip((6, 16), pools, strict=True):
            net += [nn.LazyConv2d(channels, kernel), Tanh(), nn.MaxPool2d(pool), Tanh()]
        return [*net, Rows(), nn.LazyLinear(120), Tanh()]
    if network == "lenet-pooled":
        net = []
        for _ in range(2):
            net += [nn.LazyConv2d(5, 5, bias=False), BiasedPool(5, 2), Tanh()]
        return [*net, Rows(), nn.LazyLinear(500), Tanh()]
    if network == "digits":
        return [_convolve(32, 3), _convolve(64, 3), nn.MaxPool2d(2), _decide(128)]
    return _alexnet() if network == "alexnet" else _inception()


def _convolve(channels: int, kernel: int, **options: int) -> nn.Module:
    return nn.Sequential(nn.LazyConv2d(channels, kernel, **options), nn.ReLU(inplace=True))


def _decide(*units: int) -> nn.Module:
    """Return fully connected hidden layers with these numbers of units."""
    hidden = [nn.Sequential(nn.LazyLinear(count), nn.ReLU(inplace=True)) for count in units]
    return nn.Sequential(Rows(), *hidden)


def _vgg(network: str) -> list[nn.Module]:
    net: list[nn.Module] = []
    for channels, convolutions in zip(VGG_CHANNELS, VGG[network], strict=True):
        net += [_convolve(channels, 3, padding=1) for _ in range(convolutions)]
        net.append(nn.MaxPool2d(2))
    return [*net, _decide(4096, 4096)]


def _alexnet() -> list[nn.Module]:
    def pool() -> nn.Module:
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    return [
        _convolve(96, 11, stride=4), LocalResponse(), pool(),
        _convolve(256, 5, padding=2, groups=2), LocalResponse(), pool(),
        _convolve(384, 3, padding=1),
        _convolve(384, 3, padding=1, groups=2),
        _convolve(256, 3, padding=1, groups=2), pool(),
        _decide(4096, 4096),
    ]  # fmt: skip


def _inception() -> list[nn.Module]:
    def normalize() -> nn.Module:
        return LocalResponse(11, 0.0011, 0.5, 2.0)

    net = [_convolve(64, 7, stride=2, padding=3), nn.MaxPool2d(3, 2, 1), normalize()]
    net += [_convolve(64, 1), _convolve(192, 3, padding=1), normalize()]
    for padding, *blocks in INCEPTION:
        net.append(nn.MaxPool2d(3, 2, padding))
        net += [_inception_block(*channels) for channels in blocks]
    return [*net, nn.AdaptiveAvgPool2d(1), nn.Flatten()]


def _inception_block(direct: int, before_3: int, of_3: int, before_5: int, of_5: int, pooled: int) -> nn.Module:
    return Inception(
        _convolve(direct, 1),
        nn.Sequential(_convolve(before_3, 1), _convolve(of_3, 3, padding=1)),
        nn.Sequential(_convolve(before_5, 1), _convolve(of_5, 5, padding=2)),
        nn.Sequential(nn.MaxPool2d(3, 1, 1), _convolve(pooled, 1)),
    )


def _bare(channels: int, kernel: int, stride: int = 1) -> nn.Module:
    return nn.LazyConv2d(channels, kernel, stride, kernel // 2, bias=False)


def _normalized() -> tuple[nn.Module, nn.Module]:
    return nn.LazyBatchNorm2d(), nn.ReLU(inplace=True)


def _resnet(network: str) -> list[nn.Module]:
    """Return the layers of a ResNet.

    In ResNet-200 each block except the first normalises its input; its sum has no normalised terms, and no activation.
    """
    early = network == "resnet200"
    is_deep = network not in SHALLOW

    def term(channels: int, kernel: int, stride: int = 1) -> list[nn.Module]:
        """Return the last layers of a term of the sum."""
        convolve = _bare(channels, kernel, stride)
        return [convolve] if early else [convolve, nn.LazyBatchNorm2d()]

    net = [_bare(64, 7, 2), *_normalized(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, blocks in enumerate(RESNET[network]):
        inner = 64 * 2**stage
        outer = 4 * inner if is_deep else inner
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            branch = [_bare(inner, 3, stride), *_normalized()]
            if is_deep:
                branch = [_bare(inner, 1), *_normalized(), *branch, *term(outer, 1)]
            else:
                branch += term(outer, 3)
            shortcut = None if channels == outer else Shortcut(*term(outer, 1, stride))
            channels = outer
            first = nn.Sequential(*_normalized()) if early and len(net) > 4 else nn.Identity()
            last = nn.Identity() if early else nn.ReLU(inplace=True)
            net.append(Block(first, nn.Sequential(*branch), shortcut, last))
    if early:
        net += _normalized()
    return [*net, nn.AdaptiveAvgPool2d(1), nn.Flatten()]
