"""Convolutional nets: their published sizes, their arithmetic, and that a wrong step does not pass."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from peers import NaiveConvnet
from torch import nn

from respeed.measure.case import TOLERANCE
from respeed.workloads._nets import Counts, count, layers
from respeed.workloads.convnet import SPARE, Convnet
from tests.conformance.programs import largest, make, steps
from tests.known import assert_known

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

# Of DeepLearningBenchmarks at 4f97e95, theano/convnet.py, of Theano's tutorial, and of a course: the side of images.
SMALL = {"conv-small": 32, "conv-medium": 96, "conv-large": 256, "lenet-pooled": 28, "digits": 28}
NETS = {
    **{name: net_of(name, WHOLE) for name in PUBLISHED},
    **{name: net_of(name, LEARNING, side=side, classes=10) for name, side in SMALL.items()},
    **{f"narrow {name}": net_of(name, TINY) for name in ("alexnet", "inception-v1", "resnet50")},
}


def layers_of(name: str) -> tuple[Counts, str]:
    """Return the counts of a net, and a line for each kind of layers: how many there are, and their outputs."""
    net, seen = NETS[name], Counter[str]()
    for layer in net.net.modules():
        if not [*layer.children()] and not isinstance(layer, nn.ReLU | nn.Identity):
            layer.register_forward_hook(lambda one, _, y: seen.update([f"{one}: {tuple(y.shape[1:])}"]))
    counts = count(net.net, net.example[0])
    return counts, "\n".join([f"== {name}", str(counts), *(f"{number} {line}" for line, number in seen.items()), ""])


@pytest.mark.known
def test_nets_have_their_published_counts() -> None:
    """Nets have their published parameters and multiply adds and the known layers."""
    found = {name: layers_of(name) for name in NETS}
    for name, (parameters, multiply_adds) in PUBLISHED.items():
        assert found[name][0].parameters == parameters, name
        assert found[name][0].multiply_adds == pytest.approx(multiply_adds, rel=5e-3), name
    assert_known(Path(__file__).with_name("nets.txt"), "\n".join(lines for _, lines in found.values()))


def test_a_backward_pass_counts_two_forward_passes() -> None:
    """A backward pass is two forward passes but for the gradient of the images."""
    forward = 2 * 16 * net_of("vgg16", WHOLE).counts.multiply_adds
    assert net_of("vgg16", WHOLE, gradients="parameters-and-images").flops() == 3 * forward
    assert net_of("vgg16", WHOLE).flops() == 3 * forward - 2 * 16 * 224 * 224 * 64 * 3 * 9


@pytest.mark.parametrize("network", ["lenet-pooled", "digits", "resnet18", "alexnet", "inception-v1"])
def test_every_array_of_a_step_is_compared(network: str) -> None:
    """Of each kind of layers the last one's: outputs, gradients, running means; what is learned, too."""
    learns = {"update": "sgd", "learning_rate": 0.01} if network == "resnet18" else {}
    net = net_of(network, gradients="parameters-and-images", **learns)
    program = steps(build(net), 1)
    arrays = program.arrays
    *_, weights = (one for one in arrays.parameters if one.dim() == 4)
    # Narrow convolutions are faster on images that lie channel by channel.
    assert weights.is_contiguous(memory_format=torch.channels_last) == (network != "lenet-pooled")
    calls = zip(layers(arrays.net).values(), arrays.calls, strict=True)
    of_kinds = {type(one).__name__: (one, call) for one, call in calls}
    found = {"image gradient": program._views[0].image_gradient}
    held = [*arrays.parameters, *(one.grad for one in arrays.parameters), arrays.images, *found.values()]
    held += [array for call in arrays.calls for array in (call.x, call.y, call.g) if array is not None]
    kept = {array.untyped_storage().data_ptr(): array.untyped_storage().nbytes() for array in held}
    spare = SPARE * net._numbers() + net.batch * net.counts.kept
    assert net.memory_bytes() == pytest.approx(sum(kept.values()) + 4 * spare, rel=0.1)
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
def test_a_tutorials_net_learns_as_ours(network: str) -> None:
    """A tutorial's net gives learns and passes back what ours does in float64."""
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
