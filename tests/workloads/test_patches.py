"""Overlapping patches: the two maps between images and patches, and learning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.data import natural_patches
from respeed.errors import NotMeasurable
from respeed.inputs.papers import load_paper
from respeed.model.paper import Case
from respeed.workloads import patches
from respeed.workloads.patches import Geometry
from tests.conformance.programs import make


def case_of(side: int, patch: int, stride: int, hidden: int = 3, batch: int = 2) -> Case:
    sizes = {"side": side, "patch": patch, "stride": stride, "hidden": hidden, "batch": batch}
    return Case("any", "patches", {**sizes, "learning_rate": 0.1})


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    stride, across = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    grid = draw(st.integers(across, across + 3))
    return Geometry(case_of(grid * stride, across * stride, stride))


@given(geometries(), st.integers(0, 2**31), st.sampled_from(["openblas", "torch"]), st.integers(1, 2000))
def test_cutting_patches_and_adding_them_up_are_adjoint(geometry: Geometry, seed: int, name: str, most: int) -> None:
    backend = make(name)
    random = np.random.default_rng(seed)
    image = random.integers(-4, 5, (geometry.grid, geometry.grid, 2, geometry.tile))
    wanted = random.integers(-4, 5, (geometry.patches, 2, geometry.pixels))
    cut, added = backend.zeros(*wanted.shape), backend.zeros(*image.shape)
    images, windows = backend.array(image), backend.array(wanted)
    for stack in geometry.stacks(most):
        backend.cut(images, stack.start, geometry.across, cut[stack], 0)
        backend.add_up(windows[stack], stack.start, geometry.across, added)
    # <K v, y> = <v, K^T y>, in whole numbers, so that it holds exactly.
    assert (backend.host(cut) * wanted).sum() == (image * backend.host(added)).sum()


def test_a_patch_is_a_square_of_the_image() -> None:
    geometry = Geometry(case_of(side=12, patch=6, stride=2))
    backend = make("openblas")
    picture = np.arange(144.0).reshape(12, 12)
    blocks = picture.reshape(6, 2, 6, 2).transpose(0, 2, 1, 3).reshape(6, 6, 1, 4)
    cut = backend.zeros(geometry.patches, 1, geometry.pixels)
    backend.cut(backend.array(blocks), 0, geometry.across, cut, 0)
    for patch in range(geometry.patches):
        down, right = (2 * place for place in divmod(patch, geometry.rows))
        assert set(cut[patch, 0]) == set(picture[down : down + 6, right : right + 6].ravel())


def test_the_papers_geometries_have_the_printed_sizes_and_the_stated_weights() -> None:
    weights = []
    for case in load_paper("raina2009").experiments["patches"].cases:
        geometry = Geometry(case)
        assert case.name.startswith(f"{geometry.visible}x{geometry.patches * geometry.hidden}-")
        weights.append(round(geometry.patches * geometry.pixels * geometry.hidden / 1e6, 1))
    assert weights == [28.3, 50.3, 53.5, 95.2]


@pytest.mark.parametrize(("side", "patch", "stride"), [(10, 4, 3), (9, 4, 3), (4, 8, 2)])
def test_a_geometry_that_does_not_fit_says_what_must_divide_what(side: int, patch: int, stride: int) -> None:
    with pytest.raises(NotMeasurable, match=f"the stride {stride} must divide the side {side} and the patch {patch}"):
        Geometry(case_of(side, patch, stride))


def test_the_reconstruction_error_of_real_images_falls_over_an_epoch() -> None:
    case = Case("small", "patches", {**case_of(24, 12, 4, hidden=24, batch=50).parameters, "learning_rate": 0.2})
    inputs = dict(patches.inputs(case, seed=1))
    images = 1 / (1 + np.exp(-2 * 24 * natural_patches(40 * 50, 24, seed=3)))
    blocks = images.reshape(40, 50, 6, 4, 6, 4).transpose(0, 2, 4, 1, 3, 5).reshape(40, 6, 6, 50, 16)
    inputs["examples"] = blocks.astype(np.float32)
    program = patches.build(make("torch"), case, inputs)
    errors = []
    for batch in range(5 * 40):
        program.step()
        seen = inputs["examples"][batch % 40]
        errors.append(float(((program.state()["all_of_image"] - seen) ** 2).mean()))
    assert np.mean(errors[-40:]) < 0.95 * np.mean(errors[:5])
