"""The machine-wide lock: who waits for whom, what is said meanwhile, and what somebody may put in its way."""

import contextlib
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from respeed.cli import machine as doctor
from respeed.cli.main import main
from respeed.errors import UserError
from respeed.measure import lock as lock_module
from respeed.measure.lock import Holder, KernelName, LockFile, machine_lock, who_measures

LINUX = sys.platform == "linux"
only_linux = pytest.mark.skipif(not LINUX, reason="abstract sockets are Linux's")
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which only root may")
SOMEBODY = 65534

# Holds the lock, says so, and lets go when its standard input ends.
HOLD = """
import fcntl, os, socket, sys
from pathlib import Path
from respeed.measure import lock
name, file, own, user = sys.argv[1:]
lock.PLACES = (lock.KernelName(name), lock.LockFile(Path(file)), lock.LockFile(Path(own)))
if user:  # by now: another user may not be able to read this Python
    os.setuid(int(user))
HOW
print("mine", flush=True)
sys.stdin.read()
"""
MEASURE = "held = lock.machine_lock(0); held.__enter__()"
# How somebody may hold it without measuring, so that he is not named: at the name, or in the file.
UNNAMED = {
    "a socket that does not listen": "held = socket.socket(socket.AF_UNIX); held.bind(chr(0) + name)",
    "a lock for reading": "held = open(file); fcntl.flock(held, fcntl.LOCK_SH)",
    "a lock, with a stranger's pid in the file": "held = open(file); fcntl.flock(held, fcntl.LOCK_EX)",
}


Where = tuple[KernelName | LockFile, ...]


def places(folder: Path, name: str = "") -> Where:
    """One name a test: the tests of several processes do not wait for one another."""
    shared = KernelName(name or f"respeed-test-{folder.name}")
    return shared, LockFile(folder / "lock"), LockFile(folder / "own")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As /tmp: everybody may make files there, and nobody may touch those of others. The lock of this process is there
    as well."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o1777)
        monkeypatch.setattr(lock_module, "PLACES", places(Path(name)))
        yield Path(name)


@contextlib.contextmanager
def held(folder: Path, user: int | None = None, how: str = "", name: str = "") -> Iterator[subprocess.Popen[str]]:
    """By another process, which measures, or holds it as `how` says."""
    named, file, own = places(folder, name)
    arguments = [named.name, str(file.path), str(own.path), str(user or "")]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD.replace("HOW", how or MEASURE), *arguments], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as other:  # fmt: skip
        assert other.stdout.readline() == "mine\n", other.stderr.read()
        yield other
        if not other.stdin.closed:
            other.communicate("")


def refusal() -> str:
    with pytest.raises(UserError) as error, machine_lock(0):
        pass
    return str(error.value)


def test_a_measurement_that_does_not_wait_says_who_measures_since_when(folder: Path) -> None:
    with held(folder) as other:
        told = refusal()
        for wanted in (f": pid {other.pid} of ", "running since 20", f"({sys.executable}"[:50], "--wait 1h"):
            assert wanted in told
        assert who_measures() == Holder(other.pid, os.geteuid())
    assert who_measures() is None
    with machine_lock(0):
        pass


def test_a_measurement_that_waits_says_so_once_and_goes_on_when_the_other_is_done(folder: Path) -> None:
    told: list[str] = []
    with held(folder) as other:

        def say(text: str) -> None:
            told.append(text)
            other.stdin.close()

        with machine_lock(60, say):
            assert other.wait() == 0
    (line,) = told
    assert line.startswith("respeed: another measurement runs on this machine; waiting for it, for at most 60 s: pid ")


@pytest.mark.usefixtures("folder")
def test_who_waits_long_is_told_again_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told = [0.0], []
    monkeypatch.setattr(lock_module, "seconds_now", lambda: now[0])
    monkeypatch.setattr(lock_module.time, "sleep", lambda _: now.__setitem__(0, now[0] + 30))
    waiting = machine_lock(3600, told.append)
    with machine_lock(), pytest.raises(UserError, match="after 60 min of waiting"), waiting:
        pass
    assert len(told) == 6


