"""Counts what a step asks of a CUDA device, in a process that takes the pretended GPU for one: its lines as JSON.

`python -m tests.pretended_gpu.launches WORKLOAD...` in the environment of environment.py.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from respeed.backends import _torch_fused, make_backend
from respeed.backends._torch_between import ByTorch
from respeed.errors import NotMeasurable
from respeed.inputs.registry import workloads
from respeed.machine.process import private_stdout
from respeed.model.paper import Case
from respeed.workloads import load_workload
from tests.pretended_gpu.device import Queued, queued_by

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
WAYS = ("torch", "triton")


def lines_of(workload: str) -> Iterator[dict[str, Any]]:
    """At its odd test case, by torch's operations and by the kernels."""
    for precision in PRECISIONS:
        if precision in workloads()[workload].precisions:
            for way in WAYS:
                try:
                    yield counted(workload, precision, way)
                except NotMeasurable:
                    continue


def counted(workload: str, precision: str, way: str) -> dict[str, Any]:
    module, case = load_workload(workload), Case("odd", workload, workloads()[workload].tests["odd"])
    program = module.build(_backend(precision, way), case, module.inputs(case, 5))
    program.step()
    queued = queued_by(program.step)
    kinds = Counter(one.kind for one in queued)
    return {
        "workload": workload, "precision": precision, "between": way, "kernels": kinds["kernel"],
        "products": kinds["product"], "copies": kinds["copy"] + kinds["fill"], "elementwise_bytes": elementwise(queued),
    }  # fmt: skip


@cache
def _backend(precision: str, way: str) -> Any:
    backend: Any = make_backend("torch", device="cuda", precision=precision, threads=1, seed=1)
    backend.captured = lambda step: step  # a graph's run asks for all at once
    if way == "torch":
        backend._between = ByTorch(backend._scratch)
    told = backend.describe()["elementwise"]
    if told.split()[0] != way:
        raise AssertionError(f"not by {way} but by {told}")
    return backend


def elementwise(queued: list[Queued]) -> int:
    """The bytes of the arrays that operators touch, each once an operator; without products and factorizations, which
    are libraries'."""
    products = {one.operator for one in queued if one.kind in {"product", "library"}}
    return sum(one.bytes for one in queued if one.operator not in products)


if __name__ == "__main__":
    answers = private_stdout()
    # No kernel of Triton's runs on this device, so none can leave the process without it.
    _torch_fused.proved_apart = lambda device, dtype: None
    for name in sys.argv[1:]:
        for line in lines_of(name):
            answers.write(json.dumps(line) + "\n")
