"""The random draws of every backend: even, independent, and the same for the same seed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from respeed.backends import BackendContract
from tests.conformance.programs import backend_or_skip, offering


@pytest.mark.parametrize(("backend", "device"), offering("sample_layer", "draws"))
def test_samples_are_bernoulli_with_the_right_mean_and_independent_across_steps_and_places(
    backend: str, device: str
) -> None:
    made = backend_or_skip(backend, device)
    x, weights, sample_one_layer = layer_of_probabilities(made)
    sample, probabilities = [], None
    for _ in range(60):
        out, drawn = sample_one_layer(x, weights)
        probabilities = out[0].astype(np.float64)
        sample.append(drawn)
    samples = np.stack(sample)
    assert set(np.unique(samples)) == {0.0, 1.0}
    n = samples.shape[0] * samples.shape[1]
    deviation = (samples.mean(axis=(0, 1)) - probabilities) / np.sqrt(probabilities * (1 - probabilities) / n)
    assert np.abs(deviation).max() < 5
    assert abs(np.mean(deviation**2) - 1) < 0.4
    centred = (samples - probabilities) / np.sqrt(probabilities * (1 - probabilities))
    for axis in range(3):  # steps, examples, units: one after another, and the ones that a stride of 2 or 16 apart are
        for lag in (1, 2, 16):
            here = np.take(centred, range(lag, centred.shape[axis]), axis)
            before = np.take(centred, range(centred.shape[axis] - lag), axis)
            assert abs((here * before).mean()) < 5 / np.sqrt(here.size), f"axis {axis}, lag {lag}"


def layer_of_probabilities(made: BackendContract) -> tuple[Any, Any, Callable[..., tuple[np.ndarray, np.ndarray]]]:
    """A layer of 512 units whose probabilities go from 0.01 to 0.99, the same for 64 examples, and how to sample it."""
    wanted = np.linspace(0.01, 0.99, 512)
    x, weights = made.array(np.ones((64, 1))), made.array(np.log(wanted / (1 - wanted))[None, :])
    bias, out, sample = made.zeros(1, 512), made.zeros(64, 512), made.zeros(64, 512)
    draws = made.draws(64, 512)

    def sample_once(x: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        made.sample_layer(x, weights, bias, out, sample, draws)
        drawn, probability = draws.last(), made.host(out)
        np.testing.assert_array_equal(made.host(sample), drawn < probability)
        return probability.copy(), made.host(sample).copy()

    return x, weights, sample_once


@pytest.mark.parametrize(("backend", "device"), offering("sample_layer", "draws"))
def test_uniform_draws_fill_their_interval_evenly(backend: str, device: str) -> None:
    made = backend_or_skip(backend, device)
    shape = (3, 100, 1000)
    draws, x, weights = made.draws(*shape), made.zeros(3, 100, 1), made.zeros(3, 1, 1000)
    bias, out, sample = made.zeros(3, 1, 1000), made.zeros(*shape), made.zeros(*shape)
    counts = np.zeros(256)
    for _ in range(20):
        made.sample_layer(x, weights, bias, out, sample, draws)
        drawn = draws.last()
        assert drawn.min() >= 0
        assert drawn.max() < 1
        counts += np.bincount((drawn * 256).astype(int).ravel(), minlength=256)
        # The lower bits are as even as the upper ones.
        counts += np.bincount((drawn * 2**24).astype(int).ravel() % 256, minlength=256)
    expected = counts.sum() / 256
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - 255) < 5 * np.sqrt(2 * 255)


@pytest.mark.parametrize(("backend", "device"), offering("sample_layer", "draws"))
def test_the_same_seed_gives_the_same_draws_and_another_seed_others(backend: str, device: str) -> None:
    def draw(seed: int) -> np.ndarray:
        made = backend_or_skip(backend, device, seed=seed)
        draws, out = made.draws(8, 8), made.zeros(8, 8)
        made.sample_layer(made.zeros(8, 1), made.zeros(1, 8), made.zeros(1, 8), out, made.zeros(8, 8), draws)
        return draws.last()

    np.testing.assert_array_equal(draw(7), draw(7))
    assert (draw(7) != draw(8)).mean() > 0.9