@only_linux
def test_two_that_share_only_the_name_or_only_the_file_wait_for_each_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users with a /tmp of their own, and sandboxes with a network of their own."""
    (elsewhere := folder / "elsewhere").mkdir()
    with held(folder) as other:
        for where in (places(elsewhere, f"respeed-test-{folder.name}"), places(folder, f"another-{folder.name}")):
            monkeypatch.setattr(lock_module, "PLACES", where)
            assert f"pid {other.pid} of" in refusal()
            assert not list(elsewhere.iterdir())


@only_linux
@pytest.mark.usefixtures("folder")
def test_a_child_that_outlives_its_parent_keeps_the_lock() -> None:
    with machine_lock() as held:
        child = subprocess.Popen([sys.executable, "-c", "input()"], pass_fds=held, stdin=subprocess.PIPE)
    # This process has let go of it.
    with child:
        assert "another measurement" in refusal()
        assert who_measures()
        child.communicate(b"\n")
    assert who_measures() is None


@only_root
@pytest.mark.parametrize(("first", "second"), [(None, SOMEBODY), (SOMEBODY, None)])
def test_users_of_one_machine_wait_for_each_other_whoever_made_the_file(
    folder: Path, first: int | None, second: int | None
) -> None:
    """Also without the name, as on macOS."""
    old = os.umask(0o077)
    with (
        held(folder, first),
        pytest.raises(AssertionError, match="another measurement still"),
        held(folder, second, name=f"another-{folder.name}"),
    ):
        pass
    os.umask(old)
    assert stat.S_IMODE((folder / "lock").stat().st_mode) == 0o644
    with held(folder, second):
        pass


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def a_closed_file(path: Path) -> None:
    path.touch(mode=0)
    if os.geteuid() == 0:
        os.chown(path, SOMEBODY, SOMEBODY)


def a_link_of_somebody(path: Path) -> None:
    subprocess.run(["ln", "-s", path.with_name("mine"), path], user=SOMEBODY, check=True)


# In place of the file; `mine` lies beside it.
PLANTED: dict[str, Callable[[Path], object]] = {
    "a link": lambda path: path.symlink_to(path.with_name("mine")),
    "a dangling link": lambda path: path.symlink_to(path.with_name("not-there")),
    "a second name": lambda path: path.hardlink_to(path.with_name("mine")),
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a socket": a_socket,
    "a closed file": a_closed_file,
}
ONLY_BY_ROOT: dict[str, Callable[[Path], object]] = {
    "a device": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7)),
    "a link of somebody": a_link_of_somebody,
}


@pytest.mark.parametrize("what", [*PLANTED, *(pytest.param(what, marks=only_root) for what in ONLY_BY_ROOT)])
@pytest.mark.parametrize("named", [pytest.param(True, marks=only_linux), False])
def test_what_somebody_plants_in_place_of_the_file_neither_stops_a_measurement_nor_is_touched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str, named: bool
) -> None:
    mine = folder / "mine"
    mine.write_text("mine alone")
    mine.chmod(0o600)
    (PLANTED | ONLY_BY_ROOT)[what](folder / "lock")
    before = os.lstat(folder / "lock")
    if not named:
        monkeypatch.setattr(KernelName, "take", lambda _: None)
        monkeypatch.setattr(KernelName, "holder", lambda _: None)
    told: list[str] = []
    with machine_lock(0, told.append):
        assert "another measurement" in refusal()
        assert who_measures()
    assert not told
    assert mine.read_text() == "mine alone"
    after = os.lstat(folder / "lock")
    assert (before.st_mode, before.st_ino, before.st_size) == (after.st_mode, after.st_ino, after.st_size)
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert not (folder / "not-there").exists()
    # This user's own stands in, where nothing that all users share can be had.
    assert (folder / "own").exists() == (not named and not (what == "a closed file" and os.geteuid() == 0))


def test_where_no_lock_can_be_had_a_measurement_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(lock_module, "PLACES", [LockFile(tmp_path / "none" / name) for name in ("lock", "own")])
    with machine_lock(0, told.append) as held:
        assert held == ()
    assert told == ["respeed: no lock can be had here: take care that nothing else measures meanwhile"]


def test_a_file_that_is_removed_while_it_is_locked_is_not_mistaken_for_the_lock(folder: Path) -> None:
    file = LockFile(folder / "lock")
    first = file.take() or 0
    (folder / "lock").unlink()
    second = file.take() or 0
    assert os.path.samestat(os.fstat(second), os.lstat(folder / "lock"))
    os.close(first)
    os.close(second)


@only_linux
@only_root
@pytest.mark.parametrize("how", UNNAMED)
def test_another_user_who_holds_the_lock_is_told_whatever_he_does_not_to_be_named(folder: Path, how: str) -> None:
    stranger = psutil.Process()
    (folder / "lock").write_text(f"{stranger.pid} {stranger.create_time():.2f}\n")
    with held(folder, SOMEBODY, UNNAMED[how]) as other:
        user = "user's process, of nobody," if how.startswith("a socket") else f"pid {other.pid} of nobody"
        found = doctor._lock(who_measures())
        for told in (refusal(), found.found):
            assert (user in told, f"pid {stranger.pid} " in told) == (True, False)
        assert found.advice
    assert doctor._lock(who_measures()).found == "no other measurement is running"


@only_linux
@only_root
def test_a_process_number_is_named_only_of_the_user_who_took_the_lock() -> None:
    """One who passed the lock on and ended may have left his number to a stranger."""
    assert str(Holder(os.getpid(), SOMEBODY)) == f"what pid {os.getpid()} of nobody left behind"
    assert str(Holder(None, SOMEBODY)) == "another user's process, of nobody, that cannot be seen from here"


@only_linux
def test_what_steers_a_terminal_in_somebodys_command_is_not_shown() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", "\x1b[31m\n"], stdin=subprocess.PIPE) as process:
        shown = str(Holder(process.pid))
        process.communicate(b"\n")
    assert shown.isprintable()
    assert str(Holder(process.pid)) == f"what pid {process.pid} left behind"


@pytest.mark.parametrize(
    ("command", "first", "last"),
    [
        (["measure", "--wait", "0", "--config", "preset=smoke"], "still runs on this machine: PID", "--wait 1h"),
        (["learn", "--wait", "0", "results/smoke/records/box/raina2009/sparse-coding/learning.json"],
         "still runs on this machine: PID", "--wait 1h"),
        (["measure", "--budget", "1s", "--config", "preset=smoke"], "waiting for it, for at most 1 s: PID",
         "after 1 s of waiting: PID"),
        (["measure", "--wait", "soon"], "--wait: 'soon' is no duration", ""),
    ],
)  # fmt: skip
def test_a_command_that_waits_no_longer_ends_with_one_line_and_exit_code_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str],
    first: str, last: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    with machine_lock(0):
        assert main(command) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 + ("--budget" in command)
    assert first.replace("PID", f"pid {os.getpid()} of ") in lines[0]
    assert last.replace("PID", f"pid {os.getpid()} of ") in lines[-1]


@pytest.mark.usefixtures("folder")
def test_the_doctor_says_who_measures_and_does_not_disturb_it() -> None:
    assert doctor._lock(who_measures()).found == "no other measurement is running"
    with machine_lock(0):
        holder = who_measures()
        assert f"another measurement is running: pid {os.getpid()} of" in doctor._lock(holder).found
        assert {one.found for one in doctor._steadiness(holder)} == {
            "not looked at while another measurement is running"
        }
