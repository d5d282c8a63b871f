"""Fixtures: a copy of the project to run and to break, and records to derive tables from."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import hypothesis
import pytest

from respeed.machine.cpu import usable_cores
from respeed.paths import RoundId, round_path
from respeed.protocol import REAL
from respeed.records.store import write_json

# The first example of a test may compile a kernel or load a library: how long it takes says nothing.
hypothesis.settings.register_profile("respeed", deadline=None, max_examples=30)
hypothesis.settings.load_profile("respeed")

ROOT = Path(__file__).resolve().parents[1]


class Project:
    """A copy of the project in a folder of its own, with the environment of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("Snakefile", "config.yaml", "profiles", "report", "workflow"):
            source = ROOT / name
            ignored = shutil.ignore_patterns("__pycache__", "*.pdf", "*.html", "facts")
            shutil.copytree(source, folder / name, ignore=ignored) if source.is_dir() else shutil.copy(source, folder)
        # Kernels are compiled once for all copies: what Numba keeps beside their source holds for every copy of it.
        kept = ROOT / "workflow/respeed/kernels/__pycache__"
        kept.mkdir(exist_ok=True)
        (folder / "workflow/respeed/kernels/__pycache__").symlink_to(kept)

    @classmethod
    def there(cls, folder: Path) -> Self:
        """One that is there already, as it is."""
        project = cls.__new__(cls)
        project.folder = folder
        return project

    def run(self, *command: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the copy; its standard output and error together are `stdout`."""
        paths = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder / "workflow"),
        }
        done = subprocess.run(
            command, cwd=self.folder, env={**os.environ, **paths, **environment}, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stdout
        return done

    def snakemake(self, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Without an accelerator, so that every machine measures the same."""
        return self.run("snakemake", *arguments, check=check, **{"CUDA_VISIBLE_DEVICES": "", **environment})

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new))

    def records(self) -> dict[str, float]:
        """Every smoke record and when it was last written."""
        found = (self.folder / "results/smoke/records").glob("*/*/*/*/*.json")
        return {str(path.relative_to(self.folder)): path.stat().st_mtime for path in found}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Project:
    """A copy in which the smoke preset has run whole. Tests that change it take a copy of their own. Where several
    processes share the tests, the first that asks for it makes it for all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "measured"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "report/smoke.pdf").exists():
            return Project.there(folder)
        folder.mkdir()
        project = Project(folder)
        project.snakemake("--config", "preset=smoke")
    return project


@pytest.fixture
def copy(measured: Project, tmp_path: Path) -> Project:
    """A copy of the measured project, to change."""
    folder = tmp_path / "copy"
    shutil.copytree(measured.folder, folder, symlinks=True)
    return Project.there(folder)


# Beyond so many processes, tests would wait for memory and for the measurements of one another.
MOST_PROCESSES = 4


def pytest_xdist_auto_num_workers() -> int:
    return min(MOST_PROCESSES, len(usable_cores()))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest begin first, of Slurm and the pretended GPU: at the end, all processes would wait for them."""
    items.sort(key=lambda item: not {"slurm", "pretended"} & {*getattr(item, "fixturenames", ())})


MakeRecord = Callable[..., dict[str, Any]]


# What a machine is, whole as a description or a record has it.
HARDWARE = {
    "cpu": "A CPU", "cpu_flags": [], "architecture": "x86_64", "physical_cores": 2, "usable_cores": 2,
    "core_cpus": None, "logical_cpus": 2, "cpu_quota": None, "frequency_governor": None,
    "memory_bytes": 2**34, "accelerators": [], "accelerator_driver": None, "blas": "openblas",
    "system": "Linux",
}  # fmt: skip


def description(**facts: Any) -> dict[str, Any]:
    """What a machine's description says: its hardware with these facts, and what it cannot run."""
    cannot, profiles = facts.pop("not_measurable", {}), facts.pop("profiles", {})
    return {"schema": 4, "hardware": HARDWARE | facts, "not_measurable": cannot, "profiles": profiles}


