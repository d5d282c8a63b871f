"""The peers that our steps of an RBM and of a multi-layer perceptron are timed beside do the same work."""

from typing import Any

import numpy as np
import pytest
import torch
from peers import NaiveRbmNumPy, NaiveRbmTorch, TutorialNumPy, TutorialTorch, _bernoulli_rbm

from respeed.measure.case import TOLERANCE
from respeed.workloads.mlp import BATCHES, Mlp
from respeed.workloads.rbm import Rbm
from tests.conformance.programs import case_of, make

RBM = Rbm(visible=37, hidden=53, batch=29, learning_rate=0.05)


def changes_in_float64(inputs: Any, sample: np.ndarray) -> list[np.ndarray]:
    """What one CD-1 step adds to the weights, the visible and the hidden biases, given the hidden units' sample."""
    W, v0, b, c = (np.asarray(inputs[name], np.float64) for name in ("W", "x", "b", "c"))
    v0, rate = v0[0], 0.05 / 29
    h0 = 1 / (1 + np.exp(-(v0 @ W + c)))
    v1 = 1 / (1 + np.exp(-(sample @ W.T + b)))
    h1 = 1 / (1 + np.exp(-(v1 @ W + c)))
    return [rate * (v0.T @ h0 - v1.T @ h1), rate * (v0 - v1).sum(axis=0), rate * (h0 - h1).sum(axis=0)]


@pytest.mark.parametrize("peer", [NaiveRbmTorch, NaiveRbmNumPy])
def test_a_tutorials_step_changes_the_parameters_as_ours_does_given_the_same_draws(peer: Any) -> None:
    program = make("numpy").build(RBM, 1)
    ours, inputs = program.arrays, program.inputs
    program.step()
    sample = (ours.u < ours.h[:29]).astype(np.float32)
    drawn = sample if peer is NaiveRbmNumPy else torch.from_numpy(sample)
    theirs = peer(RBM, inputs, sample=lambda probabilities: drawn)
    theirs.step()

    before = [np.asarray(inputs[name]) for name in "Wbc"]
    right = changes_in_float64(inputs, sample)
    # What the hidden biases change by cancels almost wholly, and is no scale for their rounding.
    scales = [np.abs(right[0]).max(), *[max(np.abs(change).max() for change in right[1:])] * 2]
    for after in ([ours.W, ours.b, ours.c], [theirs.W, theirs.b, theirs.c]):
        for new, old, change, scale in zip(after, before, right, scales, strict=True):
            found = np.asarray(new, np.float64) - old
            assert np.abs(found - change).max() <= TOLERANCE["fp32"] * scale


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_scikit_learns_step_computes_in_the_precision_that_its_line_names(precision: type[np.floating[Any]]) -> None:
    inputs = RBM.arrays(np.random.default_rng(1))
    model = _bernoulli_rbm(RBM, inputs, precision)
    batch = np.asarray(inputs["x"][0])
    if precision is np.float32:
        model._fit(batch, model.random_state_)
    else:
        model.partial_fit(batch)
    parameters = (model.components_, model.intercept_visible_, model.intercept_hidden_, model.h_samples_)
    assert {array.dtype for array in parameters} == {np.dtype(precision)}
    assert not np.array_equal(model.components_, np.asarray(inputs["W"]).T)


@pytest.mark.parametrize("peer", [TutorialTorch, TutorialNumPy])
@pytest.mark.parametrize("size", ["smoke", "odd"])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_a_tutorials_steps_change_the_parameters_as_ours_do(peer: Any, size: str, activation: str) -> None:
    steps = BATCHES + 1
    mlp = Mlp(**case_of("mlp", size, activation=activation).parameters)
    ours = make("numpy").build(mlp, 1)
    theirs = peer(mlp, ours.inputs)
    for _ in range(steps):
        theirs.step()
        ours.step()
    for place, found in enumerate(theirs.parameters(), 1):
        for name, after in zip((f"W{place}", f"b{place}"), found, strict=True):
            before = np.asarray(ours.inputs[name])
            change = np.subtract(getattr(ours.arrays, name), before, dtype=np.float64)
            difference = np.abs(np.subtract(after, before, dtype=np.float64) - change).max()
            assert difference <= steps * TOLERANCE["fp32"] * np.abs(change).max(), name
