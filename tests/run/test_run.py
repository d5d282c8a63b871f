"""The script `run`: in a small project of its own, whose lock is one tiny wheel."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import distribution
from pathlib import Path

import psutil
import pytest

import requirements_upon
from tests.signals import CODES, hear_all, still_run

ROOT = Path(__file__).resolve().parents[2]
REAL_UV = shutil.which("uv") or shutil.which(str(ROOT / ".tools" / "uv" / "bin" / "uv"))
# What the script needs of the system, and no more: no uv, no Python and no pytest of the machine is on this PATH.
TOOLS = ("sh", "cat", "cksum", "date", "dirname", "flock", "grep", "kill", "mkdir", "realpath", "rm", "sleep")

# The version of uv that is fetched.
(KNOWN,) = re.findall(r"(?m)^uv==(\S+)", (ROOT / "requirements-uv.txt").read_text())
# What a command of the environment says: where it runs, and what.
TELL = "import sys\ndef main(): print(sys.prefix, __file__, sep='\\n')\n"

# Writes down how it was called and whether the environment looked whole then; it makes an environment of shell scripts.
# UV_STOPS=fail, die, hang or pause (until there is a file $UV_LOG.go): what the step named by UV_AT does.
STUB_UV = """\
#!/bin/sh
[ "$1" != --version ] || { [ -e "$PROJECT/another" ] && echo uv 0.1.0 || echo "uv @KNOWN@ (a build)"; exit 0; }
[ -e "$PROJECT/.venv/.respeed-lock" ] && whole=whole || whole=unfinished
echo "$1 $2 ($whole)" >>"$UV_LOG"
case "$UV_STOPS/$*" in
    "fail/$UV_AT"*) echo "error: Failed to fetch" >&2; exit 2 ;;
    "die/$UV_AT"*) kill -KILL $PPID; exit 1 ;;
    "hang/$UV_AT"*) sleep 60 >/dev/null 2>&1 & wait ;;
    "pause/$UV_AT"*) while [ ! -e "$UV_LOG.go" ]; do sleep 0.05; done ;;
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
""".replace("@KNOWN@", KNOWN)
MADE = ["venv --relocatable (unfinished)", "pip sync (unfinished)", "pip install (unfinished)"]


class Clone:
    """A small project with the real script."""

    def __init__(self, folder: Path, uv: Path | str | None = None) -> None:
        self.folder = folder / "clone"
        self.log = folder / "uv.log"
        self.path = folder / "path"
        (self.folder / "workflow/respeed/cli").mkdir(parents=True)
        self.path.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.path / tool).symlink_to(found)
        for file in ("run", "requirements-uv.txt", "requirements_upon.py", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / file, self.folder)
        (self.folder / "requirements.lock").write_text("# empty\n")
        (self.folder / "workflow/respeed/cli/main.py").write_text(TELL)
        if uv is not None:
            (self.path / "uv").symlink_to(uv)

    def run(
        self, *command: str, user: int | None = None, **environment: str | None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "run", *command], env=self.environment(environment), text=True, capture_output=True,
            check=False, user=user, cwd=self.folder.parent,
        )  # fmt: skip

    def start(
        self, *command: str, preexec_fn: Callable[[], object] = hear_all, **environment: str
    ) -> subprocess.Popen[str]:
        """Run it beside the test, in a group of its own, in which by default no signal is ignored."""
        return subprocess.Popen(
            [self.folder / "run", *command], env=self.environment(environment), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, preexec_fn=preexec_fn,
        )  # fmt: skip

    def environment(self, more: Mapping[str, str | None]) -> dict[str, str]:
        """None of `more` is not in it."""
        every = {
            "PATH": str(self.path), "PROJECT": str(self.folder), "UV_LOG": str(self.log), "UV_STOPS": "", "UV_AT": "",
            "STUB_PYTHON": str(self.path.parent / "stub-python"), "CHMOD": shutil.which("chmod") or "chmod",
            "HOME": str(self.path.parent),
        } | more  # fmt: skip
        return {key: value for key, value in every.items() if value is not None}

    def calls(self) -> list[str]:
        """What uv was asked since the last time, and whether the environment looked whole at that moment."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


