"""Triton kernels for passes between matrix products that take torch two to ten operations each.

The kernels are for fp32 on NVIDIA's GPUs. They are compiled once, before a graph is captured or a step is timed. The
workload's check against float64 shows whether they are right.
"""

# Triton gives a kernel's arguments their types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import math
from functools import partial

import torch
import triton
import triton.language as tl
from torch import Tensor

# Elements of a row that a Triton program computes at a time: MANY in a coordinate step, PIECE in a line search. And the
# most lengths that a line search tries.
MANY = tl.constexpr(1024)
PIECE = tl.constexpr(256)
LANES = tl.constexpr(8)
# One variant serves all sizes and addresses. By default Triton compiles a variant for each pattern of arguments that
# 16 divides, when it first meets the pattern, even while a graph is captured.
_ARGUMENTS = list(range(12))
Pair = tuple[Tensor, Tensor] | None
_compiled = partial(triton.jit, do_not_specialize=_ARGUMENTS, do_not_specialize_on_alignment=_ARGUMENTS)
# Whether a * b + c is rounded once: Triton's default is about to change.
_FUSED = {"enable_fp_fusion": True}


@_compiled
def _read(array, at, columns):
    """Read elements of a row, or 0 past its last column."""
    return tl.load(array + at, at < columns, 0.0)


