"""Backends: the libraries that compute. One module each, named as in the hardware profiles, and a class in it.

A module has its DEVICES and PRECISIONS, of which a hardware profile names one each, as literals, since it is parsed
without being imported; and perhaps FRAMEWORK, the name of the workloads' methods that it runs, if that is not its own
name. ``Backend(device=, precision=, threads=, seed=)`` makes a backend, or raises NotMeasurable with the reason. Arrays
of a backend for devices take ``@`` and ``+``: `probe` tries these.
"""

import importlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from respeed.errors import NotMeasurable
from respeed.machine.process import child_environment, die_with_parent, private_stdout
from respeed.model import number_bytes
from respeed.text import first_line
from respeed.workloads import Arrays, Item, Pairs, Workload
from respeed.workloads.arrays import Draws, Zeros

Step = Callable[[], None]
SMALL_PRODUCT = "a small product on it"


class Backend(ABC):
    """A library on a device, in a precision, on so many threads. It is the `Row` of its steps.

    Attributes
    ----------
    synchronous : bool
        Whether an operation is finished when it returns, so that single steps can be timed.
    pools : int
        Pools of `threads` threads that a step may use in turn.
    shares_cores : bool
        Whether the library has more threads than the row, on the row's CPUs. They wait for one another by design; the
        check is of the CPU time that they take.
    memory_factor : float
        The memory of a program's arrays, over 4 bytes a number.
    looser : mapping of str to float
        Arrays that may be farther off than others in the row's precision, and how far: the library's own algorithm for
        them rounds more, and nothing forbids it.
    """

    framework: ClassVar[str]
    synchronous = True
    shares_cores = False
    in_pieces = graphs = fused = False
    pools = 1
    device: Any = "cpu"
    looser: Mapping[str, float] = MappingProxyType({})

    def __init__(self, precision: str, threads: int) -> None:
        self.precision, self.threads = precision, threads
        # The type of arrays as NumPy: their own, or fp32 for low precisions, which it holds exactly.
        self.host_dtype = np.dtype(f"f{number_bytes(precision)}")
        self.memory_factor = self.host_dtype.itemsize / 4

    @abstractmethod
    def array(self, values: Any, *, exact: bool = False) -> Any:
        """Return `values` on the device in the row's precision; if `exact`, in fp32 however low that is."""

    def write(self, values: Any, out: Any) -> None:
        """Compute out <- values, of the host; a number goes to all places."""
        raise NotImplementedError

    @abstractmethod
    def host(self, array: Any) -> Any:
        """Return an array as NumPy, in fp32 or fp64, and anything else unchanged. Use it before the next step."""

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Return the facts of a record about the library as it is in force.

        `package`, `library`, `threads_set` as the library reports it, and perhaps `version`, `kernel`, `accelerator`.
        """

    def build(self, workload: Workload, seed: int) -> "Program":
        """Return the workload as a program on this row. All that it needs is allocated here."""
        return Program(self, workload, seed)

    def each(self, items: Sequence[Item], work: Callable[[Item], object]) -> None:
        """Call `work` for every item."""
        for item in items:
            work(item)

    def limited(self, step: Step, threads: int) -> Step:
        """Return the step on so many threads; NotMeasurable where that cannot be."""
        raise NotMeasurable("the threads of this library cannot be limited for a step")

    def captured(self, step: Step, *, by_autograd: bool = False, undo: Step | None = None) -> Step:
        """Return the step, or the same step as one launch on the device.

        Where there is an `undo`, the step may be done once before, and `undo` is then called.
        """
        return step

    def why_plain(self) -> str | None:
        """Return why steps since the last call could not be captured; None if all were."""
        return None

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        """Return contexts in which a tiny program loads all code that large programs use."""
        return (nullcontext(),)

    def bytes_free(self) -> float | None:
        """Return how many bytes arrays can still take of the device's own memory; None if they lie in the host's."""
        return None

    def sync(self) -> None:  # noqa: B027, nothing where an operation is finished when it returns
        """Return when all operations on the device are done."""


class Program:
    """A workload on a row: its arrays, its steps, and their check.

    Attributes
    ----------
    parts : mapping of str to callable
        The parts of a step, which are done one after another, each timed by itself.
    arrays : Arrays
        All arrays, and the objects that the workload has prepared.
    """

    def __init__(self, backend: Backend, workload: Workload, seed: int) -> None:
        self.backend, self.workload, self.seed = backend, workload, seed
        self.framework = "program" if hasattr(workload, "program") else backend.framework
        if self.framework in workload.one_thread and backend.threads > 1:
            raise NotMeasurable(f"{self.framework} uses one thread for this: see the row of one core")
        self.inputs = workload.arrays(np.random.default_rng(seed))
        self.count = 0
        # The arrays that a step reads as the last step left them.
        self._kept = {*workload.learned, *workload.state, *workload.handed_on}
        self._given: dict[str, Any] = {}
        self.arrays = self._make_arrays()
        self._items = max((len(self.inputs[name]) for name in workload.cycled), default=1)
        self._views = self._make_views()
        self._steps = [self._make_steps(view) for view in self._views]
        handed_on = workload.handed_on if self._items > 1 else ()
        self._start = {name: backend.array(self.inputs[name]) for name in handed_on}
        *_, self._last = names = tuple(self._steps[0])
        passes = [f" {item + 1}" for item in range(self._items)] if workload.whole_pass else [""]
        self.parts = {f"{name}{which}": partial(self._do, name) for which in passes for name in names}

    @property
    def other_graphs(self) -> int:
        """Return how many graphs there are beside that of the first step: one for each other item of cycled arrays."""
        is_graph = self.backend.graphs and self.framework == self.backend.framework
        return len(self._views) - 1 if is_graph and not self.workload.whole_pass else 0

    def _make_arrays(self) -> Arrays:
        workload, arrays = self.workload, Arrays()
        for name, values in self.inputs.items():
            exact = name in workload.learned or isinstance(values, Draws)
            setattr(arrays, name, self.backend.array(values, exact=exact))
        if prepare := getattr(workload, f"prepare_{self.framework}", None):
            prepare(arrays, self.backend)
        return arrays

    def _make_views(self) -> list[Arrays]:
        names, shared = self.workload.cycled, vars(self.arrays)
        return [Arrays(**{**shared, **{name: shared[name][item] for name in names}}) for item in range(self._items)]

    def _make_steps(self, view: Arrays) -> dict[str, Step]:
        """Return the parts of a step on one view."""
        workload, backend, framework = self.workload, self.backend, self.framework
        if several := getattr(workload, f"steps_{framework}", None):
            steps: dict[str, Step] = several(view, backend)
        elif parts := workload.parts():
            names = dict.fromkeys(name.rpartition(" ")[0] if workload.whole_pass else name for name in parts)
            steps = {name: partial(getattr(workload, f"{framework}_{name}"), view, backend) for name in names}
        else:
            steps = {"step": partial(getattr(workload, framework), view, backend)}
        captured = tuple(steps) if workload.captured is True else workload.captured or ()
        for name, step in steps.items():
            if workload.threads:
                steps[name] = backend.limited(step, workload.threads)
            elif name in captured:
                steps[name] = backend.captured(step, by_autograd=workload.by_autograd, undo=self._undo)
        return steps

    def _do(self, part: str) -> None:
        """Do a part of the next step; after the last part, do what comes between two steps."""
        workload, place = self.workload, self.count % len(self._views)
        self._steps[place][part]()
        if part != self._last:
            return
        for name, start in self._start.items():
            is_over = place == len(self._views) - 1
            getattr(self.arrays, name)[...] = start if is_over else getattr(self.arrays, workload.handed_on[name])
        if workload.read:
            self.backend.host(getattr(self.arrays, workload.read))
        self.count += 1

    def step(self) -> None:
        """Do one step. Where the device runs ahead, it need not be finished on return."""
        for part in self.parts.values():
            part()

    def _undo(self) -> None:
        """Undo the first step: restore the arrays that it read and changed, and make all that it only writes NaN."""
        for name, values in self.inputs.items():
            if name in self._kept:
                self._write(name, values)
            elif isinstance(values, Zeros) and name in vars(self.arrays):
                self._write(name, np.nan)

    def begin_anew(self) -> None:
        """Before the last check, draw all inputs anew, except those left by the last step, and make all outputs NaN.

        A result that is right afterwards was computed by the next step, from its own inputs.
        """
        fresh = self.workload.arrays(np.random.default_rng(self.seed + 1))
        for name, values in fresh.items():
            if name in self._kept:
                self._given[name] = np.array(self.backend.host(getattr(self.arrays, name)))
            elif name not in vars(self.arrays):
                continue  # it is prepared in another form, and stays as it was
            elif isinstance(values, Zeros):
                self._write(name, np.nan)
            else:
                self._write(name, values)
                self._given[name] = values

    def _write(self, name: str, values: Any) -> None:
        """Write to an array; a number goes to all places."""
        self.backend.write(values, getattr(self.arrays, name))

    def check(self) -> Pairs:
        """Pair the results of the last step with the results that it must have."""
        given, last = {**self.inputs, **self._given}, self.count - 1
        for name in self.workload.cycled:
            given[name] = given[name][last % self._items]
        seen: Any = _Seen(self.backend, self._views[last % len(self._views)])
        with np.errstate(all="ignore"):  # NaN and infinity are found in the comparison
            return self.workload.check(Arrays(**given), seen)


class _Seen:
    """The arrays of a view as the host sees them, each copied when it is read."""

    def __init__(self, backend: Backend, view: Arrays) -> None:
        self._host, self._view = backend.host, view

    def __getattr__(self, name: str) -> Any:
        return self._host(getattr(self._view, name))


def make_backend(name: str, *, device: str, precision: str, threads: int, seed: int) -> Backend:
    """Import the backend `name` and set it up; NotMeasurable with the reason if its package or device is not there."""
    made: Backend = _load(name).Backend(device=device, precision=precision, threads=threads, seed=seed)
    return made


def _load(name: str) -> Any:
    """Import the module of a backend; NotMeasurable if a package that it needs is not installed."""
    try:
        return importlib.import_module(f"respeed.backends.{name}")
    except ModuleNotFoundError as error:
        raise NotMeasurable(f"needs the Python package {error.name}, which is not installed") from error


def probe(backend: str, device: str) -> None:
    """Run in a process of its own: print what `try_device` finds as a line of JSON."""
    answers = private_stdout()
    die_with_parent()
    os.environ.update(child_environment(threads=1))
    answers.write(json.dumps(try_device(backend, device)) + "\n")


def try_device(backend: str, device: str) -> dict[str, Any]:
    """Try a device: do a small product on it, and another operation after that.

    Returns
    -------
    dict
        `reasons`: why the backend cannot compute there in each precision, or None where it can; and `lasting`: whether
        they stay so until driver, library or device change, as where no product failed.
    """
    module = _load(backend)
    square = np.arange(4.0).reshape(2, 2)  # so small that its square is exact in every precision
    reasons: dict[str, str | None] = {}
    for precision in module.PRECISIONS:
        try:
            made = module.Backend(device=device, precision=precision, threads=1, seed=0)
            there = made.array(square)
            is_right = np.array_equal(made.host(there @ there + 1), square @ square + 1)
            reasons[precision] = None if is_right else f"{SMALL_PRODUCT} is wrong"
        except NotMeasurable as reason:
            reasons[precision] = str(reason)
        except Exception as error:  # of the device, its driver or its libraries
            reasons[precision] = f"{SMALL_PRODUCT} fails: {first_line(first_cause(error))}"
    failed = any(reason and reason.startswith(SMALL_PRODUCT) for reason in reasons.values())
    return {"reasons": reasons, "lasting": not failed and None in reasons.values()}


def first_cause(error: BaseException) -> BaseException:
    """Return the first error of a chain: a device's error often ends in another, which only refers to it."""
    while (before := error.__cause__ or (None if error.__suppress_context__ else error.__context__)) is not None:
        error = before
    return error
