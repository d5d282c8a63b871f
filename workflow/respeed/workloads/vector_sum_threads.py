"""c = a + b as in `vector_sum`, on some of a row's threads alone: what more of them bring where work is memory."""

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Inputs
from respeed.workloads._common import limit_threads, limited_step
from respeed.workloads.vector_sum import Sum, flops, inputs, memory_bytes, reference, traffic_bytes

__all__ = ["build", "flops", "inputs", "memory_bytes", "reference", "traffic_bytes"]

PARAMETERS = {"length": "whole", "threads": "whole"}
TESTS = {
    "smoke": {"length": 256, "threads": 1},
    "odd": {"length": 70001, "threads": 1},
    "large": {"length": 102400, "threads": 1},
}
PRECISIONS = ("fp32", "fp64")
PRODUCTS = False
ASKS = ("limited", "sum")


def build(backend: BackendContract, case: Case, inputs: Inputs) -> Sum:
    limit = limit_threads(backend, case)
    program = Sum(backend, case, inputs)
    program.step = limited_step(limit, program.add)
    return program
