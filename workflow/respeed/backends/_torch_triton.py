"""The two operations of sparse coding that torch does in some ten each, as kernels in Triton for NVIDIA's GPUs.

They are compiled once, when a backend is made: not within a step, a graph or what is timed. Whether they are right is
seen where every other step is judged: each case's first step is compared with its reference in float64.
"""

# Triton gives a kernel's arguments their types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from respeed.backends._torch_between import ByTorch, Scratch

# Elements of a program that takes any; of a pass of a program that has a row; and the most lengths of a line search.
MANY = tl.constexpr(1024)
PIECE = tl.constexpr(256)
LANES = tl.constexpr(8)
# Beyond, a place within an array would not fit into 32 bits.
MOST = 2**31 - 2**16


def coordinate_step(left, coefficients, diagonal, going, out, count, columns, penalty):
    """Compute `BackendContract.coordinate_step` for MANY elements of arrays (m, n) in fp32, `count` in all."""
    at = tl.program_id(0) * MANY + tl.arange(0, MANY)
    here = at < count
    d = tl.load(diagonal + at % columns, here, 1.0)
    s = tl.load(coefficients + at, here, 0.0)
    pull = tl.load(left + at, here, 0.0) + s * d
    new = (tl.maximum(pull - penalty, 0.0) + tl.minimum(pull + penalty, 0.0)) / d
    on = tl.load(going + at // columns, here, 0.0)
    tl.store(out + at, tl.where(on != 0.0, new - s, 0.0), here)


def line_search(
    direction, moved, left, coefficients, lengths, objective, going, columns, penalty, least, least_of_norm
):
    """Compute `BackendContract.line_search` for a row: a pass tries all lengths, another takes one."""
    row = tl.program_id(0).to(tl.int64)
    direction += row * columns
    moved += row * columns
    left += row * columns
    coefficients += row * columns
    lane = tl.arange(0, LANES)
    t = tl.load(lengths + lane)  # 0 where there are no more
    slopes, curves, norms = (
        tl.zeros((PIECE,), tl.float32),
        tl.zeros((PIECE,), tl.float32),
        tl.zeros((PIECE,), tl.float32),
    )
    after = tl.zeros((LANES,), tl.float32)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        here = at < columns
        d, s = tl.load(direction + at, here, 0.0), tl.load(coefficients + at, here, 0.0)
        slopes += tl.load(left + at, here, 0.0) * d
        curves += tl.load(moved + at, here, 0.0) * d
        norms += tl.abs(s)
        after += tl.sum(tl.abs(s[:, None] + t[None, :] * d[:, None]), 0)
    slope, curve, norm = tl.sum(slopes, 0), tl.sum(curves, 0), tl.sum(norms, 0)
    was, on = tl.load(objective + row), tl.load(going + row)
    trial = 0.5 * t * t * curve - t * slope + penalty * (after - norm)
    lowers = (trial < -least * was - least_of_norm * penalty * norm) & (t * on > 0.0)
    chosen = tl.min(tl.where(lowers, lane, lane + LANES), 0)
    taken = tl.sum(tl.where(lane == chosen, t, 0.0), 0)
    limit = tl.where(chosen < LANES, columns, 0)  # of what is written: a row that finds none keeps what it has
    # All threads read these two, and one writes them: not before the last one has read, or a row takes two lengths.
    tl.debug_barrier()
    tl.store(objective + row, was + tl.sum(tl.where(lane == chosen, trial, 0.0), 0))
    tl.store(going + row, tl.where(chosen < LANES, 1.0, 0.0))
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        here = at < limit
        s = tl.load(coefficients + at, here, 0.0) + taken * tl.load(direction + at, here, 0.0)
        tl.store(coefficients + at, s, here)
        tl.store(left + at, tl.load(left + at, here, 0.0) - taken * tl.load(moved + at, here, 0.0), here)


def _compiled(kernel, arguments: int) -> Any:
    """Return the kernel in one variant for all sizes and addresses. Left alone, Triton compiles one for each pattern of
    what is divisible by 16, whenever it first meets it: also in the midst of a capture."""
    free = list(range(arguments))
    return triton.jit(kernel, do_not_specialize=free, do_not_specialize_on_alignment=free)


_COORDINATE_STEP = _compiled(coordinate_step, 8)
_LINE_SEARCH = _compiled(line_search, 11)
# Whether a * b + c is rounded once: what Triton does unless told otherwise is about to change.
_FUSED = {"enable_fp_fusion": True}


class ByTriton(ByTorch):
    """Torch's operations, but for the two kernels. Arrays that these are not made for are left to torch."""

    scratch_bytes = 0  # all lengths of a line search are tried within a row's program

    def __init__(self, scratch: Scratch, device: torch.device) -> None:
        super().__init__(scratch)
        self.facts = f"triton {triton.__version__}"
        self._steps: dict[tuple[float, ...], Tensor] = {}
        a, b, c, d = (torch.ones(2, 2, device=device) for _ in range(4))
        objective, going = (torch.ones(2, 1, device=device) for _ in range(2))
        self.coordinate_step(a, b, c[0], 1.0, going, d)
        self.line_search(a, b, c, d, 1.0, (1.0,), 0.0, objective, going)

    def coordinate_step(
        self, left: Tensor, coefficients: Tensor, diagonal: Tensor, penalty: float, going: Tensor, out: Tensor
    ) -> None:
        arrays = left, coefficients, diagonal, going, out
        if not _whole(*arrays):
            super().coordinate_step(left, coefficients, diagonal, penalty, going, out)
            return
        count = out.numel()
        _COORDINATE_STEP[(triton.cdiv(count, MANY.value),)](*arrays, count, out.shape[1], penalty, **_FUSED)

    def line_search(
        self,
        direction: Tensor,
        moved: Tensor,
        left: Tensor,
        coefficients: Tensor,
        penalty: float,
        lengths: tuple[float, ...],
        least: float,
        objective: Tensor,
        going: Tensor,
        least_of_norm: float = 0.0,
    ) -> None:
        arrays, state = (direction, moved, left, coefficients), (objective, going)
        if not _whole(*arrays, *state) or len(lengths) > LANES.value:
            super().line_search(*arrays, penalty, lengths, least, *state, least_of_norm)
            return
        if lengths not in self._steps:
            padded = [*lengths, *[0.0] * (LANES.value - len(lengths))]
            self._steps[lengths] = torch.tensor(padded, device=direction.device)
        rows, columns = direction.shape
        numbers = columns, penalty, least, least_of_norm
        _LINE_SEARCH[(rows,)](*arrays, self._steps[lengths], *state, *numbers, **_FUSED)


def _whole(*arrays: Tensor) -> bool:
    """Return whether no array has gaps, is empty or is too large for the kernels."""
    return all(array.is_contiguous() and 0 < array.numel() <= MOST for array in arrays)
