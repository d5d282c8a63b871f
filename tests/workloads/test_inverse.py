"""The inverse: of a matrix that has one, and seen to be wrong where it is."""

from types import SimpleNamespace

import numpy as np
import pytest

from respeed.measure.case import TOLERANCE
from respeed.model import Case
from respeed.workloads.arrays import largest_error
from respeed.workloads.matmul import Inverse
from tests.conformance.programs import build, make


def test_its_matrix_is_well_conditioned_and_one_that_was_changed_or_rounded_to_ten_bits_does_not_pass() -> None:
    inverse = Inverse(size=300)
    A = inverse.arrays(np.random.default_rng(5))["A"]
    assert np.linalg.cond(A) < 3
    assert (np.abs(A).argmax(axis=0) != np.arange(300)).mean() > 0.9  # rows must be exchanged

    def errors(**seen: np.ndarray) -> list[bool]:
        pairs = inverse.check(SimpleNamespace(A=A), SimpleNamespace(**seen))
        return [largest_error(pairs[name]) <= TOLERANCE["fp32"] for name in ("z", "A")]

    X = np.linalg.inv(A)
    assert errors(X=X, A=A) == [True, True]
    assert errors(X=(X.view(np.int32) & ~0x1FFF).view(np.float32), A=A) == [False, True]
    assert errors(X=X, A=A + np.eye(300, dtype=np.float32)) == [True, False]


def test_a_matrix_without_an_inverse_is_an_error() -> None:
    program = build(make("numpy"), Case("inverse", "inverse", {"size": 4}))
    program.arrays.A[...] = 0.0
    with pytest.raises(FloatingPointError, match="no inverse"):
        program.step()
