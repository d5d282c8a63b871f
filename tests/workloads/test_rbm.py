"""The RBM learns: on real images its error falls, on digits it is as good a model as scikit-learn's."""

from itertools import pairwise

import numpy as np
import pytest

from respeed.backends import make_backend
from respeed.model.paper import Case
from respeed.workloads import load_workload
from respeed.workloads.rbm import Rbm

EPOCHS, BATCH, HIDDEN, RATE = 10, 10, 64, 0.1


@pytest.mark.parametrize("name", ["openblas", "torch"])
def test_the_reconstruction_error_of_natural_images_falls_over_an_epoch(name: str) -> None:
    backend = make_backend(name, device="cpu", precision="fp32", threads=1, seed=1)
    case = Case("small", "rbm", {"visible": 144, "hidden": 100, "batch": 100, "learning_rate": 0.1})
    program = Rbm().build_learner(backend, case)
    left = []
    for _ in range(len(program.captured)):
        program.step()
        left.append(program.left_over())
    assert np.mean(left[-20:]) < 0.96 * np.mean(left[:5])


def test_digits_get_at_least_the_pseudo_likelihood_of_scikit_learns_rbm() -> None:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import BernoulliRBM

    digits = (load_digits().data / 16).astype(np.float32)
    theirs = BernoulliRBM(HIDDEN, learning_rate=RATE, batch_size=BATCH, n_iter=EPOCHS, random_state=0).fit(digits)

    case = Case("digits", "rbm", {"visible": 64, "hidden": HIDDEN, "batch": BATCH, "learning_rate": RATE})
    examples = digits[: len(digits) // BATCH * BATCH].reshape(-1, BATCH, 64)
    backend = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    program = Rbm().build(backend, case, {**Rbm().inputs(case, seed=0), "examples": examples})
    for _ in range(EPOCHS * len(examples)):
        program.step()

    ours = BernoulliRBM(HIDDEN, random_state=0)
    ours.components_ = program.weights.T.copy()
    ours.intercept_hidden_, ours.intercept_visible_ = program.hidden_bias[0], program.visible_bias[0]
    # The score flips one pixel of each image, drawn at random: the same ones for both.
    ours.random_state, theirs.random_state = 5, 5
    assert ours.score_samples(digits).mean() >= theirs.score_samples(digits).mean()


SIZES = {
    "rbm": {"visible": 36, "hidden": 16, "batch": 8},
    "rbm_streamed": {"visible": 36, "hidden": 16, "batch": 8},
    "patches": {"side": 24, "patch": 12, "stride": 4, "hidden": 12, "batch": 8},
}


@pytest.mark.parametrize("name", SIZES)
def test_no_step_begins_with_the_examples_that_the_last_one_used(name: str) -> None:
    """They would still lie in a cache, and the step would seem faster than it is among a million examples.

    Nothing is learned at this rate: the same examples would have the same hidden units.
    """
    workload = load_workload(name)
    case = Case("small", name, {**SIZES[name], "learning_rate": 1e-9})
    backend = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    program = workload.build(backend, case, workload.inputs(case, 1))
    seen = []
    for _ in range(6):
        program.step()
        seen.append(np.array(program.state()["h0"]))
    for one, other in pairwise(seen):
        assert float(np.abs(one - other).max()) > 1e-3
