"""Nets that are pretrained: every part of a step is done, on the same weights, and the whole learns."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import make_backend
from respeed.measure.case import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.workloads import load_workload, part_weights
from respeed.workloads.pretraining import Dbn, Sda

MODULES: Any = {"sda": Sda(), "dbn": Dbn()}


def built(name: str, case: Case) -> tuple[Any, Any]:
    inputs = MODULES[name].inputs(case, seed=5)
    backend = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    return MODULES[name].build(backend, case, inputs), inputs


def odd(name: str) -> Case:
    return Case("odd", name, MODULES[name].TESTS["odd"])


@pytest.mark.parametrize("name", MODULES)
def test_what_is_pretrained_is_what_is_fine_tuned(name: str) -> None:
    program, _ = built(name, odd(name))
    for learner, layer in zip(program.learners, program.net.layers, strict=False):
        assert learner.weights is layer.weights
        assert learner.hidden_bias is layer.bias


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("left_out", range(4))
def test_a_step_that_leaves_out_a_part_is_wrong(name: str, left_out: int) -> None:
    case = odd(name)
    program, inputs = built(name, case)
    for place, part in enumerate(program.parts.values()):
        if place != left_out:
            part()
    state = dict(program.state())
    errors = state_errors(inputs, state, MODULES[name].reference(case, inputs, state))
    assert max(errors.values()) > 10 * TOLERANCE["fp32"]


@pytest.mark.parametrize("name", MODULES)
def test_a_layer_that_learns_from_what_the_untrained_layers_below_hand_up_is_wrong(name: str) -> None:
    case = odd(name)
    program, inputs = built(name, case)
    parts = list(program.parts.values())
    for part in (parts[1], parts[0], *parts[2:]):
        part()
    state = dict(program.state())
    errors = state_errors(inputs, state, MODULES[name].reference(case, inputs, state))
    assert max(errors.values()) > 10 * TOLERANCE["fp32"]


@pytest.mark.parametrize("name", MODULES)
def test_parts_count_as_often_as_they_have_epochs(name: str) -> None:
    case = odd(name)
    program, _ = built(name, case)
    weights = part_weights(load_workload(name), case)
    assert list(weights) == list(program.parts)
    assert list(weights.values()) == [2, 2, 2, 3]
    more = Case("more", name, case.parameters | {"pretraining_epochs": 4, "fine_tuning_epochs": 6})
    for measure in ("flops", "traffic_bytes"):
        assert getattr(MODULES[name], measure)(more) == 2 * getattr(MODULES[name], measure)(case)


@pytest.mark.parametrize("name", MODULES)
def test_no_step_begins_with_the_examples_that_the_last_one_used(name: str) -> None:
    program, _ = built(name, odd(name))
    seen = []
    for _ in range(2):
        program.step()
        seen.append(np.array(program.state()["out0"]))
    assert np.abs(seen[0] - seen[1]).max() > 0.05


@pytest.mark.parametrize("name", MODULES)
def test_digits_are_told_apart_after_pretraining_and_fine_tuning(name: str) -> None:
    from sklearn.datasets import load_digits

    digits, labels = load_digits(return_X_y=True)
    sizes = {"inputs": 64, "hidden": 64, "layers": 2, "outputs": 10, "batch": 10, "corruption": 0.1}
    rates = {"pretraining_rate": 0.1, "fine_tuning_rate": 0.3, "pretraining_epochs": 1, "fine_tuning_epochs": 1}
    case = Case("digits", name, {**sizes, **rates})
    train = (digits[:1500] / 16).astype(np.float32)
    module = MODULES[name]
    backend = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    examples = {"examples": train.reshape(-1, 10, 64), "labels": labels[:1500].reshape(-1, 10)}
    program = module.build(backend, case, {**module.inputs(case, seed=0), **examples})
    *pretraining, fine_tuning = program.parts.values()
    for part, epochs in [*((part, 3) for part in pretraining), (fine_tuning, 8)]:
        for count in range(epochs * 150):
            program.count = count
            part()
    out = (digits[1500:] / 16).astype(np.float32)
    for place, layer in enumerate(program.net.layers):
        out = out @ layer.weights + layer.bias
        out = 1 / (1 + np.exp(-out)) if place < 2 else out
    assert (out.argmax(axis=1) == labels[1500:]).mean() > 0.85
