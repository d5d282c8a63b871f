"""Facts of a machine, one by one: a counter of energy, files and folders, a commit, lists of CPUs."""

import errno
import hashlib
import math
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.machine import process
from respeed.machine.cpu import choice_as_text, parse_list, show_list
from respeed.machine.devices import MOST_WATTS, EnergyCounter
from respeed.machine.process import child_environment, lock_path, output_of
from respeed.machine.software import checksums, files_of, source_commit
from respeed.paths import hold_folder, lock_file, private_folder
from tests.systems import IS_ROOT


def test_a_counters_wrap_is_used_or_unknown() -> None:
    """A counter that begins anew says what was used and one that may have gone round unseen nothing."""
    range_ = 65532.610987
    of_package, of_gpu = (EnergyCounter("any", float, wraps_at).between for wraps_at in (range_, None))
    assert of_package(range_ - 1, 2.0, 1.0) == pytest.approx(3.0)
    assert of_gpu(4.0, 5.0, 1e9) == of_package(1.0, 2.0, range_ / MOST_WATTS * 0.99) == 1.0
    assert math.isnan(of_gpu(5.0, 4.0, 1.0))
    assert math.isnan(of_package(1.0, 2.0, range_ / MOST_WATTS))


def test_a_private_folder_admits_no_other_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of our own is open to no other user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert private_folder("kept") == private_folder("kept") == tmp_path / "respeed/kept"
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")} == {0o700}


def test_the_lock_makes_no_shared_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made first, with the user's own mask, and compiled kernels lie beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    before = os.umask(0o002)
    try:
        os.close(lock_file(lock_path()))
    finally:
        os.umask(before)
    assert lock_path().parent.stat().st_mode & 0o777 == 0o700


def test_containers_with_one_home_share_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers of one host that share a home share its lock."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(process, "BOOT", tmp_path / "boot_id")
    names: list[str] = []
    for number, host in (("1f24", "a"), ("1f24", "b"), ("", "b")):
        process.BOOT.write_text(number)
        monkeypatch.setattr(platform, "node", lambda host=host: host)
        names.append(lock_path().name)
    assert names == ["measures-1f24.lock", "measures-1f24.lock", "measures-b.lock"]


def link_elsewhere(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


IN_OTHER_HANDS: dict[str, Callable[[Path], None]] = {
    "of the group": lambda path: path.chmod(0o775),
    "of all": lambda path: path.chmod(0o707),
    "a link": link_elsewhere,
    "of another user": lambda path: os.chown(path, 65534, 65534),
}


@pytest.mark.parametrize("whose", IN_OTHER_HANDS)
@pytest.mark.parametrize("name", ["respeed", "respeed/kept"])
def test_code_in_other_hands_is_not_run(
    whose: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if whose == "of another user" and not IS_ROOT:
        pytest.skip("needs root")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    private_folder("kept")
    IN_OTHER_HANDS[whose](tmp_path / name)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    other = tmp_path / f"temporary/respeed-{os.geteuid()}"
    assert private_folder("kept") == private_folder("kept") == other / "respeed/kept"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"respeed: {tmp_path / name}: others could put code there")
    assert line.endswith(f"; meanwhile {other} is used")
    IN_OTHER_HANDS[whose](other / name)
    with pytest.raises(UserError, match=f"^{other / name}: others could put code there"):
        private_folder("kept")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    IN_OTHER_HANDS[whose](other)
    with pytest.raises(UserError, match=f"^{other}: others could put code there"):
        private_folder("kept")


@pytest.mark.parametrize("cache", ["/proc/cache", "file/cache"])
def test_an_impossible_cache_moves_for_this_process(
    cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cache that cannot be made is another folder for this process and those it starts."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    os.close(lock_file(lock_path()))
    other = tmp_path / f"respeed-{os.geteuid()}"
    assert child_environment(1)["XDG_CACHE_HOME"] == str(other)
    assert lock_path().parent == other / "respeed"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"; meanwhile {other} is used")


def test_a_file_system_without_locks_costs_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file system without locks costs a line and ends nothing."""

    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fcntl.flock", refuse)
    os.close(hold_folder(True))
    line = "respeed: results/smoke/.lock: no lock (Function not implemented); start nothing else here meanwhile\n"
    assert capsys.readouterr().err == line


def test_a_failing_command_says_nothing() -> None:
    """A command speaks English and one that fails or is not there says nothing."""
    assert output_of("sh", "-c", "echo $LC_ALL; echo more >&2") == "C"
    assert output_of("sh", "-c", "echo no; exit 1") == output_of("no-such-program") == ""


def test_a_commands_own_files_are_found(tmp_path: Path) -> None:
    """Of a command the program and words that begin with the paper's folder are files."""
    (tmp_path / "run").write_text("a")
    (tmp_path / "data").mkdir()
    there = {"{paper}/run": tmp_path / "run", "{paper}/data": tmp_path / "data", "{paper}/gone": None}
    assert files_of(["./run", "run", *there], tmp_path) == {"./run": tmp_path / "run", **there}
    assert files_of(["sh", "./run"], tmp_path) == {"sh": Path(shutil.which("sh") or "")}
    assert files_of(["no-such-program"], tmp_path) == {"no-such-program": None}
    a, b = (hashlib.sha256(letter).hexdigest() for letter in (b"a", b"b"))
    assert checksums(["./run", *there], tmp_path) == {"./run": a, "{paper}/run": a}
    (tmp_path / "run").write_text("b")
    assert checksums(["./run"], tmp_path) == {"./run": b}


def test_a_checkout_tells_commit_and_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git would write its index anew: whoever is killed then leaves its lock, and nobody can commit any more."""
    assert source_commit(tmp_path) == "unknown"

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    file = tmp_path / "workflow/respeed/file"
    file.parent.mkdir(parents=True)
    file.write_text("text")
    (tmp_path / "config.yaml").write_text("preset: quick")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    os.utime(file, (1, 1))  # of another time, and the same
    index = tmp_path / ".git/index"
    before = index.read_bytes()
    commit = source_commit(tmp_path)
    assert len(commit) == 12
    assert index.read_bytes() == before
    # A setting is no change of the program that measures.
    (tmp_path / "config.yaml").write_text("preset: paper")
    assert source_commit(tmp_path) == commit
    file.write_text("another")
    assert source_commit(tmp_path) == f"{commit}+changes"
    assert source_commit(tmp_path, ["config.yaml"]) == f"{commit}+changes"
    assert source_commit(tmp_path, ["papers"]) == commit
    inside = tmp_path / "inside"
    inside.mkdir()
    assert source_commit(inside) == "unknown"
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    assert source_commit(inside) == "unknown"
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    if IS_ROOT:
        for path in (tmp_path, tmp_path / ".git"):
            os.chown(path, 65534, 65534)
    assert source_commit(tmp_path) == f"{commit}+changes"


def test_a_profile_lists_cpus_in_three_ways() -> None:
    """A profile may list CPUs in three ways and anything else is no list."""
    assert (show_list({8, 0, 2, 1}), parse_list("0-2, 8")) == ("0-2, 8", (0, 1, 2, 8))
    assert (choice_as_text("8,0-3"), choice_as_text([1, 0]), choice_as_text(3)) == ("0-3, 8", "0-1", "3")
    for odd in ("", "a", "3-1", "0-", "-1", "0,,1", "0-999999", "1.5", [], [True]):
        with pytest.raises(ValueError, match="must be a list of CPUs such as"):
            choice_as_text(odd)
