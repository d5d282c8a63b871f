"""What nets ask of a backend, on every device that is here and in every precision, against NumPy."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import Activation, BackendContract, make_backend
from respeed.errors import NotMeasurable

HERE = [
    (name, "cpu", precision, threads)
    for name in ("openblas", "torch")
    for precision in ("fp32", "fp64")
    for threads in (1, 2)
]
HERE += [("torch", "cpu", precision, 1) for precision in ("bf16", "fp16")]
GPU = [pytest.param("torch", "cuda", name, 1, marks=pytest.mark.gpu) for name in ("fp64", "fp32", "bf16", "fp16")]
EXACT = {"fp64": 1e-14, "fp32": 1e-5, "bf16": 2e-2, "fp16": 3e-3}

backends: Any = pytest.mark.parametrize(("name", "device", "precision", "threads"), [*HERE, *GPU])


def make(name: str, device: str, precision: str, threads: int) -> BackendContract:
    try:
        return make_backend(name, device=device, precision=precision, threads=threads, seed=1)
    except NotMeasurable as reason:
        pytest.skip(str(reason))


def activated(activation: Activation, z: np.ndarray) -> np.ndarray:
    kinds = {"none": z, "sigmoid": 1 / (1 + np.exp(-z)), "tanh": np.tanh(z), "relu": np.maximum(z, 0)}
    return kinds[activation]


@backends
@pytest.mark.parametrize("activation", ["none", "sigmoid", "tanh", "relu"])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_dense_layer_is_the_equation(
    name: str, device: str, precision: str, threads: int, activation: Activation, transpose: bool
) -> None:
    made, random = make(name, device, precision, threads), np.random.default_rng(3)
    x, weights, bias = random.normal(0, 0.5, (37, 5)), random.normal(0, 1, (5, 11)), random.normal(0, 1, (1, 11))
    for large in made.rehearsals():
        with large:
            out, kept = made.zeros(37, 11), made.parameters(weights.T if transpose else weights)
            made.dense_layer(
                made.array(x), kept, made.parameters(bias), out, activation=activation, transpose=transpose, scale=-1.0
            )
            made.sync()
            np.testing.assert_allclose(
                made.host(out), -activated(activation, x @ weights + bias), atol=4 * EXACT[precision]
            )


@backends
@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu"])
def test_an_error_goes_back_through_an_activation(
    name: str, device: str, precision: str, threads: int, activation: Activation
) -> None:
    made, random = make(name, device, precision, threads), np.random.default_rng(3)
    z, error = random.normal(0, 1, (37, 11)), random.normal(0, 1, (37, 11))
    out = activated(activation, z)
    slope = {"sigmoid": out * (1 - out), "tanh": 1 - out**2, "relu": z > 0}[activation]
    for large in made.rehearsals():
        with large:
            back = made.array(error)
            made.activation_backward(made.array(out), back, activation=activation)
            made.sync()
            np.testing.assert_allclose(made.host(back), error * slope, atol=4 * EXACT[precision])


@backends
def test_the_error_of_softmax_is_probabilities_less_labels(
    name: str, device: str, precision: str, threads: int
) -> None:
    made, random = make(name, device, precision, threads), np.random.default_rng(3)
    logits, labels = random.normal(0, 2, (37, 10)), random.integers(0, 10, 37)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    error, cost = shares - np.eye(10)[labels], -np.log(shares[np.arange(37), labels])[:, None]
    for large in made.rehearsals():
        with large:
            for rows in (slice(0, 37), slice(5, 9)):
                out, costs, kept = made.zeros(37, 10), made.zeros(37, 1), made.labels(labels)
                made.softmax_error(made.array(logits[rows]), kept[rows], out[rows], costs[rows])
                made.sync()
                np.testing.assert_allclose(made.host(out)[rows], error[rows], atol=2 * EXACT[precision])
                np.testing.assert_allclose(made.host(costs)[rows], cost[rows], atol=10 * EXACT[precision])
