"""What learns, learns: on digits and on real images, as well as other programs do; every step from other examples."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from respeed.model.paper import Case
from respeed.workloads import load_workload
from respeed.workloads._common import sigmoid
from respeed.workloads.rbm import Rbm
from tests.conformance.programs import build, make

both = pytest.mark.parametrize("backend", ["openblas", "torch"])
SIZES: dict[str, dict[str, Any]] = {
    "rbm": {"visible": 64, "hidden": 64, "batch": 10},
    "rbm_streamed": {"visible": 36, "hidden": 16, "batch": 8},
    "rbm_pcd": {"visible": 64, "hidden": 64, "batch": 10, "gibbs": 1},
    "patches": {"side": 24, "patch": 12, "stride": 4, "hidden": 12, "batch": 8},
    "autoencoder": {"visible": 64, "hidden": 32, "batch": 20, "corruption": 0.3},
    "mlp": {
        "inputs": 64, "hidden": 50, "layers": 1, "outputs": 10, "batch": 20, "weight_decay": 0.0, "activation": "tanh",
    },
}  # fmt: skip
SIZES["dbn"] = SIZES["sda"] = {
    "inputs": 64, "hidden": 64, "layers": 2, "outputs": 10, "batch": 10, "corruption": 0.1, "pretraining_rate": 0.1,
    "fine_tuning_rate": 0.3, "pretraining_epochs": 1, "fine_tuning_epochs": 1,
}  # fmt: skip


def sized(name: str, rate: float = 1e-9) -> Case:
    return Case("small", name, {**SIZES[name], "learning_rate": rate})


def of_digits(name: str, rate: float, count: int = 1790) -> tuple[Any, np.ndarray, Any]:
    """A program that learns so many digits, these (n, 64) in [0, 1], and their labels in mini-batches."""
    from sklearn.datasets import load_digits

    pictures, labels = load_digits(return_X_y=True)
    case, workload = sized(name, rate), load_workload(name)
    batch = int(case.parameters["batch"])
    digits = (pictures / 16).astype(np.float32)
    labels = labels[: count // batch * batch].reshape(-1, batch)
    given = {"examples": digits[: labels.size].reshape(-1, batch, 64), "labels": labels}
    return workload.build(make("openblas"), case, {**workload.inputs(case, seed=0), **given}), digits, labels


@pytest.mark.parametrize("name", SIZES)
def test_no_step_begins_with_the_examples_that_the_last_one_used(name: str) -> None:
    """They would still lie in a cache, and the step would seem faster than it is among a million examples.

    Nothing is learned at this rate: the same examples would have the same hidden units.
    """
    seen = {"autoencoder": "visible", "mlp": "out0", "dbn": "out0", "sda": "out0"}.get(name, "h0")
    program, states = build(make("openblas"), sized(name), seed=1), []
    for _ in range(6):
        program.step()
        states.append(np.array(program.state()[seen]))
    for one, other in pairwise(states):
        assert float(np.abs(one - other).max()) > 1e-3


@both
def test_the_reconstruction_error_of_natural_images_falls_over_an_epoch(backend: str) -> None:
    case = Case("small", "rbm", {"visible": 144, "hidden": 100, "batch": 100, "learning_rate": 0.1})
    program = Rbm().build_learner(make(backend), case)
    left = []
    for _ in range(len(program.captured)):
        program.step()
        left.append(program.left_over())
    assert np.mean(left[-20:]) < 0.96 * np.mean(left[:5])


@pytest.mark.parametrize(("name", "rate", "share"), [("rbm", 0.1, 1.0), ("rbm_pcd", 0.05, 1.03)])
def test_digits_get_the_pseudo_likelihood_of_scikit_learns_rbm(name: str, rate: float, share: float) -> None:
    """Which is trained by PCD-1."""
    from sklearn.neural_network import BernoulliRBM

    program, digits, labels = of_digits(name, rate)
    digits = digits[: labels.size]
    theirs = BernoulliRBM(64, learning_rate=rate, batch_size=10, n_iter=10, random_state=0).fit(digits)
    for _ in range(10 * len(labels)):
        program.step()
    ours = BernoulliRBM(64, random_state=0)
    ours.components_ = program.weights.T.copy()
    ours.intercept_hidden_, ours.intercept_visible_ = program.hidden_bias[0], program.visible_bias[0]
    # The score flips one pixel of each image, drawn at random: the same ones for both.
    ours.random_state, theirs.random_state = 5, 5
    assert ours.score_samples(digits).mean() >= share * theirs.score_samples(digits).mean()


def tiny_chains(backend: str, gibbs: int) -> Any:
    sizes = {"visible": 36, "hidden": 16, "batch": 8, "gibbs": gibbs, "learning_rate": 0.5}
    return build(make(backend), Case("tiny", "rbm_pcd", sizes), seed=3)


@both
def test_a_step_goes_on_with_the_chains_where_the_last_one_left_them(backend: str) -> None:
    program = tiny_chains(backend, gibbs=1)
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
    program = tiny_chains("openblas", gibbs)
    exact, began, ended = program.backend.sample_layer, [], []

    def seen(*arguments: Any, **options: Any) -> None:
        (began if options.get("transpose") else ended).append(arguments[0 if options.get("transpose") else 4])
        exact(*arguments, **options)

    monkeypatch.setattr(program.backend, "sample_layer", seen)
    program.step()
    assert len(began) == len(ended) == gibbs
    assert began[0] is program.chains
    assert ended[-1] is program.chains
    assert all(array is program.on_the_way for array in [*began[1:], *ended[:-1]])


@pytest.mark.parametrize("name", ["dbn", "sda"])
def test_digits_are_told_apart_after_pretraining_and_fine_tuning(name: str) -> None:
    from sklearn.datasets import load_digits

    program, digits, _ = of_digits(name, 0.0, count=1500)
    *pretraining, fine_tuning = program.parts.values()
    for part, epochs in [*((part, 3) for part in pretraining), (fine_tuning, 8)]:
        for count in range(epochs * 150):
            program.count = count
            part()
    out = digits[1500:]
    for place, layer in enumerate(program.net.layers):
        out = out @ layer.weights + layer.bias
        out = 1 / (1 + np.exp(-out)) if place < 2 else out
    assert (out.argmax(axis=1) == load_digits().target[1500:]).mean() > 0.85
