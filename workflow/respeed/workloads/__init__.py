"""Workloads: the programs that are timed, each a frozen dataclass.

Everything about a workload is in one file. Its fields are the parameters of a case: an ``int`` is a whole number of at
least 1, a ``float`` any number, a ``Literal`` one of its texts; a parameter with a default may be left out. Its methods
give the arrays; the step for each framework, written as the framework's users write it; the results that a step must
have, in float64; and the counts. The harness does the rest: device, precision, threads, draws, graphs, timing and
checking. A row, which is a framework on a device, runs every workload that has a method of the framework's name:
``torch``, ``numpy`` (with SciPy's BLAS) or ``jax``; or ``step``, which runs in torch and NumPy by the row's operations.

Files are parsed before they are imported, so that a broken file affects only itself. The parser reads
`frameworks`, `precisions`, `products` and `allocates`, which must be literals.
"""

import functools
import importlib.util
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, Protocol, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.random import Generator

from respeed.inputs.registry import workloads
from respeed.model import Case, Names
from respeed.paths import PACKAGE, class_name

# A program's arrays by name, as attributes: a framework's own, or NumPy's where a step is checked.
Arrays = SimpleNamespace
# The same as keys: what is to be drawn, and in JAX, what a step returns.
Named = dict[str, Any]
# A step, or a part of one, with its arrays.
Step = Callable[[], None]
# How often each part counts in a step.
Weights = Mapping[str, float]
# How a step in JAX draws: a function of a shape that returns numbers from [0, 1).
Uniform = Callable[[Sequence[int]], Any]
# The result of a step, and the result that it must have; perhaps also a size, which errors are divided by where the
# size is larger than the expected result.
SizedPair = tuple[Any, Any, float]
Pair = tuple[Any, Any] | SizedPair
Pairs = Mapping[str, Pair]
Item = TypeVar("Item")


class Row(Protocol):
    """What a step may use of the row that it runs on, beyond the operations of its framework.

    Attributes
    ----------
    threads : int
        The threads that a compiled pass may use.
    in_pieces : bool
        Whether work is better done in pieces that fit the caches of one core: on CPUs, except in low precision.
    graphs : bool
        Whether the device can capture a step as a graph, and run it by one launch.
    fused : bool
        Whether the kernels of `respeed.kernels.fused` run on the device.
    device : Any
        The device, as the framework names it.
    precision : str
        The precision of the arrays, such as "fp32".
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
        """Call `work` for every item: on a CPU several items at once, on one core each; on a GPU one after another."""

    def array(self, values: Any) -> Any:
        """Return an array of the framework, on the device and in the row's precision."""

    # The following are of torch, where matrices may be stacks, and of NumPy: `library` is the module of either.

    library: Any

    def operands(self, *parameters: Any) -> list[Any]:
        """Return learned arrays as matrix products read them: rounded in low precision, else unchanged."""

    def add_product(self, out: Any, a: Any, b: Any, alpha: float = 1.0, beta: float = 1.0) -> None:
        """Compute out <- beta out + alpha a @ b; `out` may be fp32 if `a` and `b` are of low precision."""

    def add_rows(self, out: Any, rows: Any, signs: Any, alpha: float) -> None:
        """Add alpha times the sum of `rows`, each row with its sign."""

    def units(
        self, bias: Any, x: Any, W: Any, *, out: Any, alpha: float = 1.0, sampled: Any = None, negated: Any = None
    ) -> None:
        """Compute out <- sigmoid(alpha x @ W + bias).

        Of a pair `sampled`, the first array is drawn anew, and the second is 1 where its draw is below `out`, else 0.
        Of a pair `negated`, the second is made the first's negative. All are of the shape of `out`.
        """

    def affine(self, bias: Any, x: Any, W: Any, *, out: Any, activation: str = "") -> None:
        """Compute out <- f(x @ W + bias), with f the activation, "tanh" or "sigmoid", if any."""

    def times_slope(self, error: Any, out: Any, activation: str) -> None:
        """Compute error <- error f'(z), where out = f(z)."""

    def softmax_error(self, out: Any, z: Any, y: Any, costs: Any) -> None:
        """Compute out <- softmax(z) - onehot(y) and costs <- -log softmax(z) at y; y and costs (B, 1)."""

    def sigmoid_error(self, out: Any, x: Any, costs: Any) -> None:
        """Compute out <- x - sigmoid(z) for the logits z in `out`, and costs (B,) <- their cross-entropies with x."""

    def mask(self, out: Any, x: Any, draws: Any, share: float) -> None:
        """Draw `draws` anew, and compute out <- x where they are at least `share`, else 0."""

    def sync(self) -> None:
        """Return when all operations on the device are done."""


