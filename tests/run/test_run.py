"""The script `run`: in a small project of its own, whose lock is one tiny wheel."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REAL_UV = shutil.which("uv") or shutil.which(str(ROOT / ".tools" / "uv" / "bin" / "uv"))
# What the script needs of the system, and no more: no uv, no Python and no pytest of the machine is on this PATH.
TOOLS = ("sh", "cat", "cksum", "date", "dirname", "grep", "kill", "mkdir", "realpath", "rm")

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "respeed"
version = "1"

[project.scripts]
respeed = "respeed:tell"

[tool.hatch.build.targets.wheel]
packages = ["workflow/respeed"]
"""
TELL = "import sys\ndef tell(): print(sys.prefix, __file__, sep='\\n')\n"

# Writes down how it was called and whether the environment looked whole then; it makes an environment of shell scripts.
# UV_STOPS=fail or die: what the step named by UV_AT does.
STUB_UV = """\
#!/bin/sh
[ "$1" != --version ] || exit 0
[ -e "$PROJECT/.venv/.respeed-lock" ] && whole=whole || whole=unfinished
echo "$1 $2 ($whole)" >>"$UV_LOG"
case "$UV_STOPS/$*" in
    "fail/$UV_AT"*) echo "error: Failed to fetch" >&2; exit 2 ;;
    "die/$UV_AT"*) kill -KILL $PPID; exit 1 ;;
esac
bin=$PROJECT/.venv/bin
site=$PROJECT/.venv/lib/python3.11/site-packages
case "$1 $2" in
    "venv --relocatable")
        mkdir -p "$bin" "$site"
        echo "relocatable = true" >"$PROJECT/.venv/pyvenv.cfg"
        cat "$STUB_PYTHON" >"$bin/python"
        ;;
    "pip sync") cat "$STUB_PYTHON" >"$bin/respeed" ;;
    "pip install") echo /nowhere >"$site/_editable_impl_respeed.pth" ;;
esac
echo "uv tells on standard output what it did"
for file in "$bin"/*; do [ -x "$file" ] || "$CHMOD" +x "$file"; done
"""
MADE = ["venv --relocatable (unfinished)", "pip sync (unfinished)", "pip install (unfinished)"]


class Clone:
    """A small project with the real script."""

    def __init__(self, folder: Path, uv: Path | str | None = None) -> None:
        self.folder = folder / "clone"
        self.log = folder / "uv.log"
        self.path = folder / "path"
        (self.folder / "workflow" / "respeed").mkdir(parents=True)
        self.path.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.path / tool).symlink_to(found)
        shutil.copy(ROOT / "run", self.folder)
        (self.folder / "pyproject.toml").write_text(PYPROJECT)
        (self.folder / "requirements.lock").write_text("# empty\n")
        (self.folder / "workflow" / "respeed" / "__init__.py").write_text(TELL)
        if uv is not None:
            (self.path / "uv").symlink_to(uv)

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        stub = {
            "PATH": str(self.path), "PROJECT": str(self.folder), "UV_LOG": str(self.log), "UV_STOPS": "", "UV_AT": "",
            "STUB_PYTHON": str(self.path.parent / "stub-python"), "CHMOD": shutil.which("chmod") or "chmod",
        }  # fmt: skip
        return subprocess.run(
            [self.folder / "run", *command], env=stub | environment, text=True, capture_output=True, check=False
        )

    def calls(self) -> list[str]:
        """What uv was asked since the last time, and whether the environment looked whole at that moment."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A fresh clone; its uv is a stub."""
    executable(tmp_path / "stub-python", '#!/bin/sh\necho "$0 $*"\n')
    return Clone(tmp_path, executable(tmp_path / "stub-uv", STUB_UV))


