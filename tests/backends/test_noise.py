"""Masking noise, and layers that are sampled in either direction: on every device that is here, in every precision."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import BackendContract, make_backend
from respeed.errors import NotMeasurable

HERE = [("openblas", "fp32", 1), ("openblas", "fp32", 2), ("torch", "fp32", 1), ("torch", "fp32", 2)]
HERE += [("openblas", "fp64", 1), ("torch", "fp64", 1)]
BACKENDS = [(name, "cpu", precision, threads) for name, precision, threads in HERE]
BACKENDS += [("torch", "cpu", "bf16", 1), ("torch", "cpu", "fp16", 1)]
GPU = [pytest.param("torch", "cuda", name, 1, marks=pytest.mark.gpu) for name in ("fp64", "fp32", "bf16", "fp16")]
backends: Any = pytest.mark.parametrize(("name", "device", "precision", "threads"), [*BACKENDS, *GPU])


def make(name: str, device: str, precision: str, threads: int) -> BackendContract:
    try:
        return make_backend(name, device=device, precision=precision, threads=threads, seed=1)
    except NotMeasurable as reason:
        pytest.skip(str(reason))


@backends
@pytest.mark.parametrize("shape", [(37, 53), (3, 7, 11)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_what_is_masked_is_where_a_draw_is_below_the_share(
    name: str, device: str, precision: str, threads: int, shape: tuple[int, ...], share: float
) -> None:
    made = make(name, device, precision, threads)
    for large in made.rehearsals():
        with large:
            x, out = made.array(np.random.default_rng(3).uniform(1, 2, shape)), made.zeros(*shape)
            draws = made.draws(*shape)
            made.mask(x, share, out, draws)
            made.sync()
            np.testing.assert_array_equal(made.host(out), np.where(draws.last() < share, 0, made.host(x)))


@backends
def test_another_share_of_other_elements_is_masked_each_time(
    name: str, device: str, precision: str, threads: int
) -> None:
    made = make(name, device, precision, threads)
    x, out, draws = made.array(np.ones((50, 200))), made.zeros(50, 200), made.draws(50, 200)
    masks = []
    for _ in range(20):
        made.mask(x, 0.3, out, draws)
        made.sync()
        masks.append(made.host(out).copy())
    kept = np.stack(masks)
    assert abs(kept.mean() - 0.7) < 5 * np.sqrt(0.21 / kept.size)
    # Of an element, from one time to the next, and of neighbours in an example.
    for axis in (0, 2):
        here, before = np.delete(kept, 0, axis) - 0.7, np.delete(kept, -1, axis) - 0.7
        assert abs((here * before).mean()) < 5 * 0.21 / np.sqrt(here.size)


@backends
@pytest.mark.parametrize("transpose", [False, True])
def test_a_layer_is_sampled_in_either_direction_and_kept_with_either_sign(
    name: str, device: str, precision: str, threads: int, transpose: bool
) -> None:
    made, random = make(name, device, precision, threads), np.random.default_rng(3)
    x, weights, bias = random.integers(0, 2, (37, 5)), random.normal(0, 1, (5, 11)), random.normal(0, 1, (1, 11))
    kept, out, sample = made.parameters(weights.T if transpose else weights), made.zeros(37, 11), made.zeros(37, 11)
    draws = made.draws(37, 11)
    arguments: Any = made.array(x), kept, made.parameters(bias), out, sample, draws
    made.sample_layer(*arguments, transpose=transpose, scale=-1.0)
    made.sync()
    probabilities = 1 / (1 + np.exp(-(x @ weights + bias)))
    np.testing.assert_allclose(made.host(out), -probabilities, atol={"fp64": 1e-12, "fp32": 1e-6}.get(precision, 2e-2))
    np.testing.assert_array_equal(made.host(sample), draws.last() < -made.host(out))
