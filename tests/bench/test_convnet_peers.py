"""A tutorial's net, of torch's own modules and end to end in float64, does the work of ours."""

import pytest
import torch
from peers import NaiveConvnet

from tests.conformance.programs import make
from tests.workloads.test_convnet import EVERY, SMALL, net_of


@pytest.mark.parametrize("network", EVERY)
def test_a_tutorials_net_gives_learns_and_passes_back_what_ours_does(network: str) -> None:
    net = net_of(network, gradients="parameters" if network in SMALL else "parameters-and-images")
    ours = make("torch", precision="fp64").build(net, 3)
    theirs = NaiveConvnet(net, ours.inputs)
    theirs.model.double()
    theirs.images = theirs.images.detach().double().requires_grad_(net.images_too)
    theirs.target = theirs.target if net.learns else theirs.target.double()
    ours.step()
    theirs.step()
    right = dict(theirs.model.named_parameters())
    for name, parameter in ours.arrays.net.named_parameters():
        for mine, yours in ((parameter.grad, right[name].grad), (parameter, right[name])):
            assert relative(theirs.arrange(name, mine.contiguous()), yours) < 1e-9, name
    if net.images_too:
        assert relative(ours._views[0].image_gradient, theirs.images.grad) < 1e-9


def relative(found: torch.Tensor, right: torch.Tensor) -> float:
    return float((found - right).detach().abs().max() / right.abs().max())
