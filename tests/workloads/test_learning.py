"""What learns, learns: what is left to explain of digits falls over steps; every step learns from other examples."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from respeed.model.paper import Case
from respeed.workloads import load_workload
from respeed.workloads._common import sigmoid
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


def of_digits(name: str, rate: float, backend: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """A program that learns digits, these (n, 64) in [0, 1], and their labels (n,)."""
    from sklearn.datasets import load_digits

    pictures, labels = load_digits(return_X_y=True)
    case, workload = sized(name, rate), load_workload(name)
    batch = int(case.parameters["batch"])
    digits = (pictures / 16).astype(np.float32)
    count = len(digits) // batch * batch
    given = {"examples": digits[:count].reshape(-1, batch, 64), "labels": labels[:count].reshape(-1, batch)}
    return workload.build(make(backend), case, {**workload.inputs(case, seed=0), **given}), digits, labels


def reconstruction_error(program: Any, digits: np.ndarray) -> float:
    """Mean square of what a layer does not give back of the digits, over their variance."""
    host = program.backend.host
    weights, visible_bias, hidden_bias = map(host, (program.weights, program.visible_bias, program.hidden_bias))
    given_back = sigmoid(sigmoid(digits @ weights + hidden_bias) @ weights.T + visible_bias)
    return float(((digits - given_back) ** 2).mean() / digits.var())


def share_told_wrong(layers: Any, name: str, digits: np.ndarray, labels: np.ndarray) -> float:
    """Of the digits that a net tells apart."""
    out = digits
    for place, layer in enumerate(layers):
        out = out @ layer.weights + layer.bias
        if place < len(layers) - 1:
            out = np.tanh(out) if name == "mlp" else sigmoid(out)
    return float((out.argmax(axis=1) != labels).mean())


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
@pytest.mark.parametrize(("name", "rate"), [("rbm", 0.1), ("rbm_pcd", 0.05), ("autoencoder", 0.1)])
def test_the_reconstruction_error_of_digits_falls_over_an_epoch(name: str, rate: float, backend: str) -> None:
    program, digits, _ = of_digits(name, rate, backend)
    before = reconstruction_error(program, digits)
    for _ in range(len(program.captured)):
        program.step()
    assert reconstruction_error(program, digits) < 0.7 * before


@pytest.mark.parametrize(("name", "rate"), [("mlp", 0.1), ("dbn", 0.0), ("sda", 0.0)])
def test_a_net_tells_digits_apart_after_some_epochs(name: str, rate: float) -> None:
    program, digits, labels = of_digits(name, rate, "openblas")
    parts = list(program.parts.values()) if hasattr(program, "parts") else [program.step]
    batches = len(program.captured)
    for part in parts:
        for count in range(6 * batches):
            program.count = count
            part()
    layers = program.net.layers if hasattr(program, "net") else program.layers
    assert share_told_wrong(layers, name, digits, labels) < 0.1


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
