"""What all cases of a round share: the backend, the reference probe on its threads, and the ceilings of a profile."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.model.precision import number_bytes
from respeed.schedule.spec import RoundSpec
from respeed.timing.energy import NO_METER, Meter
from respeed.timing.probe import Probe, make_probe, prove_threads, shortest_seconds
from respeed.workloads import matmul

# Large enough that every BLAS spreads it over its threads, small enough for a few milliseconds.
PROBE = Case("probe", "matmul", {"m": 640, "k": 640, "n": 640})
# Up to so many threads every BLAS was seen to use all of them for the probe.
MANY = 8
# Two clocks, that of the CPUs and that on the wall, are never read at quite the same moment.
MOST_TAKEN = 1.05
# Squares are doubled until one takes this long: what is shorter does not fill a device with many cores.
PRODUCT_SECONDS = 0.005
SIDES = (1024, 2048, 4096, 8192)
# Several times larger than any cache but the largest; read and written once each.
COPY_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Bench:
    """`probes` collects the seconds of every probe of the process, after those of its profile in this session so far;
    `rehearsed` the workloads that it has run before."""

    backend: BackendContract
    probe: Probe
    probes: list[float]
    rehearsed: set[str] = field(default_factory=set)
    meter: Meter = NO_METER


def make_bench(
    backend: BackendContract, probes: Sequence[float] = (), meter: Meter = NO_METER
) -> tuple[Bench, dict[str, Any]]:
    """Build the probe and prove on it how many threads really run."""
    program = matmul.build(backend, PROBE, matmul.inputs(PROBE, seed=0))
    probe = make_probe(program.step, backend.sync)
    return Bench(backend, probe, list(probes), meter=meter), prove_threads(probe)


def shares_cores(backend: BackendContract) -> bool:
    """Whether the threads of its library share the row's CPUs by design; what does not offer to say so does not."""
    return bool(getattr(backend, "shares_cores", False))


def thread_complaint(spec: RoundSpec, proof: dict[str, Any], *, is_shared: bool = False) -> str | None:
    """Why nothing of this round may count: another number of threads ran than was asked for. Where these share their
    CPUs, the one that asks may work beside them, but they may not take the time of more CPUs than they are threads.
    None if all is well."""
    ran = proof["threads_ran"]
    if not spec.profile.is_cpu:
        return None
    if is_shared and (taken := proof["cpus_taken"]) > MOST_TAKEN * spec.threads:
        return f"took the time of {taken:.1f} CPUs, {spec.threads} asked"
    if ran is None or ran in (spec.threads, spec.threads + is_shared):
        return None
    # On many cores a library may choose to use fewer, and the record says how many; on few it does not.
    if spec.threads > MANY and spec.threads // 2 <= ran < spec.threads:
        return None
    return f"{ran} thread{'s' if ran != 1 else ''} ran, {spec.threads} asked"


def measure_ceilings(backend: BackendContract) -> dict[str, float]:
    """Measured in every round: `flops_per_second` of a square product, and `bytes_per_second` of a copy, of which bytes
    read and written both count."""
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
