"""What drivers and devices do to all that one asks: a row that cannot run is told so once, and never begun."""

import re

import pytest
from pypdf import PdfReader

from tests.conftest import Project
from tests.pretended_gpu.driver import T4, TOO_OLD, V100, Driver

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pretended")]

OLD = "driver 550.54.15 (CUDA 12.4) is too old for this torch (CUDA 13."
NO_CODE = "Pretended V100 (compute capability 7.0): this torch ("
LATER = "needs an NVIDIA GPU of 2020 or later"
EVERY = ("gpu-bf16", "gpu-fp16", "gpu-tf32", "gpu")
SMOKE = ("--config", "preset=smoke", "experiments=rbm")


@pytest.mark.parametrize(
    ("driver", "whys", "jax"),
    [
        (None, dict.fromkeys(EVERY, "no CUDA device"), "no CUDA device"),
        (TOO_OLD, dict.fromkeys(EVERY, OLD), "install jax[cuda12]"),
        (V100, dict.fromkeys(EVERY, NO_CODE), "install jax[cuda13]"),
        (T4, {"gpu-bf16": f"bf16 {LATER}", "gpu-tf32": f"TF32 {LATER}"}, "install jax[cuda13]"),
    ],
    ids=["none", "550", "V100", "T4"],
)
def test_a_driver_has_one_answer_in_every_command_the_run_and_its_report(
    project: Project, driver: Driver | None, whys: dict[str, str], jax: str
) -> None:
    there = driver.environment(project.folder) if driver else {"CUDA_VISIBLE_DEVICES": ""}
    there |= {"XDG_CACHE_HOME": str(project.folder / "cache")}

    def said(*command: str) -> str:
        return project.run(*command, check=False, **there).stdout

    planned = said("snakemake", "-n", *SMOKE)
    lines = re.findall(r"^  (gpu.*): not measured: (.*)$", planned, re.MULTILINE)
    found = {name: reason for names, reason in lines for name in names.split(", ")}
    assert found.keys() == whys.keys()
    assert all(reason.startswith(whys[name]) for name, reason in found.items()), found
    assert len(lines) == len(set(found.values()))
    reason = found.get("gpu", "")

    hardware = said("python", "-m", "respeed", "hardware")
    rows = {line.split()[0]: line for line in hardware.splitlines() if line.startswith("gpu")}
    assert all((" no " in rows[name]) == (name in whys) for name in EVERY), hardware
    assert reason in rows["gpu"]
    assert jax in rows["gpu-jax"]
    assert hardware.count(reason) == 1 or len(reason) < 60
    doctor = said("python", "-m", "respeed", "doctor")
    trial = re.findall(r"^torch on cuda +(cannot be used|a small product is right) +(.*?) *$", doctor, re.MULTILINE)
    assert trial == ([("cannot be used", reason) if reason else ("a small product is right", "–")] if driver else [])

    ran = [line for line in said("snakemake", *SMOKE).splitlines() if line.startswith("respeed: ")]
    is_told = bool(driver and reason)
    assert ("no row of a GPU or TPU was measured: gpu: " in ran[-1]) == is_told, ran
    assert ran[-1].endswith(reason) if is_told else "the report is" in ran[-1]
    assert any(re.search(r"turn \d+ of \d+, gpu", line) for line in ran) == (not reason)
    again = said("snakemake", *SMOKE)
    assert "Nothing to be done" in again
    assert ran[-1] in again
    # The table that begins on page 1 may end on page 2, where notes tell of disturbed cells.
    pages = PdfReader(project.folder / "report/smoke.pdf").pages[:2]
    page = " ".join(" ".join(one.extract_text() for one in pages).split())
    assert f"Not measured: PyTorch, GPU ({reason})" in page if reason else "PyTorch, GPU, fp16" in page
