"""Convolutional nets: their published sizes, their arithmetic, and that a wrong step does not pass."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from respeed.backends._cpu import OnHost
from respeed.backends._torch_steps import TorchSteps
from respeed.measure.case import TOLERANCE
from respeed.model.paper import Case
from respeed.workloads import convnet
from respeed.workloads._networks import SMALL, Concatenation, Linear, LocalResponse, Network, Normalization
from tests.conformance.programs import build, errors_of, make

TINY = {
    "width": 0.07, "batch": 5, "side": 64, "classes": 7,
    "update": "none", "learning_rate": 0.0, "gradients": "parameters",
}  # fmt: skip
LEARNING = TINY | {"width": 1.0, "side": 28, "update": "sgd", "learning_rate": 0.1}
WHOLE = TINY | {"width": 1.0, "batch": 16, "side": 224, "classes": 1000}
NETWORKS = convnet.PARAMETERS["network"]


def case_of(network: str, parameters: dict[str, Any] | None = None, **other: Any) -> Case:
    chosen = parameters or (LEARNING if network in SMALL else TINY)
    return Case(network, "convnet", chosen | {"network": network} | other)


def worst(case: Case, change: Callable[[Any], object] = lambda program: None) -> float:
    """How far a first step, perhaps of a changed program, is from float64."""
    return max(errors_of(make("torch"), case, change).values())


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
    net, (parameters, multiply_adds) = Network(case_of(network, WHOLE)), PUBLISHED[network]
    assert net.parameters == parameters
    assert sum(net.multiply_adds) == pytest.approx(multiply_adds, rel=5e-3)


def test_resnet_200_convolves_what_it_has_normalised_and_adds_to_what_it_has_convolved() -> None:
    nodes = Network(case_of("resnet200")).nodes
    read = [nodes[node.sources[0]] for node in nodes if isinstance(node.layer, nn.Conv2d)]
    assert [node.kind for node in read[:3]] == ["images", "pooling", "pooling"]
    assert {(node.kind, node.activation) for node in read[3:]} == {("normalization", "relu")}
    assert [node.kind for node in nodes if len(node.sources) > 1] == ["convolution"] * (3 + 24 + 36 + 3)


@pytest.mark.parametrize("network", ["lenet", "lenet-pooled"])
def test_lenet_has_the_layers_of_theanos_tutorial(network: str) -> None:
    net = Network(case_of(network))
    assert [node.shape for node in net.nodes] == [
        (1, 28, 28), (5, 24, 24), (5, 12, 12), (5, 8, 8), (5, 4, 4), (500,), (7,)
    ]  # fmt: skip


def test_a_bias_after_pooling_is_the_same_net_with_a_quarter_of_the_additions() -> None:
    before, after = (Network(case_of(network)) for network in ("lenet", "lenet-pooled"))
    assert (before.parameters, before.multiply_adds) == (after.parameters, after.multiply_adds)
    biased = [[node.shape for node in net.nodes if (5,) in node.learned] for net in (before, after)]
    assert biased == [[(5, 24, 24), (5, 8, 8)], [(5, 12, 12), (5, 4, 4)]]


# Of DeepLearningBenchmarks at 4f97e95, theano/convnet.py: sides after each convolution and pooling, and parameters.
BENCHMARKS = {
    "conv-small": (32, [28, 14, 10, 5], 51_902),
    "conv-medium": (96, [90, 30, 24, 8], 129_230),
    "conv-large": (256, [250, 50, 44, 11], 238_670),
}


@pytest.mark.parametrize("network", BENCHMARKS)
def test_a_benchmarks_net_has_the_layers_of_its_program(network: str) -> None:
    side, sides, parameters = BENCHMARKS[network]
    net = Network(case_of(network, LEARNING, side=side, classes=10))
    maps = zip((6, 6, 16, 16), sides, strict=True)
    assert [node.shape for node in net.nodes] == [(1, side, side), *((n, s, s) for n, s in maps), (120,), (10,)]
    assert [node.activation for node in net.nodes] == ["", *["tanh"] * 5, ""]
    assert net.parameters == parameters


def test_a_backward_pass_is_two_forward_passes_but_for_the_gradient_of_the_images() -> None:
    whole = case_of("vgg16", WHOLE, gradients="parameters-and-images")
    forward = 2 * 16 * sum(Network(whole).multiply_adds)
    assert convnet.flops(whole) == 3 * forward
    first = 2 * 16 * 224 * 224 * 64 * 3 * 9
    assert convnet.flops(case_of("vgg16", WHOLE)) == 3 * forward - first


IMAGES_TOO = [
    (network, "parameters-and-images")
    for network in ("alexnet", "vgg16", "resnet18", "resnet50", "inception-v1", "lenet")
]


@pytest.mark.parametrize(("network", "gradients"), [*((network, "parameters") for network in NETWORKS), *IMAGES_TOO])
def test_a_step_of_every_net_agrees_with_float64(network: str, gradients: str) -> None:
    assert worst(case_of(network, gradients=gradients)) < TOLERANCE["fp32"]


@pytest.mark.parametrize("width", [0.3, 0.7])
def test_a_net_of_another_width_is_checked_as_well(width: float) -> None:
    assert worst(case_of("alexnet", width=width)) < TOLERANCE["fp32"]


@pytest.mark.parametrize("network", ["resnet18", "digits", "alexnet", "inception-v1"])
def test_a_program_holds_as_much_memory_as_predicted(network: str) -> None:
    large = {"alexnet": TINY | {"width": 1.0, "side": 224}, "resnet18": TINY | {"width": 1.0, "side": 128, "batch": 16}}
    case = case_of(network, large.get(network), **({"batch": 128} if network == "digits" else {}))
    program = build(make("torch"), case)
    program.step()
    kept: dict[int, int] = {}
    net = program.net
    learned = list(net.parameters())
    held = [*learned, *(array.grad for array in learned), *net.outputs.values(), *net.gradients.values()]
    for array in (*held, *program.batches):
        kept[array.untyped_storage().data_ptr()] = array.untyped_storage().nbytes()
    predicted, made = convnet.memory_bytes(case), Network(case)
    gradients = {array.untyped_storage().data_ptr() for array in net.gradients.values()}
    assert 4 * made.gradients == pytest.approx(sum(kept[place] for place in gradients), rel=0.05)
    within = sum(convnet.KEPT.get(type(node.layer), 0) * made.batch * np.prod(node.shape) for node in made.nodes)
    spare = convnet.SPARE * (made.outputs + made.gradients)
    assert predicted == pytest.approx(sum(kept.values()) + 4 * (within + spare), rel=0.1)


def test_a_second_step_learns_from_the_second_mini_batch() -> None:
    case = case_of("lenet")
    program = build(make("torch"), case)
    program.step()
    program.step()
    np.testing.assert_array_equal(program.state()["y_0"], np.asarray(convnet.inputs(case, 5)["images"][1]))


class Asked(OnHost, TorchSteps):
    """What an accelerator is asked for, done by the CPU."""

    synchronous = False


@pytest.mark.parametrize("network", ["resnet18", "alexnet", "inception-v1", "lenet"])
def test_a_step_that_was_prepared_for_capturing_is_a_first_step(network: str) -> None:
    made: Any = Asked("cpu", "fp32", threads=1, seed=1)
    assert max(errors_of(made, case_of(network)).values()) < TOLERANCE["fp32"]
    program = build(made, case_of(network))
    assert program.images.is_contiguous()  # as cuDNN's strict fp32 has it


class Scaled(torch.autograd.Function):
    """What it is given; a gradient comes back a thousandth too large."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0] * 1.001


