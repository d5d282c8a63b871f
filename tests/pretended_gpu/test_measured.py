"""Rounds of GPU rows, measured on the pretended one, from the order to the record."""

import json
import os
from typing import Any

import pytest

from tests.conftest import Project
from tests.pretended_gpu.environment import environment

MEASURE = """
import json, sys
from respeed.measure.turn import measure_spec
from respeed.paths import RoundId
from respeed.schedule.spec import make_spec
print(json.dumps(measure_spec(make_spec(RoundId("box", "raina2009", "rbm", sys.argv[1], 1, smoke=True), 1))))
"""


def record_in(told: str) -> Any:
    """Libraries may say something beside it."""
    return json.loads(told[told.index('{"id"') :].splitlines()[0])


def measured_on(project: Project, *command: str, memory: int | None = None) -> str:
    # What the pretended device answered is not kept among the answers of this machine's own.
    added = environment(memory=memory) | {"XDG_CACHE_HOME": str(project.folder / ".cache")}
    added["PYTHONPATH"] = os.pathsep.join([str(project.folder / "workflow"), added["PYTHONPATH"]])
    return project.run("python", *command, check=False, **{**added, "PATH": os.environ["PATH"]}).stdout


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("profile", ["gpu", "gpu-bf16"])
def test_a_round_of_a_gpu_row_is_measured_checked_and_told_with_its_energy(project: Project, profile: str) -> None:
    record = record_in(measured_on(project, "-c", MEASURE, profile))
    assert {case["status"] for case in record["cases"]} == {"measured"}, record["cases"]
    assert record["provenance"]["backend"]["accelerator"] == "Pretended GPU (no device)"
    assert record["provenance"]["machine"]["accelerators"] == ["Pretended GPU (no device)"]
    assert record["id"]["smoke"]
    assert {"GPU"} <= {domain for case in record["cases"] for block in case["blocks"] for domain in block["joules"]}
    assert all(case.get("graphs") is None for case in record["cases"])


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_device_without_memory_is_told_as_the_reason(project: Project) -> None:
    told = measured_on(project, "-c", MEASURE, "gpu", memory=2**20)
    assert '"status": "measured"' not in told
    assert "memory" in told


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_case_with_an_error_that_stays_is_the_only_one_that_has_it(project: Project) -> None:
    built = "program = backend.build(workload, derive_seed(spec, case.name))\n"
    fault = "    if case.name == '64x256':\n        __import__('ctypes').CDLL(None).pretended_fault(700)\n"
    project.edit("workflow/respeed/measure/case.py", built, built + fault)
    record = record_in(measured_on(project, "-c", MEASURE, "gpu"))
    told = {case["case"]: case["reason"] for case in record["cases"]}
    assert told.pop("64x256").startswith("AcceleratorError: CUDA error: an illegal memory access was encountered")
    assert set(told.values()) == {None}
