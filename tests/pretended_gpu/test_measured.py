"""Rounds of GPU rows, measured on the pretended one, from the order to the record; and that nothing is measured on it
but in a test's copy of the project, at the smoke preset."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from respeed.machine.accelerators import is_pretended, refuse_pretended
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


REFUSE = """
import sys
from pathlib import Path
from respeed.errors import UserError
from respeed.machine.accelerators import refuse_pretended
try:
    refuse_pretended(Path(sys.argv[1]), smoke=sys.argv[2] == "smoke")
except UserError as error:
    sys.exit(str(error))
"""


def refused(pretended: Path, root: Path, preset: str, allowed: Path | None) -> str:
    """What a process on the pretended GPU is told; empty if it may measure."""
    environment = {**os.environ, "LD_PRELOAD": str(pretended / LIBRARY)}
    environment |= {"RESPEED_PRETENDED_GPU": str(allowed)} if allowed else {}
    command = [sys.executable, "-c", REFUSE, str(root), preset]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)
    return done.stderr.strip()


@pytest.mark.parametrize(
    ("preset", "allowed", "well"),
    [("smoke", "here", True), ("standard", "here", False), ("smoke", "elsewhere", False), ("smoke", None, False)],
)
def test_only_the_smoke_preset_of_the_copy_that_a_test_names_is_measured_on_it(
    pretended: Path, tmp_path: Path, preset: str, allowed: str | None, well: bool
) -> None:
    told = refused(pretended, tmp_path / "here", preset, tmp_path / allowed if allowed else None)
    assert (told == "") == well
    assert well or told.startswith("a pretended GPU, the one of the project's tests, is preloaded: nothing is measured")


def described(project: Project, pretended: Path, smoke: bool, allowed: bool) -> str:
    """What `respeed describe` on the pretended GPU says; it writes a description or says why not."""
    path = "results/smoke/records/box/machine.json" if smoke else "results/records/box/machine.json"
    added = {"RESPEED_PRETENDED_GPU": str(project.folder)} if allowed else {}
    done = project.run(
        "python", "-m", "respeed", "describe", path, check=False, LD_PRELOAD=str(pretended / LIBRARY), **added
    )
    assert (project.folder / path).exists() == (done.returncode == 0)
    return "" if done.returncode == 0 else done.stdout


@pytest.mark.parametrize(("smoke", "allowed"), [(True, False), (False, True)])
def test_no_machine_is_described_with_it_either(project: Project, pretended: Path, smoke: bool, allowed: bool) -> None:
    assert "nothing is measured on it, or described" in described(project, pretended, smoke, allowed)


def test_a_machine_is_described_with_it_in_the_copy_that_a_test_names(project: Project, pretended: Path) -> None:
    assert described(project, pretended, smoke=True, allowed=True) == ""


def test_a_process_without_it_may_measure(tmp_path: Path) -> None:
    if not is_pretended():
        refuse_pretended(tmp_path, smoke=False)
