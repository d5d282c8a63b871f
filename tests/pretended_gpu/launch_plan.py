"""What a step asks of a CUDA device, for each workload and precision: run in a process that takes the pretended GPU for
one. `python -m tests.pretended_gpu.launch_plan` prints docs/launches.csv."""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from respeed.backends import make_backend
from respeed.load.modules import workload_backends, workload_precisions, workload_tests
from respeed.model.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import load_workload
from tests.pretended_gpu.device import Queued, queued_by

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
# Its convolutions are of a library that is not pretended, or its replicas processes of their own.
LEFT_OUT = {"convnet", "data_parallel"}
COLUMNS = ("workload", "precision", "between", "kernels", "products", "copies", "elementwise_bytes")
WORKLOADS = sorted(
    name for name, backends in workload_backends().items() if "torch" in backends and name not in LEFT_OUT
)


def plan() -> Iterator[dict[str, Any]]:
    """The lines of all workloads, at their odd test case."""
    for workload in WORKLOADS:
        for precision in PRECISIONS:
            if precision in workload_precisions()[workload]:
                found = counted(workload, precision)
                if found:
                    yield found


def counted(workload: str, precision: str) -> dict[str, Any] | None:
    """None where the workload does not run there."""
    module, case = load_workload(workload), Case("odd", workload, workload_tests()[workload]["odd"])
    backend: Any = make_backend("torch", device="cuda", precision=precision, threads=1, seed=1)
    backend.captured = lambda step: step  # a graph's run asks for all at once
    try:
        program = module.build(backend, case, module.inputs(case, 5))
    except NotMeasurable:
        return None
    program.step()
    backend.sync()
    queued = queued_by(program.step)
    backend.sync()
    kinds = Counter(one.kind for one in queued)
    between = str(backend.describe()["elementwise"]).split()[0].rstrip(":")
    return {
        "workload": workload, "precision": precision, "between": between, "kernels": kinds["kernel"],
        "products": kinds["product"], "copies": kinds["copy"] + kinds["fill"], "elementwise_bytes": elementwise(queued),
    }  # fmt: skip


def elementwise(queued: list[Queued]) -> int:
    """The bytes of the arrays that operators without a product touch, each once an operator."""
    products = {one.operator for one in queued if one.kind == "product"}
    return sum(one.bytes for one in queued if one.operator not in products)


if __name__ == "__main__":
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plan())
