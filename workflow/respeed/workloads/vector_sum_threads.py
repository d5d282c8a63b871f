"""c = a + b as in `vector_sum`, on some of a row's threads alone: what more of them bring where work is memory."""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, vector_sum

PARAMETERS = {"length": "whole", "threads": "whole"}
TESTS = {
    "smoke": {"length": 256, "threads": 1},
    "odd": {"length": 70001, "threads": 1},
    "large": {"length": 102400, "threads": 1},
}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False
ASKS = ("limited", "sum")


class _Limited(vector_sum.Sum):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.limited = backend.limited(int(case.parameters["threads"]))
        super().__init__(backend, case, inputs)
        self.step = self.step_limited

    def step_limited(self) -> None:
        with self.limited:
            self.add()


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _Limited:
    return _Limited(backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    return vector_sum.inputs(case, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return vector_sum.reference(case, inputs, seen)


def flops(case: Case) -> float:
    return vector_sum.flops(case)


def traffic_bytes(case: Case) -> float:
    return vector_sum.traffic_bytes(case)


def memory_bytes(case: Case) -> float:
    return vector_sum.memory_bytes(case)