@pytest.fixture
def ready(clone: Clone) -> Clone:
    """A clone whose environment is made."""
    assert clone.run("python").returncode == 0
    clone.calls()
    return clone


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A clone with an environment that the real uv made, without a network."""
    if REAL_UV is None:
        pytest.skip("no uv on the PATH or in .tools")
    folder = tmp_path_factory.mktemp("installed")
    clone = Clone(folder, REAL_UV)
    wheel = folder / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny.py", TELL)
        file.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        file.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("tiny-1.dist-info/entry_points.txt", "[console_scripts]\ntiny = tiny:tell\n")
        file.writestr("tiny-1.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (clone.folder / "requirements.lock").write_text(f"tiny @ {wheel.as_uri()} --hash=sha256:{digest}\n")
    made = clone.run(
        "python", "--version", PATH=f"{clone.path}{os.pathsep}{Path(sys.base_prefix, 'bin')}", UV_OFFLINE="1",
        UV_NO_CONFIG="1", UV_CACHE_DIR=str(folder / "cache"), UV_PYTHON_DOWNLOADS="never",
        # The build backend of the real lock, from the environment that runs these tests.
        PYTHONPATH=str(distribution("hatchling").locate_file("")),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (clone.path / "uv").unlink()
    yield clone
    shutil.rmtree(folder)


def tells_only_of(folder: Path, clone: Clone, commands: tuple[str, ...]) -> None:
    for command in commands:
        told = clone.run(command)
        prefix, file = told.stdout.splitlines()
        assert (told.returncode, told.stderr) == (0, "")
        assert Path(prefix) == folder / ".venv"
        assert Path(file).is_relative_to(folder)


def test_a_copied_or_moved_clone_runs_its_own_python_and_code_without_another_set_up(installed: Clone) -> None:
    first = installed.folder
    tells_only_of(first, installed, ("tiny", "respeed"))
    second, third = first.parent / "a copy", first.parent / "moved"

    shutil.copytree(first, second, symlinks=True)
    installed.folder = second
    tells_only_of(second, installed, ("tiny", "respeed"))

    first.rename(third)
    installed.folder = third
    tells_only_of(third, installed, ("tiny", "respeed"))
    # Also where the environment is used without the script.
    told = subprocess.run(
        [third / ".venv" / "bin" / "python", "-c", "import respeed; print(respeed.__file__)"],
        env={}, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert Path(told.stdout.strip()) == third / "workflow" / "respeed" / "__init__.py"


def test_the_first_start_says_that_it_begins_and_how_long_it_took(clone: Clone) -> None:
    first = clone.run("respeed", "status")
    told = first.stderr.splitlines()
    assert told[0].startswith("run: making .venv from requirements.lock")
    assert told[1:4] == ["uv tells on standard output what it did"] * 3
    assert re.fullmatch(r"run: \.venv is ready, after \d+ s", told[4])
    # Standard output is the command's alone.
    assert first.stdout == f"{clone.folder}/.venv/bin/respeed status\n"
    assert clone.calls() == MADE


def test_a_whole_environment_is_used_as_it_is(ready: Clone) -> None:
    again = ready.run("respeed", "status")
    assert (again.stdout, again.stderr) == (f"{ready.folder}/.venv/bin/respeed status\n", "")
    assert ready.calls() == []


@pytest.mark.parametrize("file", ["requirements.lock", "pyproject.toml"])
def test_a_changed_lock_brings_the_environment_up_to_date(ready: Clone, file: str) -> None:
    with (ready.folder / file).open("a") as text:
        text.write("# changed\n")
    assert "run: bringing .venv up to date" in ready.run("python").stderr
    assert ready.calls() == MADE[1:]
    assert ready.run("python").stderr == ""


@pytest.mark.parametrize("step", ["venv", "pip sync", "pip install"])
def test_a_killed_set_up_leaves_nothing_that_looks_whole(clone: Clone, step: str) -> None:
    assert clone.run("python", UV_STOPS="die", UV_AT=step).returncode == -signal.SIGKILL
    clone.calls()
    assert clone.run("python").returncode == 0
    assert clone.calls() == MADE


@pytest.mark.parametrize("step", ["pip sync", "pip install"])
def test_an_environment_whose_update_was_killed_is_made_anew(ready: Clone, step: str) -> None:
    lock = ready.folder / "requirements.lock"
    before = lock.read_text()
    lock.write_text("# changed\n")
    assert ready.run("python", UV_STOPS="die", UV_AT=step).returncode == -signal.SIGKILL
    # Also with the old lock: what was written before the end came is not known.
    lock.write_text(before)
    (ready.folder / ".venv" / "left-over").touch()
    ready.calls()
    assert ready.run("python").returncode == 0
    assert ready.calls() == MADE
    assert not (ready.folder / ".venv" / "left-over").exists()


def test_an_environment_whose_scripts_hold_its_path_is_made_anew(ready: Clone) -> None:
    # As earlier versions made it: with another stamp, and not relocatable.
    (ready.folder / ".venv" / ".respeed-lock").write_text("1234567890 250000\n")
    (ready.folder / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert "run: making .venv" in ready.run("python").stderr
    assert ready.calls() == MADE


def test_an_environment_whose_python_is_gone_is_made_anew(ready: Clone) -> None:
    python = ready.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert "run: making .venv" in ready.run("respeed").stderr
    assert ready.calls() == MADE


@pytest.mark.parametrize("step", ["venv", "pip sync", "pip install"])
def test_a_set_up_that_fails_says_at_the_end_what_it_needs_and_is_tried_again(clone: Clone, step: str) -> None:
    failed = clone.run("python", UV_STOPS="fail", UV_AT=step)
    assert failed.returncode == 1
    *_, reason, need = failed.stderr.splitlines()
    assert reason == "error: Failed to fetch"
    assert need.startswith("run: set-up did not finish")
    assert "network" in need
    assert "package index" in need
    clone.calls()
    assert clone.run("python").returncode == 0
    assert clone.calls() == MADE


def test_the_uv_in_tools_is_used_where_none_is_on_the_path(clone: Clone) -> None:
    own = clone.folder / ".tools" / "uv" / "bin" / "uv"
    own.parent.mkdir(parents=True)
    shutil.copy((clone.path / "uv").resolve(), own)
    (clone.path / "uv").unlink()
    assert clone.run("python").returncode == 0
    assert clone.calls() == MADE


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (None, "run: needs python3 (3.11 or newer) or uv; install one of them"),
        (
            "#!/bin/sh\n[ $1 = -V ] && echo Python 3.9.2\nexit 1\n",
            "run: python3 is Python 3.9.2; respeed needs 3.11 or newer: install it, or uv, which brings its own",
        ),
    ],
)
def test_without_uv_and_a_python_that_will_do_one_line_says_what_to_install(
    clone: Clone, python: str | None, said: str
) -> None:
    (clone.path / "uv").unlink()
    if python is not None:
        executable(clone.path / "python3", python)
    told = clone.run("python")
    assert (told.returncode, told.stdout, told.stderr) == (2, "", said + "\n")


@pytest.mark.parametrize("command", ["pytest", "cat", "", "..", "notes"])
def test_a_command_that_the_environment_lacks_is_one_line_and_never_the_systems(ready: Clone, command: str) -> None:
    executable(ready.path / "pytest", "#!/bin/sh\necho the pytest of the system\n")
    (ready.folder / ".venv" / "bin" / "notes").write_text("not a program")
    told = ready.run(command)
    assert (told.returncode, told.stdout) == (2, "")
    assert re.fullmatch(rf"run: no command '{re.escape(command)}' in this project's environment; .+\n", told.stderr)


def test_a_command_with_a_slash_is_run_as_it_is(ready: Clone) -> None:
    script = executable(ready.folder / "script", '#!/bin/sh\necho "$1, $VIRTUAL_ENV"\nrespeed\n')
    assert ready.run(str(script), "as it is").stdout.splitlines() == [
        f"as it is, {ready.folder}/.venv",
        f"{ready.folder}/.venv/bin/respeed ",
    ]


def test_no_command_at_all_is_one_line_and_sets_nothing_up(clone: Clone) -> None:
    told = clone.run()
    assert told.returncode == 2
    assert told.stderr.startswith("run: usage: ./run COMMAND")
    assert clone.calls() == []
