"""The layers of a net over torch: forward, and backward by the same operations that torch's own gradients use.

Every layer keeps what its backward pass needs, and the gradients of what it learns; it gives up an array before it asks
for its successor, which then takes the same memory. Layers keep the layout of the images that they read.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from respeed.workloads._networks import Convolution, Linear, LocalResponse, MaxPool, Mean, Normalization

# Shares of the gradient, one for each source of a node.
Shares = Sequence[Tensor | None]

aten = torch.ops.aten
EPSILON = 1e-5
MOMENTUM = 0.1


def laid_out(array: Tensor, layout: Any) -> Tensor:
    """The same images (B, C, H, W), or kernels, in the layout; other arrays as they are."""
    return array.contiguous(memory_format=layout) if array.dim() == 4 else array


def rows_of(images: Tensor) -> Tensor:
    """Images (B, C, H, W) as rows (B, H W C), pixel by pixel, a view if they lie so; rows stay what they are."""
    return images.permute(0, 2, 3, 1).reshape(len(images), -1) if images.dim() == 4 else images


def as_images(rows: Tensor, like: Tensor) -> Tensor:
    """Rows (B, H W C) in the shape and layout of `like`: the inverse of `rows_of`."""
    if like.dim() == 2:
        return rows
    B, C, H, W = like.shape
    images = rows.view(B, H, W, C).permute(0, 3, 1, 2)
    return images.contiguous() if like.is_contiguous() else images


class Layer(ABC):
    """`parameters`: the weights first, kernels in the layout of the images. `gradients`: theirs, after `backward`."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = parameters
        self.gradients: list[Any] = [torch.full_like(array, 0.0) for array in self.parameters]

    @abstractmethod
    def forward(self, x: Tensor, *added: Tensor) -> Tensor:
        """What the layer gives for x (B, ...), before its activation."""

    @abstractmethod
    def backward(self, g: Tensor, x: Tensor, y: Tensor, wanted: bool) -> Shares:
        """The share of each source's gradient, and this layer's gradients, from that of what `forward` gave; of x only
        if it is `wanted`."""

    def start_over(self) -> None:  # noqa: B027, most layers go on from nothing
        """Forget what earlier steps left that later ones go on from."""


class ConvolutionLayer(Layer):
    """y = b + sum over offsets W[offset] x[offset]."""

    def __init__(self, layer: Convolution, parameters: Sequence[Tensor]) -> None:
        super().__init__(parameters)
        pair = 2 * [layer.stride], 2 * [layer.padding], [1, 1]
        self.geometry = (*pair, False, [0, 0], layer.groups)
        self.bias = self.parameters[1] if layer.bias else None

    def forward(self, x: Tensor, *added: Tensor) -> Tensor:
        return aten.convolution(x, self.parameters[0], self.bias, *self.geometry)

    def backward(self, g: Tensor, x: Tensor, y: Tensor, wanted: bool) -> Shares:
        weights, biases = self.parameters[0], None if self.bias is None else list(self.bias.shape)
        self.gradients.clear()
        mask = [wanted, True, biases is not None]
        share, *made = aten.convolution_backward(g, x, weights, biases, *self.geometry, mask)
        self.gradients = made[: len(self.parameters)]
        return (share,)


class LinearLayer(Layer):
    """y = x W^T + b, x (B, inputs), W (units, inputs)."""

    def forward(self, x: Tensor, *added: Tensor) -> Tensor:
        weights, biases = self.parameters
        return torch.addmm(biases, rows_of(x), weights.T)

    def backward(self, g: Tensor, x: Tensor, y: Tensor, wanted: bool) -> Shares:
        torch.mm(g.T, rows_of(x), out=self.gradients[0])
        torch.sum(g, 0, out=self.gradients[1])
        return (as_images(g @ self.parameters[0], x) if wanted else None,)


