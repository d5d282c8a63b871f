"""Rounds of GPU rows, measured on the pretended one: from the order to the record."""

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
    return json.loads(told[told.index('{"schema"') :].splitlines()[0])


def measured_on(project: Project, *command: str, memory: int | None = None, allowed: bool = True) -> str:
    added = environment(memory=memory) | ({"RESPEED_PRETENDED_GPU": str(project.folder)} if allowed else {})
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
def test_a_device_without_memory_is_a_reason_in_the_record(project: Project) -> None:
    record = record_in(measured_on(project, "-c", MEASURE, "gpu", memory=2**20))
    assert {case["status"] for case in record["cases"]} == {"not-run"}
    assert "memory" in record["cases"][0]["reason"]


@pytest.mark.usefixtures("pretended")
def test_a_round_is_refused_where_no_test_names_the_folder(project: Project) -> None:
    told = measured_on(project, "-c", MEASURE, "gpu", allowed=False)
    assert "nothing is measured on it" in told.splitlines()[-2] + told.splitlines()[-1]
