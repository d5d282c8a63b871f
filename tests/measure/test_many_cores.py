"""A model of 16 cores: 16 threads on the cores that there are, and which of them had work in a step.

Threads that wait sleep, so that only work takes a thread's time. How long a step takes there is not asked.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from respeed.backends import make_backend
from respeed.machine.process import child_environment
from respeed.measure import case as measuring
from respeed.measure.order import Job
from respeed.workloads import find_workload
from tests.conformance.programs import case_of
from tests.orders import order_of

THREADS = 16
SLEEPING = {
    "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0", "OPENBLAS_THREAD_TIMEOUT": "4",
}  # fmt: skip
# Sizes at which every thread has some milliseconds of work.
CASES = {
    "convolution": {"batch": 2**21, "width": 2048, "radius": 2},
    "sort": {"batch": 2**23},
    "fft": {"length": 4096, "batch": 2048},
    "saxpy": {"length": 2**24},
    "monte_carlo": {"batch": 2**21, "options": 4},
    "spmv": {"rows": 2**18, "nonzero": 16},
    "rbm": {"visible": 1024, "hidden": 1024, "batch": 192, "learning_rate": 0.01},
    "cd1_products": {"visible": 576, "hidden": 192, "batch": 192, "patches": 32},
    "patches": {"side": 72, "patch": 24, "stride": 8, "hidden": 192, "batch": 192, "learning_rate": 0.01},
}
# Of each workload on a library, how many threads worked; why it does not run; and products by thread, where it
# takes one patch after another.
MODEL = """
import json, sys, threading
from collections import Counter
from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from respeed.inputs.registry import runs
from respeed.measure.timing import difference, take_snapshot
from respeed.workloads import find_workload
import respeed.workloads.patches as patches

threads, cases = json.loads(sys.argv[1])
products, multiply = Counter(), patches.gemm

def counted(*arguments, **options):
    products[threading.get_ident()] += 1
    return multiply(*arguments, **options)

patches.gemm = counted
worked = {}
for library in ("numpy", "torch"):
    made = make_backend(library, device="cpu", precision="fp32", threads=threads, seed=1)
    for name, parameters in cases.items():
        if not runs(name, library, "fp32"):
            continue
        try:
            program = made.build(find_workload(name)(**parameters), 1)
        except NotMeasurable as reason:
            worked[f"{library} {name}"] = str(reason)
            continue
        program.step()
        most = 0
        # On few cores, a thread that begins late may find nothing left: not each time.
        for _ in range(6):
            products.clear()
            before = take_snapshot()
            for _ in range(4):
                program.step()
            most = max(most, difference(before, take_snapshot())["threads_ran"])
            if most >= threads:
                break
        worked[f"{library} {name}"] = most
        if products:
            worked["products"] = sorted(products.values())
print(json.dumps(worked))
"""
ONE_THREAD = "{} uses one thread for this: see the row of one core"


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="this kernel does not tell which threads ran")
def test_no_step_leaves_a_core_idle_by_design() -> None:
    """Each of 16 threads has work in every step, or the row says that its library uses one."""
    environment = {**child_environment(THREADS), **SLEEPING, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", MODEL, json.dumps([THREADS, CASES])]
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, check=True)
    worked = json.loads(done.stdout.splitlines()[-1])
    products = worked.pop("products")
    refused = {name: worked.pop(name) for name, said in [*worked.items()] if isinstance(said, str)}
    alone = ("numpy sort", "numpy spmv", "torch sort")
    assert refused == {name: ONE_THREAD.format(name.split()[0]) for name in alone}
    assert {name: ran for name, ran in worked.items() if ran < 0.75 * THREADS} == {}
    assert len(products) == THREADS
    assert products[-1] <= 3 * sum(products) / THREADS


@pytest.mark.parametrize(
    ("fast", "threads", "told"),
    [
        (False, 16, "all at once"), (True, 16, "each on a core of its own"),
        # With few threads it is known.
        (False, 8, None),
    ],
)  # fmt: skip
def test_many_cores_take_patches_the_faster_way(
    fast: bool, threads: int, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On many cores one by one or all at once, whichever was faster; the record says which."""
    made = make_backend("torch", device="cpu", precision="fp32", threads=1, seed=1)
    ways: list[bool] = []

    def timed(step: Callable[[], None], sync: Any) -> float:
        return 1.0 if made.in_pieces == fast else 2.0

    monkeypatch.setattr(measuring, "time_steps", timed)
    check = measuring._check_and_time
    monkeypatch.setattr(measuring, "_check_and_time", lambda *given: ways.append(made.in_pieces) or check(*given))
    bench = measuring.make_bench(made)[0]
    order = order_of("torch-1", threads=threads)
    facts = measuring.measure_case(order, Job(case_of("patches", "odd"), 1, ""), bench)
    assert (facts["status"], facts.get("items")) == ("measured", told)
    assert ways == [fast or threads == 8]
    assert made.in_pieces


def test_only_patches_are_divided() -> None:
    divisible = [name for name in CASES if find_workload(name).divisible]
    assert divisible == ["cd1_products", "patches"]
