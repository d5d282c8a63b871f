"""The inverse: right for any matrix that has one, and seen to be wrong where it is."""

from typing import Any

import numpy as np
import pytest

from respeed.measure.case import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.workloads.matmul import Inverse
from tests.conformance.programs import errors_of, make


@pytest.mark.parametrize("name", ["openblas", "torch"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 5, 512])
def test_an_inverse_agrees_with_float64_and_leaves_its_matrix_as_it_was(name: str, threads: int, size: int) -> None:
    made, case = make(name, threads=threads), Case("inverse", "inverse", {"size": size})
    matrix = Inverse().inputs(case, 5)["matrix"]

    def step(program: Any) -> None:
        program.step()
        np.testing.assert_array_equal(made.host(program.matrix), matrix)

    assert max(errors_of(made, case, step).values()) <= TOLERANCE["fp32"]  # of a second step


def test_the_matrix_is_well_conditioned_and_its_rows_must_be_exchanged() -> None:
    matrix = Inverse().inputs(Case("inverse", "inverse", {"size": 300}), 5)["matrix"]
    assert np.linalg.cond(matrix) < 3
    assert (np.abs(matrix).argmax(axis=0) != np.arange(300)).mean() > 0.9


def test_an_inverse_whose_numbers_were_rounded_to_ten_bits_does_not_pass() -> None:
    made = make("openblas")
    case = Case("inverse", "inverse", {"size": 67})
    inputs = Inverse().inputs(case, 5)
    program = Inverse().build(made, case, inputs)
    program.step()
    program.inverse[...] = (program.inverse.view(np.int32) & ~0x1FFF).view(np.float32)
    errors = state_errors(inputs, program.state(), Inverse().reference(case, inputs, {}))
    assert errors["vectors"] > TOLERANCE["fp32"]


def test_a_matrix_without_an_inverse_is_an_error() -> None:
    made = make("openblas")
    with pytest.raises(FloatingPointError, match="no inverse"):
        made.inverse(made.zeros(4, 4), made.factors(4), made.zeros(4, 4))
