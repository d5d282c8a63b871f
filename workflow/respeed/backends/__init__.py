"""Backends: the libraries that compute. Each is a module, named as in the hardware profiles, with a class in it.

A module lists its DEVICES and PRECISIONS; a hardware profile names one of each. They are literals, because the module
is parsed without being imported. FRAMEWORK names the workloads' methods that the module runs, where these do not have
the module's name. ``Backend(device=, precision=, threads=, seed=)`` returns a backend, or raises NotMeasurable with the
reason. If a backend has devices other than the CPU, its arrays support ``@`` and ``+``, which `probe` tries.
"""

import importlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Any, ClassVar, cast

import numpy as np

from respeed.errors import NotMeasurable
from respeed.machine.process import Facts, child_environment, die_with_parent, private_stdout
from respeed.model import number_bytes
from respeed.text import first_line
from respeed.workloads import Arrays, Item, Pairs, Step, Workload
from respeed.workloads.arrays import Draws, Zeros

# A kernel, copy or fill that a device ran: its name, and the nanoseconds at which it began and ended.
Span = tuple[str, int, int]

SMALL_PRODUCT = "a small product on it"


class Backend(ABC):
    """A library on a device, in a precision, with a number of threads; steps get it as their `Row`.

    Attributes
    ----------
    synchronous : bool
        Whether an operation is finished when it returns, so that single steps can be timed.
    pools : int
        How many pools, of `threads` threads each, a step may use, one pool at a time.
    shares_cores : bool
        Whether the library has more threads than the row, on the row's CPUs. These threads wait for one another by
        design; their CPU time is checked as well as their number.
    has_stacks : bool
        Whether items that it takes one by one (`in_pieces`) can be taken all at once as well, as stacks of matrices.
    has_profiler : bool
        Whether a profiler tells what the device ran for a step.
    unified : bool
        Whether the arrays of an accelerator lie in the host's memory.
    memory_factor : float
        The bytes of a program's arrays on the device, divided by their bytes in fp32.
    cache_bytes : int or None
        The bytes of a device's last cache, if it tells.
    looser : mapping of str to float
        The allowed errors of arrays that the library computes by an algorithm that rounds more than others in the
        row's precision, and that no option turns off.
    """

    framework: ClassVar[str]
    synchronous = True
    shares_cores = False
    has_stacks = False
    has_profiler = False
    in_pieces = graphs = fused = unified = False
    pools = 1
    device: Any = "cpu"
    cache_bytes: int | None = None
    looser: Mapping[str, float] = MappingProxyType({})

    def __init__(self, precision: str, threads: int) -> None:
        self.precision = precision
        self.threads = threads
        # The type of arrays on the host: their own, or fp32 for low precisions, whose values fp32 holds exactly.
        self.host_dtype = np.dtype(f"f{number_bytes(precision)}")
        self.memory_factor = self.host_dtype.itemsize / 4

    @abstractmethod
    def array(self, values: Any, *, exact: bool = False) -> Any:
        """Return `values` on the device in the row's precision; if `exact`, in fp32 at least."""

    def write(self, values: Any, out: Any) -> None:
        """Copy `values`, an array of the host or one number for all elements, into `out`."""
        raise NotImplementedError

    @abstractmethod
    def host(self, array: Any) -> Any:
        """Return an array as NumPy's, in fp32 or fp64, to be used before the next step; anything else unchanged."""

    @abstractmethod
    def describe(self) -> Facts:
        """Return the facts about the library, as it is set up now, for a record.

        These are `package`, `library`, `threads_set` as the library reports it or else as asked, and perhaps
        `version`, `kernel` and `accelerator`.
        """

    def build(self, workload: Workload, seed: int) -> "Program":
        """Return the workload as a program on this row, with all arrays that the program needs."""
        return Program(self, workload, seed)

    def each(self, items: Sequence[Item], work: Callable[[Item], object]) -> None:
        """Call `work` for every item."""
        for item in items:
            work(item)

    def limited(self, step: Step, threads: int) -> Step:
        """Return the step limited to `threads` threads; raise NotMeasurable if the library has no such limit."""
        raise NotMeasurable("the threads of this library cannot be limited for a step")

    def captured(self, step: Step, *, by_autograd: bool = False, undo: Step | None = None) -> Step:
        """Return the step itself, or as a graph: the same operations in one launch on the device.

        If `undo` is given, the step may first be run once, to prepare the capture; `undo` is then called.
        """
        return step

    def why_plain(self) -> str | None:
        """Return why steps could not be captured since this was last called; None if all were captured."""
        return None

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        """Return contexts: a tiny program that runs in each of them loads all code that large programs use."""
        return (nullcontext(),)

    def marked(self, at_mark: Step) -> AbstractContextManager[Any]:
        """Return a context in which steps call `at_mark` before matrix products while no thread works, if they can."""
        return nullcontext()

    def trace(self, step: Step) -> list[Span]:
        """Run a step under the device's profiler (`has_profiler`), and return what the device ran."""
        raise NotImplementedError

    def bytes_free(self) -> float | None:
        """Return the bytes of the device's own memory that are free for arrays; None if arrays lie in the host's."""
        return None

    def sync(self) -> None:  # noqa: B027, nothing where an operation is finished when it returns
        """Return when all operations on the device are done."""


