"""Programs that move numbers and hardly compute: the sum of two vectors in three ways, and copies.

c = a + b, vectors of `length` elements, is the smallest data-parallel program: a loop in C, a kernel with a thread an
element in CUDA. One addition for 12 bytes: what is timed is memory, and for short vectors what it takes to ask for a
step.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from respeed.backends import BackendContract
from respeed.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Program
from respeed.workloads._common import Drawn, WorkloadClass, limit_threads, limited_step

PARAMETERS = {"length": "whole"}
TESTS = {"smoke": {"length": 256}, "odd": {"length": 70001}, "large": {"length": 102400}}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False

# Elements that are checked one by one, evenly spread, and elements whose sum is checked: so few of [0, 2) that one
# which is missing shows in it.
CHECKED = 2**16
TOGETHER = 1024
# Elements of a copy that differ; gigabytes of random numbers would take longer to draw than to copy.
PERIOD = 2**16


def _length(case: Case) -> int:
    return int(case.parameters["length"])


def _is_pinned(case: Case) -> bool:
    """Whether the host's memory is pinned, which the device reads and writes by itself, or as an array usually is."""
    return str(case.parameters["memory"]) == "pinned"


def _places(n: int) -> np.ndarray:
    """Places from the first to the last, all of them where there are few."""
    return np.unique(np.linspace(0, n - 1, min(n, CHECKED)).astype(np.int64))


def _added(c: np.ndarray) -> np.ndarray:
    return np.add.reduceat(c, np.arange(0, len(c), TOGETHER), dtype=np.float64)


def _summary(c: np.ndarray) -> Arrays:
    """Elements of the sum from all over it, and what every TOGETHER of them add up to."""
    return {"elements": c[_places(len(c))], "together": _added(c)}


def _sums(inputs: Inputs) -> Iterator[tuple[slice, np.ndarray]]:
    """a + b in float64, chunk after chunk; a chunk is as long as many times TOGETHER."""
    for (rows, a), (_, b) in zip(inputs["a"].chunks(), inputs["b"].chunks(), strict=True):
        yield rows, a + b


class _Sum:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend = backend
        self.a = backend.array(inputs["a"])  # (n,)
        self.b = backend.array(inputs["b"])  # (n,)
        self.c = backend.zeros(_length(case))  # (n,)
        self.step = backend.captured(self.add)

    def add(self) -> None:
        self.backend.sum(self.a, self.b, self.c)

    def state(self) -> Arrays:
        return _summary(self.backend.host(self.c))


class VectorSum(WorkloadClass):
    """a, b and c lie in the memory of whoever adds them."""

    ASKS: tuple[str, ...] = ("sum",)

    program: ClassVar[type[Any]] = _Sum

    def inputs(self, case: Case, seed: int) -> Inputs:
        """a and b, uniform in [0, 1)."""
        n = _length(case)
        return {"a": Drawn((n,), 0.0, 1.0, seed), "b": Drawn((n,), 0.0, 1.0, [seed, 1])}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The summary in float64, chunk after chunk."""
        chosen, elements, together = _places(_length(case)), [], []
        for rows, c in _sums(inputs):
            elements.append(c[chosen[(chosen >= rows.start) & (chosen < rows.stop)] - rows.start])
            together.append(_added(c))
        return {"elements": np.concatenate(elements), "together": np.concatenate(together)}

    def flops(self, case: Case) -> float:
        """An addition an element."""
        return float(_length(case))

    def traffic_bytes(self, case: Case) -> float:
        """a and b read, c written, fp32: 12 bytes an element."""
        return 12.0 * _length(case)

    def memory_bytes(self, case: Case) -> float:
        """a, b and c, fp32."""
        return self.traffic_bytes(case)


class VectorSumThreads(VectorSum):
    """On some of a row's threads alone: what more of them bring where work is memory."""

    PARAMETERS: ClassVar = {"length": "whole", "threads": "whole"}
    TESTS: ClassVar = {
        "smoke": {"length": 256, "threads": 1},
        "odd": {"length": 70001, "threads": 1},
        "large": {"length": 102400, "threads": 1},
    }
    ASKS = ("limited", "sum")

    def build(self, backend: BackendContract, case: Case, inputs: Inputs) -> Program:
        limit = limit_threads(backend, case)
        program = _Sum(backend, case, inputs)
        program.step = limited_step(limit, program.add)
        return program


class _CopiedSum:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend, pinned = backend, _is_pinned(case)
        self.a = backend.mirrored(inputs["a"], pinned=pinned)  # (n,)
        self.b = backend.mirrored(inputs["b"], pinned=pinned)  # (n,)
        self.c = backend.mirrored(inputs["c"], pinned=pinned)  # (n,)

    def step(self) -> None:
        """Not captured: a graph has no place for copies of pageable memory, nor for waiting."""
        self.a.upload()
        self.b.upload()
        self.backend.sum(self.a.array, self.b.array, self.c.array)
        self.c.download()
        self.backend.sync()

    def state(self) -> Arrays:
        return _summary(self.c.values())