class Workload:
    """A program that is timed: a frozen dataclass, or a base class of several programs if its name begins with _.

    A step is the method of its framework's name, or ``step``. ``numpy(a, row)``, ``torch(a, row)`` and ``step(a, row)``
    write into existing arrays of `a`; ``jax(a, uniform)`` is a pure function, and returns the changed arrays by name. A
    step that is timed in parts has a method for each part, such as ``torch_bases`` for the part "bases"; or, where the
    parts depend on the case, a method ``steps_torch(a, row)``, or ``steps``, which returns the parts by name.
    ``prepare_torch(a, row)`` makes what is needed only once, such as a module, and may put it into `a`.
    """

    # Arrays that are learned, in fp32 however low the precision is; and other arrays that a step reads as the last step
    # left them.
    learned: Names = ()
    state: Names = ()
    # Arrays of which each step uses the next item, so that no step finds its input in the caches.
    cycled: Names = ()
    # Array -> the array that is copied to it after each step. When cycled arrays are at their first item again, the
    # array is again as in `arrays`.
    handed_on: ClassVar[Mapping[str, str]] = {}
    # The frameworks that the workload runs on, if not all that it has a step for; and the precisions that make sense.
    frameworks: Names = ()
    precisions: Names = ()
    # Whether matrix products decide a step's result, so that their rounding shows; whether a step must allocate arrays.
    products: bool = True
    # Whether all threads of a step work on each operation together and wait for the slowest, as in a matrix product;
    # not where each thread takes one item after another, or where the memory is what they wait for.
    together: bool = False
    allocates: bool = False
    # Whether a step has items with matrices of their own, to be multiplied one by one, on a core each, or all at once.
    divisible: bool = False
    # The frameworks whose call uses one thread of a CPU, however many the row has.
    one_thread: Names = ()

    # Whether torch differentiates: on ROCm such a step is not captured.
    by_autograd: bool = False
    # Whether a step runs an outside program, in a process of its own.
    is_outside: bool = False

    # The following are properties where they depend on the case.
    # Whether a step is captured as a graph, if the device has graphs; or the names of the parts that are captured.
    captured: bool | Names = True
    # Whether a step goes through all items of cycled arrays, each timed by itself.
    whole_pass: bool = False
    # The array that the host reads after each step, and waits for.
    read: str = ""
    # The threads that a step uses, of those that the row has; all if 0.
    threads: int = 0

    def on_row(self, architecture: str, device: str) -> "Workload":
        """Return the workload as rows of this architecture and device run it."""
        return self

    def arrays(self, random: Generator) -> Named:
        """Return the arrays of a step by name: `Drawn` inputs, `Zeros` that the step writes to, and small arrays."""
        raise NotImplementedError

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Pair each result of a step with the expected result in float64.

        Parameters
        ----------
        given, seen
            The arrays before the step, and after it. Of cycled arrays, `given` has only this step's item.
        """
        raise NotImplementedError

    def parts(self) -> Weights:
        """Return each part's weight in the time of a step, by name; empty if the step is not in parts."""
        return {}

    def flops(self) -> float | None:
        """Count the FLOP of a step; None if the number is not known beforehand."""
        raise NotImplementedError

    def traffic_bytes(self) -> float:
        """Count the fewest bytes that a step must read and write, in fp32."""
        raise NotImplementedError

    def memory_bytes(self) -> float:
        """Count the bytes that the program keeps on the device in fp32: by default the bytes of all arrays."""
        return float(sum(4 * math.prod(array.shape) for array in self.arrays(np.random.default_rng(0)).values()))


@dataclass_transform(frozen_default=True, kw_only_default=True)
def workload(cls: type[Item]) -> type[Item]:
    """Make a class a frozen dataclass, whose fields, the parameters of a case, are given by name."""
    return dataclass(frozen=True, kw_only=True)(cls)


@functools.cache
def find_workload(name: str) -> type[Workload]:
    """Import the class of the workload `name` from the file that defines it; KeyError if none does."""
    return cast(type[Workload], getattr(_import(workloads()[name].file), class_name(name)))


def _import(path: Path) -> ModuleType:
    """Import a file of workloads; one of a study is no part of the package, so that it hides no module of it."""
    if path.is_relative_to(PACKAGE):
        return importlib.import_module(f"respeed.workloads.{path.stem}")
    spec = importlib.util.spec_from_file_location(f"workloads.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def make_workload(case: Case) -> Workload:
    """Return the workload of a case; NotMeasurable if its parameters do not fit together."""
    return find_workload(case.workload)(**case.parameters)
