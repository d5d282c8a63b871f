"""The kernels as operators of torch's, `torch.ops.respeed`: its dispatcher, and who listens to it such as a profiler,
sees each as one operation with what it reads and what it writes."""

import torch

from respeed.backends import _triton_kernels as kernels

# The most that a line search may have.
LENGTHS: int = kernels.LANES.value
MANY: int = kernels.MANY.value

_library = torch.library.Library("respeed", "DEF")
_library.define("sigmoid(Tensor(a!) out, Tensor? bias, float scale) -> ()")
_library.define("sample(Tensor(a!) out, Tensor? bias, Tensor draws, Tensor(b!) sample, float scale) -> ()")
_library.define("mask(Tensor x, Tensor draws, float share, Tensor(a!) out) -> ()")
_library.define("softmax_error(Tensor logits, Tensor labels, Tensor(a!) out, Tensor(b!) costs) -> ()")
_library.define(
    "coordinate_step(Tensor left, Tensor coefficients, Tensor diagonal, float penalty, Tensor going, Tensor(a!) out)"
    " -> ()"
)
_library.define(
    "line_search(Tensor direction, Tensor moved, Tensor(a!) left, Tensor(b!) coefficients, float penalty,"
    " Tensor steps, float least, Tensor(c!) objective, Tensor(d!) going) -> ()"
)
_library.define("gradient_step(Tensor bases, Tensor product, Tensor target, float rate, Tensor(a!) out) -> ()")


def sigmoid(out: torch.Tensor, bias: torch.Tensor | None, scale: float) -> None:
    _sigmoid(out, bias, None, out, scale)


def sample(
    out: torch.Tensor, bias: torch.Tensor | None, draws: torch.Tensor, sample: torch.Tensor, scale: float
) -> None:
    _sigmoid(out, bias, draws, sample, scale)


def _sigmoid(
    out: torch.Tensor, bias: torch.Tensor | None, draws: torch.Tensor | None, sample: torch.Tensor, scale: float
) -> None:
    stack, samples = (array if array.dim() == 3 else array[None] for array in (out, sample))
    inner, columns = stack[0].numel(), stack.shape[2]
    # What a kernel does not use stands for itself: of a type of its own, it would be another variant.
    kernels.SIGMOID(
        (_blocks(inner), len(stack)),
        out, out if bias is None else bias, out if draws is None else draws, sample,
        inner, columns, stack.stride(0), samples.stride(0), scale,
        BIASED=bias is not None, SAMPLED=draws is not None,
    )  # fmt: skip


def mask(x: torch.Tensor, draws: torch.Tensor, share: float, out: torch.Tensor) -> None:
    kernels.MASK((_blocks(out.numel()),), x, draws, out, out.numel(), share)


def softmax_error(logits: torch.Tensor, labels: torch.Tensor, out: torch.Tensor, costs: torch.Tensor) -> None:
    rows, columns = logits.shape
    kernels.SOFTMAX_ERROR((rows,), logits, labels, out, costs, columns)


def coordinate_step(
    left: torch.Tensor,
    coefficients: torch.Tensor,
    diagonal: torch.Tensor,
    penalty: float,
    going: torch.Tensor,
    out: torch.Tensor,
) -> None:
    arrays, count, columns = (left, coefficients, diagonal, going, out), out.numel(), out.shape[1]
    kernels.COORDINATE_STEP((_blocks(count),), *arrays, count, columns, penalty)


def line_search(
    direction: torch.Tensor,
    moved: torch.Tensor,
    left: torch.Tensor,
    coefficients: torch.Tensor,
    penalty: float,
    steps: torch.Tensor,
    least: float,
    objective: torch.Tensor,
    going: torch.Tensor,
) -> None:
    rows, columns = direction.shape
    arrays = direction, moved, left, coefficients, steps, objective, going
    kernels.LINE_SEARCH((rows,), *arrays, columns, penalty, least)


def gradient_step(
    bases: torch.Tensor, product: torch.Tensor, target: torch.Tensor, rate: float, out: torch.Tensor
) -> None:
    rows, columns = bases.shape
    kernels.GRADIENT_STEP((rows,), bases, product, target, out, columns, rate)


def _blocks(elements: int) -> int:
    return -(-elements // MANY)


for _operator in (sigmoid, sample, mask, softmax_error, coordinate_step, line_search, gradient_step):
    _library.impl(_operator.__name__, _operator, "CUDA")