@_compiled
def _coordinate_step(out, remaining, s, diagonal, active, columns, penalty):
    """Compute MANY elements of a row of `coordinate_step`."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * MANY + tl.arange(0, MANY)
    inside = at < columns
    place = row * columns + at
    g = tl.load(diagonal + at, inside, 1.0)
    x = tl.load(s + place, inside, 0.0)
    pull = tl.load(remaining + place, inside, 0.0) + x * g
    soft = tl.maximum(pull - penalty, 0.0) + tl.minimum(pull + penalty, 0.0)
    is_active = tl.load(active + row) != 0.0
    tl.store(out + place, tl.where(is_active, soft / g - x, 0.0), inside)


@_compiled
def _line_search(
    s, remaining, objective, active, direction, moved, lengths, count, columns, penalty, of_objective, of_norm
):
    """Search along one row: the first loop tries all lengths, the second moves by the chosen one."""
    row = tl.program_id(0).to(tl.int64)
    begin = row * columns
    s += begin
    remaining += begin
    direction += begin
    moved += begin
    lane = tl.arange(0, LANES)
    t = _read(lengths, lane, count)
    slopes = tl.zeros((PIECE,), tl.float32)
    curves = slopes
    norms = slopes
    after = tl.zeros((LANES,), tl.float32)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        d = _read(direction, at, columns)
        x = _read(s, at, columns)
        slopes += _read(remaining, at, columns) * d
        curves += _read(moved, at, columns) * d
        norms += tl.abs(x)
        tried = x[:, None] + t[None, :] * d[:, None]
        after += tl.sum(tl.abs(tried), 0)
    slope = tl.sum(slopes, 0)
    curve = tl.sum(curves, 0)
    norm = tl.sum(norms, 0)
    before = tl.load(objective + row)
    on = tl.load(active + row)
    change = 0.5 * t * t * curve - t * slope + penalty * (after - norm)
    enough = -of_objective * before - of_norm * penalty * norm
    lowers = (change < enough) & (t * on > 0.0)
    chosen = tl.min(tl.where(lowers, lane, lane + LANES), 0)
    is_chosen = lane == chosen
    taken = tl.sum(tl.where(is_chosen, t, 0.0), 0)
    gained = tl.sum(tl.where(is_chosen, change, 0.0), 0)
    limit = tl.where(chosen < LANES, columns, 0)  # columns before this one are written: none without a length
    # All threads read `objective` and `active`, and one writes them, after all have read: else a row takes two lengths.
    tl.debug_barrier()
    tl.store(objective + row, before + gained)
    tl.store(active + row, tl.where(chosen < LANES, 1.0, 0.0))
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        x = _read(s, at, limit) + taken * _read(direction, at, limit)
        tl.store(s + at, x, at < limit)
        c = _read(remaining, at, limit) - taken * _read(moved, at, limit)
        tl.store(remaining + at, c, at < limit)


def coordinate_step(
    out: Tensor, remaining: Tensor, s: Tensor, diagonal: Tensor, penalty: float, active: Tensor
) -> None:
    """Compute ``respeed.kernels.sparse.coordinate_step`` for contiguous arrays."""
    rows, columns = out.shape
    grid = rows, triton.cdiv(columns, MANY.value)
    _coordinate_step[grid](out, remaining, s, diagonal, active, columns, penalty, **_FUSED)


def line_search(
    s: Tensor, remaining: Tensor, objective: Tensor, active: Tensor, direction: Tensor, moved: Tensor,
    penalty: float, lengths: Tensor, of_objective: float, of_norm: float,
) -> None:  # fmt: skip
    """Compute ``respeed.kernels.sparse.line_search`` for contiguous arrays and up to 8 lengths."""
    rows, columns = s.shape
    numbers = len(lengths), columns, penalty, of_objective, of_norm
    _line_search[(rows,)](s, remaining, objective, active, direction, moved, lengths, *numbers, **_FUSED)


@_compiled
def _units(out, bias, first, second, state, size, columns, stride, second_stride, scale, draws):
    """Compute MANY elements of a matrix of `units`, and as many of the pair beside it."""
    matrix = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    at = block * MANY + tl.arange(0, MANY)
    inside = at < size
    out += matrix * stride
    c = _read(bias + matrix * columns, at % columns, columns)
    z = _read(out, at, size)
    h = tl.sigmoid(scale * z + c)
    tl.store(out + at, h, inside)
    second += matrix * second_stride
    if draws:
        passes = tl.load(state + 1)
        # No draw is another's: each four of a pass have an offset of their own, and each pass has 2^32 offsets.
        four = (matrix * tl.num_programs(1) + block) * PIECE
        offset = (passes << 32) + four + tl.arange(0, PIECE)
        seed = tl.load(state)
        u0, u1, u2, u3 = tl.rand4x(seed, offset)
        pairs = tl.join(u0, u1)
        fours = tl.join(pairs, tl.join(u2, u3))
        u = tl.reshape(fours, (MANY,))
        first += matrix * size
        tl.store(first + at, u, inside)
        sample = tl.where(u < h, 1.0, 0.0)
        tl.store(second + at, sample, inside)
        # The program that ends last counts the pass, when all threads of all programs have read how many there were.
        tl.debug_barrier()
        ended = tl.atomic_add(state + 2, 1) + 1
        if ended == tl.num_programs(0) * tl.num_programs(1):
            tl.store(state + 2, 0)
            tl.store(state + 1, passes + 1)
    elif second_stride:
        x = _read(first, at, size)
        tl.store(second + at, -x, inside)


def units(out: Tensor, bias: Tensor, scale: float, state: Tensor, sampled: Pair = None, negated: Pair = None) -> None:
    """Compute out <- sigmoid(scale out + bias) for a matrix, or a stack whose matrices each have a bias.

    Of a pair `sampled`, the first array is drawn anew from [0, 1), and the second is 1 where its draw is below `out`,
    else 0. Of a pair `negated`, contiguous and as large as a matrix, the second is made the first's negative.

    Parameters
    ----------
    state : (3,)
        Philox's key, the passes that it has drawn for, and how many programs of a pass have ended.
    """
    first, second = sampled or negated or (out, out)
    rows, columns = out.shape[-2:]
    size = rows * columns
    matrices = out.numel() // size
    grid = matrices, triton.cdiv(size, MANY.value)
    stride = 0 if second is out else second.stride(0)
    arrays = out, bias, first, second, state
    numbers = size, columns, out.stride(0), stride, scale, bool(sampled)
    _units[grid](*arrays, *numbers, **_FUSED)


@_compiled
def _add_up(image, sums, side, patches, batch, pixels):
    """Compute MANY elements of a tile of an image."""
    tile = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * MANY + tl.arange(0, MANY)
    tiles = side + 1 - patches
    size = batch * pixels
    image += tile * size
    total = _read(image, at, size)
    for k in range(tiles * tiles):
        row = tile // side - k // tiles
        column = tile % side - k % tiles
        is_inside = (tl.minimum(row, column) >= 0) & (tl.maximum(row, column) < patches)
        limit = tl.where(is_inside, size, 0)  # elements before this one are read
        example = (row * patches + column) * batch + at // pixels
        begin = (example * tiles * tiles + k) * pixels
        total += tl.load(sums + begin + at % pixels, at < limit, 0.0)
    tl.store(image + at, total, at < size)


def add_up(image: Tensor, sums: Tensor) -> None:
    """Add what overlapping patches give to their pixels, in one pass over the image.

    Parameters
    ----------
    image, sums : (G, G, B, n), (R R, B, K K n)
        As in the workload `patches`: a patch (i, j) has the tiles from (i, j) to (i + K - 1, j + K - 1).
    """
    side, _, batch, pixels = image.shape
    patches = math.isqrt(len(sums))
    blocks = triton.cdiv(batch * pixels, MANY.value)
    _add_up[(side * side, blocks)](image, sums, side, patches, batch, pixels, **_FUSED)


def compile_for(device: torch.device) -> None:
    """Compile all kernels for a device, and run them there on one element."""
    matrix = torch.ones(1, 1, device=device)
    vector = matrix[0]
    coordinate_step(matrix, matrix, matrix, vector, 1.0, vector)
    line_search(matrix, matrix, vector, vector, matrix, matrix, 1.0, vector, 0.0, 0.0)
    add_up(matrix[None, None], matrix[None])
    state = vector.new_zeros(3, dtype=torch.int64)
    units(matrix, vector, 1.0, state, sampled=(matrix, matrix))
