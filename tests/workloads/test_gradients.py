"""Steps that learn go down the gradient of their cost, by finite differences; and the check sees what is wrong."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from respeed.measure.case import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.workloads import load_workload, part_weights
from respeed.workloads._common import activated, sigmoid, softmax
from respeed.workloads.mlp import MlpProgram, activation_of
from tests.conformance.programs import build, case_of, make

TINY: dict[str, Any] = {
    "inputs": 5, "hidden": 4, "layers": 2, "outputs": 3, "batch": 7, "learning_rate": 0.5, "weight_decay": 0.3,
    "activation": "tanh",
}  # fmt: skip
both = pytest.mark.parametrize("backend", ["openblas", "torch"])


def slopes(cost: Callable[[Mapping[str, np.ndarray]], float], at: dict[str, Any]) -> dict[str, np.ndarray]:
    """The gradient of the cost of these arrays, by central differences in float64."""
    at, step = {name: np.array(array, np.float64) for name, array in at.items()}, 1e-6
    found = {name: np.empty_like(array) for name, array in at.items()}
    for name, array in at.items():
        for place in np.ndindex(*array.shape):
            kept, costs = array[place], []
            for away in (step, -step):
                array[place] = kept + away
                costs.append(cost(at))
            array[place] = kept
            found[name][place] = (costs[0] - costs[1]) / (2 * step)
    return found


def first_step(case: Case, backend: str = "openblas") -> tuple[Any, Mapping[str, np.ndarray]]:
    """The inputs, and the state after it."""
    workload = load_workload(case.workload)
    inputs = workload.inputs(case, seed=2)
    program = workload.build(make(backend), case, inputs)
    program.step()
    return inputs, program.state()


def entropies(z: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.log(softmax(z)[np.arange(len(labels)), labels]).mean())


@both
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_a_nets_step_goes_down_the_gradient(backend: str, activation: str, layers: int) -> None:
    case = Case("tiny", "mlp", TINY | {"activation": activation, "layers": layers})
    inputs, state = first_step(case, backend)

    def cost(parameters: Mapping[str, np.ndarray]) -> float:
        """Mean cross-entropy, and half of what is asked for the squares of the weights."""
        x, squares = np.asarray(inputs["examples"][0], np.float64), 0.0
        for place in range(layers + 1):
            z = x @ parameters[f"weights{place}"] + parameters[f"bias{place}"]
            x, squares = activated(activation_of(case), z), squares + (parameters[f"weights{place}"] ** 2).sum()
        return entropies(z, inputs["labels"][0]) + 0.3 / 2 * squares

    before = {name: value for name, value in inputs.items() if name.startswith(("weights", "bias"))}
    for name, gradient in slopes(cost, before).items():
        np.testing.assert_allclose(state[name] - np.asarray(before[name]), -0.5 * gradient, atol=2e-6)


def test_cost_and_gradient_of_a_training_set_fit_one_another() -> None:
    case = Case("tiny", "softmax_cost", {"inputs": 5, "outputs": 3, "batch": 12, "mini_batch": 5})
    inputs, state = first_step(case)
    x = np.asarray(inputs["examples"], np.float64)

    def cost(parameters: Mapping[str, np.ndarray]) -> float:
        return entropies(x @ parameters["weights"] + parameters["bias"], inputs["labels"])

    at = {name: np.asarray(inputs[name], np.float64) for name in ("weights", "bias")}
    assert state["cost"].item() == pytest.approx(cost(at), rel=1e-6)
    found = slopes(cost, at)
    np.testing.assert_allclose(state["gradient"], found["weights"], atol=1e-6)
    np.testing.assert_allclose(state["bias_gradient"], found["bias"], atol=1e-6)


def cross_entropy(x: np.ndarray, corrupted: np.ndarray, W: np.ndarray, c: np.ndarray, b: np.ndarray) -> float:
    """The mean over examples of what coding and decoding them costs."""
    z = sigmoid(sigmoid(corrupted @ W + b) @ W.T + c)
    return float(-(x * np.log(z) + (1 - x) * np.log(1 - z)).sum(axis=1).mean())


@both
def test_an_autoencoders_step_goes_down_the_gradient_in_both_places_of_the_tied_weights(backend: str) -> None:
    sizes = {"visible": 7, "hidden": 5, "batch": 3, "corruption": 0.4, "learning_rate": 0.6}
    inputs, state = first_step(Case("tiny", "autoencoder", sizes), backend)
    x = np.asarray(inputs["examples"][0]).astype(np.float64)

    def cost(at: Mapping[str, np.ndarray]) -> float:
        return cross_entropy(x, state["visible"][:3], at["weights"], *np.split(at["biases"], [7]))

    before = {name: inputs[name] for name in ("weights", "biases")}
    for name, gradient in slopes(cost, before).items():
        np.testing.assert_allclose(state[name] - np.asarray(before[name]), -0.6 * gradient, atol=1e-6)


class UpdatesFirst(MlpProgram):
    """Errors go down by weights that have changed already."""

    def backward(self, batch: Any) -> None:
        for below, layer in reversed(self.pairs):
            self.update(layer, below.out)
            self.backend.gemm(layer.error, layer.weights, below.error, transpose_b=True)
            self.backend.activation_backward(below.out, below.error, activation=self.activation)
        self.update(self.layers[0], batch)


class NoSlope(MlpProgram):
    """Errors go down as if units were linear."""

    def backward(self, batch: Any) -> None:
        for below, layer in reversed(self.pairs):
            self.backend.gemm(layer.error, layer.weights, below.error, transpose_b=True)
            self.update(layer, below.out)
        self.update(self.layers[0], batch)


class FirstIsNotLearned(MlpProgram):
    def update(self, layer: Any, x: Any) -> None:
        if layer is not self.layers[0]:
            super().update(layer, x)


# What may be wrong with a net's step: another program, or a change of it and of the labels before it steps.
MISTAKES: dict[str, Callable[[Any, np.ndarray], None]] = {
    "the gradient goes up": lambda net, labels: setattr(net, "rate", -net.rate),
    "the rate is not shared among the examples": lambda net, labels: setattr(net, "rate", net.rate * len(labels)),
    "the weights do not decay": lambda net, labels: setattr(net, "kept", 1.0),
    "the weights decay twice as fast": lambda net, labels: setattr(net, "kept", 2 * net.kept - 1),
    "a bias is left out": lambda net, labels: net.layers[1].bias.fill(0.0),
    "another activation": lambda net, labels: setattr(net, "activation", "sigmoid"),
    "an example has another label": lambda net, labels: labels.put(0, (labels[0] + 1) % 7),
    "biases are not learned": lambda net, labels: net.ones.fill(0.0),
    "errors go down by new weights": lambda net, labels: setattr(net, "__class__", UpdatesFirst),
    "errors go down as if units were linear": lambda net, labels: setattr(net, "__class__", NoSlope),
    "the first layer is not learned": lambda net, labels: setattr(net, "__class__", FirstIsNotLearned),
}


@pytest.mark.parametrize("mistake", [None, *MISTAKES])
def test_the_check_of_a_net_passes_what_is_right_and_sees_that(mistake: str | None) -> None:
    case, mlp = case_of("mlp", "odd"), load_workload("mlp")
    inputs = mlp.inputs(case, seed=5)
    net: Any = mlp.build(make("openblas"), case, inputs)
    labels = inputs["labels"][0].copy()
    if mistake:
        MISTAKES[mistake](net, labels)
    net.train(np.asarray(inputs["examples"][0]), labels)
    worst = max(state_errors(inputs, net.state(), mlp.reference(case, inputs, net.state())).values())
    assert worst > 20 * TOLERANCE["fp32"] if mistake else worst <= TOLERANCE["fp32"]


pretrained = pytest.mark.parametrize("name", ["dbn", "sda"])


@pretrained
@pytest.mark.parametrize("order", ["123", "023", "013", "012", "1023"])
def test_a_step_that_leaves_out_a_part_or_learns_from_what_is_not_yet_trained_is_wrong(name: str, order: str) -> None:
    case, workload = case_of(name, "odd"), load_workload(name)
    inputs = workload.inputs(case, seed=5)
    program: Any = workload.build(make("openblas"), case, inputs)
    parts = list(program.parts.values())
    for place in order:
        parts[int(place)]()
    state = dict(program.state())
    assert max(state_errors(inputs, state, workload.reference(case, inputs, state)).values()) > 10 * TOLERANCE["fp32"]


@pretrained
def test_what_is_pretrained_is_what_is_fine_tuned_and_parts_count_as_often_as_they_have_epochs(name: str) -> None:
    case, workload = case_of(name, "odd"), load_workload(name)
    program = build(make("openblas"), case)
    for learner, layer in zip(program.learners, program.net.layers, strict=False):
        assert learner.weights is layer.weights
        assert learner.hidden_bias is layer.bias
    weights = part_weights(workload, case)
    assert list(weights) == list(program.parts)
    assert list(weights.values()) == [2, 2, 2, 3]
    more = Case("more", name, {**case.parameters, "pretraining_epochs": 4, "fine_tuning_epochs": 6})
    for measure in (workload.flops, workload.traffic_bytes):
        assert measure(more) == 2 * (measure(case) or 0)
