"""Overlapping patches: the geometry, threads that each take patches, and learning."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import make_backend
from respeed.data import natural_patches
from respeed.errors import NotMeasurable
from respeed.inputs.papers import load_paper
from respeed.workloads.patches import Patches
from respeed.workloads.rbm import Rbm


def make(name: str, threads: int = 1) -> Any:
    return make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1)


def after(backend: Any, workload: Any, steps: int) -> dict[str, np.ndarray]:
    program = backend.build(workload, 5)
    for _ in range(steps):
        program.step()
    return {name: np.array(backend.host(array)) for name, array in vars(program.arrays).items()}


def test_the_papers_geometries_have_the_printed_sizes_and_the_stated_weights() -> None:
    weights = []
    for case in load_paper("raina2009").experiments["patches"].cases:
        one = Patches(**case.parameters)
        patches = one.grid[2] ** 2
        assert case.name.startswith(f"{one.side**2}x{patches * one.hidden}-")
        weights.append(round(patches * one.patch**2 * one.hidden / 1e6, 1))
    assert weights == [28.3, 50.3, 53.5, 95.2]


@pytest.mark.parametrize(("side", "patch", "stride"), [(10, 4, 3), (9, 4, 3), (4, 8, 2)])
def test_a_geometry_that_does_not_fit_says_what_must_divide_what(side: int, patch: int, stride: int) -> None:
    with pytest.raises(NotMeasurable, match=f"the stride {stride} must divide the side {side} and the patch {patch}"):
        Patches(side=side, patch=patch, stride=stride, hidden=3, batch=2, learning_rate=0.1)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_patches_learn_on_several_threads_what_they_learn_on_one(name: str) -> None:
    """Up to their draws, which threads take in any order: with a rate of 0 nothing hangs on these but the image."""
    sizes = {"side": 48, "patch": 24, "stride": 8, "hidden": 30, "batch": 16}
    still = Patches(**sizes, learning_rate=0.0)
    one, three = after(make(name), still, 3), after(make(name, 3), still, 3)
    B = still.batch
    np.testing.assert_allclose(three["h"][:, :B], one["h"][:, :B], rtol=0, atol=2e-6)
    assert abs(float(three["image"].mean() - one["image"].mean())) < 1e-3
    make(name)  # the number of threads is a setting of the whole process


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_one_patch_as_large_as_the_image_learns_as_a_dense_rbm(name: str) -> None:
    """Of the same weights, examples and draws."""
    one = Patches(side=6, patch=6, stride=6, hidden=11, batch=7, learning_rate=0.1)
    backend = make(name)
    program = backend.build(one, 5)
    program.step()
    W, b, c, x = (np.array(program.inputs[key]) for key in ("W", "b", "c", "x"))
    seen = {key: np.array(backend.host(value)) for key, value in vars(program.arrays).items()}
    rbm = Rbm(visible=36, hidden=11, batch=7, learning_rate=0.1)
    given = backend.build(rbm, 5)
    backend.write(W[0], given.arrays.W)
    backend.write(b.reshape(36), given.arrays.b)
    backend.write(c.reshape(11), given.arrays.c)
    backend.write(x[0, 0, 0], given.arrays.x[0])
    u = seen["u"][0]
    backend.uniform = lambda out: backend.write(u, out) or out
    given.step()
    np.testing.assert_allclose(backend.host(given.arrays.W), seen["W"][0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(backend.host(given.arrays.b), seen["b"].ravel(), rtol=0, atol=1e-6)


def test_the_reconstruction_error_of_real_images_falls_over_an_epoch() -> None:
    workload = Patches(side=24, patch=12, stride=4, hidden=24, batch=50, learning_rate=0.2)
    backend = make("torch")
    program = backend.build(workload, 1)
    images = 1 / (1 + np.exp(-2 * 24 * natural_patches(40 * 50, 24, seed=3)))
    blocks = images.reshape(40, 50, 6, 4, 6, 4).transpose(0, 2, 4, 1, 3, 5).reshape(40, 6, 6, 50, 16)
    errors = []
    for step in range(5 * 40):
        batch = blocks[step % 40].astype(np.float32)
        backend.write(batch, program.arrays.x[step % 2])
        program.step()
        errors.append(float(((backend.host(program.arrays.image) - batch) ** 2).mean()))
    assert np.mean(errors[-40:]) < 0.95 * np.mean(errors[:5])
