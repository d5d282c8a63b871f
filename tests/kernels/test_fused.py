"""The Triton kernels: their numbers by Triton's interpreter, and what is compiled for a GPU.

Triton reads whether it interprets when it is imported: for the numbers this file is run as a script of its own.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from threading import Lock
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from respeed.kernels import sparse
from respeed.workloads import sparse_coding
from respeed.workloads.patches import _add_up, _windows
from tests.conformance.programs import build, case_of, is_right, make

pytest.importorskip("triton", reason="Triton comes with torch on Linux alone")
# Elements before and behind an array.
GUARD = 64
FEW = settings(max_examples=8, deadline=None, derandomize=True)
SIZES = st.tuples(st.integers(1, 5), st.integers(1, 1100))
LENGTHS = torch.tensor(sparse_coding.LENGTHS)
KERNELS = ("_coordinate_step", "_line_search", "_units", "_add_up")
# The kinds of the kernels' arguments that are no arrays of fp32.
KINDS = {
    "state": "*i64",
    **dict.fromkeys(("penalty", "of_objective", "of_norm", "scale"), "fp32"),
    **dict.fromkeys(("count", "columns", "size", "stride", "second_stride"), "i32"),
    "draws": "i1",
    **dict.fromkeys(("side", "patches", "batch", "pixels"), "i32"),
}


@pytest.mark.parametrize("checks", ["sparse_coding", "units", "steps"])
def test_fused_kernels_agree_with_other_passes(checks: str) -> None:
    """The kernels agree with the passes of torch and Numba and write nowhere else; steps made of them are right."""
    interpreted = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    script = [sys.executable, __file__, checks]
    ran = subprocess.run(script, env=interpreted, capture_output=True, text=True, timeout=240, check=False)
    assert ran.stdout.strip() == "right", ran.stderr[-3000:]


def test_a_line_search_reads_before_it_writes() -> None:
    """Its objective, and whether it goes on, are read by all threads and written by one."""
    lines = compiled_for(80, "_line_search").splitlines()
    stores = [place for place, line in enumerate(lines) if "st.global" in line][:2]
    addresses = [re.findall(r"\[\s*(%rd\d+)", lines[place])[0] for place in stores]
    assert len(set(addresses)) == 2
    for store, address in zip(stores, addresses, strict=True):
        loads = [place for place in range(store) if "ld.global" in lines[place] and f"[ {address} " in lines[place]]
        assert loads
        assert any("bar.sync" in line for line in lines[loads[-1] : store])


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_compiles_once_for_all_sizes(name: str) -> None:
    from respeed.kernels import fused

    parameters = getattr(fused, name).params
    assert all(one.do_not_specialize and one.do_not_specialize_on_alignment for one in parameters)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_compiles_for_an_h200(name: str) -> None:
    assert compiled_for(90, name)


def test_a_pass_is_counted_after_all_have_read() -> None:
    """All threads of a program have read the state of Philox before it says that it ended."""
    lines = compiled_for(90, "_units").splitlines()
    ends = next(place for place, line in enumerate(lines) if "atom.global" in line)
    read = [place for place, line in enumerate(lines) if "ld.global.b64" in line]
    assert read
    assert any("bar.sync" in line for line in lines[max(read) : ends])


def compiled_for(capability: int, name: str) -> str:
    """What a GPU of that kind is given: Triton needs none to compile for it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from respeed.kernels import fused

    kernel = getattr(fused, name)
    signature = {one: KINDS.get(one, "*fp32") for one in kernel.arg_names}
    source = ASTSource(fn=kernel, signature=signature, constexprs={})
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


def state_of(seed: int) -> torch.Tensor:
    """A state of Philox, by which no pass was drawn."""
    return torch.tensor([seed, 0, 0])


STACKS = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 300))


@FEW
@given(STACKS, st.sampled_from([1.0, -1.0]))
@example((2, 8, 128), -1.0)
def units_of_a_stack(sizes: Any, scale: float) -> None:
    from respeed.kernels import fused

    z = torch.randn(sizes)
    bias = torch.randn(sizes[0], 1, sizes[2])
    both, around = guarded(torch.cat([z, z], dim=1))
    rows = sizes[1]
    fused.units(both[:, :rows], bias, scale, state_of(7))
    assert_right(both, around, torch.cat([(scale * z + bias).sigmoid(), z], dim=1))


