"""What lies on the PYTHONPATH or in the working folder does not hide a package of the environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from respeed.cli import machine as doctor
from respeed.machine.own_packages import own_packages_first, own_path
from respeed.machine.software import packages_of_own_python


def modules(folder: Path, *names: str) -> str:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit('not ours')\n")
    return str(folder)


def test_a_path_keeps_the_folders_that_hide_nothing(tmp_path: Path) -> None:
    mine = modules(tmp_path / "mine", "helpers.py", "sitecustomize.py", "respeed/__init__.py", "numpy/readme.txt")
    hiding = [modules(tmp_path / name.split("/")[0].split(".")[0], name) for name in ("numpy/__init__.py", "random.py")]
    assert own_path(os.pathsep.join([hiding[0], mine, "", "/nowhere", hiding[1]])) == f"{mine}{os.pathsep}/nowhere"
    assert own_path("") == ""


def test_another_pythons_packages_are_not_ours_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [
        modules(tmp_path / "local" / folder, "numpy/__init__.py")
        for folder in ("python3.9/site-packages", "venv2/lib/site-packages")
    ]
    ours = list(sys.path)
    # As of /usr, which another Python may lie below, and of an environment that has another one beside it.
    monkeypatch.setattr("sys.base_prefix", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "local/venv"))
    monkeypatch.setattr("sys.path", [*others, *ours])
    own_packages_first()
    assert sys.path[-2:] == others


def test_packages_that_the_environment_was_made_upon_belong_to_it_and_are_told_without_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, theirs = modules(tmp_path / "own", "click.py"), modules(tmp_path / "theirs", "torch/__init__.py")
    (tmp_path / "theirs/torch-2.13.0+cpu.dist-info").mkdir()
    (tmp_path / "theirs/torch-2.13.0+cpu.dist-info/METADATA").write_text("Name: torch\nVersion: 2.13.0+cpu\n")
    (tmp_path / "own/_respeed_upon.pth").write_text(f"{theirs}\n")
    hiding = modules(tmp_path / "hiding", "torch.py")
    ours = list(sys.path)
    assert packages_of_own_python() == []
    monkeypatch.setattr("site.getsitepackages", lambda: [own])
    monkeypatch.setattr("sys.path", [hiding, own, theirs, *ours])
    own_packages_first()
    assert sys.path.index(theirs) < sys.path.index(hiding)
    assert packages_of_own_python() == ["torch"]
    assert doctor._packages().found.startswith(f"torch 2.13.0+cpu of {theirs} (RESPEED_PYTHON)")


def test_pythons_own_folders_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ours := [folder for folder in sys.path if folder.startswith(sys.base_prefix)])
    assert ours
    before = list(ours)
    own_packages_first()
    assert sys.path == before


def test_a_command_in_a_folder_with_a_numpy_of_its_own_uses_that_of_the_environment(tmp_path: Path) -> None:
    path, folder = modules(tmp_path / "path", "torch.py", "scipy/__init__.py"), modules(tmp_path / "here", "numpy.py")
    code = "import sys; sys.path.insert(0, ''); import respeed.cli, numpy, scipy; print(numpy.__file__, scipy.__file__)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, text=True, capture_output=True, check=True
    )
    assert all(file.startswith(sys.prefix) for file in done.stdout.split()), done.stdout