@pytest.fixture
def make_record() -> MakeRecord:
    """Builds a valid record of one case; `seconds` are its samples of one step each."""

    def make(
        seconds: list[float],
        *,
        index: int = 1,
        profile: str = "torch-1",
        case: str = "576x1024",
        machine: str = "box",
        architecture: str = "single-cpu",
        device: str = "cpu",
        precision: str = "fp32",
        errors: dict[str, float | None] | None = None,
        run_delay: float = 0.0,
        probe: float = 1.0,
        settled: bool = True,
        status: str = "measured",
        reason: str | None = None,
        digest: str = "0" * 16,
        started: str = "2026-01-01T00:00:00+00:00",
        smoke: bool = False,
        peak: float = 1e13,
        package: str = "torch 2",
        changed: dict[str, float] | None = None,
    ) -> dict[str, Any]:
        block = {
            "sample_steps": 1, "sample_seconds": seconds, "probe_seconds": [0.004 * probe, 0.004 * probe],
            "run_delay_seconds": run_delay, "threads_ran": 1, "minor_faults": 0, "quota_throttles": 0,
            "clock_throttles": None, "part_seconds": [], "joules": {}, "device": [],
        }  # fmt: skip
        timed = status == "measured"
        parameters = {"visible": 576, "hidden": 1024, "batch": 192, "learning_rate": 0.01} | (changed or {})
        return {
            "schema": 4,
            "smoke": smoke,
            "id": {
                "machine": machine, "paper": "raina2009", "experiment": "rbm", "profile": profile, "index": index,
                "smoke": smoke,
            },
            "profile": {
                "name": profile, "label": f"label of {profile}", "package": "package", "architecture": architecture,
                "backend": "torch", "device": device, "threads": 1, "precision": precision,
            },
            "threads": 1, "seed": 1, "timing": asdict(REAL), "digest": digest, "started": started,
            "wall_seconds": 3.0, "start_seconds": 1.0,
            "ceilings": {"flops_per_second": peak, "bytes_per_second": 1e10},
            "provenance": {
                "commit": "unknown",
                "backend": {"package": package, "library": "MKL"},
                "energy": {"reason": "no counter"},
                "machine": dict(HARDWARE),
            },
            "cases": [{
                "case": case, "workload": "rbm", "parameters": parameters, "flops": 1e9, "traffic_bytes": 1e6,
                "memory_bytes": 1e6, "parts": {}, "status": status, "reason": reason, "errors": errors or {},
                "tolerance": 1e-4,
                "warmup": {"steps": 2, "seconds": 1.0, "settled": settled, "step_seconds": 0.1} if timed else None,
                "blocks": [block] if timed else [], "wall_seconds": 0.5,
            }],
        }  # fmt: skip

    return make


def write_machines(
    make_record: MakeRecord,
    number: int,
    *,
    first: int = 0,
    rounds: int = 7,
    cases: tuple[str, ...] = ("576x1024",),
) -> None:
    """Write the records of machines box-00, box-01, ...: one table, one profile; 0.1 s a step, 0.2 s, ..."""
    for place in range(first, first + number):
        machine = f"box-{place:02}"
        for index in range(1, rounds + 1):
            made = [make_record([0.1 * (place + 1)] * 2, index=index, machine=machine, case=case) for case in cases]
            sizes = [dict(zip(("visible", "hidden"), map(int, case.split("x")), strict=True)) for case in cases]
            for record, size in zip(made, sizes, strict=True):
                record["cases"][0]["parameters"] |= size
            record = made[0] | {"cases": [case for one in made for case in one["cases"]]}
            write_json(round_path(RoundId(machine, "raina2009", "rbm", "torch-1", index)), record)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tests that run tests say how many there were."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    told = [text for report in reports for name, text in report.user_properties if name == "pretended GPU"]
    if told:
        terminalreporter.write_line(f"pretended GPU, {'; '.join(sorted(told))}")
