"""Persistent contrastive divergence: its chains go on, as many Gibbs steps as were asked for, and it learns."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import make_backend
from respeed.model.paper import Case
from respeed.workloads._common import sigmoid
from respeed.workloads.rbm import RbmPcd


def tiny(gibbs: int) -> Case:
    sizes = {"visible": 36, "hidden": 16, "batch": 8}
    return Case("tiny", "rbm_pcd", {**sizes, "gibbs": gibbs, "learning_rate": 0.5})


@pytest.mark.parametrize("name", ["openblas", "torch"])
def test_a_step_goes_on_with_the_chains_where_the_last_one_left_them(name: str) -> None:
    case = tiny(gibbs=1)
    program = RbmPcd().build(
        make_backend(name, device="cpu", precision="fp32", threads=1, seed=1), case, RbmPcd().inputs(case, 3)
    )
    program.step()
    before = {key: np.array(value) for key, value in program.state().items()}
    program.step()
    bias = before["biases"][:36].astype(np.float64)
    expected = sigmoid(before["samples"] @ before["weights"].T.astype(np.float64) + bias)
    np.testing.assert_allclose(program.state()["mean"], expected, atol=1e-6)


@pytest.mark.parametrize("gibbs", [1, 2, 15])
def test_a_step_has_so_many_gibbs_steps_and_begins_none_but_the_first_at_the_chains(
    gibbs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend: Any = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    case = tiny(gibbs)
    program = RbmPcd().build(backend, case, RbmPcd().inputs(case, 3))
    exact, began, ended = backend.sample_layer, [], []

    def seen(*arguments: Any, **options: Any) -> None:
        (began if options.get("transpose") else ended).append(arguments[0 if options.get("transpose") else 4])
        exact(*arguments, **options)

    monkeypatch.setattr(backend, "sample_layer", seen)
    program.step()
    assert len(began) == len(ended) == gibbs
    assert began[0] is program.chains
    assert ended[-1] is program.chains
    assert all(array is program.on_the_way for array in [*began[1:], *ended[:-1]])


def test_digits_get_the_pseudo_likelihood_of_scikit_learns_rbm_which_is_trained_by_pcd_1_too() -> None:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import BernoulliRBM

    digits = (load_digits().data[:1790] / 16).astype(np.float32)
    theirs = BernoulliRBM(64, learning_rate=0.05, batch_size=10, n_iter=10, random_state=0).fit(digits)
    sizes = {"visible": 64, "hidden": 64, "batch": 10, "gibbs": 1}
    case = Case("digits", "rbm_pcd", {**sizes, "learning_rate": 0.05})
    backend = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    examples = digits.reshape(-1, 10, 64)
    program = RbmPcd().build(backend, case, {**RbmPcd().inputs(case, seed=0), "examples": examples})
    for _ in range(10 * len(examples)):
        program.step()
    ours = BernoulliRBM(64, random_state=0)
    ours.components_ = program.weights.T.copy()
    ours.intercept_hidden_, ours.intercept_visible_ = program.hidden_bias[0], program.visible_bias[0]
    # The score flips one pixel of each image, drawn at random: the same ones for both.
    ours.random_state, theirs.random_state = 5, 5
    assert ours.score_samples(digits).mean() >= 1.03 * theirs.score_samples(digits).mean()
