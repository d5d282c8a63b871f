"""The ceilings of a profile, measured in every round: the matrix product's rate and the copy's."""

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.model.precision import number_bytes
from respeed.timing.probe import shortest_seconds
from respeed.workloads import matmul

# Squares are doubled until one takes this long: what is shorter does not fill a device with many cores.
PRODUCT_SECONDS = 0.005
SIDES = (1024, 2048, 4096, 8192)
# Several times larger than any cache but the largest; read and written once each.
COPY_BYTES = 64 * 2**20


def measure_ceilings(backend: BackendContract) -> dict[str, float]:
    """`flops_per_second` of a square product, and `bytes_per_second` of a copy, bytes read and written both counted."""
    return {"flops_per_second": _product_rate(backend), "bytes_per_second": _copy_rate(backend)}


def _product_rate(backend: BackendContract) -> float:
    best = 0.0
    for side in SIDES:
        case = Case("ceiling", "matmul", {"m": side, "k": side, "n": side})
        program = matmul.build(backend, case, matmul.inputs(case, seed=0))
        seconds = shortest_seconds(program.step, backend.sync)
        best = max(best, matmul.flops(case) / seconds)
        if seconds >= PRODUCT_SECONDS:
            break
    return best


def _copy_rate(backend: BackendContract) -> float:
    shape = (COPY_BYTES // (1024 * number_bytes(backend.describe()["precision"])), 1024)
    source, out = backend.array(np.ones(shape, dtype=np.float32)), backend.zeros(*shape)
    return 2 * COPY_BYTES / shortest_seconds(lambda: backend.copy(source, out), backend.sync, repeats=3)
