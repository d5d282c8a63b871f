"""The check of every workload: programs that are wrong in one thing alone do not pass."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from respeed.backends import Program, Step
from respeed.inputs.registry import workloads
from respeed.measure.case import TOLERANCE, make_bench, measure_case
from respeed.model import Case
from respeed.workloads import make_workload
from tests.conformance.programs import (
    CASES,
    WORKLOADS,
    Place,
    at,
    build,
    case_of,
    first_and_later,
    largest,
    make,
    numbers_of,
    places,
    steps,
)  # fmt: skip
from tests.orders import order_of

# How a part of a step is done at first, and how ever after.
Wrong = tuple[Callable[[Step], object], Callable[[Step], object]]
# What is copied or sorted in fp64 was drawn in fp32: to round it changes nothing.
EXACT_IN_FP32 = {"copies", "memory_copy", "sort"}
# Of its parameters some entries are compared.
SOME_ENTRIES = {"convnet"}
# Of many layers, which are learned and compared as those of `dbn` are.
LIKE_OTHERS = {"sda"}
# What replicas compute is in other processes: their parts are nets as others are.
ELSEWHERE = {"data_parallel", "convnet_replicas"}
# At odd sizes, where these run on a CPU and learn.
ALL = [case_of(name, "smoke" if name == "convnet" else "odd") for name in WORKLOADS]
HERE = [case for case in ALL if case.workload not in ELSEWHERE]
# What a workload writes that learns nothing, and is compared whole.
WRITTEN = {
    "vector_sum": ("z",), "memory_copy": ("out",), "saxpy": ("y",), "small_step": ("x",), "fft": ("y",), "spmv": ("y",),
    "convolution": ("out",), "sort": ("out",), "monte_carlo": ("prices",),
}  # fmt: skip
LEARNED = {case.workload: make_workload(case).learned or WRITTEN.get(case.workload, ()) for case in HERE}
RATES = {case.workload: [name for name in dir(make_workload(case)) if name.endswith("rate")] for case in HERE}
FULL, IN_FP32 = (places(*some, on="cpu", of=("numpy", "torch")) for some in (("fp32", "fp64"), ("fp32",)))


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
    before = numbers_of(program)
    step()
    both = {name: (before[name], after) for name, after in numbers_of(program).items() if name in before}
    return {name: pair for name, pair in both.items() if not np.array_equal(*pair, equal_nan=True)}


def idle(program: Program) -> Wrong:
    """Return at once after the first call."""
    return lambda step: step(), lambda step: None


def cached(program: Program, added: tuple[str, ...] = ()) -> Wrong:
    """Write what the first call wrote, again and again, and add to `added` what the first call added."""
    kept: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def later(step: Step) -> None:
        now = numbers_of(program)
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


def held(program: Program, of: str) -> Wrong:
    """Leave an array as it was."""

    def hold(step: Step) -> None:
        if pair := changes_of(program, step).get(of):
            write(program, of, pair[0])

    return hold, hold


def bent(program: Program, of: str) -> Wrong:
    """Change one element of an array by 5 % of the largest change."""

    def bend(step: Step) -> None:
        if pair := changes_of(program, step).get(of):
            before, after = pair
            after.flat[after.size // 2] += 0.05 * np.abs(after - before).max()
            write(program, of, after)

    return bend, bend


@pytest.mark.parametrize("wrong", [idle, cached, cached_but_for_what_is_learned])
@at(ALL, IN_FP32)
def test_a_step_that_computes_at_first_alone_does_not_pass_later(place: Place, case: Case, wrong: Any) -> None:
    first, later = first_and_later(plant(build(make(*place), case), wrong))
    assert first <= TOLERANCE["fp32"] < later


@at(HERE, FULL)
def test_a_step_that_is_rounded_later_does_not_pass(place: Place, case: Case) -> None:
    if place.precision == "fp64" and case.workload in EXACT_IN_FP32:
        pytest.skip(f"{case.workload}: rounding to fp32 changes nothing")
    first, later = first_and_later(plant(build(make(*place), case), rounded))
    assert first <= TOLERANCE[place.precision] < later


@at([case for case in HERE if RATES[case.workload]], FULL)
def test_a_rate_that_is_a_little_off_does_not_pass(place: Place, case: Case) -> None:
    """By 1 % in fp32, by 0.1 % in fp64."""
    right: Any = make_workload(case)
    for name in RATES[case.workload]:
        wrong = replace(right)
        object.__setattr__(wrong, name, getattr(right, name) * {"fp32": 1.01, "fp64": 1.001}[place.precision])
        program = make(*place).build(wrong, 5)
        program.workload = right
        assert min(first_and_later(program)) > TOLERANCE[place.precision], name


@pytest.mark.parametrize("wrong", [held, bent])
@at([case for case in HERE if LEARNED[case.workload] and case.workload not in LIKE_OTHERS], IN_FP32)
def test_one_array_that_stays_or_is_off_in_one_element_does_not_pass(place: Place, case: Case, wrong: Any) -> None:
    if wrong is bent and case.workload in SOME_ENTRIES:
        pytest.skip(f"{case.workload}: of its parameters some entries are compared")
    for name in LEARNED[case.workload]:
        program = plant(build(make(*place), case), partial(wrong, of=name))
        assert min(first_and_later(program)) > TOLERANCE["fp32"], name


# Of torch's own products, which of their arguments are multiplied.
FACTORS = {
    "mm": (0, 1), "bmm": (0, 1), "mv": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "addmv": (1, 2),
    "addmm_": (1, 2), "baddbmm_": (1, 2), "addmv_": (1, 2), "convolution": (0, 1),
    "convolution_backward": (0, 1, 2), "mkldnn_convolution": (0, 1),
}  # fmt: skip


class LowerProducts(TorchDispatchMode):
    """Every product that torch does meanwhile is of a lower precision, those of derivatives included: of factors with
    TF32's ten bits for fp32, and rounded to fp32 for fp64."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        factors = FACTORS.get(func.overloadpacket.__name__, ())
        for place in factors:
            if args[place].dtype == torch.float32 and not args[place].is_meta:
                bits = args[place].detach().contiguous().view(torch.int32)
                factor = ((bits + (1 << 12)) & ~((1 << 13) - 1)).view(torch.float32)
                args = (*args[:place], factor, *args[place + 1 :])
        made = func(*args, **(kwargs or {}))
        for product in made if isinstance(made, tuple) else (made,):
            if factors and product is not None and product.dtype == torch.float64:
                product.copy_(product.float())
        return made


@at(
    [case for case in CASES if workloads()[case.workload].products], [one for one in FULL if one.id.startswith("torch")]
)
def test_products_of_the_next_lower_precision_do_not_pass(place: Place, case: Case) -> None:
    program = build(make(*place), case)
    with LowerProducts():
        steps(program, 1)
    assert largest(program) > TOLERANCE[place.precision]


@pytest.mark.parametrize("wrong", [idle, cached, rounded])
def test_a_program_that_is_wrong_later_shows_no_time(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    order = order_of("torch-1")
    bench, _ = make_bench(make("torch"))
    right = bench.backend.build
    monkeypatch.setattr(bench.backend, "build", lambda *what: plant(right(*what), wrong))
    facts = measure_case(order, order.cases[0], bench)
    assert (facts["status"], facts["blocks"]) == ("wrong", [])
    assert facts["reason"].startswith("after the timed steps: wrong result: ")