def without_an_example_in_the_gradients(exact: Callable[..., Any], layer: Any, x: torch.Tensor) -> torch.Tensor:
    """Of the parameters; what the layer gives, and the gradient of what it reads, are right."""
    kept = {name: array.detach() for name, array in layer.named_parameters()}
    y = exact(x.detach())
    others = (torch.arange(len(x)) != 2).reshape(-1, *[1] * (y.dim() - 1)) * y
    return functional(layer, kept, x) + others - others.detach()


def functional(layer: Any, state: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The layer with other parameters; a normalisation's running moments stay."""
    if isinstance(layer, Normalization):
        return nn.functional.batch_norm(x, None, None, state["weight"], state["bias"], True, 0.0, layer.eps)
    if isinstance(layer, Linear):
        return nn.functional.linear(x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x, **state)
    return nn.functional.conv2d(x, state["weight"], state.get("bias"), layer.stride, layer.padding, 1, layer.groups)


def without_the_last_example(exact: Callable[..., Any], layer: Any, x: torch.Tensor) -> torch.Tensor:
    mask = torch.ones(len(x), 1, 1, 1)
    mask[-1] = 0.0
    return exact(x) * mask


def by_half_the_batch(exact: Callable[..., Any], layer: Any, x: torch.Tensor) -> torch.Tensor:
    half = len(x) // 2
    return torch.cat([exact(x[:half]), exact(x)[half:]])


def without_the_shortcuts(program: Any) -> None:
    def without_added(exact: Any, outputs: Any, added: int, x: Any) -> Any:
        return exact(x) - outputs[added].detach()

    for node, layer in zip(program.net.nodes, program.net.layers, strict=True):
        if len(node.sources) > 1:
            layer.forward = functools.partial(without_added, layer.forward, program.net.outputs, node.sources[1])


def local_response(attribute: str, value: float) -> Callable[[Any], None]:
    def plant(program: Any) -> None:
        for layer in program.net.layers:
            if isinstance(layer, LocalResponse):
                setattr(layer, attribute, getattr(layer, attribute) * 0 + value)

    return plant


def every(kind: type, wrong: Callable[..., Any]) -> Callable[[Any], None]:
    """Each layer of the kind does what is wrong."""

    def plant(program: Any) -> None:
        for layer in program.net.layers:
            if isinstance(layer, kind):
                layer.forward = functools.partial(wrong, layer.forward, layer)

    return plant


def a_share_off(exact: Callable[..., Any], layer: Any, x: torch.Tensor) -> torch.Tensor:
    """By a thousandth."""
    return exact(Scaled.apply(x))


MISTAKES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "no bias": ("vgg16", every(nn.Conv2d, lambda exact, layer, x: exact(x) - layer.bias.detach()[:, None, None])),
    "an example lost forward": ("resnet18", every(nn.Conv2d, without_the_last_example)),
    "an example lost in the gradients of kernels": ("vgg16", every(nn.Conv2d, without_an_example_in_the_gradients)),
    "an example lost in gains' gradients": ("resnet50", every(Normalization, without_an_example_in_the_gradients)),
    "a normalisation's share off": ("resnet50", every(Normalization, a_share_off)),
    "normalisation by half of the mini-batch": ("resnet18", every(Normalization, by_half_the_batch)),
    "the mean in place of the largest": (
        "alexnet", every(nn.MaxPool2d, lambda _, layer, x: nn.functional.avg_pool2d(x, 3, 2, 0, ceil_mode=True)),
    ),
    "no shortcut": ("resnet18", without_the_shortcuts),
    "another power of the local response": ("alexnet", local_response("beta", 0.5)),
    "another constant of the local response": ("inception-v1", local_response("k", 1.0)),
    "branches in another order": ("inception-v1", every(Concatenation, lambda exact, layer, *x: exact(*x[::-1]))),
    "a branch's share off": (
        "inception-v1", every(Concatenation, lambda exact, layer, *x: exact(*x[:-1], Scaled.apply(x[-1]))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen(mistake: str) -> None:
    network, plant = MISTAKES[mistake]
    assert worst(case_of(network), plant) > TOLERANCE["fp32"]


def test_a_wrong_learning_rate_is_seen() -> None:
    errors = errors_of(make("torch"), case_of("lenet"), lambda program: setattr(program, "rate", 1.001 * program.rate))
    wrong = {name for name, error in errors.items() if error > TOLERANCE["fp32"]}
    assert wrong
    assert all(name.endswith("changes") for name in wrong)


def test_images_too_small_for_a_net_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="images are too small for this net"):
        Network(case_of("alexnet", side=20))
