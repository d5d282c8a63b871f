"""The two Triton kernels: their numbers by Triton's interpreter, and what is compiled for a GPU.

Triton reads whether it interprets when it is imported: for the numbers this file is run as a script of its own.
"""

import os
import re
import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from respeed.kernels import sparse
from respeed.workloads import sparse_coding

pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
# Elements before and behind an array.
GUARD = 64
FEW = settings(max_examples=8, deadline=None, derandomize=True)
SIZES = st.tuples(st.integers(1, 5), st.integers(1, 1100))
LENGTHS = torch.tensor(sparse_coding.LENGTHS)


def test_fused_kernels_agree_with_compiled_passes() -> None:
    """The kernels agree with the compiled passes and write nowhere else."""
    interpreted = os.environ | {"TRITON_INTERPRET": "1"}
    ran = subprocess.run([sys.executable, __file__], env=interpreted, capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "right", ran.stderr[-3000:]


def test_a_line_search_reads_before_it_writes() -> None:
    """Its objective, and whether it goes on, are read by all threads and written by one."""
    lines = line_search_for(80).splitlines()
    stores = [place for place, line in enumerate(lines) if "st.global" in line][:2]
    addresses = [re.findall(r"\[\s*(%rd\d+)", lines[place])[0] for place in stores]
    assert len(set(addresses)) == 2
    for store, address in zip(stores, addresses, strict=True):
        loads = [place for place in range(store) if "ld.global" in lines[place] and f"[ {address} " in lines[place]]
        assert loads
        assert any("bar.sync" in line for line in lines[loads[-1] : store])


def test_a_kernel_compiles_once_for_all_sizes() -> None:
    from respeed.kernels.fused import _coordinate_step, _line_search

    parameters = [*_coordinate_step.params, *_line_search.params]
    assert all(one.do_not_specialize and one.do_not_specialize_on_alignment for one in parameters)


def line_search_for(capability: int) -> str:
    """What a GPU of that kind is given: Triton needs none to compile for it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from respeed.kernels import fused

    kinds = {"count": "i32", "columns": "i32"} | dict.fromkeys(("penalty", "of_objective", "of_norm"), "fp32")
    signature = {one: kinds.get(one, "*fp32") for one in fused._line_search.arg_names}
    source = ASTSource(fn=fused._line_search, signature=signature, constexprs={})
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=fused._FUSED)
    return str(made.asm["ptx"])


def guarded(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The values in the midst of an array of sevens, and that array."""
    around = torch.full((values.numel() + 2 * GUARD,), 7.0)
    inside = around[GUARD:-GUARD].view(values.shape)
    inside.copy_(values)
    return inside, around


def compare(name: str, arrays: list[torch.Tensor], *rest: Any) -> None:
    """A pass as Triton, Numba and torch do it, on the same arrays: nothing is written beside them."""
    from respeed.kernels import fused

    guards = [guarded(array) for array in arrays]
    getattr(fused, name)(*(inside for inside, _ in guards), *rest)
    compiled = sparse_coding._on_memory_of(getattr(sparse, name))
    for way in (compiled, getattr(sparse_coding, f"_torch_{name}")):
        theirs = [array.clone() for array in arrays]
        way(*theirs, *rest)
        for (inside, around), wanted in zip(guards, theirs, strict=True):
            torch.testing.assert_close(inside, wanted, rtol=1e-4, atol=1e-4, msg=f"{name} is wrong")
            assert (around[:GUARD] == 7).all(), f"{name} writes before its array"
            assert (around[-GUARD:] == 7).all(), f"{name} writes behind its array"


def some_go_on(rows: int) -> torch.Tensor:
    """Every third row is done."""
    return (torch.arange(rows) % 3 < 2).float()


@FEW
@given(SIZES)
def a_coordinate_step(sizes: Any) -> None:
    going, arrays = some_go_on(sizes[0]), [torch.randn(sizes) for _ in "123"]
    compare("coordinate_step", [*arrays, torch.rand(sizes[1]) + 0.5], 0.3, going)


@FEW
@given(SIZES, st.sampled_from([0.0, 0.05]))
@example((5, 700), 0.0)
@example((5, 544), 0.05)
def a_row_takes_the_first_length_that_will_do(sizes: Any, of_norm: float) -> None:
    rows = sizes[0]
    moved, left, s = (0.1 * torch.randn(sizes) for _ in range(3))
    # Down the slope, but for every fifth row, which finds no length.
    direction = left * torch.where(torch.arange(rows)[:, None] % 5 < 4, 1.0, -1.0)
    arrays = [s, left, 1 + torch.rand(rows), some_go_on(rows), direction, moved]
    compare("line_search", arrays, 0.3, LENGTHS, 1e-3, of_norm)


if __name__ == "__main__":
    from respeed.kernels.fused import compile_for

    torch.manual_seed(1)
    compile_for(torch.device("cpu"))
    a_coordinate_step()
    a_row_takes_the_first_length_that_will_do()
    print("right")
