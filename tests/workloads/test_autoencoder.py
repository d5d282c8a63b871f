"""The autoencoder goes down the gradient of the cross-entropy, and learns."""

import numpy as np
import pytest

from respeed.backends import make_backend
from respeed.model.paper import Case
from respeed.workloads import autoencoder
from respeed.workloads._common import sigmoid

CASE = Case("tiny", "autoencoder", {"visible": 7, "hidden": 5, "batch": 3, "corruption": 0.4, "learning_rate": 0.6})


def cross_entropy(x: np.ndarray, corrupted: np.ndarray, W: np.ndarray, c: np.ndarray, b: np.ndarray) -> float:
    """The mean over examples of what coding and decoding them costs."""
    z = sigmoid(sigmoid(corrupted @ W + b) @ W.T + c)
    return float(-(x * np.log(z) + (1 - x) * np.log(1 - z)).sum(axis=1).mean())


@pytest.mark.parametrize("name", ["openblas", "torch"])
def test_a_step_goes_down_the_gradient_in_both_places_of_the_tied_weights(name: str) -> None:
    inputs = autoencoder.inputs(CASE, seed=3)
    program = autoencoder.build(make_backend(name, device="cpu", precision="fp32", threads=1, seed=1), CASE, inputs)
    before = [np.asarray(inputs["weights"]).astype(np.float64), *np.split(inputs["biases"].astype(np.float64), [7])]
    x = np.asarray(inputs["examples"][0]).astype(np.float64)
    program.step()
    state = program.state()
    after = [state["weights"], *np.split(state["biases"], [7])]
    for place in range(3):
        gradient = np.empty_like(before[place])
        for index in np.ndindex(gradient.shape):
            costs = []
            for step in (1e-5, -1e-5):
                moved = [array.copy() for array in before]
                moved[place][index] += step
                costs.append(cross_entropy(x, state["visible"][:3], *moved))
            gradient[index] = (costs[0] - costs[1]) / 2e-5
        np.testing.assert_allclose(after[place] - before[place], -0.6 * gradient, atol=1e-6)


def test_digits_are_coded_better_after_some_epochs() -> None:
    from sklearn.datasets import load_digits

    digits = (load_digits().data[:1700] / 16).astype(np.float32)
    case = Case(
        "digits", "autoencoder", {"visible": 64, "hidden": 32, "batch": 20, "corruption": 0.3, "learning_rate": 0.1}
    )
    backend = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    examples = {"examples": digits.reshape(-1, 20, 64)}
    program = autoencoder.build(backend, case, {**autoencoder.inputs(case, seed=0), **examples})

    def cost() -> float:
        return cross_entropy(digits, digits, program.weights, program.visible_bias, program.hidden_bias)

    untrained = cost()
    # As good as can be without looking at an example: each pixel's mean.
    mean = digits.mean(axis=0).clip(1e-6, 1 - 1e-6)
    constant = -(digits * np.log(mean) + (1 - digits) * np.log(1 - mean)).sum(axis=1).mean()
    for _ in range(10 * len(examples["examples"])):
        program.step()
    assert cost() < 0.9 * constant < untrained


def test_no_step_begins_with_the_examples_that_the_last_one_used() -> None:
    backend = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    program = autoencoder.build(backend, CASE, autoencoder.inputs(CASE, seed=3))
    seen = []
    for _ in range(2):
        program.step()
        seen.append(np.array(program.state()["corrupted"]))
    both = (seen[0] > 0) & (seen[1] > 0)
    assert (seen[0] != seen[1])[both].all()
