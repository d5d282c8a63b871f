"""What lies on the PYTHONPATH or in the working folder does not hide a package of the environment."""

import os
import subprocess
import sys
from pathlib import Path

from respeed.own_packages import own_path


def modules(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit('not ours')\n")
    return str(folder)


def test_a_path_keeps_the_folders_that_hide_nothing(tmp_path: Path) -> None:
    mine = modules(tmp_path / "mine", "helpers.py", "sitecustomize.py", "respeed/__init__.py", "numpy/readme.txt")
    hiding = [modules(tmp_path / name.split("/")[0].split(".")[0], name) for name in ("numpy/__init__.py", "random.py")]
    assert own_path(os.pathsep.join([hiding[0], mine, "", "/nowhere", hiding[1]])) == f"{mine}{os.pathsep}/nowhere"
    assert own_path("") == ""


def test_a_command_in_a_folder_with_a_numpy_of_its_own_uses_that_of_the_environment(tmp_path: Path) -> None:
    path, folder = modules(tmp_path / "path", "torch.py", "scipy/__init__.py"), modules(tmp_path / "here", "numpy.py")
    code = "import sys; sys.path.insert(0, ''); import respeed.cli, numpy, scipy; print(numpy.__file__, scipy.__file__)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, text=True, capture_output=True, check=True
    )
    assert all(file.startswith(sys.prefix) for file in done.stdout.split()), done.stdout
