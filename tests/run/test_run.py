"""The script `run`, in a small project of its own, whose lock is one tiny wheel."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.signals import hear_all, still_run
from tests.systems import needs_executables

# What the script needs of the system, and no more: no uv, no Python and no pytest of the machine is on this PATH.
TOOLS = (
    "sh", "cat", "chmod", "cksum", "date", "dirname", "flock", "getconf", "grep", "ln", "mkdir", "mv",
    "realpath", "rm", "sed", "sleep", "tail", "uname",
)  # fmt: skip
# What a command of the environment says: where it runs, and what.
TELL = "import sys\ndef main(): print(sys.prefix, __file__, sep='\\n')\n"
# Writes down how it was called and makes an environment of shell scripts. UV_FAILS: the step that fails, for the reason
# UV_REASON; UV_WAITS: the step that goes on once there is a file $UV_LOG.go, and meanwhile tells its id in $UV_LOG.id.
STUB_UV = """\
#!/bin/sh
echo "$1 $2" >>"$UV_LOG"
echo "$UV_DEFAULT_INDEX ${UV_CONSTRAINT-none} ${UV_EXCLUDE_NEWER-none}" >"$UV_LOG.told"
echo " Downloaded torch" >&2
case "$UV_FAILS/$UV_WAITS" in
    "$1 $2"/*) echo "error: $UV_REASON" >&2; exit 2 ;;
    */"$1 $2") echo $$ >"$UV_LOG.id"; while [ ! -e "$UV_LOG.go" ]; do sleep 0.05; done ;;
esac
mkdir -p .venv/bin .venv/lib/python3.11/site-packages
for name in python respeed; do
    printf '#!/bin/sh\\necho "$0 $*; ${PYTHONPATH-none} ${PYTHONHOME-none} $HOME"\\n' >.venv/bin/$name
    chmod +x .venv/bin/$name
