"""A copy of `length` elements between the host's memory and the device's, "to" the device or "from" it.

The host's memory is `pinned`, which the device reads and writes by itself, or `pageable`, as an array usually is. On a
CPU there are not two memories: the case is not run there.
"""

import numpy as np

from respeed.backends import BackendContract
from respeed.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, _sums
from respeed.workloads._common import Drawn

PARAMETERS = {"length": "whole", "direction": ("to", "from"), "memory": ("pinned", "pageable")}
TESTS = {
    "smoke": {"length": 256, "direction": "to", "memory": "pinned"},
    "odd": {"length": 70001, "direction": "from", "memory": "pageable"},
    "large": {"length": 102400, "direction": "to", "memory": "pageable"},
}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False
ASKS = ("mirrored",)


class _Copy:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend = backend
        self.to_device = str(case.parameters["direction"]) == "to"
        pinned = str(case.parameters["memory"]) == "pinned"
        self.mirror = backend.mirrored(inputs["values"], pinned=pinned)  # (n,)
        if not self.mirror.apart:
            raise NotMeasurable("nothing to copy: its arrays lie in the host's memory")
        if not self.to_device:
            self.mirror.download()  # so that the host's are all 0
            backend.copy(backend.array(inputs["values"]), self.mirror.array)
        self.step = self.mirror.upload if self.to_device else self.mirror.download

    def state(self) -> Arrays:
        there = self.backend.host(self.mirror.array) if self.to_device else self.mirror.values()
        return {"copied": there}


build = _Copy


def inputs(case: Case, seed: int) -> Inputs:
    """Values uniform in [0, 1)."""
    return {"values": Drawn((_sums.length(case),), 0.0, 1.0, seed)}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return {"copied": np.asarray(inputs["values"])}


def flops(case: Case) -> float | None:
    """None: a copy computes nothing."""
    return None


def traffic_bytes(case: Case) -> float:
    """The bytes that are copied, once, fp32."""
    return 4.0 * _sums.length(case)


def memory_bytes(case: Case) -> float:
    """The array on the device, and the values that it is given, fp32."""
    return 2 * traffic_bytes(case)
