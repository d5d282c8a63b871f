"""Overlapping patches: the geometry, and that one patch is a dense RBM."""

from typing import Any

import numpy as np
import pytest

from respeed.errors import NotMeasurable
from respeed.inputs.papers import load_paper
from respeed.workloads.patches import Patches
from respeed.workloads.rbm import Rbm
from tests.conformance.programs import make


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
def test_one_patch_as_large_as_the_image_learns_as_a_dense_rbm(name: str) -> None:
    """Of the same weights, examples and draws."""
    one = Patches(side=6, patch=6, stride=6, hidden=11, batch=7, learning_rate=0.1)
    backend: Any = make(name)
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
