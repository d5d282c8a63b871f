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
def _unit(out, bias, at, place, inside, columns, scale):
    """Compute sigmoid(scale z + bias) for elements of a matrix z, in its place."""
    z = tl.load(out + place, inside, 0.0)
    c = tl.load(bias + at % columns, inside, 0.0)
    h = tl.sigmoid(scale * z + c)
    tl.store(out + place, h, inside)
    return h


@_compiled
def _units(out, bias, source, negated, size, beside, columns, stride, scale):
    """Compute MANY elements of a matrix of `units`, and as many of the negated array."""
    matrix = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * MANY + tl.arange(0, MANY)
    _unit(out, bias + matrix * columns, at, matrix * stride + at, at < size, columns, scale)
    tl.store(negated + at, -tl.load(source + at, at < beside, 0.0), at < beside)


@_compiled
def _sampled(out, sample, draws, bias, at, matrix, u, size, columns, stride, sample_stride, scale):
    """Compute elements of a matrix of `sampled_units`, given their draws."""
    inside = at < size
    h = _unit(out, bias, at, matrix * stride + at, inside, columns, scale)
    tl.store(draws + matrix * size + at, u, inside)
    tl.store(sample + matrix * sample_stride + at, tl.where(u < h, 1.0, 0.0), inside)


@_compiled
def _sampled_units(out, sample, draws, bias, state, size, columns, stride, sample_stride, scale):
    """Compute four times PIECE elements of a matrix: Philox makes four numbers at once."""
    matrix = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    lane = tl.arange(0, PIECE)
    seed = tl.load(state)
    passes = tl.load(state + 1)
    # No number of a pass is one of another: each place has an offset of its own, and each pass 2^32 of them.
    offset = (matrix * tl.num_programs(1) + block) * PIECE + lane
    u0, u1, u2, u3 = tl.rand4x(seed, (passes << 32) + offset)
    bias += matrix * columns
    at = block * 4 * PIECE + lane
    _sampled(out, sample, draws, bias, at, matrix, u0, size, columns, stride, sample_stride, scale)
    _sampled(out, sample, draws, bias, at + PIECE, matrix, u1, size, columns, stride, sample_stride, scale)
    _sampled(out, sample, draws, bias, at + 2 * PIECE, matrix, u2, size, columns, stride, sample_stride, scale)
    _sampled(out, sample, draws, bias, at + 3 * PIECE, matrix, u3, size, columns, stride, sample_stride, scale)
    # The program that ends last counts the pass, when all threads of all programs have read how many there were.
    tl.debug_barrier()
    ended = tl.atomic_add(state + 2, 1) + 1
    if ended == tl.num_programs(0) * tl.num_programs(1):
        tl.store(state + 2, 0)
        tl.store(state + 1, passes + 1)


@_compiled
def _overlap(image, sums, bias, side, tiles, patches, batch, pixels):
    """Compute MANY elements of a tile of an image."""
    tile = tl.program_id(0)
    at = tl.program_id(1) * MANY + tl.arange(0, MANY)
    size = batch * pixels
    inside = at < size
    example = at // pixels
    pixel = at % pixels
    total = tl.load(bias + tile * pixels + pixel, inside, 0.0)
    for i in range(tiles):
        for j in range(tiles):
            row = tile // side - i
            column = tile % side - j
            is_patch = (tl.minimum(row, column) >= 0) & (tl.maximum(row, column) < patches)
            limit = tl.where(is_patch, size, 0)  # elements before this one are read
            patch = (row * patches + column).to(tl.int64)
            place = ((patch * batch + example) * tiles * tiles + i * tiles + j) * pixels + pixel
            total += tl.load(sums + place, at < limit, 0.0)
    tl.store(image + tile.to(tl.int64) * size + at, tl.sigmoid(total), inside)


