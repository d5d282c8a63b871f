"""Rounds of GPU rows, measured on the pretended one, from the order to the record."""

import json
import os

import pytest

from tests.conftest import Project
from tests.orders import name_of
from tests.pretended_gpu.environment import environment

MEASURE = """
import json
from unittest.mock import Mock
from respeed.machine.process import machine_lock
from respeed.measure.turn import measure_turn
from tests.orders import order_of
with machine_lock(None, print) as lock:
    records = measure_turn(order_of("gpu"), "box", True, lock, Mock())
def dumped(lines):
    return [line.model_dump(mode="json") for line in lines]

told = [[one.start.model_dump(), dumped(one.results), dumped(one.replays)] for one in records]
print(json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_failing_case_leaves_the_others_energy(project: Project) -> None:
    """A round is measured with its energy but for the case whose error stays."""
    built = 'program = backend.build(workload, derive_seed(order.seed, job.case.key, job.number, "data"))\n'
    fault = "    if job.case.name == '64x256':\n        __import__('ctypes').CDLL(None).pretended_fault(700)\n"
    project.edit("workflow/respeed/measure/case.py", built, built + fault)
    added = environment()
    added["PYTHONPATH"] = f"{project.folder / 'workflow'}{os.pathsep}{added['PYTHONPATH']}"
    # What the pretended device answered is not kept among the answers of this machine's own.
    added["XDG_CACHE_HOME"] = str(project.folder / ".cache")
    told = project.run("python", "-c", MEASURE, **added).stdout
    records = json.loads(told[told.index('[[{"') :].splitlines()[0])  # libraries may say something beside it
    assert {start["backend"]["accelerator"] for start, *_ in records} == {"Pretended GPU (no device)"}
    cases = {name_of(case): case for _, results, _ in records for case in results}
    reason = cases.pop("64x256")["reason"]
    assert reason.startswith("AcceleratorError: CUDA error: an illegal memory access was encountered")
    assert {(case["status"], case["graphs"]) for case in cases.values()} == {("measured", None)}
    # A process that lost its device profiles nothing.
    for _, results, replays in records:
        is_lost = results[-1]["status"] == "failed"
        assert [name_of(replay) for replay in replays] == ([] if is_lost else list(map(name_of, results)))
        assert all(replay["kernels"] and replay["longest"] for replay in replays)
    assert all("GPU" in block["joules"] for case in cases.values() for block in case["blocks"])
