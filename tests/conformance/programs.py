"""What the suite runs: test cases of every workload, the smoke sizes of every paper, and places to run them on."""

import itertools
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

from respeed.backends import Backend, Program, make_backend
from respeed.errors import NotMeasurable
from respeed.inputs.papers import load_papers
from respeed.inputs.registry import backends, runs, workloads
from respeed.machine.devices import missing_device
from respeed.measure.case import TOLERANCE
from respeed.model import Case
from respeed.workloads import make_workload
from respeed.workloads.arrays import largest_error

WORKLOADS = tuple(workloads())
# XLA takes up to seconds to compile a step. By default these alone are tried, in fp32; `-m slow` tries all.
QUICK_ON_JAX = {"cd1_products", "matmul", "mlp", "patches", "rbm", "rbm_pcd", "rbm_up", "softmax_regression"}

SIZES = ("smoke", "odd")
# What other devices refuse.
OF_GPUS = ("tf32", "tf32x3", "bf16x9")
UNUSUAL = yaml.safe_load(Path(__file__).with_name("sizes.yaml").read_bytes())
# What a test case gives where `sizes.yaml` does not say otherwise: of whole numbers one after another, of texts the
# first or the last, and 0.1.
WHOLE = {"smoke": (16, 24, 8, 12), "odd": (181, 193, 163, 167)}


def case_of(workload: str, size: str, /, **changed: Any) -> Case:
    """Return the workload's own test case of that size, smoke or odd, with some parameters changed."""
    facts, which = workloads()[workload], SIZES.index(size)
    own = {name: values[which] for name, values in UNUSUAL.get(workload, {}).items()}
    whole = itertools.cycle(WHOLE[size])
    usual: dict[str, Any] = {
        name: next(whole) if kind == "whole" else kind[-which] if isinstance(kind, tuple) else 0.1
        for name, kind in facts.parameters.items()
        if name not in own
    }
    return Case("-".join([size, *map(str, changed.values())]), workload, usual | own | changed)


def _kind(case: Case) -> tuple[str, frozenset[tuple[str, str]]]:
    """Return what a step of the case does, whatever its sizes."""
    texts = ((key, value if isinstance(value, str) else "") for key, value in case.parameters.items())
    return case.workload, frozenset(texts)


SMOKE, ODD = ([case_of(name, size) for name in WORKLOADS] for size in SIZES)
OWN = [*SMOKE, *ODD]
_TABLES = (table for paper in load_papers().values() for table in paper.experiments.values())
_OF_PAPERS = {_kind(case): case for table in _TABLES for case in table.smoke_cases}
# The workloads' own cases, and of the papers' one of each kind that does otherwise.
CASES = [*OWN, *(_OF_PAPERS[kind] for kind in _OF_PAPERS if kind not in {*map(_kind, OWN)})]


class Place(NamedTuple):
    """Where a row of one thread runs."""

    backend: str
    device: str = "cpu"
    precision: str = "fp32"


def places(*precisions: str, on: str = "", of: Sequence[str] = ()) -> list[Any]:
    """Return every backend, device that is here and precision; of these alone, if any are named."""
    return [
        pytest.param(place, marks=[] if device == "cpu" else pytest.mark.gpu, id="-".join(place))
        for name, facts in backends().items()
        if name in (of or backends())
        for device in facts.devices
        if on in {"", device} and not missing_device(device)
        for precision in facts.precisions
        if precision in (precisions or facts.precisions) and (device == "cuda" or precision not in OF_GPUS)
        for place in [Place(name, device, precision)]
    ]


def at(cases: Sequence[Case], some: Iterable[Any]) -> Any:
    """Parametrize a test by every case at every one of these places that its workload runs at.

    In other precisions than fp32 steps do the same: these are tried at odd sizes alone.
    """
    programs = [
        pytest.param(
            place,
            case,
            marks=[*one.marks, *[pytest.mark.slow] * _is_long(place, case)],
            id="-".join((*place, name_of(case))),
        )
        for one in some
        for (place,) in [one.values]
        for case in cases
        if (place.precision == "fp32" or case.name.startswith("odd"))
        and runs(case.workload, place.backend, place.precision)
    ]
    return pytest.mark.parametrize(("place", "case"), programs)


def _is_long(place: Place, case: Case) -> bool:
    """Return whether JAX compiles long for it, or would on a device that is not here."""
    is_quick = place == Place("jax") and case.name == "smoke" and case.workload in QUICK_ON_JAX
    return place.backend == "jax" and not is_quick


def name_of(case: Case) -> str:
    return f"{case.workload}-{case.name}"


def make(name: str, device: str = "cpu", precision: str = "fp32", *, threads: int = 1, seed: int = 1) -> Any:
    """Return the backend; the test is skipped where it may lack: an accelerator, a package, Accelerate's threads."""
    try:
        return make_backend(name, device=device, precision=precision, threads=threads, seed=seed)
    except NotMeasurable as reason:
        if device == "cpu" and sys.platform != "darwin" and not isinstance(reason.__cause__, ImportError):
            raise
        pytest.skip(str(reason))


def build(made: Backend, case: Case, seed: int = 5) -> Any:
    """Return the case as a program."""
    return made.build(make_workload(case).on_row("single-cpu", str(made.device)), seed)


def steps(program: Any, count: int) -> Any:
    """Do some steps, and return the program."""
    for _ in range(count):
        program.step()
    program.backend.sync()
    return program


def largest(program: Program) -> float:
    """Return the largest error of any array that a step left; infinity where one is not finite.

    Of what the library's own algorithm may do worse, as a share of that.
    """
    looser, usual = program.backend.looser, TOLERANCE[program.backend.precision]
    with np.errstate(invalid="ignore"):
        errors = {name: largest_error(pair) for name, pair in program.check().items()}
    shares = {name: error * usual / max(usual, looser.get(name, 0.0)) for name, error in errors.items()}
    return max(error if math.isfinite(error) else math.inf for error in shares.values())


def first_and_later(program: Program) -> tuple[float, float]:
    """Return the largest errors of the first step, and of a later one, checked as after a timed loop."""
    first = largest(steps(program, 1))
    steps(program, 1 if program.workload.whole_pass else 5).begin_anew()
    return first, largest(steps(program, 1))


def is_right(program: Program) -> bool:
    """Return whether the first step and a later one agree with float64 as far as the precision goes."""
    return max(first_and_later(program)) <= TOLERANCE[program.backend.precision]


def numbers_of(program: Program) -> dict[str, np.ndarray]:
    """Return a copy of every dense array of real or complex numbers in a program."""
    arrays = vars(program.arrays).items()
    dense = {name: array for name, array in arrays if "sparse" not in str(getattr(array, "layout", ""))}
    found = {name: program.backend.host(array) for name, array in dense.items()}
    return {
        name: np.array(one) for name, one in found.items() if isinstance(one, np.ndarray) and one.dtype.kind in "fc"
    }
