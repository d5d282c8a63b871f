"""Convolutional nets: their published sizes, their arithmetic, and that a wrong step does not pass."""

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import pytest
import torch
from torch import nn

from respeed.measure.case import TOLERANCE
from respeed.workloads._nets import Block, Inception, LocalResponse, Rows
from respeed.workloads.convnet import SPARE, Convnet
from tests.conformance.programs import is_right, largest, make, steps

TINY = {
    "width": 0.07, "batch": 5, "side": 64, "classes": 7,
    "update": "none", "learning_rate": 0.0, "gradients": "parameters",
}  # fmt: skip
LEARNING = TINY | {"width": 1.0, "side": 28, "update": "sgd", "learning_rate": 0.1}
WHOLE = TINY | {"width": 1.0, "batch": 16, "side": 224, "classes": 1000}
NETWORKS: tuple[str, ...] = get_args(Convnet.__annotations__["network"])
# Those that have the same blocks as others, more of them, are tried by `-m slow`.
ALIKE = ("vgg19", "resnet34", "resnet101", "resnet152")
EVERY = [pytest.param(network, marks=[pytest.mark.slow] * (network in ALIKE)) for network in NETWORKS]
SMALL = ("lenet-pooled", "digits")


def net_of(network: str, parameters: dict[str, Any] | None = None, **other: Any) -> Convnet:
    chosen = parameters or (LEARNING if network in SMALL else TINY)
    return Convnet(**(chosen | {"network": network} | other))


def build(net: Convnet, seed: int = 5) -> Any:
    return make("torch").build(net, seed)


# Parameters, and multiplications with an addition, of one image. Inception-V1: as many parameters as the 116 files of
# googlenet.lua of soumith/inception.torch at 8b9705f hold, but for 8 of its 1008 classes.
PUBLISHED = {
    "alexnet": (60_965_224, 0.72e9), "vgg16": (138_357_544, 15.47e9), "vgg19": (143_667_240, 19.63e9),
    "resnet18": (11_689_512, 1.81e9), "resnet34": (21_797_672, 3.66e9), "resnet50": (25_557_032, 4.09e9),
    "resnet101": (44_549_160, 7.80e9), "resnet152": (60_192_808, 11.51e9), "resnet200": (64_666_152, 15.0e9),
    "inception-v1": (7_058_180, 1.51e9),
}  # fmt: skip


@pytest.mark.parametrize("network", PUBLISHED)
def test_a_net_has_its_published_numbers_of_parameters_and_multiply_adds(network: str) -> None:
    counts, (parameters, multiply_adds) = net_of(network, WHOLE).counts, PUBLISHED[network]
    assert counts.parameters == parameters
    assert counts.multiply_adds == pytest.approx(multiply_adds, rel=5e-3)


# Of DeepLearningBenchmarks at 4f97e95, theano/convnet.py, and of Theano's tutorial: the side of images, those after
# each convolution and pooling, and parameters.
MAPS = {
    "conv-small": (32, [28, 14, 10, 5], 51_902), "conv-medium": (96, [90, 30, 24, 8], 129_230),
    "conv-large": (256, [250, 50, 44, 11], 238_670),
    "lenet-pooled": (28, [24, 12, 8, 4], 46_270),
}  # fmt: skip


@pytest.mark.parametrize("network", MAPS)
def test_a_small_net_has_the_layers_of_its_program(network: str) -> None:
    side, sides, parameters = MAPS[network]
    net = net_of(network, LEARNING, side=side, classes=10)
    seen: list[int] = []
    for layer in net.net.modules():
        if isinstance(layer, nn.Conv2d | nn.MaxPool2d):
            layer.register_forward_hook(lambda _, given, y: seen.append(y.shape[-1]))
    assert net.counts.parameters == parameters
    assert seen == sides


def test_a_backward_pass_is_two_forward_passes_but_for_the_gradient_of_the_images() -> None:
    whole = net_of("vgg16", WHOLE, gradients="parameters-and-images")
    forward = 2 * 16 * whole.counts.multiply_adds
    assert whole.flops() == 3 * forward
    assert net_of("vgg16", WHOLE).flops() == 3 * forward - 2 * 16 * 224 * 224 * 64 * 3 * 9


@pytest.mark.parametrize("network", EVERY)
def test_a_step_of_every_net_agrees_with_float64(network: str) -> None:
    assert is_right(build(net_of(network)))
    if network in {"alexnet", "vgg16", "resnet18", "inception-v1", "lenet-pooled"}:
        assert is_right(build(net_of(network, gradients="parameters-and-images")))


