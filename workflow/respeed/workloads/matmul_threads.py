"""C = A B as in `matmul`, on some of a row's threads alone: what more of them bring where work is computing."""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Inputs
from respeed.workloads._common import limit_threads, limited_step
from respeed.workloads.matmul import Matmul, flops, inputs, memory_bytes, reference, traffic_bytes

__all__ = ["build", "flops", "inputs", "memory_bytes", "reference", "traffic_bytes"]

PARAMETERS = {"m": "whole", "k": "whole", "n": "whole", "threads": "whole"}
TESTS = {
    "smoke": {"m": 64, "k": 64, "n": 64, "threads": 1},
    "odd": {"m": 37, "k": 53, "n": 29, "threads": 1},
    "large": {"m": 320, "k": 320, "n": 320, "threads": 1},
}
PRECISIONS = ("fp32", "fp64")
ASKS = ("limited",)


def build(backend: BackendContract, case: Case, inputs: Inputs) -> Matmul:
    limit = limit_threads(backend, case)
    program = Matmul(backend, case, inputs)
    program.step = limited_step(limit, program.multiply)
    return program
