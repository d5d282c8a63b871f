"""The tutorial's net that ours is timed beside does the same work; its derivatives are automatic, ours written out."""

from typing import Any

import pytest
import torch
from peers import NaiveConvnet

from respeed.model.paper import Case
from respeed.workloads import convnet
from respeed.workloads._networks import Linear, Network
from tests.conformance.programs import make
from tests.workloads.test_convnet import NETWORKS, SMALL, case_of

CASES = [case_of(name, gradients="parameters" if name in SMALL else "parameters-and-images") for name in NETWORKS]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_tutorials_net_gives_learns_and_passes_back_what_ours_does(case: Case) -> None:
    inputs = convnet.inputs(case, seed=3)
    ours = convnet.build(make("torch", precision="fp64"), case, inputs)
    ours.step()
    theirs = NaiveConvnet(case, inputs)
    theirs.model.double()
    theirs.images, theirs.target = (
        array.detach().double().requires_grad_(array.requires_grad) for array in (theirs.images, theirs.target)
    )
    theirs.step()
    nodes = Network(case).nodes
    for number, node in enumerate(nodes[1:], 1):
        layer, module = ours.net.layers[number], theirs.model.layers[number]
        for index, (array, other) in enumerate(zip(layer.parameters(), module.parameters(), strict=True)):
            gradient, shape = array.grad, nodes[node.sources[0]].shape
            reordered = isinstance(node.layer, Linear) and not index and len(shape) == 3
            for mine, yours in ((gradient, other.grad), (array, other.data)):
                if reordered:
                    mine = mine.view(-1, *shape[1:], shape[0]).permute(0, 3, 1, 2).reshape(yours.shape)
                assert relative(mine, yours) < 1e-9, f"node {number}, parameter {index}"
    if case.parameters["gradients"] == "parameters-and-images":
        assert relative(ours.net.gradients[0], theirs.images.grad) < 1e-9


def relative(found: Any, right: torch.Tensor) -> float:
    return float((found - right).abs().max() / right.abs().max())
