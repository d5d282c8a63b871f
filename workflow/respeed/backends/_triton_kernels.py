"""What comes between products, as one kernel each: written in Triton, compiled where a CUDA device asks for it.

All compute in fp32 whatever the arrays are of, and round when they write. Every load and store is masked by the sizes.
"""

# What a kernel is given has the types of the call.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

import triton
import triton.language as tl

# Elements of a program that takes any; and of a pass of a program that has a row.
MANY = tl.constexpr(1024)
PIECE = tl.constexpr(256)
# The most lengths that a line search may have.
LANES = tl.constexpr(8)
# Whether a * b + c is rounded once: what Triton does unless told otherwise is about to change.
FUSED = {"enable_fp_fusion": True}


def sigmoid(
    out, bias, draws, sample, inner, columns, out_gap, sample_gap, scale, BIASED: tl.constexpr, SAMPLED: tl.constexpr
):
    """Matrices, each without gaps (`inner` elements), so far apart: out <- scale p with p = sigmoid(out + bias), and
    sample <- 1 where a draw is below p, else 0."""
    matrix = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * MANY + tl.arange(0, MANY)
    here = at < inner
    out += matrix * out_gap + at
    z = tl.load(out, here, 0.0).to(tl.float32)
    if BIASED:
        z += tl.load(bias + matrix * columns + at % columns, here, 0.0).to(tl.float32)
    p = (1.0 / (1.0 + tl.exp(-z))).to(out.dtype.element_ty)  # compared as it is written
    if SAMPLED:
        drawn = tl.load(draws + matrix * inner + at, here, 1.0)
        one = tl.where(drawn < p.to(tl.float32), 1.0, 0.0).to(sample.dtype.element_ty)
        tl.store(sample + matrix * sample_gap + at, one, here)
    tl.store(out, (p.to(tl.float32) * scale).to(out.dtype.element_ty), here)


def mask(x, draws, out, count, share):
    """out <- x, but 0 where a draw is below `share`."""
    at = tl.program_id(0) * MANY + tl.arange(0, MANY)
    here = at < count
    drawn, value = tl.load(draws + at, here, 0.0), tl.load(x + at, here, 0.0)
    tl.store(out + at, tl.where(drawn >= share, value, 0.0).to(out.dtype.element_ty), here)


def softmax_error(logits, labels, out, costs, columns):
    """A row: its cost, and softmax less one at its label. The largest logit is taken off before exp."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * columns
    out += row * columns
    largest = tl.full((PIECE,), -float("inf"), tl.float32)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        largest = tl.maximum(largest, tl.load(logits + at, at < columns, -float("inf")).to(tl.float32))
    top = tl.max(largest, 0)
    sums = tl.zeros((PIECE,), tl.float32)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        sums += tl.exp(tl.load(logits + at, at < columns, -float("inf")).to(tl.float32) - top)
    log_sum = tl.log(tl.sum(sums, 0))
    label = tl.load(labels + row)
    cost = log_sum - (tl.load(logits + label).to(tl.float32) - top)
    tl.store(costs + row, cost.to(costs.dtype.element_ty))
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        p = tl.exp(tl.load(logits + at, at < columns, -float("inf")).to(tl.float32) - top - log_sum)
        tl.store(out + at, tl.where(at == label, p - 1.0, p).to(out.dtype.element_ty), at < columns)


def coordinate_step(left, coefficients, diagonal, going, out, count, columns, penalty):
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
    """A row: in one pass its slope, its curve, and its norm after each length; then the first length that will do."""
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


def gradient_step(bases, product, target, out, columns, rate):
    """A row: twice computed, first for its norm."""
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((PIECE,), tl.float32)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        here, place = at < columns, row * columns + at
        gradient = tl.load(product + place, here, 0.0) - tl.load(target + place, here, 0.0)
        new = tl.load(bases + place, here, 0.0) - rate * gradient
        squares += new * new
    scale = 1.0 / tl.maximum(tl.sqrt(tl.sum(squares, 0)), 1.0)
    for first in range(0, columns, PIECE):
        at = first + tl.arange(0, PIECE)
        here, place = at < columns, row * columns + at
        gradient = tl.load(product + place, here, 0.0) - tl.load(target + place, here, 0.0)
        new = tl.load(bases + place, here, 0.0) - rate * gradient
        tl.store(out + place, new * scale, here)


class Compiled:
    """A kernel in its two variants: pointers and whole numbers that are all multiples of 16, so that 16 bytes are moved
    at once, and any. By itself Triton compiles one for each pattern that it meets, also in the midst of a capture.
    """

    def __init__(self, kernel, pointers: int, wholes: int) -> None:
        self._free = list(range(pointers + wholes))
        self._pointers, self._wholes = pointers, wholes
        self._sixteens = triton.jit(kernel)
        self._any = triton.jit(kernel, do_not_specialize=self._free, do_not_specialize_on_alignment=self._free)

    def __call__(self, grid: tuple[int, ...], *arguments, **constants) -> None:
        addresses = [array.data_ptr() for array in arguments[: self._pointers]]
        numbers = arguments[self._pointers : self._pointers + self._wholes]
        aligned = not any(number % 16 for number in (*addresses, *numbers))
        (self._sixteens if aligned else self._any)[grid](*arguments, **FUSED, **constants)

    def variants(self) -> int:
        """How many were compiled so far."""
        return sum(len(cache[0]) for kernel in (self._sixteens, self._any) for cache in kernel.device_caches.values())


SIGMOID = Compiled(sigmoid, 4, 4)
MASK = Compiled(mask, 3, 1)
SOFTMAX_ERROR = Compiled(softmax_error, 4, 1)
COORDINATE_STEP = Compiled(coordinate_step, 5, 2)
LINE_SEARCH = Compiled(line_search, 7, 1)
GRADIENT_STEP = Compiled(gradient_step, 4, 1)
