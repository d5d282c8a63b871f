"""Nets: the step goes down the gradient of the cost, the check sees what is wrong with one, and a net learns digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from respeed.backends import BackendContract, make_backend
from respeed.measure.case import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.workloads import Arrays
from respeed.workloads._common import activated, softmax
from respeed.workloads.mlp import Mlp, MlpProgram, SoftmaxCost, SoftmaxRegression, activation_of

TINY: dict[str, Any] = {
    "inputs": 5, "hidden": 4, "layers": 2, "outputs": 3, "batch": 7, "learning_rate": 0.5, "weight_decay": 0.3,
    "activation": "tanh",
}  # fmt: skip


def on_cpu(name: str = "openblas", threads: int = 1) -> BackendContract:
    return make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1)


def cost_of(case: Case, parameters: Arrays, x: np.ndarray, labels: np.ndarray) -> float:
    """Mean cross-entropy, and half of what is asked for the squares of the weights, float64."""
    places = range(int(case.parameters["layers"]) + 1)
    for place in places:
        z = x @ parameters[f"weights{place}"] + parameters[f"bias{place}"]
        x = activated(activation_of(case), z)
    squares = sum((parameters[f"weights{place}"] ** 2).sum() for place in places)
    entropies = -np.log(softmax(z)[np.arange(len(labels)), labels])
    return float(entropies.mean() + case.parameters["weight_decay"] / 2 * squares)


@pytest.mark.parametrize("backend", ["openblas", "torch"])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_a_step_goes_down_the_gradient_by_finite_differences(backend: str, activation: str, layers: int) -> None:
    case = Case("tiny", "mlp", TINY | {"activation": activation, "layers": layers})
    inputs, step = Mlp().inputs(case, seed=2), 1e-6
    program = Mlp().build(on_cpu(backend), case, inputs)
    program.step()
    state = program.state()
    x, labels = np.asarray(inputs["examples"][0], np.float64), inputs["labels"][0]
    parameters = {
        name: np.array(value, np.float64) for name, value in inputs.items() if name.startswith(("weights", "bias"))
    }
    for name, values in parameters.items():
        gradient = np.empty_like(values)
        for place in np.ndindex(*values.shape):
            kept, costs = values[place], []
            for away in (step, -step):
                values[place] = kept + away
                costs.append(cost_of(case, parameters, x, labels))
            values[place] = kept
            gradient[place] = (costs[0] - costs[1]) / (2 * step)
        np.testing.assert_allclose(state[name] - values, -0.5 * gradient, atol=2e-6)


def test_cost_and_gradient_of_a_training_set_fit_one_another_by_finite_differences() -> None:
    case = Case("tiny", "softmax_cost", {"inputs": 5, "outputs": 3, "batch": 12, "mini_batch": 5})
    inputs, step = SoftmaxCost().inputs(case, seed=2), 1e-6
    program = SoftmaxCost().build(on_cpu(), case, inputs)
    program.step()
    state = program.state()
    x, weights = (np.asarray(inputs[name], np.float64) for name in ("examples", "weights"))

    def cost(weights: np.ndarray, bias: np.ndarray) -> float:
        shares = softmax(x.reshape(-1, 5) @ weights + bias)
        return float(-np.log(shares[np.arange(12), inputs["labels"]]).mean())

    bias = inputs["bias"].astype(np.float64)
    assert state["cost"].item() == pytest.approx(cost(weights, bias), rel=1e-6)
    for name, shape in (("gradient", (5, 3)), ("bias_gradient", (3,))):
        for place in np.ndindex(*shape):
            away = np.zeros(shape)
            away[place] = step
            both = [(weights + s * away, bias) if name == "gradient" else (weights, bias + s * away) for s in (1, -1)]
            slope = (cost(*both[0]) - cost(*both[1])) / (2 * step)
            assert state[name][place] == pytest.approx(slope, abs=1e-6)


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


# What may be wrong with a net's step: a change of the program and of the labels before it steps.
MISTAKES: dict[str, Callable[[Any, np.ndarray], None]] = {
    "the gradient goes up": lambda net, labels: setattr(net, "rate", -net.rate),
    "the rate is not shared among the examples": lambda net, labels: setattr(net, "rate", net.rate * len(labels)),
    "the weights do not decay": lambda net, labels: setattr(net, "kept", 1.0),
    "the weights decay twice as fast": lambda net, labels: setattr(net, "kept", 2 * net.kept - 1),
    "a bias is left out": lambda net, labels: net.layers[1].bias.fill(0.0),
    "another activation": lambda net, labels: setattr(net, "activation", "sigmoid"),
    "an example has another label": lambda net, labels: labels.put(0, (labels[0] + 1) % 7),
    "biases are not learned": lambda net, labels: net.ones.fill(0.0),
}
PROGRAMS = [UpdatesFirst, NoSlope, FirstIsNotLearned]


def errors_of(
    program: type[MlpProgram] = MlpProgram, change: Callable[[Any, np.ndarray], None] = lambda net, labels: None
) -> dict[str, float]:
    case = Case("odd", "mlp", Mlp().TESTS["odd"])
    inputs = Mlp().inputs(case, seed=5)
    net, labels = program(on_cpu(), case, inputs), inputs["labels"][0].copy()
    change(net, labels)
    net.train(np.asarray(inputs["examples"][0]), labels)
    state = net.state()
    return state_errors(inputs, state, Mlp().reference(case, inputs, state))


def test_the_check_of_a_net_passes_what_is_right() -> None:
    assert max(errors_of().values()) <= TOLERANCE["fp32"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_check_of_a_net_sees_that(mistake: str) -> None:
    assert max(errors_of(change=MISTAKES[mistake]).values()) > 20 * TOLERANCE["fp32"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_check_of_a_net_sees_another_backward_pass(program: type[MlpProgram]) -> None:
    assert max(errors_of(program).values()) > 20 * TOLERANCE["fp32"]


@pytest.mark.parametrize("module", [Mlp(), SoftmaxRegression()])
@pytest.mark.parametrize(("backend", "threads"), [("openblas", 1), ("torch", 2)])
def test_a_net_learns_digits(module: Any, backend: str, threads: int) -> None:
    from sklearn.datasets import load_digits

    digits, batch = load_digits(), 20
    count = len(digits.data) // batch * batch
    parameters = TINY | {"inputs": 64, "hidden": 50, "layers": 1, "outputs": 10, "batch": batch, "weight_decay": 0.0}
    case = Case("digits", "net", {name: parameters[name] for name in module.PARAMETERS})
    examples = (digits.data[:count] / 16).astype(np.float32).reshape(-1, batch, 64)
    labels = digits.target[:count].reshape(-1, batch)
    program = module.build(
        on_cpu(backend, threads), case, {**module.inputs(case, seed=0), "examples": examples, "labels": labels}
    )
    missed = []
    for _ in range(15):
        wrong = 0
        for of in labels:
            program.step()
            logits = program.backend.host(program.layers[-1].out)
            wrong += int((logits.argmax(axis=1) != of).sum())
        missed.append(wrong / count)
    assert missed[0] > 0.1
    assert missed[-1] < 0.04
