"""Rounds of GPU rows, measured on the pretended one, from the order to the record; and that nothing is measured on it
but in a test's copy of the project, at the smoke preset."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Project
from tests.pretended_gpu.build import LIBRARY
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


SEES = """
import os, shutil, sys
assert (sys.argv[1], os.environ["CUDA_VISIBLE_DEVICES"]) == ("cuda", "0"), "what the row says"
shutil.copy(sys.argv[2], "corner.txt")
print("took 0.001 s")
"""


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_program_of_a_paper_is_measured_on_the_gpu_of_its_row(project: Project) -> None:
    folder = shutil.copytree(ROOT / "docs/three-loops", project.folder / "workflow/papers/three-loops")
    (folder / "sees.py").write_text(SEES)
    command = 'gpu: [python3, "{paper}/sees.py", "{device}", "{paper}/corner.txt", "{n}"]'
    project.edit("workflow/papers/three-loops/paper.yaml", 'multi-cpu: [./multiply, rows, "{n}"]', command)
    project.edit("config.yaml", "allow: []", "allow: [three-loops]")
    measure = MEASURE.replace("raina2009", "three-loops").replace('"rbm"', '"products"')
    told = measured_on(project, "-c", measure, "program-gpu")
    (case,) = record_in(told)["cases"]
    assert case["status"] == "measured", case["reason"]
    for block in case["blocks"]:
        assert block["sample_seconds"] == [pytest.approx(0.001 * block["sample_steps"])] * len(block["sample_seconds"])


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_device_without_memory_is_told_as_the_reason(project: Project) -> None:
    told = measured_on(project, "-c", MEASURE, "gpu", memory=2**20)
    assert '"status": "measured"' not in told
    assert "memory" in told


@pytest.mark.slow
@pytest.mark.usefixtures("pretended")
def test_a_case_with_an_error_that_stays_is_the_only_one_that_has_it(project: Project) -> None:
    built = "program = workload.build(backend, case, inputs)\n"
    fault = "    if case.name == '64x256':\n        __import__('ctypes').CDLL(None).pretended_fault(700)\n"
    project.edit("workflow/respeed/measure/case.py", built, built + fault)
    record = record_in(measured_on(project, "-c", MEASURE, "gpu"))
    told = {case["case"]: case["reason"] for case in record["cases"]}
    assert told.pop("64x256").startswith("AcceleratorError: CUDA error: an illegal memory access was encountered")
    assert set(told.values()) == {None}


@pytest.mark.usefixtures("pretended")
def test_a_round_is_refused_where_no_test_names_the_folder(project: Project) -> None:
    told = measured_on(project, "-c", MEASURE, "gpu", allowed=False)
    assert "nothing is measured on it" in told.splitlines()[-2] + told.splitlines()[-1]


@pytest.mark.parametrize(
    ("smoke", "allowed", "well"), [(True, ".", True), (True, "", False), (True, "workflow", False), (False, ".", False)]
)
def test_a_machine_is_described_with_it_at_the_smoke_preset_of_the_copy_that_a_test_names_alone(
    project: Project, pretended: Path, smoke: bool, allowed: str, well: bool
) -> None:
    path = "results/smoke/records/box/machine.json" if smoke else "results/records/box/machine.json"
    added = {"RESPEED_PRETENDED_GPU": str(project.folder / allowed)} if allowed else {}
    command = ("python", "-m", "respeed", "describe", path)
    done = project.run(*command, check=False, LD_PRELOAD=str(pretended / LIBRARY), **added)
    assert ((project.folder / path).exists(), done.returncode == 0) == (well, well)
    assert well or "a pretended GPU, the one of the project's tests, is preloaded: nothing is measured" in done.stdout
