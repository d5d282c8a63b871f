"""What a machine's drivers and devices do to a command: a row that cannot run is told so once, and never begun."""

import pytest

from tests.conftest import Project
from tests.pretended_gpu.driver import T4, TOO_OLD, V100, Driver

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pretended")]

OLD = "driver 550.54.15 (CUDA 12.4) is too old for this torch (CUDA 13."
NO_CODE = "Pretended V100 (compute capability 7.0): this torch ("


@pytest.mark.parametrize(
    ("driver", "told"),
    [
        (TOO_OLD, {"gpu": OLD, "gpu-tf32": OLD, "gpu-jax": "install jax[cuda12]"}),
        (V100, {"gpu": NO_CODE, "gpu-fp16": NO_CODE, "gpu-jax": "install jax[cuda13]"}),
        (T4, {"gpu": "1 thread", "gpu-fp16": "1 thread", "gpu-bf16": "2020", "gpu-tf32": "2020"}),
    ],
    ids=["550", "V100", "T4"],
)
def test_each_driver_has_its_own_answer(project: Project, driver: Driver, told: dict[str, str]) -> None:
    there = driver.environment(project.folder) | {"XDG_CACHE_HOME": str(project.folder / "cache")}
    said = project.run("python", "-m", "respeed", "hardware", check=False, **there).stdout
    rows = {line.split()[0]: line for line in said.splitlines() if line.startswith("gpu")}
    assert {name: text in rows[name] for name, text in told.items()} == dict.fromkeys(told, True), said
    planned = project.run("snakemake", "-n", "--config", "preset=smoke", check=False, **there).stdout
    for name in ("gpu", "gpu-bf16"):
        assert (f"{name}: not measured" in planned) == (" no " in rows[name]), planned
