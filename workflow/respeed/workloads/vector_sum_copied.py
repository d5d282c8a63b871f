"""c = a + b where a, b and c belong in the host's memory: a and b are copied to the device, added there, and c is
copied back. A step is done when c is there, as it is for somebody who needs it.

On a CPU there is nothing to copy: the step is the sum alone. Beside it stands from which length on a device is worth
the way there and back. The host's memory is `pinned`, which the device reads by itself, or `pageable`, as an array
usually is.
"""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Inputs, _sums
from respeed.workloads._common import Drawn
from respeed.workloads._sums import flops, memory_bytes, reference, traffic_bytes

__all__ = ["build", "flops", "inputs", "memory_bytes", "reference", "traffic_bytes"]

PARAMETERS = {"length": "whole", "memory": ("pinned", "pageable")}
TESTS = {
    "smoke": {"length": 256, "memory": "pinned"},
    "odd": {"length": 70001, "memory": "pageable"},
    "large": {"length": 102400, "memory": "pinned"},
}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False
ASKS = ("mirrored", "sum")


class _CopiedSum:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend, pinned = backend, str(case.parameters["memory"]) == "pinned"
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
        return _sums.summary(self.c.values())


build = _CopiedSum


def inputs(case: Case, seed: int) -> Inputs:
    """a and b as for the plain sum; c as it is before: all 0."""
    return {**_sums.draw_vectors(case, seed), "c": Drawn((_sums.length(case),), 0.0, 0.0, seed)}
