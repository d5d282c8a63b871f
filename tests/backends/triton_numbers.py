"""The two kernels by Triton's interpreter, against torch's operations: run by test_triton_kernels.py with
TRITON_INTERPRET set, which Triton reads when it is imported."""

from typing import Any

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from respeed.backends._torch_between import ByTorch
from respeed.backends._torch_triton import ByTriton

LENGTHS = (3.0, 1.0, 0.1, 0.03, 0.01)
# Elements before and behind an array.
GUARD = 64
FEW = settings(max_examples=12, deadline=None, derandomize=True)
SIZES = st.tuples(st.integers(1, 5), st.integers(1, 700))


def scratch(like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
    return torch.empty(like.shape, dtype=dtype or like.dtype)


WAYS = ByTriton(scratch, torch.device("cpu")), ByTorch(scratch)


def guarded(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The values in the midst of an array of sevens, and that array."""
    around = torch.full((values.numel() + 2 * GUARD,), 7.0)
    inside = around[GUARD:-GUARD].view(values.shape)
    inside.copy_(values)
    return inside, around


def compare(name: str, arrays: list[torch.Tensor], call: Any) -> None:
    """The operation, by both, on the same arrays: nothing is written beside them."""
    mine = [guarded(array) for array in arrays]
    theirs = [array.clone() for array in arrays]
    call(getattr(WAYS[0], name), [inside for inside, _ in mine])
    call(getattr(WAYS[1], name), theirs)
    for (inside, around), wanted in zip(mine, theirs, strict=True):
        torch.testing.assert_close(inside, wanted, rtol=1e-4, atol=1e-4, msg=f"{name} is wrong")
        assert (around[:GUARD] == 7).all(), f"{name} writes before its array"
        assert (around[-GUARD:] == 7).all(), f"{name} writes behind its array"


def some_go_on(rows: int) -> torch.Tensor:
    """Every third row is done."""
    return (torch.arange(rows)[:, None] % 3 < 2).float()


@FEW
@given(SIZES)
def a_coordinate_step_is_torchs(sizes: Any) -> None:
    rows, columns = sizes
    arrays = [torch.randn(sizes), torch.randn(sizes), torch.rand(columns) + 0.5, some_go_on(rows), torch.randn(sizes)]
    compare("coordinate_step", arrays, lambda step, a: step(a[0], a[1], a[2], 0.3, a[3], a[4]))


@FEW
@given(SIZES, st.sampled_from([0.0, 0.05]))
@example((5, 700), 0.0)
@example((5, 544), 0.05)
def a_row_takes_the_first_length_that_will_do(sizes: Any, of_norm: float) -> None:
    rows = sizes[0]
    moved, left, coefficients = (0.1 * torch.randn(sizes) for _ in range(3))
    # Down the slope, but for every fifth row, which finds no length.
    direction = left * torch.where(torch.arange(rows)[:, None] % 5 < 4, 1.0, -1.0)
    arrays = [direction, moved, left, coefficients, 1 + torch.rand(rows, 1), some_go_on(rows)]
    compare("line_search", arrays, lambda search, a: search(*a[:4], 0.3, LENGTHS, 1e-3, *a[4:], of_norm))


def arrays_with_gaps_are_left_to_torch() -> None:
    wide = [torch.randn(3, 8)[:, :5] for _ in range(3)]
    arrays = [*wide[:2], torch.ones(5), torch.ones(3, 1)]
    outs = [torch.zeros(3, 5) for _ in WAYS]
    for way, out in zip(WAYS, outs, strict=True):
        way.coordinate_step(*arrays[:3], 0.3, arrays[3], out)
    assert torch.equal(*outs)


if __name__ == "__main__":
    torch.manual_seed(1)
    a_coordinate_step_is_torchs()
    a_row_takes_the_first_length_that_will_do()
    arrays_with_gaps_are_left_to_torch()
    print("right")
