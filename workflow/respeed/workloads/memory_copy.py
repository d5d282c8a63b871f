"""out <- source: `length` elements from one place of the memory that arrays lie in to another, on all threads.

Of arrays much larger than the caches it is what the memory can move: nothing is computed, and nothing is used twice.
"""

from typing import Any

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, _sums

PARAMETERS = {"length": "whole"}
TESTS = {"smoke": {"length": 256}, "odd": {"length": 70001}, "large": {"length": 102400}}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False
# Elements that differ; gigabytes of random numbers would take longer to draw than to copy.
PERIOD = 2**16


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
        self.out = backend.zeros(_sums.length(case))  # (n,)
        self.step = backend.captured(self.move)

    def move(self) -> None:
        self.backend.copy(self.source, self.out)

    def state(self) -> Arrays:
        out = self.backend.host(self.out)
        return {"copied": out[_sums.places(len(out))]}


build = _MemoryCopy


def inputs(case: Case, seed: int) -> Inputs:
    """Values uniform in [0, 1), which repeat."""
    base = np.random.default_rng(seed).random(PERIOD, dtype=np.float32)
    return {"values": _Repeated(base, _sums.length(case))}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """Elements from all over the copy: so near one another that none that a thread leaves out goes unseen."""
    return {"copied": inputs["values"].at(_sums.places(_sums.length(case)))}


def flops(case: Case) -> float | None:
    """None: a copy computes nothing."""
    return None


def traffic_bytes(case: Case) -> float:
    """Read and written, fp32: 8 bytes an element."""
    return 8.0 * _sums.length(case)


def memory_bytes(case: Case) -> float:
    """Source and out, fp32."""
    return traffic_bytes(case)
