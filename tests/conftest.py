"""Fixtures: a copy of the project to run and to break."""

import contextlib
import fcntl
import gc
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Self

import hypothesis
import pytest

from respeed.kernels import config
from respeed.machine.cpu import usable_cores

# XLA reads them when JAX is loaded: as in a measuring process, it takes one thread, and of a GPU what programs need.
os.environ |= {"PJRT_NPROC": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
# The first example of a test may compile a kernel or load a library: how long it takes says nothing.
hypothesis.settings.register_profile("respeed", deadline=None, max_examples=30)
hypothesis.settings.load_profile("respeed")
# That there is an example is enough where mistakes are planted: the smallest one is not looked for. And several copies
# of the project are slow together, which catches nothing.
hypothesis.settings.register_profile(
    "planted",
    phases=[one for one in hypothesis.Phase if one.name != "shrink"],
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)

ROOT = Path(__file__).resolve().parents[1]


class Project:
    """A copy of the project in a folder of its own, with the environment of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("Snakefile", "config.yaml", "profiles", "report", "workflow"):
            source = ROOT / name
            ignored = shutil.ignore_patterns("__pycache__", "*.pdf", "*.html", "facts")
            shutil.copytree(source, folder / name, ignore=ignored) if source.is_dir() else shutil.copy(source, folder)
        self.share_kernels()

    @classmethod
    def there(cls, folder: Path) -> Self:
        """One that is there already, as it is."""
        project = cls.__new__(cls)
        project.folder = folder
        project.share_kernels()
        return project

    def share_kernels(self) -> None:
        """Let kernels be compiled once for all copies of their sources: Numba keeps them by the path of a folder."""
        paths = [f"{one}/workflow/respeed/kernels".encode() for one in (ROOT, self.folder)]
        ours, mine = (Path(config.CACHE_DIR, f"kernels_{hashlib.sha1(one).hexdigest()}") for one in paths)
        ours.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            mine.symlink_to(ours)

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
        text = path.read_text("utf-8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new), "utf-8")

    def records(self) -> dict[str, float]:
        """Every smoke record and when it was last written."""
        found = (self.folder / "results/smoke/records").glob("*/*/*.jsonl")
        return {str(path.relative_to(self.folder)): path.stat().st_mtime for path in found}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder)


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Project:
    """A copy in which the smoke preset has run, of two tables. Tests that change it take a copy of their own.
    Where several processes share the tests, the first that asks for it makes it for all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "measured"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "report/smoke.pdf").exists():
            return Project.there(folder)
        folder.mkdir()
        project = Project(folder)
        project.edit("config.yaml", "papers: [raina2009, machine]", "papers: [raina2009]")
        project.edit("config.yaml", "experiments: all", "experiments: [rbm, matmul]")
        project.snakemake("--config", "preset=smoke")
    return project


@pytest.fixture
def copy(measured: Project, tmp_path: Path) -> Project:
    """A copy of the measured project, to change."""
    folder = tmp_path / "copy"
    shutil.copytree(measured.folder, folder, symlinks=True)
    return Project.there(folder)


def pytest_collection_finish() -> None:
    """What is imported stays: to look for garbage, as every case does, need not go through it again and again."""
    gc.freeze()


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)


# Beyond so many processes, tests would wait for memory and for the measurements of one another.
MOST_PROCESSES = 4


def pytest_xdist_auto_num_workers() -> int:
    return min(MOST_PROCESSES, len(usable_cores()))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest begin first, of Slurm and the pretended GPU: at the end, all processes would wait for them."""
    items.sort(key=lambda item: not {"slurm", "pretended"} & {*getattr(item, "fixturenames", ())})
