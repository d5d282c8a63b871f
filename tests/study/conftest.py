"""A study: a folder of the user's own, in which respeed is installed and not cloned."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT, Project


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a wheel of the project installs, and nothing else of a clone."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "clone").mkdir()
    clone = Project(folder / "clone")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone.folder)
    clone.run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


class Study(Project):
    """A study, for which respeed is found where the wheel's files are."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder = folder
        self.site = site

    def run(self, *command: str, check: bool = True, **environment: str):  # type: ignore[no-untyped-def]
        """Run a command in the study."""
        return super().run(*command, check=check, **{"PYTHONPATH": str(self.site), **environment})


@pytest.fixture
def study(tmp_path: Path, site: Path) -> Study:
    """A study that `respeed init` has just made."""
    made = Study(tmp_path, site)
    made.run("respeed", "init", "study")
    return Study(tmp_path / "study", site)
