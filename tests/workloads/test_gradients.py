"""Steps that learn go down the gradient of their cost, by autograd in float64, or, where there is none that is exact,
explain more of digits from step to step; and the check sees what is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from respeed.backends import Program, make_backend
from respeed.measure.case import TOLERANCE
from respeed.model import Case
from respeed.workloads import make_workload
from respeed.workloads.arrays import largest_error
from tests.conformance.programs import case_of

both = pytest.mark.parametrize("backend", ["numpy", "torch"])


def build(backend: str, name: str, parameters: dict[str, Any], precision: str) -> Program:
    row = make_backend(backend, device="cpu", precision=precision, threads=1, seed=1)
    return row.build(make_workload(Case("tiny", name, parameters)), seed=2)


def first_step(backend: str, name: str, **parameters: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the arrays before and after a step, of the mini-batches the first."""
    program = build(backend, name, parameters, "fp64")
    views = vars(program.arrays) | {key: getattr(program.arrays, key)[0] for key in program.workload.cycled}
    before, after = {}, {}
    for arrays in (before, after):
        arrays |= {key: torch.tensor(program.backend.host(views[key])) for key in program.inputs}
        program.step()
    return before, after


def check_step(cost: Callable[..., Tensor], before: Any, after: Any, names: list[str], rate: float) -> None:
    parameters = [before[name].clone().requires_grad_() for name in names]
    with torch.enable_grad():
        cost(*parameters).backward()
    for name, parameter in zip(names, parameters, strict=True):
        torch.testing.assert_close(after[name] - before[name], -rate * parameter.grad, atol=1e-12, rtol=1e-9)


@both
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_a_nets_step_goes_down_the_gradient(backend: str, activation: str, layers: int) -> None:
    more = {"hidden": 4, "layers": layers, "weight_decay": 0.3, "activation": activation} if layers else {}
    sizes = {"inputs": 5, "outputs": 3, "batch": 7, "learning_rate": 0.5}
    before, after = first_step(backend, "mlp" if layers else "softmax_regression", **sizes, **more)

    def cost(*parameters: Tensor) -> Tensor:
        out = before["x"]
        for W, b in zip(parameters[::2], parameters[1::2], strict=True):
            z = out @ W + b
            out = getattr(torch, activation)(z)
        squares = sum(W.square().sum() for W in parameters[::2])
        return cross_entropy(z, before["y"][:, 0]) + (0.15 * squares if layers else 0.0)

    check_step(cost, before, after, [f"{name}{i}" for i in range(1, layers + 2) for name in "Wb"], 0.5)


@both
def test_an_autoencoders_step_goes_down_the_gradient_in_both_places_of_the_tied_weights(backend: str) -> None:
    sizes = {"visible": 7, "hidden": 5, "batch": 3, "corruption": 0.4, "learning_rate": 0.6, "cost": "computed"}
    before, after = first_step(backend, "autoencoder", **sizes)

    def cost(W: Tensor, b: Tensor, c: Tensor) -> Tensor:
        z = torch.sigmoid(after["v"][:3] @ W + c) @ W.T + b
        return binary_cross_entropy_with_logits(z, before["x"], reduction="sum") / 3

    check_step(cost, before, after, ["W", "b", "c"], 0.6)
    torch.testing.assert_close(after["costs"].mean(), cost(before["W"], before["b"], before["c"]))


@both
def test_cost_and_gradient_of_a_training_set_fit_one_another(backend: str) -> None:
    before, after = first_step(backend, "softmax_cost", inputs=5, outputs=3, batch=12, mini_batch=5)

    def cost(W: Tensor, b: Tensor) -> Tensor:
        return cross_entropy(before["x"] @ W + b, before["y"][:, 0])

    check_step(cost, before, {"W": before["W"] + after["dW"], "b": before["b"] + after["db"]}, ["W", "b"], -1.0)
    torch.testing.assert_close(after["cost"][0], cost(before["W"], before["b"]))


@both
@pytest.mark.parametrize(("name", "more"), [("rbm", {}), ("rbm_pcd", {"gibbs": 2})])
def test_what_a_machine_does_not_give_back_of_digits_falls_over_steps(
    backend: str, name: str, more: dict[str, Any]
) -> None:
    sizes = {"visible": 64, "hidden": 64, "batch": 50, "learning_rate": 0.05}
    program = build(backend, name, sizes | more, "fp32")
    pictures = load_digits(return_X_y=True)[0][:200] / 16
    program.backend.write(pictures.astype(np.float32).reshape(4, 50, 64), program.arrays.x)
    left = []
    for _ in range(201):
        program.step()
        v = program.backend.host(program.arrays.v)
        left.append(float(((v[:50] - v[50:]) ** 2).mean()))
    assert left[-1] < 0.6 * left[0]


ODD = {name: dict(case_of(name, "odd").parameters) for name in ("mlp", "dbn", "sda", "rbm_pcd")}
PLANTED: list[tuple[str, dict[str, Any]]] = [
    ("mlp", {"weight_decay": 0.2}), ("mlp", {"activation": "tanh"}), ("sda", {"corruption": 0.2}),
    ("rbm_pcd", {"gibbs": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change"), PLANTED)
def test_the_check_sees_another_parameter(name: str, change: dict[str, Any]) -> None:
    program = build("numpy", name, ODD[name] | change, "fp32")
    program.step()
    program.workload = make_workload(Case("odd", name, ODD[name]))
    assert not max(map(largest_error, program.check().values())) <= TOLERANCE["fp32"]


@pytest.mark.parametrize("name", ["dbn", "sda"])
@pytest.mark.parametrize("order", ["123", "023", "013", "1023"])
def test_the_check_sees_a_part_that_is_left_out_or_comes_too_early(name: str, order: str) -> None:
    program = build("numpy", name, ODD[name], "fp32")
    for place in order:
        list(program.parts.values())[int(place)]()
    assert not max(map(largest_error, program.check().values())) <= 10 * TOLERANCE["fp32"]
