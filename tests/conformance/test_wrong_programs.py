"""The check of every workload: programs that are wrong in one thing alone do not pass."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from respeed.backends import Program
from respeed.inputs.registry import runs, workloads
from respeed.measure.case import TOLERANCE, make_bench, measure_case
from respeed.model import Case
from respeed.workloads import Step, make_workload
from respeed.workloads.arrays import Draws, Zeros
from tests.conformance import programs
from tests.conformance.programs import ODD, Place, at, build, case_of, first_and_later, largest, make, places, steps
from tests.orders import order_of

# How a part of a step is done at first, and how ever after.
Wrong = tuple[Callable[[Step], object], Callable[[Step], object]]
# What is copied or sorted in fp64 was drawn in fp32: to round it changes nothing.
EXACT = {("fp64", "copies"), ("fp64", "memory_copy"), ("fp64", "sort")}
# Whose arrays are bent elsewhere (tests/workloads/test_convnet.py), or compared as those of `dbn` are.
LIKE_OTHERS = {"convnet", "sda"}
# What replicas compute is in other processes: their parts are nets as others are.
ELSEWHERE = {"data_parallel"}
# At odd sizes, where these run on a CPU and learn.
SMALL = {"convnet", "dbn"}
ALL = [case_of(name, "smoke" if name in SMALL else "odd") for name in workloads() if name != "convnet_replicas"]
HERE = [case for case in ALL if case.workload not in ELSEWHERE]
# What a workload writes that learns nothing, and is compared whole.
WRITTEN = {
    "vector_sum": ("z",), "memory_copy": ("out",), "saxpy": ("y",), "small_step": ("x",), "fft": ("y",), "spmv": ("y",),
    "convolution": ("out",), "sort": ("out",), "monte_carlo": ("prices",),
}  # fmt: skip
LEARNED = {case.workload: make_workload(case).learned or WRITTEN.get(case.workload, ()) for case in HERE}
RATES = {case.workload: [name for name in dir(make_workload(case)) if name.endswith("rate")] for case in HERE}


def once(cases: list[Case], *precisions: str) -> Any:
    """Parametrize a test by every case, where NumPy has a step for it, or else torch: what is checked is the same."""
    first: dict[tuple[str, str], tuple[Place, Case]] = {}
    for case, one, name in itertools.product(cases, precisions, ("numpy", "torch")):
        if runs(case.workload, name, one) and (one, case.workload) not in EXACT:
            first.setdefault((one, programs.name_of(case)), (Place(name, "cpu", one), case))
    return pytest.mark.parametrize(("place", "case"), first.values(), ids=map("-".join, first))


def plant(program: Program, wrong: Callable[[Program], Wrong]) -> Program:
    """Do every part of a step wrongly, whichever item it is for."""
    for name in program._steps[0]:
        first, later = wrong(program)
        ways = iter([first] * (program._items if program.workload.whole_pass else 1))
        for parts in program._steps:
            parts[name] = partial(lambda step, ways, later: next(ways, later)(step), parts[name], ways, later)
    return program


def write(program: Program, name: str, values: np.ndarray) -> None:
    program.backend.write(values, getattr(program.arrays, name))


def changes_of(program: Program, step: Step) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Do a step, and return what it changed, before and after."""
    before = programs.numbers_of(program)
    step()
    both = {name: (before[name], after) for name, after in programs.numbers_of(program).items() if name in before}
    return {name: pair for name, pair in both.items() if not np.array_equal(*pair, equal_nan=True)}


def idle(program: Program) -> Wrong:
    """Return at once after the first call."""
    return lambda step: step(), lambda step: None


def cached(program: Program, added: tuple[str, ...] = ()) -> Wrong:
    """Write what the first call wrote, again and again, and add to `added` what the first call added."""
    kept: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def later(step: Step) -> None:
        now = programs.numbers_of(program)
        for name, (before, after) in kept.items():
            write(program, name, now[name] + after - before if name in added else after)

    return lambda step: kept.update(changes_of(program, step)), later


def cached_but_for_what_is_learned(program: Program) -> Wrong:
    """Compute nothing anew, and learn the same in each step."""
    return cached(program, program.workload.learned)


def rounded(program: Program) -> Wrong:
    """Round what later calls write to the next lower precision."""
    dtype = {"fp32": np.float16, "fp64": np.float32}[program.backend.precision]

    def later(step: Step) -> None:
        for name, (_, after) in changes_of(program, step).items():
            reals = after.view(after.real.dtype)
            reals[...] = reals.astype(dtype)
            write(program, name, after)

    return lambda step: step(), later