@_compiled
def _gradient_step(after, before, product, cross, columns, rate):
    """Compute a row of `gradient_step`: the first loop moves it, the second scales it."""
    begin = tl.program_id(0).to(tl.int64) * columns
    squares = tl.zeros((PIECE,), tl.float32)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        moved = _moved(begin + at, at < columns, before, product, cross, rate)
        squares += moved * moved
    scale = 1.0 / tl.maximum(tl.sqrt(tl.sum(squares, 0)), 1.0)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        moved = _moved(begin + at, at < columns, before, product, cross, rate)
        tl.store(after + begin + at, scale * moved, at < columns)


@_compiled
def _moved(place, inside, before, product, cross, rate):
    """Compute B - r (A B - C) for elements of a row."""
    gradient = tl.load(product + place, inside, 0.0) - tl.load(cross + place, inside, 0.0)
    return tl.load(before + place, inside, 0.0) - rate * gradient


def gradient_step(after: Tensor, before: Tensor, product: Tensor, cross: Tensor, rate: float) -> None:
    """Compute ``respeed.kernels.sparse.gradient_step`` for contiguous arrays."""
    rows, columns = after.shape
    _gradient_step[(rows,)](after, before, product, cross, columns, rate, **_FUSED)


def overlap(image: Tensor, sums: Tensor, bias: Tensor) -> None:
    """Compute sigmoid(what overlapping patches give to each pixel, and its bias).

    Parameters
    ----------
    image, sums, bias : (G, G, B, n), (R R, B, K K n), (G, G, 1, n)
        As in the workload `patches`: a patch (i, j) has the tiles from (i, j) to (i + K - 1, j + K - 1).
    """
    side, _, batch, pixels = image.shape
    patches = math.isqrt(len(sums))
    grid = side * side, triton.cdiv(batch * pixels, MANY.value)
    _overlap[grid](image, sums, bias, side, side + 1 - patches, patches, batch, pixels, **_FUSED)


def units(
    out: Tensor, bias: Tensor, scale: float = 1.0, source: Tensor | None = None, negated: Tensor | None = None
) -> None:
    """Compute out <- sigmoid(scale out + bias) for a matrix, or a stack whose matrices each have a bias.

    If `source` and `negated` are given, which are contiguous and at most as large as a matrix, negated <- -source.
    """
    matrices, size, columns = _shape(out)
    grid = matrices, triton.cdiv(size, MANY.value)
    if source is None or negated is None:
        _units[grid](out, bias, out, out, size, 0, columns, out.stride(0), scale, **_FUSED)
    else:
        _units[grid](out, bias, source, negated, size, source.numel(), columns, size, scale, **_FUSED)


def make_state(seed: int, device: torch.device | str) -> Tensor:
    """Return a state of Philox for `sampled_units`: its key, the passes made, and the programs of a pass that ended."""
    return torch.tensor([seed % 2**63, 0, 0], device=device)


def sampled_units(out: Tensor, bias: Tensor, draws: Tensor, sample: Tensor, state: Tensor, scale: float = 1.0) -> None:
    """Compute `units`, and sample <- draws < out, where the draws, from [0, 1), are made anew."""
    matrices, size, columns = _shape(out)
    grid = matrices, triton.cdiv(size, 4 * PIECE.value)
    strides = out.stride(0), sample.stride(0)
    _sampled_units[grid](out, sample, draws, bias, state, size, columns, *strides, scale, **_FUSED)


def _shape(out: Tensor) -> tuple[int, int, int]:
    """Return the number of matrices, and the elements and columns of each."""
    rows, columns = out.shape[-2:]
    return (len(out) if out.dim() == 3 else 1), rows * columns, columns


def compile_for(device: torch.device) -> None:
    """Compile all kernels for a device, and run them there on one element."""
    matrix = torch.ones(1, 1, device=device)
    vector = matrix[0]
    coordinate_step(matrix, matrix, matrix, vector, 1.0, vector)
    line_search(matrix, matrix, vector, vector, matrix, matrix, 1.0, vector, 0.0, 0.0)
    gradient_step(matrix, matrix, matrix, matrix, 0.0)
    overlap(matrix[None, None], matrix[None], matrix[None, None])
    units(matrix, vector)
    sampled_units(matrix, vector, matrix.clone(), matrix.clone(), make_state(1, device))
