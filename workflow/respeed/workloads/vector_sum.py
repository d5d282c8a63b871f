"""c = a + b: the sum of two vectors of `length` elements, which lie in the memory of whoever adds them.

The smallest data-parallel program: a loop in C, a kernel with a thread an element in CUDA. One addition for 12 bytes:
what is timed is memory, and for short vectors what it takes to ask for a step.
"""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Inputs, _sums
from respeed.workloads._sums import flops, memory_bytes, reference, traffic_bytes

__all__ = ["build", "flops", "inputs", "memory_bytes", "reference", "traffic_bytes"]

PARAMETERS = {"length": "whole"}
TESTS = {"smoke": {"length": 256}, "odd": {"length": 70001}, "large": {"length": 102400}}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False
ASKS = ("sum",)


class Sum:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend = backend
        self.a = backend.array(inputs["a"])  # (n,)
        self.b = backend.array(inputs["b"])  # (n,)
        self.c = backend.zeros(_sums.length(case))  # (n,)
        self.step = backend.captured(self.add)

    def add(self) -> None:
        self.backend.sum(self.a, self.b, self.c)

    def state(self) -> Arrays:
        return _sums.summary(self.backend.host(self.c))


build = Sum


def inputs(case: Case, seed: int) -> Inputs:
    return _sums.draw_vectors(case, seed)