def bent(program: Program, of: str) -> Wrong:
    """Change one element of an array by 5 % of the largest change."""

    def bend(step: Step) -> None:
        if pair := changes_of(program, step).get(of):
            before, after = pair
            after.flat[after.size // 2] += 0.05 * np.abs(after - before).max()
            write(program, of, after)

    return bend, bend


@pytest.mark.parametrize("wrong", [idle, cached, cached_but_for_what_is_learned])
@once(ALL, "fp32")
def test_a_step_that_stops_computing_fails(place: Place, case: Case, wrong: Any) -> None:
    """A step that computes at first alone does not pass later."""
    first, later = first_and_later(plant(build(make(*place), case), wrong))
    assert first <= TOLERANCE["fp32"] < later


@once(HERE, "fp32", "fp64")
def test_a_step_rounded_later_fails(place: Place, case: Case) -> None:
    first, later = first_and_later(plant(build(make(*place), case), rounded))
    assert first <= TOLERANCE[place.precision] < later


@once([case for case in HERE if RATES[case.workload]], "fp32", "fp64")
def test_a_rate_slightly_off_fails(place: Place, case: Case) -> None:
    """By 1 % in fp32, by 0.1 % in fp64."""
    right: Any = make_workload(case)
    for name in RATES[case.workload]:
        wrong = replace(right)
        object.__setattr__(wrong, name, getattr(right, name) * {"fp32": 1.01, "fp64": 1.001}[place.precision])
        program = make(*place).build(wrong, 5)
        program.workload = right
        assert min(first_and_later(program)) > TOLERANCE[place.precision], name


@once([case for case in HERE if LEARNED[case.workload] and case.workload not in LIKE_OTHERS], "fp32")
def test_one_wrong_element_fails(place: Place, case: Case) -> None:
    """One array that is off in one element does not pass."""
    for name in LEARNED[case.workload]:
        program = plant(build(make(*place), case), partial(bent, of=name))
        assert min(first_and_later(program)) > TOLERANCE["fp32"], name


def spoiled(program: Program, of: str) -> Wrong:
    """Change an array that a step should only read, before the step."""

    def spoil(step: Step) -> None:
        write(program, of, 1.5 * programs.numbers_of(program)[of] + 0.25)
        step()

    return spoil, spoil


@once(HERE, "fp32")
def test_a_step_that_spoils_its_inputs_fails(place: Place, case: Case) -> None:
    """No check may take what it expects from arrays as the step left them.

    The lengths that a line search tries are no such array: by whichever of them, coefficients come to their optimum.
    """
    program = build(make(*place), case)
    own = {name: values for name, values in programs.numbers_of(program).items() if values.dtype == np.float32}
    changed = changes_of(program, lambda: steps(program, 1))
    drawn = {name for name, values in program.inputs.items() if not isinstance(values, Zeros | Draws)}
    for name in own.keys() & drawn - changed.keys() - {"lengths"}:
        program = plant(build(make(*place), case), partial(spoiled, of=name))
        assert min(first_and_later(program)) > TOLERANCE["fp32"], name


DRAWN = [
    pytest.param(case, name, id=f"{case.workload}-{name}")
    for case in HERE
    for name, values in make_workload(case).arrays(np.random.default_rng(1)).items()
    if isinstance(values, Draws) and runs(case.workload, "numpy", "fp32")
]


@pytest.mark.parametrize(("case", "draws"), DRAWN)
def test_samples_against_their_draws_fail(case: Case, draws: str) -> None:
    """Samples that do not follow from their draws do not pass."""
    program = steps(build(make("numpy"), case), 1)
    write(program, draws, 1 - programs.numbers_of(program)[draws])
    assert largest(program) > TOLERANCE["fp32"]


# Of torch's own products, which of their arguments are multiplied.
FACTORS = {
    "mm": (0, 1), "bmm": (0, 1), "mv": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "addmv": (1, 2),
    "addmm_": (1, 2), "baddbmm_": (1, 2), "addmv_": (1, 2), "convolution": (0, 1),
    "convolution_backward": (0, 1, 2), "mkldnn_convolution": (0, 1),
}  # fmt: skip


class Tf32(TorchDispatchMode):
    """Every product that torch does meanwhile is of factors with TF32's ten bits, those of derivatives included."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args = list(args)
        for place in FACTORS.get(func.overloadpacket.__name__, ()):
            if not args[place].is_meta:
                bits = args[place].detach().contiguous().view(torch.int32)
                args[place] = ((bits + (1 << 12)) & ~((1 << 13) - 1)).view(torch.float32)
        return func(*args, **(kwargs or {}))


@at([case for case in ODD if workloads()[case.workload].products], places("fp32", on="cpu", of=["torch"]))
def test_products_in_tf32_do_not_pass(place: Place, case: Case) -> None:
    program = build(make(*place), case)
    with Tf32():
        steps(program, 1)
    assert largest(program) > TOLERANCE["fp32"]


def test_a_program_wrong_later_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    order = order_of("torch-1")
    bench, _ = make_bench(make("torch"))
    right = bench.backend.build
    monkeypatch.setattr(bench.backend, "build", lambda *what: plant(right(*what), rounded))
    facts = measure_case(order, replace(order.cases[0], number=2), bench)
    assert (facts["status"], facts["blocks"]) == ("wrong", [])
    assert facts["reason"].startswith("after timed steps: wrong result: ")