done
echo /nowhere >.venv/lib/python3.11/site-packages/_editable_impl_respeed.pth
echo "uv tells on standard output what it did"
"""
MADE = ["venv --quiet", "pip sync", "pip install"]
# What this system's line at the end of the lock begins with.
SYSTEM = f"# {os.uname().sysname} {os.uname().machine}:"


class Clone:
    """A small project with the real script, whose uv is a stub."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.log = folder / "clone", folder / "path", folder / "uv.log"
        self.script = self.folder / "run"
        (self.folder / "workflow/respeed").mkdir(parents=True)
        self.path.mkdir()
        for tool in filter(shutil.which, TOOLS):
            (self.path / tool).symlink_to(shutil.which(tool))
        for file in ("run", "requirements-uv.txt", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / file, self.folder)
        (self.folder / "requirements.lock").write_text(f"{SYSTEM} loads up to 3.4 GB, takes 7.2 GB\n")
        (self.folder / "workflow/respeed/cli.py").write_text(TELL)
        executable(self.path / "uv", STUB_UV)

    def start(self, *command: str, error: int = subprocess.PIPE, **environment: str) -> subprocess.Popen[str]:
        own = {"PATH": str(self.path), "HOME": str(self.path.parent), "UV_LOG": str(self.log)}
        own |= {"UV_FAILS": "", "UV_REASON": "Failed to fetch", "UV_WAITS": ""}
        return subprocess.Popen(
            [self.script, *command], env=own | environment, text=True, stdout=subprocess.PIPE, stderr=error,
            cwd=self.folder.parent, start_new_session=True, preexec_fn=hear_all,
        )  # fmt: skip

    def run(self, *command: str, **environment: str) -> tuple[int, str, str]:
        """Return the exit code, standard output and standard error."""
        with self.start(*command, **environment) as process:
            told, said = process.communicate()
        return process.returncode, told, said

    def run_on_a_terminal(self, *command: str, **environment: str) -> str:
        """Return what a terminal gets to show as standard error."""
        ours, theirs = os.openpty()
        with self.start(*command, error=theirs, **environment) as process:
            os.close(theirs)
            shown = b""
            try:
                while part := os.read(ours, 1000):
                    shown += part
            # As Linux tells that the other end is closed.
            except OSError:
                pass
            process.communicate()
        os.close(ours)
        return shown.decode().replace("\r\n", "\n")

    def id_of_uv(self) -> int:
        """Wait until uv waits, and return its process's id."""
        told, deadline = Path(f"{self.log}.id"), time.monotonic() + 60
        while not (told.exists() and told.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return int(told.read_text())

    def calls(self) -> list[str]:
        """Return what uv was asked since the last time."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(needs_executables(tmp_path))


def test_an_environment_is_remade_when_the_lock_changes(clone: Clone) -> None:
    """An environment is made once and brought up to date when the lock or the project changes."""
    code, told, said = clone.run("respeed", "status")
    assert (code, clone.calls()) == (0, MADE)
    assert said.startswith("run: making .venv from requirements.lock (once; ")
    # Standard output is the command's alone.
    assert told.startswith(f"{clone.folder}/.venv/bin/respeed status;")
    assert clone.run("respeed", "status") == (0, told, "")
    for file in ("requirements.lock", "pyproject.toml"):
        with (clone.folder / file).open("a") as text:
            text.write("# changed\n")
        clone.run("python")
        clone.run("python")
        assert clone.calls() == MADE[1:]


def test_set_up_says_first_what_it_loads(clone: Clone) -> None:
    with (clone.folder / "requirements.lock").open("a") as lock:
        lock.write("# Plan9 vax: loads up to 9 GB\n")
    size, other, made = clone.run("python")[2].splitlines()
    assert size == "run: making .venv from requirements.lock (once; loads up to 3.4 GB, takes 7.2 GB)"
    assert other.startswith("run: a machine without a GPU is served by any torch that is there: pip install -e .")
    assert re.fullmatch(r"run: made .venv in \d+ s", made)


def test_a_terminal_shows_one_line_that_is_rewritten(clone: Clone) -> None:
    shown = clone.run_on_a_terminal("python")
    size, other, rewritten, rest = shown.split("\n")
    assert (size[:16], other[:16], rest) == ("run: making .ven", "run: a machine w", "")
    *steps, end = filter(None, (line.rstrip() for line in rewritten.split("\r")))
    assert re.fullmatch(r"run: made .venv in \d+ s", end)
    assert steps
    for line in steps:
        assert re.fullmatch(r"run: \d+ s: \w.*", line)
        assert len(line) < 80


@pytest.mark.parametrize("step", dict.fromkeys(MADE))
def test_a_failed_set_up_is_made_anew(clone: Clone, step: str) -> None:
    """A set up that fails leaves nothing that looks whole and is made anew."""
    code, told, said = clone.run("python", UV_FAILS=step)
    assert (code, told) == (1, "")
    *_, reason, need = said.splitlines()
    assert (reason, need.startswith("run: set-up did not finish")) == ("error: Failed to fetch", True)
    clone.calls()
    assert (clone.run("python")[0], clone.calls()) == (0, MADE)


def test_a_failure_shows_the_last_lines_alone(clone: Clone) -> None:
    said = clone.run("python", UV_FAILS="pip install")[2]
    assert "error: Failed to fetch\nrun: set-up did not finish: the lines above say why;" in said
    # What uv did before is in the log alone.
    assert "Downloaded torch" not in said
    assert "Downloaded torch" in (clone.folder / ".tools/set-up.log").read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stopped_set_up_leaves_nothing_running(clone: Clone, number: int, code: int) -> None:
    with clone.start("python", UV_WAITS="pip sync") as process:
        uv = clone.id_of_uv()
        # Ctrl-C reaches all that runs on a terminal.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        said = process.communicate()[1]
    assert process.returncode == code
    assert said.splitlines()[2:] == ["run: the set-up was stopped; the same command does it anew"]
    assert still_run([uv]) == []
    clone.calls()
    assert (clone.run("python")[0], clone.calls()) == (0, MADE)


@pytest.mark.skipif(not shutil.which("flock"), reason="no flock")
def test_of_two_set_ups_one_waits(clone: Clone) -> None:
    with clone.start("python", UV_WAITS="pip sync") as first:
        assert first.stderr.readline().startswith("run: making")
        with clone.start("python") as second:
            assert second.stderr.readline() == "run: waiting for another ./run in this folder\n"
            Path(f"{clone.log}.go").touch()
            assert second.communicate()[1] == ""
        first.communicate()
    assert (first.returncode, second.returncode, clone.calls()) == (0, 0, MADE)


def test_what_is_not_there_is_one_line(clone: Clone) -> None:
    clone.run("python")
    executable(clone.path / "pytest", "#!/bin/sh\necho the pytest of the system\n")
    for command in ("pytest", "", ".."):
        code, told, said = clone.run(command)
        assert (code, told) == (2, "")
        assert re.fullmatch(rf"run: no command '{re.escape(command)}' in .venv/bin; .+\n", said)
    assert clone.run()[2].startswith("run: usage: ./run COMMAND")


def test_without_uv_a_line_says_what_to_install(clone: Clone) -> None:
    """Without uv and a Python that will do one line says what to install."""
    (clone.path / "uv").unlink()
    executable(clone.path / "python3", "#!/bin/sh\nexit 1\n")
    code, told, line = clone.run("python")
    assert (code, told, line.count("\n")) == (2, "", 1)
    assert "needs python3 (3.11 or newer) or uv" in line


def test_only_a_writable_home_reaches_a_command(clone: Clone) -> None:
    """Of the user's shell only a home that can be written to reaches a command."""
    other = {"PYTHONPATH": "/modules", "PYTHONHOME": "/modules"}
    assert clone.run("python", **other)[1].endswith(f"; none none {clone.path.parent}\n")
    for home in ("", "/nowhere", "/proc"):
        assert clone.run("python", HOME=home)[1].endswith(f"; none none {clone.folder}/.tools/home\n")


def test_uv_and_pip_share_a_mirror(clone: Clone) -> None:
    """Of uv's variables those that say from where are kept and pip and uv share a mirror."""
    for mirror in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        shutil.rmtree(clone.folder / ".venv", ignore_errors=True)
        assert (
            clone.run("python", UV_CONSTRAINT="c.txt", UV_EXCLUDE_NEWER="2020-01-01", **{mirror: "https://m"})[0] == 0
        )
        assert Path(f"{clone.log}.told").read_text() == "https://m none none\n"


def test_only_a_marked_venv_is_removed(clone: Clone) -> None:
    """Only a venv with the mark of this script is ever removed."""
    venv = clone.folder / ".venv"
    other = clone.folder.parent / "other"
    other.mkdir()
    (other / ".respeed-lock").touch()
    links = [lambda target=target: venv.symlink_to(target) for target in ("/nowhere", clone.path, other)]
    for make in (venv.mkdir, *links):
        make()
        code, told, line = clone.run("python")
        assert (code, told, clone.calls()) == (2, "", [])
        assert re.fullmatch(
            r"run: .*/.venv (was not made by this script|is a link), and is left alone; move it away.*\n", line
        )
        assert os.path.lexists(venv)
        venv.rmdir() if not venv.is_symlink() else venv.unlink()
    clone.run("python", UV_FAILS="pip sync")
    (venv / "half").touch()
    assert clone.run("python")[0] == 0
    assert not (venv / "half").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_venv_is_left_alone(clone: Clone) -> None:
    clone.run("python")
    (clone.folder / ".venv/bin/python").unlink()
    os.chown(clone.folder / ".venv", 65534, 65534)
    code, _, line = clone.run("python")
    assert (code, line.count("\n"), "another user's" in line) == (2, 1, True)
    assert (clone.folder / ".venv/bin/respeed").exists()


def test_a_linked_script_runs_its_clone(clone: Clone) -> None:
    """A link to the script runs the environment of its clone."""
    other = clone.folder.parent / "other"
    (other / ".venv").mkdir(parents=True)
    clone.script = other / "run"
    clone.script.symlink_to("../clone/run")
    assert clone.run("python")[1].startswith(f"{clone.folder}/.venv/bin/python ")
    assert os.listdir(other / ".venv") == []


@pytest.mark.parametrize(
    ("program", "says", "line"),
    [
        ("uname", "MINGW64_NT-10.0 x86_64", "on Windows use WSL 2"),
        ("uname", "Darwin x86_64", "there is no torch for Darwin x86_64 here"),
        ("getconf", "glibc 2.17", "on Linux it needs glibc 2.28"),
        ("getconf", "", "on Linux it needs glibc 2.28"),
        ("ln", "", "this file system has no symbolic links"),
    ],
)
def test_a_lacking_system_is_told_first(clone: Clone, program: str, says: str, line: str) -> None:
    """A system without what is needed is told in one line before anything is loaded."""
    (clone.path / program).unlink()
    executable(clone.path / program, f"#!/bin/sh\nprintf '%s' '{says}'\nexit {int(not says)}\n")
    code, told, said = clone.run("python")
    assert (code, told, said.count("\n"), clone.calls()) == (2, "", 1, [])
    assert line in said


@pytest.mark.skipif(not shutil.which("flock"), reason="no flock")
def test_a_file_system_without_locks_costs_a_line(clone: Clone) -> None:
    (clone.path / "flock").unlink()
    executable(clone.path / "flock", "#!/bin/sh\necho flock: 9: Function not implemented >&2\nexit 71\n")
    code, _, said = clone.run("python")
    assert (code, clone.calls()) == (0, MADE)
    assert "run: this file system has no locks: start no other ./run in this folder meanwhile\n" in said
    assert "not implemented" not in said


def test_an_impossible_folder_is_told(clone: Clone) -> None:
    clone.script = clone.folder.rename(clone.folder.with_name("a:b")) / "run"
    clone.folder = clone.path
    code, _, said = clone.run("python")
    assert (code, said.count("\n")) == (2, 1)
    assert "has a colon in its name; rename it" in said


def test_an_unwritable_cache_is_not_used(clone: Clone) -> None:
    clone.run("python")
    code, told, said = clone.run("/usr/bin/env", XDG_CACHE_HOME="/proc/cache")
    assert (code, "XDG_CACHE_HOME" in told) == (0, False)
    assert said == "run: XDG_CACHE_HOME cannot be written to: not used\n"


@pytest.mark.skipif(not shutil.which("git"), reason="no git")
def test_git_changes_no_line_ending_of_a_clone(tmp_path: Path) -> None:
    """Git for Windows sets core.autocrlf, and folders are shared between systems."""
    git = ["git", "-c", "core.autocrlf=true", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for file in (".gitattributes", "run"):
        shutil.copy(ROOT / file, tmp_path)
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "a"],
        ["rm", "-q", "run"],
        ["checkout", "-q", "HEAD", "run"],
    ):
        subprocess.run([*git, *command], check=True)
    assert (tmp_path / "run").read_bytes() == (ROOT / "run").read_bytes()