@pytest.mark.parametrize("network", ["resnet18", "alexnet", "resnet200", "conv-large"])
def test_a_net_that_learns_is_checked_as_well(network: str) -> None:
    rate, batch = 1e-5 if network == "alexnet" else 0.01, 1 if network == "conv-large" else 5
    assert is_right(build(net_of(network, update="sgd", learning_rate=rate, batch=batch)))


@pytest.mark.parametrize("network", ["resnet18", "alexnet", "digits"])
def test_a_program_holds_as_much_memory_as_predicted(network: str) -> None:
    large: dict[str, dict[str, Any]] = {
        "alexnet": TINY | {"width": 1.0, "side": 224},
        "resnet18": TINY | {"width": 1.0, "side": 128, "batch": 16},
    }
    net = net_of(network, large.get(network, LEARNING | {"batch": 128}))
    program = steps(build(net), 1)
    held = [*program.arrays.parameters, *(one.grad for one in program.arrays.parameters), program.arrays.images]
    held += [array for call in program.arrays.calls for array in (call.x, call.y, call.g) if array is not None]
    kept = {array.untyped_storage().data_ptr(): array.untyped_storage().nbytes() for array in held}
    spare = SPARE * net._numbers() + net.batch * net.counts.kept
    assert net.memory_bytes() == pytest.approx(sum(kept.values()) + 4 * spare, rel=0.1)


Forward = Wrong = Callable[..., torch.Tensor]


class Scaled(torch.autograd.Function):  # type: ignore[misc]
    """Return what is given; a gradient comes back a thousandth too large."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0] * 1.001


def having(**attributes: Any) -> Wrong:
    def wrong(forward: Forward, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        vars(layer).update(attributes)
        return forward(x)

    return wrong


def with_gradients_off(name: str) -> Wrong:
    """By a thousandth."""

    def wrong(forward: Forward, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        getattr(layer, name).register_hook(lambda gradient: 1.001 * gradient)
        return forward(x)

    return wrong


def without_an_example_in_the_gradients(forward: Forward, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Leave an example out of the parameters' gradients; the rest is right."""
    layer.requires_grad_(False)
    y = forward(x)
    layer.requires_grad_(True)
    others = forward(x.detach()) * (torch.arange(len(x)) != 2).reshape(-1, 1, 1, 1)
    return y + others - others.detach()


def without_the_last_example(forward: Forward, layer: Any, x: torch.Tensor) -> torch.Tensor:
    mask = torch.ones(len(x), 1, 1, 1)
    mask[-1] = 0.0
    return forward(x) * mask


def a_thousandth_off(forward: Forward, layer: Any, x: torch.Tensor) -> torch.Tensor:
    return forward(Scaled.apply(x))


# Of which net which layers compute what, in place of what is right.
MISTAKES: dict[str, tuple[str, type, Wrong]] = {
    "no bias": ("vgg16", nn.Conv2d, lambda forward, layer, x: forward(x) - layer.bias.detach()[:, None, None]),
    "an example lost forward": ("resnet18", nn.Conv2d, without_the_last_example),
    "an example lost in the gradients of kernels": ("vgg16", nn.Conv2d, without_an_example_in_the_gradients),
    "gradients of gains off": ("resnet50", nn.BatchNorm2d, with_gradients_off("weight")),
    "gradients of biases off": ("lenet-pooled", nn.Linear, with_gradients_off("bias")),
    "a convolution's share off": ("vgg16", nn.Conv2d, a_thousandth_off),
    "a normalisation's share off": ("resnet50", nn.BatchNorm2d, a_thousandth_off),
    "normalisation by running means": ("resnet50", nn.BatchNorm2d, having(training=False)),
    "another momentum": ("resnet18", nn.BatchNorm2d, having(momentum=0.101)),
    "the mean in place of the largest": (
        "alexnet", nn.MaxPool2d, lambda _, layer, x: nn.functional.avg_pool2d(x, 3, 2, 0, ceil_mode=True),
    ),
    "no shortcut": (
        "resnet18", Block, lambda _, layer, x: layer.late(layer.branch(x) + 0 * (layer.shortcut or nn.Identity())(x)),
    ),
    "another power of the local response": ("alexnet", LocalResponse, having(beta=0.5)),
    "channels in another order": ("inception-v1", Inception, lambda forward, _, x: forward(x).flip(1)),
    "rows in another order": ("vgg16", Rows, lambda _, layer, x: x.flatten(1)),
    "a branch's share off": ("inception-v1", nn.Sequential, a_thousandth_off),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen(mistake: str) -> None:
    network, kind, wrong = MISTAKES[mistake]
    program = build(net_of(network))
    for layer in program.arrays.net.modules():
        if isinstance(layer, kind):
            layer.forward = partial(wrong, layer.forward, layer)
    assert largest(steps(program, 1)) > TOLERANCE["fp32"]
