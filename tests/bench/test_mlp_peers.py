"""The peers that our step of a multi-layer perceptron is timed beside do the same work."""

from typing import Any

import numpy as np
import pytest
from mlp_peers import TutorialNumPy, TutorialTorch

from respeed.backends import make_backend
from respeed.measure.case import TOLERANCE
from respeed.model.paper import Case
from respeed.workloads.mlp import BATCHES, Mlp

STEPS = BATCHES + 1


@pytest.mark.parametrize("peer", [TutorialTorch, TutorialNumPy])
@pytest.mark.parametrize("size", ["smoke", "odd"])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_a_tutorials_steps_change_the_parameters_as_ours_do(peer: Any, size: str, activation: str) -> None:
    parameters: Any = Mlp().TESTS[size] | {"activation": activation}
    case = Case(size, "mlp", parameters)
    inputs = Mlp().inputs(case, seed=1)
    theirs = peer(case, inputs)
    ours = Mlp().build(make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1), case, inputs)
    for _ in range(STEPS):
        theirs.step()
        ours.step()
    state = ours.state()
    for place, found in enumerate(theirs.parameters()):
        for name, after in zip((f"weights{place}", f"bias{place}"), found, strict=True):
            change = np.subtract(state[name], inputs[name], dtype=np.float64)
            difference = np.abs(np.subtract(after, inputs[name], dtype=np.float64) - change).max()
            assert difference <= STEPS * TOLERANCE["fp32"] * np.abs(change).max(), name
