"""Convolutional nets: their published sizes, their arithmetic, and that a wrong step does not pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from respeed.backends._cpu import OnHost
from respeed.backends._torch_steps import TorchSteps
from respeed.measure.correctness import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.workloads import convnet
from respeed.workloads._layers import ConvolutionLayer, LinearLayer, MaxPoolLayer, NormalizationLayer
from respeed.workloads._net import SPARE
from respeed.workloads._network_sizes import sizes_of
from tests.conformance.programs import backend_or_skip, errors_of

TINY = {
    "width": 0.07, "batch": 5, "side": 64, "classes": 7,
    "update": "none", "learning_rate": 0.0, "gradients": "parameters",
}  # fmt: skip
LEARNING = TINY | {"width": 1.0, "side": 28, "update": "sgd", "learning_rate": 0.1}
WHOLE = TINY | {"width": 1.0, "batch": 16, "side": 224, "classes": 1000}
NETWORKS = convnet.PARAMETERS["network"]


def case_of(network: str, parameters: dict[str, Any] | None = None, **other: Any) -> Case:
    chosen = parameters or (LEARNING if network in ("lenet", "digits") else TINY)
    return Case(network, "convnet", chosen | {"network": network} | other)


def worst(case: Case) -> float:
    return max(errors_of(backend_or_skip("torch", "cpu"), case).values())


@pytest.mark.parametrize(
    ("network", "parameters", "multiply_adds"),
    [
        ("alexnet", 60_965_224, 0.72e9),
        ("vgg16", 138_357_544, 15.47e9),
        ("vgg19", 143_667_240, 19.63e9),
        ("resnet18", 11_689_512, 1.81e9),
        ("resnet34", 21_797_672, 3.66e9),
        ("resnet50", 25_557_032, 4.09e9),
        ("resnet101", 44_549_160, 7.80e9),
        ("resnet152", 60_192_808, 11.51e9),
    ],
)
def test_a_net_has_its_published_numbers_of_parameters_and_multiply_adds(
    network: str, parameters: int, multiply_adds: float
) -> None:
    net = sizes_of(case_of(network, WHOLE))
    assert net.parameters == parameters
    assert sum(net.multiply_adds) == pytest.approx(multiply_adds, rel=5e-3)


def test_lenet_has_the_layers_of_theanos_tutorial() -> None:
    net = sizes_of(case_of("lenet"))
    assert net.shapes == [(1, 28, 28), (5, 24, 24), (5, 12, 12), (5, 8, 8), (5, 4, 4), (500,), (7,)]


def test_a_backward_pass_is_two_forward_passes_but_for_the_gradient_of_the_images() -> None:
    whole = case_of("vgg16", WHOLE, gradients="parameters-and-images")
    forward = 2 * 16 * sum(sizes_of(whole).multiply_adds)
    assert convnet.flops(whole) == 3 * forward
    first = 2 * 16 * 224 * 224 * 64 * 3 * 9
    assert convnet.flops(case_of("vgg16", WHOLE)) == 3 * forward - first


@pytest.mark.parametrize("gradients", convnet.PARAMETERS["gradients"])
@pytest.mark.parametrize("network", NETWORKS)
def test_a_step_of_every_net_agrees_with_float64(network: str, gradients: str) -> None:
    assert worst(case_of(network, gradients=gradients)) < TOLERANCE["fp32"]


@pytest.mark.parametrize("width", [0.3, 0.7])
def test_a_net_of_another_width_is_checked_as_well(width: float) -> None:
    assert worst(case_of("alexnet", width=width)) < TOLERANCE["fp32"]


@pytest.mark.parametrize("network", ["resnet18", "digits", "alexnet"])
def test_a_program_holds_as_much_memory_as_predicted(network: str) -> None:
    large = {"alexnet": TINY | {"width": 1.0, "side": 224}, "resnet18": TINY | {"width": 1.0, "side": 128, "batch": 16}}
    case = case_of(network, large.get(network), **({"batch": 128} if network == "digits" else {}))
    program = convnet.build(backend_or_skip("torch", "cpu"), case, convnet.inputs(case, 5))
    program.step()
    kept: dict[int, int] = {}

    def add(thing: Any) -> None:
        if isinstance(thing, torch.Tensor):
            kept[thing.untyped_storage().data_ptr()] = thing.untyped_storage().nbytes()
        elif isinstance(thing, list | tuple):
            for one in thing:
                add(one)

    for owner in (program, program.net, *program.net.layers[1:]):
        for value in vars(owner).values():
            add(value)
    net = sizes_of(case)
    spare = SPARE * 4 * (net.outputs + net.gradients)
    assert convnet.memory_bytes(case) == pytest.approx(sum(kept.values()) + spare, rel=0.1)


def test_a_second_step_learns_from_the_second_mini_batch() -> None:
    case = case_of("lenet")
    inputs = convnet.inputs(case, 5)
    program = convnet.build(backend_or_skip("torch", "cpu"), case, inputs)
    program.step()
    program.step()
    np.testing.assert_array_equal(program.state()["y_0"], np.asarray(inputs["images"][1]))


def test_the_loss_falls_where_a_net_learns() -> None:
    case = case_of("digits", batch=32)
    program = convnet.build(backend_or_skip("torch", "cpu"), case, convnet.inputs(case, 5))
    losses = []
    for _ in range(12 * convnet.BATCHES):
        program.step()
        losses.append(float(program.loss))
    assert np.mean(losses[-4:]) < 0.7 * np.mean(losses[:4])


class Asked(OnHost, TorchSteps):
    """What an accelerator is asked for, done by the CPU."""

    synchronous = False


@pytest.mark.parametrize("network", ["resnet18", "alexnet", "lenet"])
def test_a_step_that_was_prepared_for_capturing_is_a_first_step(network: str) -> None:
    made: Any = Asked("cpu", "fp32", threads=1, seed=1)
    assert max(errors_of(made, case_of(network)).values()) < TOLERANCE["fp32"]
    program = convnet.build(made, case_of(network), convnet.inputs(case_of(network), 5))
    assert program.images.is_contiguous()  # as cuDNN's strict fp32 has it


def changed(layer: type, method: str, change: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """A layer whose `method` gives something else: `change` of the method, the layer and its arguments."""
    exact = getattr(layer, method)

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(layer, method, lambda self, *given: change(exact, self, *given))

    return patch


def _without_bias(exact: Any, layer: Any, x: Any) -> Any:
    return torch.ops.aten.convolution(x, layer.parameters[0], None, *layer.geometry)


def _moved(exact: Any, layer: Any, x: Any, *added: Any) -> Any:
    return exact(layer, x.roll(1, 3), *added)


def _without_the_last_example(exact: Any, layer: Any, *given: Any) -> Any:
    y = exact(layer, *given)
    y[-1] = 0.0
    return y


def _gradient_without_an_example(exact: Any, layer: Any, g: Any, x: Any, y: Any, wanted: bool) -> Any:
    fewer = g.clone()
    fewer[2] = 0.0
    exact(layer, fewer, x, y, wanted)
    learned = [array.clone() for array in layer.gradients]
    shares = exact(layer, g, x, y, wanted)
    layer.gradients = learned
    return shares


def _share_off(exact: Any, layer: Any, *given: Any) -> Any:
    first, *others = exact(layer, *given)
    return (first if first is None else first * 1.001, *others)


def _without_added(exact: Any, layer: Any, x: Any, *added: Any) -> Any:
    return exact(layer, x)


def _by_half_the_batch(exact: Any, layer: Any, x: Any, *added: Any) -> Any:
    half = len(x) // 2
    y = exact(layer, x, *added)
    y[:half] = exact(layer, x[:half], *(array[:half] for array in added))
    return y


def _mean_pool(exact: Any, layer: Any, x: Any) -> Any:
    exact(layer, x)
    kernel, stride, padding, _, up = layer.geometry
    return torch.nn.functional.avg_pool2d(x, kernel, stride, padding, up)


MISTAKES = {
    "no bias": ("vgg16", changed(ConvolutionLayer, "forward", _without_bias)),
    "images moved by a pixel": ("resnet18", changed(ConvolutionLayer, "forward", _moved)),
    "an example lost forward": ("resnet18", changed(ConvolutionLayer, "forward", _without_the_last_example)),
    "an example lost in the gradients of kernels": (
        "vgg16",
        changed(ConvolutionLayer, "backward", _gradient_without_an_example),
    ),
    "an example lost in the gradients of a linear layer": (
        "lenet",
        changed(LinearLayer, "backward", _gradient_without_an_example),
    ),
    "an example lost in the gradients of gains": (
        "resnet50",
        changed(NormalizationLayer, "backward", _gradient_without_an_example),
    ),
    "a convolution's share off by a thousandth": ("resnet50", changed(ConvolutionLayer, "backward", _share_off)),
    "a normalisation's share off by a thousandth": ("resnet50", changed(NormalizationLayer, "backward", _share_off)),
    "a linear layer's share off by a thousandth": ("alexnet", changed(LinearLayer, "backward", _share_off)),
    "a pooling's share off by a thousandth": ("vgg16", changed(MaxPoolLayer, "backward", _share_off)),
    "no shortcut": ("resnet18", changed(NormalizationLayer, "forward", _without_added)),
    "normalisation by half of the mini-batch": ("resnet18", changed(NormalizationLayer, "forward", _by_half_the_batch)),
    "the mean in place of the largest": ("alexnet", changed(MaxPoolLayer, "forward", _mean_pool)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, plant = MISTAKES[mistake]
    case = case_of(network)
    assert worst(case) < TOLERANCE["fp32"]
    plant(monkeypatch)
    assert worst(case) > TOLERANCE["fp32"]


@pytest.mark.parametrize(("attribute", "value"), [("beta", 0.5), ("band", 0.0)], ids=["another power", "no neighbours"])
def test_a_wrong_local_response_is_seen(attribute: str, value: float) -> None:
    case = case_of("alexnet")
    inputs = convnet.inputs(case, 5)
    program = convnet.build(backend_or_skip("torch", "cpu"), case, inputs)
    layer = program.net.layers[2]
    setattr(layer, attribute, getattr(layer, attribute) * 0 + value)
    program.step()
    state = dict(program.state())
    assert max(state_errors(inputs, state, convnet.reference(case, inputs, state)).values()) > TOLERANCE["fp32"]


def test_a_wrong_learning_rate_is_seen() -> None:
    case = case_of("lenet")
    inputs = convnet.inputs(case, 5)
    program = convnet.build(backend_or_skip("torch", "cpu"), case, inputs)
    program.rate *= 1.001
    program.step()
    state = dict(program.state())
    errors = state_errors(inputs, state, convnet.reference(case, inputs, state))
    wrong = {name for name, error in errors.items() if error > TOLERANCE["fp32"]}
    assert wrong
    assert all(name.endswith("changes") for name in wrong)


def test_images_too_small_for_a_net_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="images are too small for this net"):
        sizes_of(case_of("alexnet", side=20))
