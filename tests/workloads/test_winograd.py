"""A library may convolve by Winograd's algorithm or by FFT: a net that does so in fp32 is right three times over.

cuDNN chooses an algorithm anew in each process, and MIOpen and MPS have fast ones too. These models do in fp32 what
such an algorithm does to its numbers: F(2x2, 3x3) and F(4x4, 3x3) of Lavin and Gray, "Fast algorithms for convolutional
neural networks", 2016, forward and for both gradients; and products of the transforms of a whole image.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import torch
from torch import Tensor, nn
from torch.nn import functional

from respeed.backends import make_backend
from respeed.measure.case import TOLERANCE
from respeed.workloads.arrays import largest_error
from respeed.workloads.convnet import Convnet

# Of each tile's size: the transforms of what is read, of the kernel, and of what comes out.
TRANSFORMS = {
    2: ([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]],
        [[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]],
        [[1, 1, 1, 0], [0, 1, -1, -1]]),
    4: ([[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
         [0, 4, 0, -5, 0, 1]],
        [[1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6],
         [1 / 24, -1 / 12, 1 / 6], [0, 0, 1]],
        [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]),
}  # fmt: skip
Convolve = Callable[[Tensor, Tensor], Tensor]


def tiles(x: Tensor, size: int, step: int) -> Tensor:
    """Cut images (N, C, H, W), padded to whole tiles, into tiles (N, C, h, w, size, size)."""
    down, right = (-length % step for length in x.shape[2:])
    edge = (size - step) // 2
    return functional.pad(x, (edge, right + edge, edge, down + edge)).unfold(2, size, step).unfold(3, size, step)


def together(x: Tensor) -> Tensor:
    """Bring transformed tiles (N, C, h, w, t, t) into the order of products, (t t, C, N h w)."""
    return x.permute(4, 5, 1, 0, 2, 3).flatten(3).flatten(0, 1)


def winograd(m: int) -> tuple[Convolve, Convolve]:
    """Return a convolution 3x3 of stride 1 and padding 1, and the gradient of its weights."""
    given = [torch.tensor(one, dtype=torch.float64) for one in TRANSFORMS[m]]

    def forward(x: Tensor, w: Tensor) -> Tensor:
        B, G, A = (one.to(x.dtype) for one in given)
        cut = B @ tiles(x, m + 2, m) @ B.T
        (N, _, h, across), K = cut.shape[:4], len(w)
        y = (G @ w @ G.T).permute(2, 3, 0, 1).flatten(0, 1) @ together(cut)
        y = A @ y.view(m + 2, m + 2, K, N, h, across).permute(3, 2, 4, 5, 0, 1) @ A.T
        return y.permute(0, 1, 2, 4, 3, 5).reshape(N, K, h * m, -1)[:, :, : x.shape[2], : x.shape[3]]

    def of_weights(x: Tensor, g: Tensor) -> Tensor:
        B, G, A = (one.to(x.dtype) for one in given)
        products = together(A.T @ tiles(g, m, m) @ A) @ together(B @ tiles(x, m + 2, m) @ B.T).mT
        return G.T @ products.view(m + 2, m + 2, g.shape[1], x.shape[1]).permute(2, 3, 0, 1) @ G

    return forward, of_weights


def of_weights_direct(x: Tensor, g: Tensor) -> Tensor:
    return nn.grad.conv2d_weight(x, (g.shape[1], x.shape[1], 3, 3), g, padding=1)


def by_fft(x: Tensor, w: Tensor) -> Tensor:
    size = (x.shape[2] + 2, x.shape[3] + 2)
    images = scipy.fft.rfft2(x.numpy(), s=size)
    kernels = scipy.fft.rfft2(w.flip(2, 3).numpy(), s=size)
    y = scipy.fft.irfft2(np.einsum("nchw,kchw->nkhw", images, kernels), s=size)
    return torch.from_numpy(y[:, :, 1:-1, 1:-1].astype(x.numpy().dtype))


WAYS = {"F(2x2, 3x3)": winograd(2), "F(4x4, 3x3)": winograd(4), "FFT": (by_fft, of_weights_direct)}


@pytest.mark.parametrize("way", WAYS)
def test_the_models_are_convolutions(way: str) -> None:
    random = torch.Generator().manual_seed(0)
    x, w, g = (
        torch.randn(shape, generator=random).double() for shape in ((2, 8, 13, 11), (5, 8, 3, 3), (2, 5, 13, 11))
    )
    forward, of_weights = WAYS[way]
    torch.testing.assert_close(forward(x, w), functional.conv2d(x, w, padding=1))
    torch.testing.assert_close(of_weights(x, g), of_weights_direct(x, g))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("network", "side"), [("vgg16", 32), ("resnet18", 64), ("resnet50", 64)])
def test_a_net_by_another_algorithm_has_a_third_of_the_error_that_is_allowed(
    network: Any, side: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, of_weights = WAYS[way]

    class Other(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Tensor, w: Tensor) -> Tensor:
            context.save_for_backward(x, w)
            return forward(x, w)

        @staticmethod
        def backward(context: Any, *gradients: Tensor) -> Any:
            (x, w), g = context.saved_tensors, gradients[0].contiguous()
            return forward(g, w.flip(2, 3).transpose(0, 1)), of_weights(x, g)

    direct = nn.Conv2d._conv_forward

    def convolve(layer: nn.Conv2d, x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        shape = layer.kernel_size, layer.stride, layer.padding
        if shape != ((3, 3), (1, 1), (1, 1)) or x.dtype != torch.float32 or x.is_meta:
            return direct(layer, x, w, b)
        y = Other.apply(x, w)
        return y if b is None else y + b[:, None, None]

    monkeypatch.setattr(nn.Conv2d, "_conv_forward", convolve)
    row = make_backend("torch", device="cpu", precision="fp32", threads=1, seed=0)
    net = Convnet(
        network=network, width=1.0, batch=4, side=side, classes=1000, update="none", learning_rate=0.0,
        gradients="parameters-and-images",
    )  # fmt: skip
    program = row.build(net, 1)
    program.step()
    errors = {name: largest_error(pair) for name, pair in program.check().items()}
    assert 3 * max(errors.values()) < TOLERANCE["fp32"], errors