def wait_for(path: Path, text: str) -> None:
    """Until `text` stands in the file."""
    deadline = time.monotonic() + 20
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, f"{text!r} never stood in {path}"
        time.sleep(0.02)


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def metadata(name: str, version: str, *needs: str) -> str:
    return "\n".join(
        ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *map("Requires-Dist: {}".format, needs), ""]
    )


def write_wheel(path: Path, name: str, version: str, files: dict[str, str], *needs: str) -> str:
    """Write a wheel; its hash, as a lock has it. Scripts in it may be run."""
    about = {"METADATA": metadata(name, version, *needs), "RECORD": ""}
    about["WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(path, "w") as file:
        for place, text in ({f"{name}-{version}.dist-info/{key}": text for key, text in about.items()} | files).items():
            entry = zipfile.ZipInfo(place)
            entry.external_attr = 0o755 << 16
            file.writestr(entry, text)
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


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
    """A clone with an environment that the real uv made, without a network; in a folder with another's uv.toml."""
    if REAL_UV is None:
        pytest.skip("no uv on the PATH or in .tools")
    folder = tmp_path_factory.mktemp("installed")
    clone = Clone(folder, REAL_UV)
    files = {
        "tiny.py": TELL,
        "tiny-1.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
        # The build backend of the real lock, from the environment that runs these tests.
        "tiny.pth": f"{distribution('hatchling').locate_file('')}\n",
    }
    wheel = folder / "tiny-1-py3-none-any.whl"
    digest = write_wheel(wheel, "tiny", "1", files)
    (clone.folder / "requirements.lock").write_text(f"tiny @ {wheel.as_uri()} --hash={digest}\n")
    (folder / "uv.toml").write_text(f'cache-dir = "{folder}/planted"\n')
    (folder / ".config" / "uv").mkdir(parents=True)
    (folder / ".config" / "uv" / "uv.toml").write_text(f'cache-dir = "{folder}/the-users"\n')
    made = clone.run(
        "python", "--version", PATH=f"{clone.path}{os.pathsep}{Path(sys.base_prefix, 'bin')}", UV_OFFLINE="1",
        UV_PYTHON_DOWNLOADS="never",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (clone.path / "uv").unlink()
    yield clone
    shutil.rmtree(folder)


def test_a_copied_or_moved_clone_runs_its_own_python_and_code_without_another_set_up(installed: Clone) -> None:
    first = installed.folder
    second, third = first.parent / "a copy with spaces", first.parent / "verschöben, 移動"
    for make in (lambda _: first, partial(shutil.copytree, first, symlinks=True), first.rename):
        folder = installed.folder = make(third if make == first.rename else second)
        for command in ("tiny", "respeed"):
            told = installed.run(command)
            prefix, file = told.stdout.splitlines()
            assert (told.returncode, told.stderr, Path(prefix)) == (0, "", folder / ".venv")
            assert Path(file).is_relative_to(folder)
    # Also where the environment is used without the script.
    told = subprocess.run(
        [third / ".venv/bin/python", "-c", "import respeed.cli.main as main; print(main.__file__)"], env={}, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert Path(told.stdout.strip()) == third / "workflow/respeed/cli/main.py"


def test_no_settings_of_a_folder_above_reach_uv_but_the_users_own_do(installed: Clone) -> None:
    """Whoever names the cache has his code run: what uv takes from there is checked by no hash."""
    assert {"the-users", "planted"} & set(os.listdir(installed.path.parent)) == {"the-users"}


def test_an_environment_is_made_once_and_brought_up_to_date_when_the_lock_or_the_project_changes(clone: Clone) -> None:
    first = clone.run("respeed", "status")
    begins, *of_uv, ends = first.stderr.splitlines()
    assert begins.startswith("run: making .venv from requirements.lock")
    assert of_uv == ["uv tells on standard output what it did"] * 3
    assert re.fullmatch(r"run: \.venv is ready, after \d+ s", ends)
    assert clone.calls() == MADE
    again = clone.run("respeed", "status")
    # Standard output is the command's alone.
    assert first.stdout == again.stdout == f"{clone.folder}/.venv/bin/respeed status\n"
    assert (again.stderr, clone.calls()) == ("", [])
    for file in ("requirements.lock", "pyproject.toml"):
        with (clone.folder / file).open("a") as text:
            text.write("# changed\n")
        assert "run: bringing .venv up to date" in clone.run("python").stderr
        assert clone.calls() == MADE[1:]
        assert clone.run("python").stderr == ""


@pytest.mark.parametrize("step", ["venv", "pip sync", "pip install"])
def test_a_set_up_that_is_killed_or_fails_leaves_nothing_that_looks_whole_and_is_tried_again(
    clone: Clone, step: str
) -> None:
    assert clone.run("python", UV_STOPS="die", UV_AT=step).returncode == -signal.SIGKILL
    clone.calls()
    failed = clone.run("python", UV_STOPS="fail", UV_AT=step)
    *_, reason, need = failed.stderr.splitlines()
    assert (failed.returncode, reason) == (1, "error: Failed to fetch")
    assert re.fullmatch("run: set-up did not finish, .* network, or a package index .*", need)
    clone.calls()
    assert clone.run("python").returncode == 0
    assert clone.calls() == MADE


def spoil(clone: Clone, how: str) -> None:
    match how.split(": "):
        case "killed", step:  # also with the old lock: what was written before the end came is not known
            lock = clone.folder / "requirements.lock"
            before = lock.read_text()
            lock.write_text("# changed\n")
            assert clone.run("python", UV_STOPS="die", UV_AT=step).returncode == -signal.SIGKILL
            lock.write_text(before)
        case ["of an earlier version"]:  # with another stamp, and scripts that hold its path
            (clone.folder / ".venv/.respeed-lock").write_text("1234567890 250000\n")
            (clone.folder / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
        case _:
            (clone.folder / ".venv/bin/python").unlink()
            (clone.folder / ".venv/bin/python").symlink_to("/nowhere/python3")


@pytest.mark.parametrize("how", ["killed: pip sync", "killed: pip install", "of an earlier version", "without Python"])
def test_an_environment_that_cannot_be_trusted_is_made_anew(ready: Clone, how: str) -> None:
    spoil(ready, how)
    (ready.folder / ".venv/left-over").touch()
    ready.calls()
    assert "run: making .venv" in ready.run("respeed").stderr
    assert ready.calls() == MADE
    assert not (ready.folder / ".venv/left-over").exists()


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


def test_a_command_with_a_slash_is_run_as_it_is_and_none_at_all_is_one_line(ready: Clone) -> None:
    script = executable(ready.folder / "script", '#!/bin/sh\necho "$1, $VIRTUAL_ENV"\nrespeed\n')
    told = ready.run(str(script), "as it is").stdout
    assert told == f"as it is, {ready.folder}/.venv\n{ready.folder}/.venv/bin/respeed \n"
    none = ready.run()
    assert (none.returncode, none.stderr.startswith("run: usage: ./run COMMAND"), ready.calls()) == (2, True, [])


@pytest.mark.parametrize("sent", CODES)
@pytest.mark.parametrize("to_all", [True, False])
def test_a_set_up_that_is_stopped_ends_at_once_with_all_it_started_and_says_so_in_one_line(
    clone: Clone, sent: signal.Signals, to_all: bool
) -> None:
    with clone.start("python", UV_STOPS="hang", UV_AT="pip sync") as process:
        wait_for(clone.log, "pip sync (unfinished)\n")
        # The stub of uv is a shell, which leaves its own child behind; the real one does not.
        every = psutil.Process(process.pid).children(recursive=True)
        started = [child for child in every if child.name() != "sleep"]
        (os.killpg if to_all else os.kill)(process.pid, sent)
        told = process.communicate()[1]
        assert process.returncode == CODES[sent]
        assert told.splitlines()[-1] == "run: stopped; the same command goes on"
        assert started
        # One that was listed between its fork and its exec had the stub's own name still.
        assert not [child for child in still_run(started, 1) if child.name() != "sleep"]
    for child in every:
        if child.is_running():
            child.kill()
    clone.calls()
    assert clone.run("python").returncode == 0
    assert clone.calls() == MADE


def test_a_set_up_in_the_background_of_a_script_hears_sigterm_and_not_ctrl_c(clone: Clone) -> None:
    background = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with clone.start("python", preexec_fn=background, UV_STOPS="pause", UV_AT="pip sync") as process:
        wait_for(clone.log, "pip sync (unfinished)\n")
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.communicate()[1].splitlines()[-1] == "run: stopped; the same command goes on"
        assert process.returncode == 143


def a_python(path: Path, version: tuple[int, int]) -> None:
    """A Python of that version, which makes a venv in which pip installs the stub of uv, and runs what it is told. It
    works in no shell that speaks of another Python."""
    named = ".".join(map(str, version))
    executable(
        path,
        f"""#!/bin/sh
[ -z "${{PYTHONHOME-}}${{PYTHONPATH-}}" ] || exit 1
case "$*" in
    -V) echo Python {named} ;;
    *execvp*) shift 3; exec "$@" ;;
    *version_info*) exit {int(version < (3, 11))} ;;
    "-I -m venv "*) mkdir -p "$4/bin"; cat "$0" >"$4/bin/python"; "$CHMOD" +x "$4/bin/python" ;;
    "-I -m pip "*) echo "uv by {named}" >>"$UV_LOG"; cat "$STUB_UV" >"${{0%python}}uv"; "$CHMOD" +x "${{0%python}}uv" ;;
esac
""",
    )


@pytest.mark.parametrize("newer", ["3.11", "3.14"])
def test_a_newer_python_is_found_behind_one_that_is_too_old_whatever_the_shell_says(clone: Clone, newer: str) -> None:
    stub = (clone.path / "uv").resolve()
    (clone.path / "uv").unlink()
    a_python(clone.path / "python3", (3, 10))
    a_python(clone.path / f"python{newer}", (3, int(newer[2:])))
    told = clone.run("python", STUB_UV=str(stub), PYTHONHOME="/nonexistent", PYTHONPATH="/modules")
    assert told.returncode == 0, told.stderr
    assert clone.calls() == [f"uv by {newer}", *MADE]
    # What was fetched is used again.
    (clone.folder / ".venv" / ".respeed-lock").unlink()
    assert clone.run("python", STUB_UV="/nowhere").returncode == 0
    assert clone.calls() == MADE
    # But of another version, by an earlier script, it is fetched anew.
    (clone.folder / ".venv" / ".respeed-lock").unlink()
    (clone.folder / "another").touch()
    assert clone.run("python", STUB_UV=str(stub)).returncode == 0
    assert clone.calls()[0] == f"uv by {newer}"


def test_a_uv_that_is_not_the_one_we_know_by_its_hash_is_not_installed(clone: Clone, tmp_path: Path) -> None:
    (clone.path / "uv").unlink()
    (clone.path / "python3").symlink_to(sys.executable)
    script = {f"uv-{KNOWN}.data/scripts/uv": f"#!/bin/sh\necho >{tmp_path}/his-code-ran\n"}
    write_wheel(tmp_path / f"uv-{KNOWN}-py3-none-any.whl", "uv", KNOWN, script)
    told = clone.run("python", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path), PIP_CONFIG_FILE=os.devnull)
    assert "DO NOT MATCH THE HASHES" in told.stderr
    assert (told.returncode, told.stderr.splitlines()[-1][:28]) == (1, "run: set-up did not finish, ")
    assert not (tmp_path / "his-code-ran").exists()


@pytest.mark.parametrize("locker", ["flock", "perl"])
@pytest.mark.parametrize("killed", [False, True])
def test_of_two_at_once_one_sets_up_and_the_other_waits_and_says_so(clone: Clone, locker: str, killed: bool) -> None:
    """Also for what a killed one left running, whose work is then done anew."""
    (clone.path / "flock").unlink(missing_ok=True)
    if not (found := shutil.which(locker)):
        pytest.skip(f"no {locker}")
    (clone.path / locker).symlink_to(found)
    with clone.start("python", UV_STOPS="pause", UV_AT="pip sync") as first:
        wait_for(clone.log, "pip sync (unfinished)\n")
        if killed:
            first.kill()
            first.wait()
        with clone.start("python") as second:
            assert second.stderr.readline() == "run: another ./run is setting up this folder; waiting for it\n"
            assert clone.log.read_text().splitlines() == MADE[:2]
            Path(f"{clone.log}.go").touch()
            told = [process.communicate()[1] for process in (second, first)]
            assert ("is ready" in told[0], "is ready" in told[1]) == (killed, not killed)
            assert (first.returncode, second.returncode) == (-signal.SIGKILL if killed else 0, 0)
    assert clone.calls() == ([*MADE[:2], *MADE] if killed else MADE)


def test_in_a_folder_that_cannot_be_written_to_one_line_says_so_where_the_environment_is_not_whole() -> None:
    user = 65534 if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        executable(folder / "stub-python", "#!/bin/sh\n")
        clone = Clone(folder, executable(folder / "stub-uv", STUB_UV))

        def run_read_only() -> subprocess.CompletedProcess[str]:
            clone.folder.chmod(0o755 if user else 0o555)
            told = clone.run("python", user=user)
            clone.folder.chmod(0o755)
            return told

        told = run_read_only()
        assert (told.returncode, told.stdout, len(told.stderr.splitlines())) == (1, "", 1)
        assert told.stderr.startswith(f"run: {clone.folder} cannot be written to")
        # One that is whole is only read.
        assert clone.run("python").returncode == run_read_only().returncode == 0


@pytest.mark.parametrize("home", [None, "/proc/no-home", "/proc"])
def test_without_a_home_that_can_be_written_to_what_is_fetched_or_kept_lies_in_the_folder(
    clone: Clone, home: str | None
) -> None:
    uv = (clone.path / "uv").resolve()
    uv.write_text(uv.read_text().replace("bin=$PROJECT", 'echo "$UV_CACHE_DIR" >&2\nbin=$PROJECT'))
    tools = f"{clone.folder}/.tools/cache"
    assert f"{tools}\n" in clone.run("python", HOME=home).stderr
    executable(clone.folder / ".venv/bin/tell", '#!/bin/sh\necho "$XDG_CACHE_HOME $MPLCONFIGDIR"\n')
    assert clone.run("tell", HOME=home).stdout.split() == [tools, f"{tools}/matplotlib"]
    assert clone.run("tell").stdout.split() == []
    assert clone.run("tell", XDG_CACHE_HOME="/cache").stdout.split() == ["/cache"]


def test_what_the_shell_says_of_another_python_and_of_letters_is_dropped(clone: Clone) -> None:
    assert clone.run("python").returncode == 0
    told = '#!/bin/sh\necho "${PYTHONPATH-none} ${PYTHONHOME-none} $PYTHONUTF8"\n'
    executable(clone.folder / ".venv/bin/tell", told)
    said = clone.run("tell", PYTHONPATH="/modules", PYTHONHOME="/modules", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert said.stdout.split() == ["none", "none", "1"]


def test_what_is_named_as_the_users_python_and_cannot_be_is_one_line(ready: Clone) -> None:
    executable(ready.path / "old", "#!/bin/sh\nexit 2\n")
    # The stub of the environment's own Python says as much as one would that is asked for its prefix.
    executable(ready.folder / ".venv/bin/own", "#!/bin/sh\nexit 3\n")
    for python, said in {
        "nowhere": "does not run, or is older than Python 3.11: name the Python that has your torch",
        "old": "does not run, or is older than Python 3.11: name the Python that has your torch",
        ".venv/bin/own": "is this folder's own environment: name the Python that has your torch, by its path or after "
        "`deactivate`",
    }.items():
        python = f"{ready.folder}/{python}" if "/" in python else python
        told = ready.run("python", RESPEED_PYTHON=python)
        assert (told.returncode, told.stdout, told.stderr) == (2, "", f"run: RESPEED_PYTHON={python} {said}\n")
    assert ready.calls() == []


@pytest.mark.parametrize(
    ("smi", "lock", "said"),
    [
        ("exit 9", "cuda-toolkit==13.2.2", "no NVIDIA driver that tells its version; the lock's torch is for CUDA 13,"),
        ("echo 550.54.15, 7.5", "cuda-toolkit==13.2.2", "NVIDIA driver 550.54.15, where that needs 580 or later;"),
        ("echo 550.54.15, 7.5", "cuda-toolkit==12.8.1", None),
        ("echo 580.95.05, 7.0", "cuda-toolkit==13.2.2", "compute capability 7.0, where that needs 7.5 or later;"),
        ("echo 580.95.05, 7.0; echo 580.95.05, 12.0", "cuda-toolkit==13.2.2", None),
        ("echo 580.95.05, 7.5", "cuda-toolkit==13.2.2", None),
        ("exit 9", "torch==2.15.0", None),
    ],
)  # fmt: skip
def test_before_torch_is_fetched_one_line_says_what_here_cannot_use_it_and_what_to_do_and_it_goes_on(
    clone: Clone, smi: str, lock: str, said: str | None
) -> None:
    if not Path("/proc/version").exists() or (smi == "exit 9" and Path("/proc/driver/nvidia/version").exists()):
        pytest.skip("not Linux, or a driver is there")
    executable(clone.path / "nvidia-smi", f"#!/bin/sh\n{smi}\n")
    (clone.folder / "requirements.lock").write_text(f"{lock} ; sys_platform == 'linux'\n")
    told = clone.run("python")
    lines = [line for line in told.stderr.splitlines() if line.startswith("run: here is ")]
    assert (told.returncode, len(lines)) == (0, said is not None)
    if said:
        assert said in lines[0]
        assert all(word in lines[0] for word in ("RESPEED_PYTHON=python3", "--torch-backend auto", "GB"))
    assert clone.calls() == MADE


def test_the_lock_is_for_a_cuda_whose_least_driver_and_gpu_the_script_knows() -> None:
    (cuda,) = re.findall(r"(?m)^cuda-toolkit==(\d+)", (ROOT / "requirements.lock").read_text())
    assert f"        {cuda}) driver=" in (ROOT / "run").read_text()


# --- upon another Python's packages

# A lock, with who asks for a package, and what that asks for in turn.
LOCKED = {
    "hatchling==1.33.0": (["respeed (pyproject.toml)"], []),
    "packaging==25.0": (["hatchling"], []),
    "torch==2.15.0": (["respeed (pyproject.toml)"], ["nvidia-cublas", "triton==3.9.0"]),
    "nvidia-cublas==13.4.1": (["torch"], []),
    "triton==3.9.0": (["respeed (pyproject.toml)", "torch"], []),
    "numpy==2.4.6": (["respeed (pyproject.toml)", "scipy", "numba"], []),
    "scipy==1.17.1": (["respeed (pyproject.toml)"], ["numpy>=1.26.4"]),
    "numba==0.68.1": (["respeed (pyproject.toml)"], ["numpy<2.6,>=2.1"]),
    "jinja2==3.1.6": (["respeed (pyproject.toml)", "torch"], []),
    "snakemake==9.27.1": (["respeed (pyproject.toml)"], []),
    "snakemake-executor-plugin-slurm==2.8.0": (["respeed (pyproject.toml)"], ["numpy>=2.4.5"]),
}
# What is installed above their packages in any case.
ALWAYS = {"hatchling", "packaging", "numba", "snakemake"}
CUDA = {"torch", "nvidia-cublas", "triton"}
SLURM = "snakemake-executor-plugin-slurm"
THEIRS = {"torch": "2.13.0+cpu", "numpy": "2.3.5", "scipy": "1.16.3", "jinja2": "3.1.2", "snakemake": "9.20"}


class OtherPython:
    """An environment of the user's own, with packages that say no more than their versions."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder)
        self.python = folder / "bin/python"
        (self.folder,) = folder.glob("lib/python3*/site-packages")

    def has(self, name: str, version: str, *needs: str, code: str = "") -> None:
        for old in self.folder.glob(f"{name}*"):
            shutil.rmtree(old)
        (self.folder / name).mkdir()
        (self.folder / name / "__init__.py").write_text(f"{code}\n__version__ = '{version}'\n")
        about = self.folder / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(metadata(name, version, *needs))
        commands = f"[console_scripts]\n{name} = {name}:main\n" if name == "snakemake" else ""
        (about / "entry_points.txt").write_text(commands)


@pytest.fixture
def other(tmp_path: Path) -> OtherPython:
    made = OtherPython(tmp_path / "other")
    for name, version in THEIRS.items():
        made.has(name, version)
    return made


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of what is locked, and the lock."""
    folder = tmp_path_factory.mktemp("wheels")
    lock = []
    for pin, (askers, needs) in LOCKED.items():
        name, version = pin.split("==")
        module = name.replace("-", "_")
        files = {f"{module}/__init__.py": f"__version__ = '{version}'\n"}
        if name in ("hatchling", "packaging"):  # the real ones, of the environment of these tests
            files = {f"zz_{name}.pth": f"{distribution(name).locate_file('')}\n"}
        digest = write_wheel(folder / f"{module}-{version}-py3-none-any.whl", module, version, files, *needs)
        lock += [f"{pin} \\", f"    --hash={digest}", "    # via", *(f"    #   {asker}" for asker in askers)]
    (folder / "requirements.lock").write_text("\n".join([*lock, ""]))
    return folder


@pytest.fixture
def upon(tmp_path: Path, wheels: Path) -> Callable[..., tuple[set[str], list[str], list[str]]]:
    """Runs what tells the versions of torch, NumPy and SciPy; gives what is installed, what `run` said and those."""
    if REAL_UV is None:
        pytest.skip("no uv on the PATH or in .tools")
    clone = Clone(tmp_path, REAL_UV)
    shutil.copy(wheels / "requirements.lock", clone.folder)
    tell = "import torch, numpy, scipy; print(torch.__version__, numpy.__version__, scipy.__version__)"

    def run(python: Path | str | None, returncode: int = 0) -> tuple[set[str], list[str], list[str]]:
        told = clone.run(
            "python", "-c", tell, RESPEED_PYTHON=None if python is None else str(python), UV_OFFLINE="1",
            UV_NO_INDEX="1", UV_FIND_LINKS=str(wheels), UV_PYTHON_DOWNLOADS="never",
            PATH=f"{clone.path}{os.pathsep}{Path(sys.base_prefix, 'bin')}",
        )  # fmt: skip
        assert told.returncode == returncode, told.stderr
        about = (clone.folder / ".venv").glob("lib/python3*/site-packages/*.dist-info/METADATA")
        names = {re.findall(r"(?m)^Name: (.+)", one.read_text())[0].replace("_", "-") for one in about} - {"respeed"}
        return names, [line for line in told.stderr.splitlines() if line.startswith("run: ")], told.stdout.split()

    run.clone = clone  # type: ignore[attr-defined]
    return run


def test_torch_numpy_and_scipy_of_the_users_python_stay_and_only_what_it_lacks_is_installed(
    upon: Callable[..., tuple[set[str], list[str], list[str]]], other: OtherPython
) -> None:
    """Neither CUDA nor Triton beside a torch that has its own or none; also later, and when the lock has changed."""
    installed, said, versions = upon(other.python)
    assert (installed, versions) == (ALWAYS, ["2.13.0+cpu", "2.3.5", "1.16.3"])
    assert said[-2:-1] == [
        f"run: .venv uses torch 2.13.0+cpu, numpy 2.3.5 and scipy 1.16.3 of {other.python}; without "
        "snakemake-executor-plugin-slurm, which needs numpy>=2.4.5. RESPEED_PYTHON= ./run ... goes back to the lock's"
    ]
    assert upon(other.python) == upon(None) == (ALWAYS, [], versions)
    with (upon.clone.folder / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    installed, said, versions = upon(None)
    assert said[0] == f"run: bringing .venv up to date with requirements.lock upon {other.python}"
    assert (installed, versions) == (ALWAYS, ["2.13.0+cpu", "2.3.5", "1.16.3"])
    # The user's own pip: what is installed here does not go with it any more.
    other.has("numpy", "2.0.2")
    installed, said, versions = upon(None)
    assert (installed, versions) == (ALWAYS | {"numpy", SLURM}, ["2.13.0+cpu", "2.4.6", "1.16.3"])
    assert "not its numpy 2.0.2, as numba needs numpy<2.6,>=2.1" in said[-2]
    # And back.
    installed, _, versions = upon("")
    assert installed == {pin.split("==")[0] for pin in LOCKED}
    assert versions == ["2.15.0", "2.4.6", "1.17.1"]
    assert upon(None)[1:] == ([], versions)


@pytest.mark.parametrize(
    ("theirs", "installed", "told"),
    [
        ({}, set(), "torch 2.13.0+cpu, numpy 2.3.5 and scipy 1.16.3 of it; without"),
        ({"torch": ("2.9.0a0+git1",)}, CUDA, "; not its torch 2.9.0a0+git1, as respeed needs torch>=2.9;"),
        ({"torch": ("2.10.0a0+nv1",), "triton": ("3.5",)}, set(), "torch 2.10.0a0+nv1, numpy"),
        ({"torch": ()}, CUDA, "numpy 2.3.5 and scipy 1.16.3 of it; it has no torch;"),
        ({"scipy": ("1.14.0", "numpy<2.3")}, set(), "and scipy 1.14.0 of it; without"),
        (
            {"numpy": ("2.0.2",), "scipy": ("1.14.0", "numpy<2.3")}, {"numpy", "scipy", SLURM},
            "; not its numpy 2.0.2, as numba needs numpy<2.6,>=2.1; not its scipy 1.14.0, as it needs numpy<2.3.",
        ),
        (
            {"numpy": ("1.26.4",), "scipy": ("1.11.1",)},
            {"numpy", "scipy", SLURM},
            "uses torch 2.13.0+cpu of it; not its numpy 1.26.4, as respeed needs numpy>=2.0; not its scipy 1.11.1,",
        ),
    ],
)  # fmt: skip
def test_a_package_of_the_users_python_gives_way_where_its_version_will_not_do_and_a_line_says_why(
    other: OtherPython, tmp_path: Path, theirs: dict[str, tuple[str, ...]], installed: set[str], told: str
) -> None:
    for name, (version, *needs) in {name: (one or ("0",)) for name, one in theirs.items()}.items():
        other.has(name, version, *needs)
        if not theirs[name]:
            shutil.rmtree(next(other.folder.glob(f"{name}-*")))
    lock, there = {}, tmp_path / "there"
    for pin, (askers, needs) in LOCKED.items():
        name, version = pin.split("==")
        lock[name] = [f"{pin} \\", "    # via", *(f"    #   {asker}" for asker in askers)]
        about = there / f"{name.replace('-', '_')}-{version}.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(metadata(name, version, *needs))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = requirements_upon.find([str(other.folder)])
    # Once nothing is installed yet, and once all is.
    choice = requirements_upon.choose(lock, found, {}, project, {})
    choice = requirements_upon.choose(lock, found, requirements_upon.find([str(there)]), project, choice._asdict())
    assert choice.installed == ALWAYS | installed
    assert told in requirements_upon.told("it", choice, found)


def test_a_torch_of_the_users_python_that_cannot_be_imported_ends_the_set_up_with_one_line_before_anything_is_fetched(
    upon: Callable[..., tuple[set[str], list[str], list[str]]], other: OtherPython
) -> None:
    other.has("torch", "2.13.0", code="raise ImportError('libcublas.so.12: cannot open shared object file')")
    other.has("packaging", str(distribution("packaging").version))
    shutil.copytree(distribution("packaging").locate_file("packaging"), other.folder / "packaging", dirs_exist_ok=True)
    installed, said, versions = upon(other.python, returncode=2)
    reason = "ImportError: libcublas.so.12: cannot open shared object file"
    assert (installed, versions) == (set(), [])
    assert said[1:] == [f"run: torch 2.13.0 of {other.python} cannot be imported: {reason}"]
