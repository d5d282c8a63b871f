"""Products in fp32 that are sums of products in low precision: an RBM's step with them, as a GPU does it, by NumPy."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from respeed.backends import numpy as backend
from respeed.measure.case import TOLERANCE
from tests.conformance.programs import build, case_of, first_and_later, make

# Bits behind the point, parts of an operand, and the least of a pair's two places whose product is left out.
KINDS = {"tf32": (10, 1, 1), "tf32x3": (10, 2, 2), "bf16": (7, 1, 1), "bf16x9": (7, 3, 5)}


def parts(array: np.ndarray, bits: int, count: int) -> list[np.ndarray]:
    """Return the array as a sum of arrays of so many bits behind the point: the first is the array, rounded."""
    found = []
    rest = np.ascontiguousarray(array, np.float32)
    dropped = 23 - bits
    for _ in range(count):
        half = np.int32((1 << (dropped - 1)) - 1)
        whole = rest.view(np.int32)
        odd = (whole >> dropped) & 1
        rounded = (whole + half + odd) & ~np.int32((1 << dropped) - 1)
        found.append(rounded.view(np.float32))
        rest = rest - found[-1]
    return found


def products_of(kind: str) -> Any:
    """Return a function in the place of `kernels.blas.gemm`, which sums in fp32."""
    bits, count, limit = KINDS[kind]

    def gemm(a: np.ndarray, b: np.ndarray, out: np.ndarray, alpha: float = 1.0, beta: float = 0.0) -> np.ndarray:
        left = parts(a, bits, count)
        right = parts(b, bits, count)
        pairs = [(i, j) for i, j in product(range(count), repeat=2) if i + j < limit]
        total = sum(left[i] @ right[j] for i, j in reversed(pairs))
        out[...] = np.float32(alpha) * total + (np.float32(beta) * out if beta else 0)
        return out

    return gemm


@pytest.mark.parametrize("kind", KINDS)
def test_only_products_in_parts_pass_as_fp32(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three products in TF32, or nine in bf16, pass fp32's check; one product in either does not."""
    monkeypatch.setattr(backend, "gemm", products_of(kind))
    worst = max(first_and_later(build(make("numpy"), case_of("rbm", "odd"))))
    assert (worst <= TOLERANCE["fp32"]) == ("x" in kind), worst
