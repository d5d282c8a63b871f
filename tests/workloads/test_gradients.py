"""Steps that learn go down the gradient of their cost, by autograd in float64; and the check sees what is
wrong, also of bare products and of an inverse."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from respeed.backends import Program, make_backend
from respeed.measure.case import TOLERANCE
from respeed.model import Case
from respeed.workloads import make_workload
from respeed.workloads.arrays import largest_error
from respeed.workloads.matmul import Inverse
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
def test_an_autoencoder_descends_in_tied_weights(backend: str) -> None:
    """An autoencoder's step goes down the gradient in both places of the tied weights."""
    sizes = {"visible": 7, "hidden": 5, "batch": 3, "corruption": 0.4, "learning_rate": 0.6, "cost": "computed"}
    before, after = first_step(backend, "autoencoder", **sizes)

    def cost(W: Tensor, b: Tensor, c: Tensor) -> Tensor:
        z = torch.sigmoid(after["v"][:3] @ W + c) @ W.T + b
        return binary_cross_entropy_with_logits(z, before["x"], reduction="sum") / 3

    check_step(cost, before, after, ["W", "b", "c"], 0.6)
    torch.testing.assert_close(after["costs"].mean(), cost(before["W"], before["b"], before["c"]))


@both
def test_cost_and_gradient_fit_one_another(backend: str) -> None:
    before, after = first_step(backend, "softmax_cost", inputs=5, outputs=3, batch=12, mini_batch=5)

    def cost(W: Tensor, b: Tensor) -> Tensor:
        return cross_entropy(before["x"] @ W + b, before["y"][:, 0])

    check_step(cost, before, {"W": before["W"] + after["dW"], "b": before["b"] + after["db"]}, ["W", "b"], -1.0)
    torch.testing.assert_close(after["cost"][0], cost(before["W"], before["b"]))


@pytest.mark.parametrize("name", ["dbn", "sda"])
@pytest.mark.parametrize("order", ["123", "1023"])
def test_the_check_sees_missing_and_early_parts(name: str, order: str) -> None:
    """The check sees a part that is left out or comes too early."""
    program = build("numpy", name, dict(case_of(name, "odd").parameters), "fp32")
    for place in order:
        program.parts[int(place)]()
    assert not max(map(largest_error, program.check().values())) <= 10 * TOLERANCE["fp32"]


def test_the_check_sees_a_wrong_bare_product() -> None:
    """The check of bare products sees one that is off where the next is of it."""
    case = case_of("cd1_products", "odd")
    for name in ("", "Z", "Y1"):
        program = build("numpy", case.workload, dict(case.parameters), "fp32")
        program.step()
        W, v, h, B = program.inputs["W"], program.arrays.v, program.arrays.h, case.parameters["batch"]
        if name == "Z":
            v[:, B:] *= 1.01
        h[:, B:] = (1.01 if name == "Y1" else 1.0) * v[:, B:] @ np.asarray(W)
        program.arrays.G[...] = v.swapaxes(1, 2) @ h
        is_right = max(map(largest_error, program.check().values())) <= TOLERANCE["fp32"]
        assert is_right == (name == ""), name


def test_an_inverse_must_be_exact() -> None:
    """An inverse's matrix is well conditioned and one that was changed or rounded to ten bits does not pass."""
    inverse = Inverse(size=300)
    A = inverse.arrays(np.random.default_rng(5))["A"]
    assert np.linalg.cond(A) < 3

    def errors(**seen: np.ndarray) -> list[bool]:
        pairs = inverse.check(SimpleNamespace(A=A), SimpleNamespace(**seen))
        return [largest_error(pairs[name]) <= TOLERANCE["fp32"] for name in ("z", "A")]

    X = np.linalg.inv(A)
    assert errors(X=X, A=A) == [True, True]
    assert errors(X=(X.view(np.int32) & ~0x1FFF).view(np.float32), A=A) == [False, True]
    assert errors(X=X, A=A + np.eye(300, dtype=np.float32)) == [True, False]


def test_a_matrix_without_an_inverse_is_an_error() -> None:
    program = build("numpy", "inverse", {"size": 4}, "fp32")
    program.arrays.A[...] = 0.0
    with pytest.raises(FloatingPointError, match="no inverse"):
        program.step()
