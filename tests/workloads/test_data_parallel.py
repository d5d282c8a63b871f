"""Data-parallel training does what one replica with the whole mini-batch would do."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest

from respeed.backends._torch_replicas import _pool
from respeed.measure.case import TOLERANCE
from respeed.model.paper import Case
from respeed.timing.disturbance import difference, take_snapshot
from respeed.workloads import data_parallel
from tests.conformance.programs import build, case_of, errors_of, make

SIZES = {"visible": 53, "hidden": 37, "classes": 7, "batch": 31, "learning_rate": 0.5}


@pytest.fixture(scope="module", autouse=True)
def _none_left() -> Iterator[None]:
    yield
    _pool().end()


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_a_step_of_any_number_of_replicas_is_a_step_with_the_whole_mini_batch(replicas: int, precision: str) -> None:
    made = make("torch", precision=precision, threads=3)
    case = Case("replicas", "data_parallel", {**SIZES, "replicas": replicas})
    assert max(errors_of(made, case).values()) <= TOLERANCE[precision]


def test_copies_of_a_net_learn_the_mean_of_their_gradients_and_stay_the_same() -> None:
    made = make("torch", precision="fp64", threads=2)
    sizes = case_of("convnet_replicas", "smoke").parameters | {"batch": 6, "replicas": 2}
    errors = errors_of(made, Case("replicas", "convnet_replicas", sizes))
    assert max(errors.values()) <= TOLERANCE["fp64"]
    assert {"apart", "convolution weight changes", "linear bias gradients"} <= set(errors)


@pytest.mark.slow
def test_replicas_go_the_same_way_and_learn() -> None:
    made = make("torch", precision="fp64", threads=3)
    ways = []
    for replicas in (1, 3):
        case = Case("replicas", "data_parallel", {**SIZES, "replicas": replicas})
        inputs = data_parallel.inputs(case, 5)
        program = data_parallel.build(made, case, inputs)
        for _ in range(50):
            program.step()
        state = program.state()
        assert state["apart"].max() == 0.0
        ways.append(state["parameters"])
    np.testing.assert_allclose(ways[0], ways[1], rtol=1e-9, atol=1e-9)
    assert mean_cost(inputs, ways[0]) < 0.9 * mean_cost(inputs, inputs["parameters"])


def mean_cost(inputs: dict[str, np.ndarray], parameters: np.ndarray) -> float:
    """Cross-entropy over all examples."""
    W1, b1, W2, b2 = data_parallel.views(np.asarray(parameters, np.float64), 53, 37, 7)
    z = np.tanh(inputs["examples"].reshape(-1, 53) @ W1 + b1) @ W2 + b2
    logarithms = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -float(logarithms[np.arange(len(z)), inputs["labels"].ravel()].mean())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which threads ran")
def test_a_block_counts_the_replicas_that_ran_and_not_that_they_wait_for_one_another() -> None:
    made = make("torch", threads=3)
    case = Case("replicas", "data_parallel", {**SIZES, "visible": 784, "hidden": 500, "batch": 600, "replicas": 3})
    program = build(made, case)
    program.step()
    ran = []
    for _ in range(5):
        before = take_snapshot(program.helpers)
        for _ in range(10):
            program.step()
        seen = difference(before, take_snapshot(program.helpers))
        ran.append(seen["threads_ran"])
    assert min(ran) == 3  # whoever runs the tests may have a thread of its own, which seldom does anything
    assert seen["run_delay_seconds"] is None
