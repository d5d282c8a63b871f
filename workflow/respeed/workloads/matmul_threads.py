"""C = A B as in `matmul`, on some of a row's threads alone: what more of them bring where work is computing."""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, matmul

PARAMETERS = {"m": "whole", "k": "whole", "n": "whole", "threads": "whole"}
TESTS = {
    "smoke": {"m": 64, "k": 64, "n": 64, "threads": 1},
    "odd": {"m": 37, "k": 53, "n": 29, "threads": 1},
    "large": {"m": 320, "k": 320, "n": 320, "threads": 1},
}
PRECISIONS = ("fp32", "fp64")
ASKS = ("limited",)


class _Limited(matmul.Matmul):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.limited = backend.limited(int(case.parameters["threads"]))
        super().__init__(backend, case, inputs)
        self.step = self.step_limited

    def step_limited(self) -> None:
        with self.limited:
            self.multiply()


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _Limited:
    return _Limited(backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    return matmul.inputs(case, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return matmul.reference(case, inputs, seen)


def flops(case: Case) -> float:
    return matmul.flops(case)


def traffic_bytes(case: Case) -> float:
    return matmul.traffic_bytes(case)


def memory_bytes(case: Case) -> float:
    return matmul.memory_bytes(case)