class NormalizationLayer(Layer):
    """y = gain (x - mean) / sqrt(variance + epsilon) + shift + added, over the mini-batch; keeps running means and
    unbiased variances, as training does."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        super().__init__(parameters)
        self.running = [torch.zeros_like(self.parameters[0]), torch.ones_like(self.parameters[0])]
        self.kept: list[Tensor] = []  # mean, 1 / sqrt(variance + epsilon), and what cuDNN reserves

    def start_over(self) -> None:
        for array, start in zip(self.running, (0.0, 1.0), strict=True):
            array.fill_(start)

    def forward(self, x: Tensor, *added: Tensor) -> Tensor:
        y, *self.kept = aten._batch_norm_with_update(x, *self.parameters, *self.running, MOMENTUM, EPSILON)
        for array in added:
            y.add_(array)
        return y

    def backward(self, g: Tensor, x: Tensor, y: Tensor, wanted: bool) -> Shares:
        mean, deviation, reserve = self.kept
        known = x, self.parameters[0], *self.running, mean, deviation
        share, *self.gradients = aten.batch_norm_backward(g, *known, True, EPSILON, [True, True, True], reserve)
        return share, g


class LocalResponseLayer(Layer):
    """y = x s^-beta, s = 1 + N x^2, N (C, C) being alpha / size for channels near one another, a band."""

    def __init__(self, layer: LocalResponse, y: Tensor) -> None:
        super().__init__(())
        self.beta, channels = layer.beta, y.shape[1]
        near = y.new_ones(channels, channels).triu(-(layer.size // 2)).tril(layer.size // 2)
        self.band = layer.alpha / layer.size * near
        self.scale: Any = torch.full_like(y, 0.0)

    def forward(self, x: Tensor, *added: Tensor) -> Tensor:
        self.scale = None
        self.scale = self._near(x * x).add_(1.0)
        return self.scale.pow(-self.beta).mul_(x)

    def backward(self, g: Tensor, x: Tensor, y: Tensor, wanted: bool) -> Shares:
        # dx = g s^-beta - 2 beta x N (g y / s)
        far = self._near((g * y).div_(self.scale))
        return (self.scale.pow(-self.beta).mul_(g).addcmul_(x, far, value=-2 * self.beta),)

    def _near(self, images: Tensor) -> Tensor:
        """N times the channels of every pixel."""
        if images.is_contiguous():
            return (self.band @ images.flatten(2)).view(images.shape)
        return as_images(rows_of(images).view(-1, len(self.band)) @ self.band, images)


class MaxPoolLayer(Layer):
    """y = the largest of a window."""

    def __init__(self, layer: MaxPool, y: Tensor) -> None:
        super().__init__(())
        self.geometry = (2 * [layer.kernel], 2 * [layer.stride], 2 * [layer.padding], [1, 1], layer.up)
        self.places: Any = torch.full_like(y, 0, dtype=torch.int64)

    def forward(self, x: Tensor, *added: Tensor) -> Tensor:
        self.places = None
        y, self.places = aten.max_pool2d_with_indices(x, *self.geometry)
        return y

    def backward(self, g: Tensor, x: Tensor, y: Tensor, wanted: bool) -> Shares:
        return (aten.max_pool2d_with_indices_backward(g, x, *self.geometry, self.places),)


class MeanLayer(Layer):
    """y (B, C) = the mean of a channel."""

    def forward(self, x: Tensor, *added: Tensor) -> Tensor:
        return x.mean((2, 3))

    def backward(self, g: Tensor, x: Tensor, y: Tensor, wanted: bool) -> Shares:
        pixels = x.shape[2] * x.shape[3]
        return (torch.empty_like(x).copy_((g / pixels)[:, :, None, None]),)


def make_layer(layer: Any, parameters: Sequence[Tensor], y: Tensor) -> Layer:
    """The layer with its parameters as they begin; `y` has the shape of what it will give."""
    if isinstance(layer, Convolution):
        return ConvolutionLayer(layer, parameters)
    if isinstance(layer, LocalResponse):
        return LocalResponseLayer(layer, y)
    if isinstance(layer, MaxPool):
        return MaxPoolLayer(layer, y)
    kinds: dict[type, Callable[[Sequence[Tensor]], Layer]] = {
        Normalization: NormalizationLayer, Linear: LinearLayer, Mean: MeanLayer,
    }  # fmt: skip
    return kinds[type(layer)](parameters)


def activate(y: Tensor, activation: str) -> None:
    """y <- its activation."""
    if activation:
        {"relu": torch.relu_, "tanh": torch.tanh_}[activation](y)


def through_activation(g: Tensor, y: Tensor, activation: str) -> None:
    """g <- g times the activation's slope, which follows from what it gave, y."""
    if activation == "relu":
        aten.threshold_backward.grad_input(g, y, 0, grad_input=g)
    elif activation == "tanh":
        aten.tanh_backward.grad_input(g, y, grad_input=g)
