"""Ctrl-C, SIGTERM and SIGHUP sent to a command that somebody gave by hand."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from respeed.schedule.signals import STOPPED, STOPPED_BY_RUN
from tests.signals import CODES, hear_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which signals a process hears")

LEARNING = "results/smoke/records/box/raina2009/sparse-coding/learning.json"
COMMANDS = {
    "measure": ["--config", "preset=smoke"], "learn": [LEARNING], "tables": ["--smoke"], "figures": ["--smoke"],
    "report": ["--smoke"],
}  # fmt: skip

# A command in a library that hears no signal until it is done, in far more time than a test has.
DEAF = 'lambda **_: hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)'
# A command that is stopped in the middle of writing a file.
WRITING = 'lambda **_: store.write_text(Path("record.json"), "new")'
SCRIPT = """
import hashlib, os, sys, time, types
from pathlib import Path
from respeed.cli import main
from respeed.records import store

def flush(descriptor):
    print("writes", flush=True)
    time.sleep(60)

os.fsync = flush
sys.modules["respeed.cli.results"] = types.SimpleNamespace(show_claims=COMMAND)
sys.exit(main.main())
"""


def hears(pid: int, number: int) -> bool:
    """Whether the process has a handler of its own for the signal."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


def script(command: str) -> tuple[str, ...]:
    return "-c", SCRIPT.replace("COMMAND", command), "claims"


@contextmanager
def started(folder: Path, *command: str, environment: dict[str, str] | None = None, prepare=hear_all) -> Iterator:
    """The command, as soon as it hears that it is to end."""
    with subprocess.Popen(
        [sys.executable, *command], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=prepare, env=environment,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 20
        while not hears(process.pid, signal.SIGTERM):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        yield process
        if process.poll() is None:
            process.kill()
            pytest.fail("it did not end")


@pytest.mark.parametrize("sent", CODES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_stopped_ends_with_one_line_and_the_code_of_the_signal(
    tmp_path: Path, command: str, sent: signal.Signals
) -> None:
    with started(tmp_path, "-m", "respeed", command, *COMMANDS[command]) as process:
        process.send_signal(sent)
        assert process.communicate(timeout=20) == ("", f"{STOPPED}\n")
        assert process.returncode == CODES[sent]
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(("by_run", "said"), [({}, f"{STOPPED}\n"), ({STOPPED_BY_RUN: "1"}, "")])
def test_a_command_in_a_library_that_hears_no_signal_is_stopped_all_the_same_and_leaves_the_line_to_a_run(
    tmp_path: Path, by_run: dict[str, str], said: str
) -> None:
    with started(tmp_path, *script(DEAF), environment=os.environ | by_run) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20) == ("", said)
        assert process.returncode == 143


@pytest.mark.parametrize("ignored", [signal.SIGINT, signal.SIGHUP])
def test_what_is_ignored_at_the_start_stays_so_and_sigterm_is_heard(tmp_path: Path, ignored: signal.Signals) -> None:
    """In the background of a script Ctrl-C is, and under nohup the end of the terminal."""
    with started(tmp_path, *script(DEAF), prepare=lambda: signal.signal(ignored, signal.SIG_IGN)) as process:
        process.send_signal(ignored)
        time.sleep(0.7)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=20)[1] == f"{STOPPED}\n"
        assert process.returncode == 143


def test_a_terminal_that_is_gone_changes_nothing_of_the_code(tmp_path: Path) -> None:
    with started(tmp_path, *script(DEAF)) as process:
        process.stdout.close()
        process.stderr.close()
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=20) == 129


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_file_that_is_being_written_is_whole_or_as_it_was(tmp_path: Path, sent: signal.Signals) -> None:
    kept = tmp_path / "record.json"
    kept.write_text("as it was")
    with started(tmp_path, *script(WRITING)) as process:
        assert process.stdout.readline() == "writes\n"
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(sent)
        process.wait(timeout=20)
    assert kept.read_text() == "as it was"
    assert len(list(tmp_path.iterdir())) == (1 if sent == signal.SIGTERM else 2)
    assert list(tmp_path.glob("*.json")) == [kept]
