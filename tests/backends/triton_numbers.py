"""The kernels by Triton's interpreter, against torch's operations: run by test_triton_kernels.py with TRITON_INTERPRET
set, which Triton reads when it is imported."""

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.backends import _torch_triton
from respeed.backends._torch_between import ByTorch
from respeed.backends._torch_fused import NEAR, prove
from respeed.backends._torch_triton import ByTriton

NAMES = ("sigmoid", "sample", "mask", "softmax_error", "coordinate_step", "line_search", "gradient_step")
HOST = torch.device("cpu")
SIZES = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 700))
FEW = settings(max_examples=12, deadline=None, derandomize=True)

_library = torch.library.Library("respeed", "IMPL")
for _name in NAMES:
    _library.impl(_name, getattr(_torch_triton, _name), "CPU")


def scratch(like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
    return torch.empty(like.shape, dtype=dtype or like.dtype)


def guarded(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The values in the midst of an array of sevens, and that array."""
    around = torch.full((values.numel() + 128,), 7.0, dtype=values.dtype)
    inside = around[64:-64].view(values.shape)
    inside.copy_(values)
    return inside, around


def untouched(around: torch.Tensor) -> bool:
    return bool((around[:64] == 7).all() and (around[-64:] == 7).all())


def all_are_proved() -> None:
    for dtype in NEAR:
        prove(ByTriton(scratch), ByTorch(scratch), HOST, dtype)


@FEW
@given(SIZES, st.booleans(), st.sampled_from([1.0, -1.0]), st.sampled_from(list(NEAR)))
def a_sample_is_what_its_draws_say(sizes: Any, biased: bool, scale: float, dtype: torch.dtype) -> None:
    stack, rows, columns = sizes
    z, bias = torch.randn(stack, rows, columns).to(dtype), torch.randn(stack, 1, columns).to(dtype)
    draws = torch.rand(stack, rows, columns)
    whole = torch.zeros(stack, 2 * rows, columns, dtype=dtype)  # as both phases lie in one array
    out, (sample, around) = whole[:, :rows], guarded(torch.zeros_like(z))
    out.copy_(z)
    ByTriton(scratch).sample(out, bias if biased else None, draws, sample, scale)
    relative, absolute = NEAR[dtype]
    wanted = scale * torch.sigmoid(z.float() + (bias.float() if biased else 0.0))
    torch.testing.assert_close(out.float(), wanted, rtol=relative, atol=absolute)
    assert torch.equal(sample.float(), (draws < scale * out.float()).float())
    assert untouched(around)
    assert (whole[:, rows:] == 0).all()


@FEW
@given(SIZES, st.sampled_from([0.0, 0.05]))
def a_row_takes_the_first_length_that_will_do(sizes: Any, of_norm: float) -> None:
    lengths, (_, rows, columns) = (3.0, 1.0, 0.1, 0.03, 0.01), sizes
    given_ = [guarded(0.1 * torch.randn(rows, columns)) for _ in range(4)]
    objective, going = 1 + torch.rand(rows, 1), (torch.rand(rows, 1) < 0.8).float()
    mine = [inside for inside, _ in given_] + [objective, going]
    theirs = [array.clone() for array in mine]
    for way, arrays in ((ByTriton(scratch), mine), (ByTorch(scratch), theirs)):
        way.line_search(*arrays[:4], 0.3, lengths, 1e-3, *arrays[4:], of_norm)
    for found, wanted in zip(mine, theirs, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    assert all(untouched(around) for _, around in given_)


def large_logits_have_a_softmax() -> None:
    """Of numbers whose exp has none."""
    logits, labels = torch.tensor([[200.0, 199.0, -200.0]]), torch.tensor([1])
    out, costs = torch.zeros(1, 3), torch.zeros(1, 1)
    ByTriton(scratch).softmax_error(logits, labels, out, costs)
    torch.testing.assert_close(out, torch.softmax(logits, 1) - torch.tensor([[0.0, 1.0, 0.0]]))
    torch.testing.assert_close(costs[0], -torch.log_softmax(logits, 1)[0, labels])


if __name__ == "__main__":
    all_are_proved()
    large_logits_have_a_softmax()
    a_sample_is_what_its_draws_say()
    a_row_takes_the_first_length_that_will_do()
    print("proved")