class VectorSumCopied(VectorSum):
    """a, b and c belong in the host's memory: a and b are copied to the device, added there, and c is copied back. A
    step is done when c is there, as it is for somebody who needs it.

    On a CPU there is nothing to copy: the step is the sum alone. Beside it stands from which length on a device is
    worth the way there and back.
    """

    PARAMETERS: ClassVar = {"length": "whole", "memory": ("pinned", "pageable")}
    TESTS: ClassVar = {
        "smoke": {"length": 256, "memory": "pinned"},
        "odd": {"length": 70001, "memory": "pageable"},
        "large": {"length": 102400, "memory": "pinned"},
    }
    ASKS = ("mirrored", "sum")

    program = _CopiedSum

    def inputs(self, case: Case, seed: int) -> Inputs:
        """a and b as for the plain sum; c as it is before: all 0."""
        return {**super().inputs(case, seed), "c": Drawn((_length(case),), 0.0, 0.0, seed)}


class _Copy:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend = backend
        self.to_device = str(case.parameters["direction"]) == "to"
        self.mirror = backend.mirrored(inputs["values"], pinned=_is_pinned(case))  # (n,)
        if not self.mirror.apart:
            raise NotMeasurable("nothing to copy: its arrays lie in the host's memory")
        if not self.to_device:
            self.mirror.download()  # so that the host's are all 0
            backend.copy(backend.array(inputs["values"]), self.mirror.array)
        self.step = self.mirror.upload if self.to_device else self.mirror.download

    def state(self) -> Arrays:
        there = self.backend.host(self.mirror.array) if self.to_device else self.mirror.values()
        return {"copied": there}


class Copies(WorkloadClass):
    """A copy between the host's memory and the device's, "to" the device or "from" it. On a CPU there are not two
    memories: the case is not run there."""

    PARAMETERS: ClassVar = {"length": "whole", "direction": ("to", "from"), "memory": ("pinned", "pageable")}
    TESTS: ClassVar = {
        "smoke": {"length": 256, "direction": "to", "memory": "pinned"},
        "odd": {"length": 70001, "direction": "from", "memory": "pageable"},
        "large": {"length": 102400, "direction": "to", "memory": "pageable"},
    }
    ASKS: tuple[str, ...] = ("mirrored",)

    program: ClassVar[type[Any]] = _Copy

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Values uniform in [0, 1)."""
        return {"values": Drawn((_length(case),), 0.0, 1.0, seed)}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        return {"copied": np.asarray(inputs["values"])}

    def flops(self, case: Case) -> float | None:
        """None: a copy computes nothing."""
        return None

    def traffic_bytes(self, case: Case) -> float:
        """The bytes that are copied, once, fp32."""
        return 4.0 * _length(case)

    def memory_bytes(self, case: Case) -> float:
        """The array on the device, and the values that it is given, fp32."""
        return 2 * self.traffic_bytes(case)


class _Repeated:
    """`base` again and again, in all so many elements, made whenever it is asked for."""

    def __init__(self, base: np.ndarray, length: int) -> None:
        self.base, self.shape = base, (length,)

    def at(self, places: np.ndarray) -> np.ndarray:
        """Some of them, in float64."""
        some: np.ndarray = self.base[places % len(self.base)].astype(np.float64)
        return some

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        base = self.base if dtype is None else self.base.astype(dtype)
        return np.resize(base, self.shape)


class _MemoryCopy:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend = backend
        self.source = backend.array(inputs["values"])  # (n,)
        self.out = backend.zeros(_length(case))  # (n,)
        self.step = backend.captured(self.move)

    def move(self) -> None:
        self.backend.copy(self.source, self.out)

    def state(self) -> Arrays:
        out = self.backend.host(self.out)
        return {"copied": out[_places(len(out))]}


class MemoryCopy(Copies):
    """out <- source, from one place of the memory that arrays lie in to another, on all threads.

    Of arrays much larger than the caches it is what the memory can move: nothing is computed, and nothing is used
    twice.
    """

    PARAMETERS: ClassVar = {"length": "whole"}
    TESTS: ClassVar = {"smoke": {"length": 256}, "odd": {"length": 70001}, "large": {"length": 102400}}
    ASKS = ()

    program = _MemoryCopy

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Values uniform in [0, 1), which repeat."""
        base = np.random.default_rng(seed).random(PERIOD, dtype=np.float32)
        return {"values": _Repeated(base, _length(case))}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """Elements from all over the copy: so near one another that none that a thread leaves out goes unseen."""
        return {"copied": inputs["values"].at(_places(_length(case)))}

    def traffic_bytes(self, case: Case) -> float:
        """Read and written, fp32: 8 bytes an element."""
        return 8.0 * _length(case)

    def memory_bytes(self, case: Case) -> float:
        """Source and out, fp32."""
        return self.traffic_bytes(case)
