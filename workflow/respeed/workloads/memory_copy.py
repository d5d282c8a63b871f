"""out <- source: `length` elements from one place of the memory that arrays lie in to another, on all threads.

Of arrays much larger than the caches it is what the memory can move: nothing is computed, and nothing is used twice.
"""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, _sums
from respeed.workloads._drawn import Drawn

PARAMETERS = {"length": "whole"}
TESTS = {"smoke": {"length": 256}, "odd": {"length": 70001}, "large": {"length": 102400}}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False


class _MemoryCopy:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend = backend
        self.source = backend.array(inputs["values"])  # (n,)
        self.out = backend.zeros(_sums.length(case))  # (n,)
        self.step = backend.captured(self.move)

    def move(self) -> None:
        self.backend.copy(self.source, self.out)

    def state(self) -> Arrays:
        return _sums.summary(self.backend.host(self.out))


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _MemoryCopy:
    return _MemoryCopy(backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    """Values uniform in [0, 1)."""
    return {"values": Drawn((_sums.length(case),), 0.0, 1.0, seed)}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The summary of the values, chunk after chunk."""
    return _sums.summarize(len(inputs["values"]), inputs["values"].chunks())


def flops(case: Case) -> float | None:
    """None: a copy computes nothing."""
    return None


def traffic_bytes(case: Case) -> float:
    """Read and written, fp32: 8 bytes an element."""
    return 8.0 * _sums.length(case)


def memory_bytes(case: Case) -> float:
    """Source and out, fp32."""
    return traffic_bytes(case)