class Program:
    """A workload on a row: its arrays, its steps, and the check of their results.

    Attributes
    ----------
    parts : tuple of callable
        The parts of a step, which run one after another, each timed by itself.
    arrays : Arrays
        All arrays, and the objects that the workload has prepared.
    """

    def __init__(self, backend: Backend, workload: Workload, seed: int) -> None:
        self.backend = backend
        self.workload = workload
        self.seed = seed
        self.framework = "program" if workload.is_outside else backend.framework
        if self.framework in workload.one_thread and backend.threads > 1:
            raise NotMeasurable(f"{self.framework} uses one thread for this: see the row of one core")
        self.inputs = workload.arrays(np.random.default_rng(seed))
        self.count = 0
        # The arrays that a step reads as the last step left them.
        self._kept = {*workload.learned, *workload.state, *workload.handed_on}
        self._given = dict(self.inputs)
        self.arrays = self._make_arrays()
        self._items = max((len(self.inputs[name]) for name in workload.cycled), default=1)
        # Parts, and the step of each: in a pass over all items, "bases 1" and "bases 2" are the step "bases" in turn.
        self._names = [*workload.parts()] or ["step"]
        if workload.whole_pass:
            self._names = [part.rpartition(" ")[0] for part in self._names]
        self._views = self._make_views()
        self._steps = [self._make_steps(view) for view in self._views]
        handed_on = workload.handed_on if self._items > 1 else ()
        self._start = {name: backend.array(self.inputs[name]) for name in handed_on}
        self.parts = tuple(partial(self._do, name) for name in self._names)

    @property
    def other_graphs(self) -> int:
        """Return how many graphs exist besides the first step's: one for each further item of the cycled arrays."""
        has_graphs = self.backend.graphs and not self.workload.whole_pass
        return self._items - 1 if has_graphs else 0

    def _make_arrays(self) -> Arrays:
        # A workload that runs an outside program, or other processes, puts these in their place.
        arrays = Arrays(runner=None, helpers=())
        for name, values in self.inputs.items():
            exact = name in self.workload.learned or isinstance(values, Draws)
            setattr(arrays, name, self.backend.array(values, exact=exact))
        if prepare := getattr(self.workload, f"prepare_{self.framework}", None):
            prepare(arrays, self.backend)
        return arrays

    def _make_views(self) -> list[Arrays]:
        shared = vars(self.arrays)
        cycled = [{name: shared[name][item] for name in self.workload.cycled} for item in range(self._items)]
        return [Arrays(**shared | items) for items in cycled]

    def _make_steps(self, view: Arrays) -> dict[str, Step]:
        """Return the parts of a step on one view, the arrays with one item of each cycled array."""
        workload = self.workload
        backend = self.backend
        steps: dict[str, Step] = {}
        if several := getattr(workload, f"steps_{self.framework}", None) or getattr(workload, "steps", None):
            steps = several(view, backend)
        else:
            for name in self._names:
                method = f"{self.framework}_{name}" if workload.parts() else self.framework
                steps[name] = partial(getattr(workload, method, None) or cast(Any, workload).step, view, backend)
        captured = workload.captured
        for name, step in steps.items():
            if workload.threads:
                steps[name] = backend.limited(step, workload.threads)
            elif captured is True or (captured and name in captured):
                steps[name] = backend.captured(step, by_autograd=workload.by_autograd, undo=self._undo)
        return steps

    def _do(self, part: str) -> None:
        """Run a part of the next step; after the last part, also do the work that comes between two steps."""
        workload = self.workload
        place = self.count % self._items
        self._steps[place][part]()
        if part != self._names[-1]:
            return
        for name, start in self._start.items():
            is_over = place == self._items - 1
            getattr(self.arrays, name)[...] = start if is_over else getattr(self.arrays, workload.handed_on[name])
        if workload.read:
            self.backend.host(getattr(self.arrays, workload.read))
        self.count += 1

    def step(self) -> None:
        """Run one step. If the backend is not `synchronous`, the step may still be running on return."""
        for part in self.parts:
            part()

    def step_anew(self) -> None:
        """Draw new inputs, and run a step on them until it is done."""
        self.begin_anew()
        self.step()
        self.backend.sync()

    def _undo(self) -> None:
        """Undo the first step: restore its inputs, and fill its outputs with NaN."""
        for name in self.inputs.keys() & vars(self.arrays):
            self._write_input(name, self.inputs[name])

    def begin_anew(self) -> None:
        """Draw all inputs anew, except those that the last step has left, and fill all outputs with NaN.

        If the result of the next step is then right, that step computed it, from its own inputs.
        """
        fresh = self.workload.arrays(np.random.default_rng(self.seed + 1))
        # An input that was prepared in another form is not among the arrays, and stays as it was.
        for name in fresh.keys() & vars(self.arrays):
            if name in self._kept:
                self._given[name] = np.array(self.backend.host(getattr(self.arrays, name)))
            else:
                self._given[name] = fresh[name]
                self._write_input(name, fresh[name])

    def _write_input(self, name: str, values: Any) -> None:
        """Write `values` to the array `name`, or NaN if it is an output of a step."""
        is_output = isinstance(values, Zeros) and name not in self._kept
        self._write(name, np.nan if is_output else values)

    def _write(self, name: str, values: Any) -> None:
        """Write `values`, an array or one number for all elements, to the array `name`."""
        self.backend.write(values, getattr(self.arrays, name))

    def check(self) -> Pairs:
        """Pair the results of the last step with the reference results that the workload computes."""
        given = self._given.copy()
        item = (self.count - 1) % self._items
        for name in self.workload.cycled:
            given[name] = given[name][item]
        seen: Any = _Seen(self.backend, self._views[item])
        with np.errstate(all="ignore"):  # NaN and infinity are found in the comparison
            return self.workload.check(Arrays(**given), seen)


