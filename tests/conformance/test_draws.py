"""The random draws of every backend, and what is sampled and masked by them: even, independent, and the same for the
same seed."""

from typing import Any

import numpy as np
import pytest

from tests.conformance.programs import Place, make, places

SAMPLED = places(offering=("sample_layer", "draws"))
MASKED = [place for place in places(offering=("mask", "draws")) if place.values[0].backend != "jax"]
sampled = pytest.mark.parametrize("place", SAMPLED)
in_fp32 = pytest.mark.parametrize("place", [place for place in SAMPLED if place.values[0].precision == "fp32"])
masked = pytest.mark.parametrize("place", MASKED)
EXACT = {"fp64": 1e-12, "fp32": 1e-6}
threads = pytest.mark.parametrize("threads", [1, 2])


@sampled
def test_samples_are_bernoulli_with_the_right_mean_and_independent_across_steps_and_places(place: Place) -> None:
    """A layer of 512 units whose probabilities go from 0.01 to 0.99 (0.999 would be 1 in bf16), for 64 examples."""
    made, wanted = make(*place), np.linspace(0.01, 0.99, 512)
    x, weights = made.array(np.ones((64, 1))), made.parameters(np.log(wanted / (1 - wanted))[None, :])
    bias, out, sample = made.parameters(np.zeros((1, 512))), made.zeros(64, 512), made.zeros(64, 512)
    draws, steps = made.draws(64, 512), []
    for _ in range(60):
        made.sample_layer(x, weights, bias, out, sample, draws)
        np.testing.assert_array_equal(made.host(sample), draws.last() < made.host(out))
        steps.append(made.host(sample).copy())
    samples, probabilities = np.stack(steps), made.host(out)[0].astype(np.float64)
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


@in_fp32
def test_uniform_draws_fill_their_interval_evenly(place: Place) -> None:
    made = make(*place)
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


@in_fp32
def test_the_same_seed_gives_the_same_draws_and_another_seed_others(place: Place) -> None:
    def draw(seed: int) -> Any:
        made = make(*place, seed=seed)
        draws, out = made.draws(8, 8), made.zeros(8, 8)
        made.sample_layer(made.zeros(8, 1), made.zeros(1, 8), made.zeros(1, 8), out, made.zeros(8, 8), draws)
        return draws.last()

    np.testing.assert_array_equal(draw(7), draw(7))
    assert (draw(7) != draw(8)).mean() > 0.9


@masked
@threads
@pytest.mark.parametrize("stack", [(), (3,)])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_layer_is_sampled_in_either_direction_and_kept_with_either_sign(
    place: Place, threads: int, stack: tuple[int, ...], transpose: bool
) -> None:
    made, random = make(*place, threads=threads), np.random.default_rng(3)
    x, weights = random.integers(0, 2, (*stack, 37, 5)), random.normal(0, 1, (*stack, 5, 11))
    bias, shape = random.normal(0, 1, (*stack, 1, 11)), (*stack, 37, 11)
    kept, out, sample = (
        made.parameters(np.swapaxes(weights, -1, -2) if transpose else weights),
        made.zeros(*shape),
        made.zeros(*shape),
    )
    draws = made.draws(*shape)
    arguments: Any = made.array(x), kept, made.parameters(bias), out, sample, draws
    made.sample_layer(*arguments, transpose=transpose, scale=-1.0)
    made.sync()
    probabilities = 1 / (1 + np.exp(-(x @ weights + bias)))
    np.testing.assert_allclose(
        made.host(out), -probabilities, atol={"fp64": 1e-12, "fp32": 1e-6}.get(place.precision, 2e-2)
    )
    np.testing.assert_array_equal(made.host(sample), draws.last() < -made.host(out))


@masked
@threads
@pytest.mark.parametrize("shape", [(37, 53), (3, 7, 11)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_what_is_masked_is_where_a_draw_is_below_the_share(
    place: Place, threads: int, shape: tuple[int, ...], share: float
) -> None:
    made = make(*place, threads=threads)
    for large in made.rehearsals():
        with large:
            x, out = made.array(np.random.default_rng(3).uniform(1, 2, shape)), made.zeros(*shape)
            draws = made.draws(*shape)
            made.mask(x, share, out, draws)
            made.sync()
            np.testing.assert_array_equal(made.host(out), np.where(draws.last() < share, 0, made.host(x)))


@masked
def test_another_share_of_other_elements_is_masked_each_time(place: Place) -> None:
    made = make(*place)
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
