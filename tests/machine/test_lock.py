"""The lock of measurements: who waits for whom, and what is said meanwhile."""

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.machine.process import lock_path, machine_lock, who_measures

# Holds the lock, says so, and lets go when its standard input ends. A child inherits the lock, if it is to.
HOLD = """
import subprocess, sys
from respeed.machine.process import machine_lock
with machine_lock(0, print) as held:
    if "child" in sys.argv:
        subprocess.Popen(["cat"], pass_fds=held, stdout=subprocess.DEVNULL)
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@contextlib.contextmanager
def held(*how: str) -> Iterator[subprocess.Popen[str]]:
    """By another process."""
    command = [sys.executable, "-c", HOLD, *how]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == "mine\n"
        yield other
        if not other.stdin.closed:
            other.communicate("")


@pytest.mark.parametrize("before", [b"of one that was here before, and is gone, with more to say" * 9, b"\xff"])
def test_an_impatient_measurement_names_who_measures(before: bytes, tmp_path: Path) -> None:
    """A measurement that does not wait says who measures since when."""
    (tmp_path / "respeed").mkdir()
    lock_path().write_bytes(before)
    with held() as other:
        with (
            pytest.raises(UserError, match=rf"still runs .*: pid {other.pid}, since 20.*--wait 1h"),
            machine_lock(0, print),
        ):
            pass
        who = who_measures()
        assert re.fullmatch(rf"pid {other.pid}, since 20\d\d-\d\d-\d\d \d\d:\d\d", who)
    assert who_measures() is None
    with machine_lock(0, print) as mine:
        assert len(mine) == 1


def test_a_waiting_measurement_says_so_once() -> None:
    """A measurement that waits says so once and goes on when the other is done."""
    told: list[str] = []
    with held() as other:

        def say(text: str) -> None:
            told.append(text)
            threading.Timer(1.2, other.stdin.close).start()  # after it has looked again

        with machine_lock(60, say):
            assert other.wait() == 0
    (line,) = told
    assert line.startswith(f"respeed: another measurement runs on this machine; waiting for it: pid {other.pid}, since")


def test_an_orphaned_measurement_keeps_the_lock() -> None:
    """The measuring child of a parent that was killed keeps the lock."""
    with held("child") as other:
        other.kill()
        other.wait()
        assert who_measures()
        with machine_lock(60, lambda _: other.stdin.close()):
            assert other.stdin.closed
    assert who_measures() is None


def test_without_a_lock_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no lock can be had a line says so and the measurement goes on."""
    lock_path().mkdir()
    told: list[str] = []
    with machine_lock(0, told.append) as mine:
        assert mine == ()
    assert "cannot use the lock file" in told[0]
    assert who_measures() is None