class _Seen:
    """The arrays of a view, each copied to the host when it is read."""

    def __init__(self, backend: Backend, view: Arrays) -> None:
        self._host = backend.host
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return self._host(getattr(self._view, name))


@contextmanager
def set_within(owner: object, name: str, value: object) -> Iterator[None]:
    """Set an attribute of a module or an object within this context."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def make_backend(name: str, *, device: str, precision: str, threads: int, seed: int) -> Backend:
    """Import the backend `name` and set it up; raise NotMeasurable if its package or device is missing."""
    return cast(Backend, _load(name).Backend(device=device, precision=precision, threads=threads, seed=seed))


def _load(name: str) -> ModuleType:
    """Import the module of a backend; raise NotMeasurable if a package that it needs is not installed."""
    try:
        return importlib.import_module(f"respeed.backends.{name}")
    except ModuleNotFoundError as error:
        raise NotMeasurable(f"needs the Python package {error.name}, which is not installed") from error


def probe(backend: str, device: str) -> None:
    """Print the result of `try_device` as a line of JSON. It must run in a process of its own."""
    answers = private_stdout()
    die_with_parent()
    os.environ.update(child_environment(threads=1))
    answers.write(json.dumps(try_device(backend, device)) + "\n")


def try_device(backend: str, device: str) -> Facts:
    """Try a device in each precision, with a small matrix product and an addition.

    Returns
    -------
    dict
        `reasons`: for each precision, why the backend cannot compute in it on the device, or None if it can; and
        `lasting`: whether the reasons hold until the driver, library or device changes. They do if no product failed
        or was wrong, and some precision works.
    """
    module = _load(backend)
    reasons = {precision: _why_not(module, device, precision) for precision in module.PRECISIONS}
    failed = any(reason and reason.startswith(SMALL_PRODUCT) for reason in reasons.values())
    return {"reasons": reasons, "lasting": not failed and None in reasons.values()}


def _why_not(module: ModuleType, device: str, precision: str) -> str | None:
    """Return why a backend's module cannot compute in a precision on a device; None if it can."""
    square = np.arange(4.0).reshape(2, 2)  # so small that its square is exact in every precision
    try:
        backend = module.Backend(device=device, precision=precision, threads=1, seed=0)
        factor = backend.array(square)
        is_right = np.array_equal(backend.host(factor @ factor + 1), square @ square + 1)
    except NotMeasurable as reason:
        return str(reason)
    except Exception as error:  # of the device, its driver or its libraries
        return f"{SMALL_PRODUCT} fails: {first_line(first_cause(error))}"
    return None if is_right else f"{SMALL_PRODUCT} is wrong"


def first_cause(error: BaseException) -> BaseException:
    """Return the first error of a chain, because a device's error often causes another, which only refers to it."""
    while (before := error.__cause__ or (None if error.__suppress_context__ else error.__context__)) is not None:
        error = before
    return error
