"""Compiled passes: as exact as their type, NaN goes through; and kept by source.
The product of matrices by its address: no copies, and other threads go on meanwhile."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

from respeed import kernels
from respeed.kernels import layers
from respeed.kernels.blas import gemm

ACTIVATIONS = {"sigmoid": lambda z: 1 / (1 + np.exp(-z)), "tanh": np.tanh}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_exact_and_pass_nan(name: str, dtype: Any) -> None:
    """Activations are as exact as their type everywhere and let NaN through."""
    some, ends = 10 * np.random.default_rng(1).standard_normal(100_000), [-np.inf, -1e30, 1e30, np.inf]
    z = np.concatenate([some, np.linspace(-1000, 1000, 10_001), ends]).astype(dtype)
    out = np.append(z, dtype(np.nan))[None]
    getattr(layers, f"add_{name}")(out, np.zeros(out.shape[1], dtype))
    with np.errstate(over="ignore", invalid="ignore"):
        found, expected = out[0, :-1], ACTIVATIONS[name](z.astype(np.longdouble))
        error = np.where(found == expected, 0.0, np.abs(found - expected)).max()
    assert error <= (2.4e-7 if dtype == np.float32 else 5e-16)
    assert np.isnan(out[0, -1])


def test_softmax_of_large_logits_does_not_overflow() -> None:
    logits = np.array([[1e4, 0, -1e4], [-1e4, -1e4, -1e4], [0, 1e4, 0], [0, 0, 1e4]])
    out, costs = np.empty((4, 3)), np.empty(4)
    layers.softmax_error(out, logits, np.array([0, 2, 0, 1]), costs)
    np.testing.assert_allclose(out, [[0, 0, 0], [1 / 3, 1 / 3, -2 / 3], [-1, 1, 0], [0, -1, 1]], atol=1e-6)
    np.testing.assert_allclose(costs, [0, np.log(3), 1e4, 1e4])


def test_another_source_is_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = []
    for text in ("x = 1\n", "x = 2\n", "x = 1\n"):
        (tmp_path / "one.py").write_text(text)
        found.append(Path(kernels._folder_of_sources()))
    assert found[0] == found[2] != found[1]
    assert {path.parent for path in found} == {tmp_path / "respeed"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "beta"), [(1, 0.0), (1, 0.5), (5, 0.0), (5, 0.5)])
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_compiled_products_equal_numpys(dtype: type, m: int, transposed: str, beta: float) -> None:
    random = np.random.default_rng(m)
    a, b, out = (random.standard_normal(shape).astype(dtype) for shape in ((m, 7), (7, 3), (m, 3)))
    a, b = (x.T.copy().T if name in transposed else x for name, x in (("a", a), ("b", b)))
    expected = 1.5 * a @ b + beta * out
    out[...] = np.nan if beta == 0.0 else out  # what is multiplied by 0 is not read
    assert gemm(a, b, out=out, alpha=1.5, beta=beta) is out
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "wrong", [np.zeros((4, 4)), np.zeros((4, 8), np.float32)[:, ::2], np.zeros((3, 5), np.float32)]
)
def test_misfits_and_copies_are_refused(wrong: np.ndarray) -> None:
    """What does not fit or would have to be copied is refused."""
    right = np.zeros((4, 4), np.float32)
    for a, b, out in ((wrong, right, right), (right, wrong, right), (right, right, wrong), (right, right, right.T)):
        with pytest.raises((TypeError, ValueError)):
            gemm(a, b, out=out)


def test_another_thread_goes_on_during_a_product() -> None:
    square, counted = np.ones((1500, 1500), np.float32), 0
    product = threading.Thread(target=gemm, args=(square, square, square.copy()))
    product.start()
    while product.is_alive():
        counted += 1
    assert counted > 1000


def test_compiled_code_that_is_damaged_is_compiled_anew(tmp_path: Path) -> None:
    """As after a loss of power, which leaves files without their content."""
    code = "import numpy as np; from respeed.kernels.layers import add_tanh; add_tanh(np.ones((1, 9)), np.ones(9))"
    code += "; import respeed.kernels.blas"
    for content in (None, b"", b"no code"):
        for path in tmp_path.rglob("*.nbi") if content is not None else ():
            path.write_bytes(content)
        subprocess.run([sys.executable, "-c", code], env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)}, check=True)
        indices = [*tmp_path.rglob("*.nbi")]
        assert indices
        assert all(path.stat().st_size > 100 for path in indices)
    for path in tmp_path.rglob("*.nbc"):
        path.write_bytes(b"")
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)}, check=True)
    assert all(path.stat().st_size for path in tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("shape", [(3, 200), (200, 3)])
def test_a_rows_cost_is_of_every_column(shape: tuple[int, int]) -> None:
    draw = np.random.default_rng(1)
    z, x = draw.normal(size=shape).astype("f4"), draw.uniform(size=shape).astype("f4")
    out, costs = z.copy(), np.empty(len(z), "f4")
    layers.sigmoid_error(out, x, costs)
    np.testing.assert_allclose(out, x - scipy.special.expit(z), atol=1e-6)
    np.testing.assert_allclose(costs, (np.logaddexp(0, z) - x * z).sum(1), rtol=1e-5)