@FEW
@given(SIZES)
def units_beside_a_negated_array(sizes: Any) -> None:
    from respeed.kernels import fused

    z, x = torch.randn(sizes), torch.randn(sizes)
    bias = torch.randn(sizes[1])
    both, around = guarded(torch.cat([z, z]))
    negated, out = both.chunk(2)
    fused.units(out, bias, 1.0, state_of(7), negated=(x, negated))
    assert_right(both, around, torch.cat([-x, (z + bias).sigmoid()]))


@FEW
@given(STACKS)
@example((2, 8, 128))
def samples_follow_from_their_draws(sizes: Any) -> None:
    from respeed.kernels import fused

    z = torch.randn(sizes)
    bias = torch.randn(sizes[0], 1, sizes[2])
    rows = sizes[1]
    both, around = guarded(torch.cat([z, z], dim=1))
    draws, around_draws = guarded(z)
    state = state_of(7)
    fused.units(both[:, :rows], bias, 1.0, state, sampled=(draws, both[:, rows:]))
    h = (z + bias).sigmoid()
    torch.testing.assert_close(both[:, :rows], h)
    assert_right(both, around, torch.cat([both[:, :rows], (draws < both[:, :rows]).float()], dim=1))
    assert_right(draws, around_draws, draws.clamp(0.0, 1.0 - 2**-24))
    assert state.tolist() == [7, 1, 0]


def no_draw_comes_twice() -> None:
    """Draws are uniform, and others in each place, in each pass and by each seed."""
    from respeed.kernels import fused

    passes = []
    for seed in (7, 8):
        state = state_of(seed)
        for _ in range(3):
            h, draws, sample = torch.zeros(3, 2, 40, 97)
            fused.units(h, torch.zeros(2, 1, 97), 1.0, state, sampled=(draws, sample))
            passes.append(draws)
    numbers = torch.stack(passes).flatten()
    # Of n numbers of 31 bits, far fewer than one in a thousand comes again by chance.
    assert len(numbers.unique()) > 0.99 * len(numbers)
    share = torch.histc(numbers, 16, 0.0, 1.0) / len(numbers)
    torch.testing.assert_close(share, torch.full((16,), 1 / 16), rtol=0.06, atol=0.0)


@FEW
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5), st.integers(1, 7))
@example(2, 2, 19, 64)
def patches_overlap(tiles: int, patches: int, batch: int, pixels: int) -> None:
    from respeed.kernels import fused

    side = patches + tiles - 1
    sums = torch.randn(patches**2, batch, tiles**2 * pixels)
    wanted = torch.randn(side, side, batch, pixels)
    image, around = guarded(wanted)
    fused.add_up(image, sums)
    locks = [Lock() for _ in range(tiles)]
    _add_up(sums, _windows(wanted, tiles), locks)
    assert_right(image, around, wanted)


def assert_right(inside: torch.Tensor, around: torch.Tensor, wanted: torch.Tensor) -> None:
    """The array has the numbers, and nothing was written beside it."""
    torch.testing.assert_close(inside, wanted, rtol=1e-5, atol=1e-6)
    assert (around[:GUARD] == 7).all()
    assert (around[-GUARD:] == 7).all()


def steps_are_right() -> None:
    """Whole steps agree with float64, by the check of their workload."""
    sizes = {"rbm": {}, "rbm_pcd": {"gibbs": 2}, "patches": {"side": 9, "patch": 6, "stride": 3, "batch": 5}}
    for name, changed in sizes.items():
        row = make("torch")
        row.in_pieces = False
        row.fuse(3)
        assert is_right(build(row, case_of(name, "smoke", **changed))), name


CHECKS: dict[str, tuple[Callable[[], None], ...]] = {
    "sparse_coding": (a_coordinate_step, a_row_takes_the_first_length_that_will_do),
    "units": (
        units_of_a_stack,
        units_beside_a_negated_array,
        samples_follow_from_their_draws,
        no_draw_comes_twice,
        patches_overlap,
    ),
    "steps": (steps_are_right,),
}

if __name__ == "__main__":
    from respeed.kernels.fused import compile_for

    torch.manual_seed(1)
    compile_for(torch.device("cpu"))
    for check in CHECKS[sys.argv[1]]:
        check()
    print("right")
