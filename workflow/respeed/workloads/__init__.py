"""Workloads: the programs that are timed, a frozen dataclass each.

A workload is whole in one file. Its fields are the parameters of a case: an ``int`` is a whole number of at least 1, a
``float`` any number, a ``Literal`` one of its texts; what has a default may be left out. Its methods are the arrays,
the step once for each framework as that framework's users write it, what the step must have left, in float64, and the
counts. All else is the harness's: device, precision, threads, draws, graphs, timing and checking. A row runs every
workload that has a method of its framework's name: ``torch``, ``numpy`` (with SciPy's BLAS), ``jax``.

Files are read before they are run, so that a broken one stops nothing but itself: class variables are literals.
"""

import contextlib
import functools
import importlib
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from respeed.errors import NotMeasurable
from respeed.model import Case
from respeed.paths import WORKLOADS, class_name

# A program's arrays by name, as attributes: a framework's own, or NumPy's where a step is checked.
Arrays = SimpleNamespace
# What a step left, and what it must have left; and perhaps the size that errors are measured by, where that is larger.
Pair = tuple[Any, Any] | tuple[Any, Any, float]
Pairs = Mapping[str, Pair]
Item = TypeVar("Item")


class Row(Protocol):
    """What a step may ask of its row beyond the operations of its framework.

    Attributes
    ----------
    threads : int
        What a compiled pass may use.
    in_pieces : bool
        Whether work is better done in pieces that fit the caches of one core: on CPUs.
    graphs : bool
        Whether the device runs a captured step by one request.
    fused : bool
        Whether the kernels of `respeed.kernels.fused` run on the device.
    device : Any
        The framework's name of it.
    precision : str
        What arrays are in: "fp32", say.
    """

    threads: int
    in_pieces: bool
    graphs: bool
    fused: bool
    device: Any
    precision: str

    def uniform(self, out: Any) -> Any:
        """Fill an array with draws from [0, 1), and return it."""

    def each(self, items: Sequence[Item], work: Callable[[Item], object]) -> None:
        """Call `work` for every item: on a CPU a thread and a core for each, on a GPU in turn."""

    def operands(self, *parameters: Any) -> list[Any]:
        """Return what is learned as products read it: rounded where the precision is low, or else itself (torch)."""

    def add_product(self, out: Any, a: Any, b: Any, alpha: float = 1.0, beta: float = 1.0) -> None:
        """Compute out <- beta out + alpha a b, matrices or stacks; `out` is in fp32 where a, b are lower (torch)."""

    def sync(self) -> None:
        """Return when all that was asked of the device is done."""


class Workload:
    """A program that is timed; a subclass is a frozen dataclass, or, if its name begins with _, what some share.

    A step is the method of its framework's name. ``numpy(a, row)`` and ``torch(a, row)`` write into arrays that are
    there already; ``jax(a, uniform)`` is a pure function, and returns the arrays that it changed, by name. A step that
    is timed in parts has a method for each, ``torch_bases``, say; or, where the parts depend on the case,
    ``steps_torch(a, row)``, which returns them by name. What is made once, such as a module, is made by
    ``prepare_torch(a, row)``, which may put it into `a`.
    """

    # Parameters that the tests do not give as usual (tests/conformance/programs.py), by name: in their case "smoke"
    # (tiny), and in "odd" (of no round size, and above 160 a side, so that an array which a step allocates is seen).
    tests: ClassVar[dict[str, tuple[Any, Any]]] = {}
    # What is learned, and stays in fp32 however low the precision is; and what else a step begins with as the last one
    # left it.
    learned: ClassVar[tuple[str, ...]] = ()
    state: ClassVar[tuple[str, ...]] = ()
    # Arrays of which each step has the next item, so that none begins with what the last one left in the caches.
    cycled: ClassVar[tuple[str, ...]] = ()
    # After a step, array -> the one that is copied to it. With the first item of what is cycled it is as in `arrays`.
    handed_on: ClassVar[Mapping[str, str]] = {}
    # The frameworks that it runs on, if not all that it has a step for; and the precisions that it makes sense in.
    frameworks: ClassVar[tuple[str, ...]] = ()
    precisions: ClassVar[tuple[str, ...]] = ()
    # Whether matrix products decide its result, so that their rounding shows; whether a step must allocate arrays.
    products: ClassVar[bool] = True
    allocates: ClassVar[bool] = False

    # Whether torch differentiates: on ROCm such a step is not captured.
    by_autograd: ClassVar[bool] = False

    # These are properties where they depend on the case.
    # Whether a step is captured as a graph, where there are such; or the parts that are.
    captured: bool | tuple[str, ...] = True
    # Whether a step goes through all items of what is cycled, each timed by itself.
    whole_pass: bool = False
    # The array that the host reads after each step, and waits for.
    read: str = ""
    # The threads that a step uses, of those that the row has; all if 0.
    threads: int = 0

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Return everything that a step works on: `Drawn` arrays, `Zeros` that are written to, and small arrays."""
        raise NotImplementedError

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Pair what a step left with what it must have left, in float64.

        Parameters
        ----------
        given, seen
            The arrays before the step and after it. Of what is cycled, `given` has the item of this step.
        """
        raise NotImplementedError

    def parts(self) -> Mapping[str, float]:
        """Return how often each part counts in a step of the table; nothing for a step in one part."""
        return {}

    def flops(self) -> float | None:
        """Count the arithmetic of a step; None if it is not known beforehand."""
        raise NotImplementedError

    def traffic_bytes(self) -> float:
        """Count the least that a step must read and write, in fp32."""
        raise NotImplementedError

    def memory_bytes(self) -> float:
        """Count what the program keeps on the device, in fp32: all arrays, unless a workload says otherwise."""
        return float(sum(4 * math.prod(array.shape) for array in self.arrays(np.random.default_rng(0)).values()))


def require_one_thread(row: Row, call: str) -> None:
    """Raise NotMeasurable on a row of more threads than the one that a library's call uses."""
    if row.threads > 1:
        raise NotMeasurable(f"{call} uses one thread: see the row of one core")


@functools.cache
def find_workload(name: str) -> type[Workload]:
    """Import the class of a workload: the one of its name, in whichever file it stands."""
    begin = f"\nclass {class_name(name)}("
    for path in sorted(WORKLOADS.glob("[!_]*.py")):
        if begin in path.read_text(encoding="utf-8"):
            found: type[Workload] = getattr(importlib.import_module(f"respeed.workloads.{path.stem}"), class_name(name))
            return found
    raise KeyError(name)


def make_workload(case: Case) -> Workload:
    """Return the workload of a case; NotMeasurable if the case makes no sense."""
    found: Any = find_workload(case.workload)
    made: Workload = found(**case.parameters)
    return made


def print_counts() -> None:
    """Print, of the cases that standard input has as JSON, the FLOP and bytes of a step: a list of pairs.

    A case is its workload and its parameters. What is not known is NaN, as all is of a case that makes no sense.
    """
    counts = []
    for workload, parameters in json.load(sys.stdin):
        counts.append((math.nan, math.nan))
        with contextlib.suppress(Exception):
            made = make_workload(Case("", workload, parameters))
            counts[-1] = made.flops() or math.nan, made.traffic_bytes() or math.nan
    print(json.dumps(counts))
