"""Convolutional nets: their published sizes, their arithmetic, and that a wrong step does not pass."""

from typing import Any

import pytest
from peers import NaiveConvnet
from torch import nn

from respeed.measure.case import TOLERANCE
from respeed.workloads._nets import count, layers
from respeed.workloads.convnet import SPARE, Convnet
from tests.conformance.programs import is_right, largest, make, steps

TINY = {
    "width": 0.07, "batch": 5, "side": 64, "classes": 7,
    "update": "none", "learning_rate": 0.0, "gradients": "parameters",
}  # fmt: skip
LEARNING = TINY | {"width": 1.0, "side": 28, "update": "sgd", "learning_rate": 0.1}
WHOLE = TINY | {"width": 1.0, "batch": 16, "side": 224, "classes": 1000}


def net_of(network: str, parameters: dict[str, Any] | None = None, **other: Any) -> Convnet:
    chosen = parameters or (LEARNING if network in {"lenet-pooled", "digits"} else TINY)
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
    assert count(net.net, net.example[0]).parameters == net.counts.parameters == parameters
    assert seen == sides


def test_a_backward_pass_is_two_forward_passes_but_for_the_gradient_of_the_images() -> None:
    forward = 2 * 16 * net_of("vgg16", WHOLE).counts.multiply_adds
    assert net_of("vgg16", WHOLE, gradients="parameters-and-images").flops() == 3 * forward
    assert net_of("vgg16", WHOLE).flops() == 3 * forward - 2 * 16 * 224 * 224 * 64 * 3 * 9


# The other nets and options are those of papers: tests/conformance tries them.
@pytest.mark.parametrize(
    ("network", "other"),
    [
        ("lenet-pooled", {"gradients": "parameters-and-images"}),
        ("resnet18", {"gradients": "parameters-and-images"}),
        ("resnet18", {"update": "sgd", "learning_rate": 0.01}),
    ],
)
def test_a_step_of_a_net_of_no_paper_agrees_with_float64(network: str, other: dict[str, Any]) -> None:
    assert is_right(build(net_of(network, **other)))


@pytest.mark.parametrize(
    ("network", "sizes"),
    [("resnet18", TINY | {"width": 0.5, "batch": 16}), ("alexnet", TINY | {"width": 0.5, "side": 224})],
)
def test_a_program_holds_as_much_memory_as_predicted(network: str, sizes: dict[str, Any]) -> None:
    net = net_of(network, sizes)
    program = steps(build(net), 1)
    held = [*program.arrays.parameters, *(one.grad for one in program.arrays.parameters), program.arrays.images]
    held += [array for call in program.arrays.calls for array in (call.x, call.y, call.g) if array is not None]
    kept = {array.untyped_storage().data_ptr(): array.untyped_storage().nbytes() for array in held}
    spare = SPARE * net._numbers() + net.batch * net.counts.kept
    assert net.memory_bytes() == pytest.approx(sum(kept.values()) + 4 * spare, rel=0.1)


@pytest.mark.parametrize("network", ["digits", "resnet18", "alexnet", "inception-v1"])
def test_every_array_of_a_step_is_compared(network: str) -> None:
    """Of each kind of layers the last one's: outputs, gradients, running means; what is learned, too."""
    program = steps(build(net_of(network, gradients="parameters-and-images")), 1)
    arrays = program.arrays
    calls = zip(layers(arrays.net).values(), arrays.calls, strict=True)
    of_kinds = {type(one).__name__: (one, call) for one, call in calls}
    found = {"image gradient": program._views[0].image_gradient}
    for kind, (layer, call) in of_kinds.items():
        parameters = dict(layer.named_parameters())
        learned = parameters if program.workload.learns else {}
        gradients = {f"{name} gradient": one.grad for name, one in parameters.items()}
        for name, array in {"y": call.y, "g": call.g, **dict(layer.named_buffers()), **gradients, **learned}.items():
            found[f"{kind} {name}"] = array
    for name, array in found.items():
        if array is not None and array.is_floating_point():
            kept = array.clone()
            array.mul_(1.001)
            assert largest(program) > TOLERANCE["fp32"], name
            array.copy_(kept)
    assert largest(program) <= TOLERANCE["fp32"]


@pytest.mark.parametrize("network", ["digits", "alexnet", "vgg16", "resnet18", "resnet50", "inception-v1"])
def test_a_tutorials_net_gives_learns_and_passes_back_what_ours_does_in_float64(network: str) -> None:
    net = net_of(network, gradients="parameters" if network == "digits" else "parameters-and-images")
    ours = make("torch", precision="fp64").build(net, 3)
    theirs = NaiveConvnet(net, ours.inputs)
    theirs.model.double()
    theirs.images = theirs.images.detach().double().requires_grad_(net.images_too)
    theirs.target = theirs.target if net.learns else theirs.target.double()
    ours.step()
    theirs.step()
    right = dict(theirs.model.named_parameters())
    pairs = {"images": (ours._views[0].image_gradient, theirs.images.grad)} if net.images_too else {}
    for name, parameter in ours.arrays.net.named_parameters():
        for what, mine, yours in (("", parameter, right[name]), (" gradient", parameter.grad, right[name].grad)):
            pairs[name + what] = theirs.arrange(name, mine.contiguous()), yours
    errors = {name: float((mine - yours).abs().max() / yours.abs().max()) for name, (mine, yours) in pairs.items()}
    assert max(errors.values()) < 1e-9, errors
