"""Rounds of GPU rows, measured on the pretended one, from the order to the record."""

import json
import os
from typing import Any

import pytest

from tests.conftest import Project
from tests.orders import name_of
from tests.pretended_gpu.environment import environment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pretended")]

MEASURE = """
import json, sys
from respeed.machine.process import machine_lock
from respeed.measure.turn import measure_turn
from tests.orders import order_of
with machine_lock() as lock:
    records = measure_turn(order_of(sys.argv[1]), "box", True, lock)
told = [[one.start.model_dump(), [result.model_dump(mode="json") for result in one.results]] for one in records]
print(json.dumps(told))
"""


def records_of(project: Project, profile: str, **changed: Any) -> Any:
    """Return the start and the results of each process that measures the profile on the pretended device."""
    added = environment(**changed)
    added["PYTHONPATH"] = f"{project.folder / 'workflow'}{os.pathsep}{added['PYTHONPATH']}"
    # What the pretended device answered is not kept among the answers of this machine's own.
    added["XDG_CACHE_HOME"] = str(project.folder / ".cache")
    told = project.run("python", "-c", MEASURE, profile, **added).stdout
    return json.loads(told[told.index('[[{"schema') :].splitlines()[0])  # libraries may say something beside it


@pytest.mark.parametrize("profile", ["gpu", "gpu-bf16"])
def test_a_round_of_a_gpu_row_is_measured_checked_and_told_with_its_energy(project: Project, profile: str) -> None:
    ((start, results),) = records_of(project, profile)
    assert {case["status"] for case in results} == {"measured"}, results
    assert start["backend"]["accelerator"] == "Pretended GPU (no device)"
    assert start["machine"]["accelerators"] == ["Pretended GPU (no device)"]
    assert {"GPU"} <= {domain for case in results for block in case["blocks"] for domain in block["joules"]}
    assert all(case["graphs"] is None for case in results)


def test_a_device_without_memory_is_told_as_the_reason(project: Project) -> None:
    with pytest.raises(AssertionError, match="NotMeasurable: a small product on it fails: OutOfMemoryError"):
        records_of(project, "gpu", memory=2**20)


def test_a_case_with_an_error_that_stays_is_the_only_one_that_has_it(project: Project) -> None:
    built = 'program = backend.build(workload, derive_seed(order.seed, asked.key, asked.number, "data"))\n'
    fault = "    if asked.case.name == '64x256':\n        __import__('ctypes').CDLL(None).pretended_fault(700)\n"
    project.edit("workflow/respeed/measure/case.py", built, built + fault)
    told = {name_of(case): case["reason"] for _, results in records_of(project, "gpu") for case in results}
    assert told.pop("64x256").startswith("AcceleratorError: CUDA error: an illegal memory access was encountered")
    assert set(told.values()) == {None}
