"""Ctrl-C, SIGTERM and SIGHUP sent to a command that somebody gave by hand."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.signals import STOPPED, hear_all

# A command that is stopped in the middle of writing a file.
SCRIPT = """
import os, sys, time, types
from pathlib import Path
from respeed import cli
from respeed.paths import write_text

def flush(descriptor):
    print("writes", flush=True)
    time.sleep(60)

os.fsync = flush
write = lambda **_: write_text(Path("record.json"), "new")
sys.modules["respeed.commands"] = types.SimpleNamespace(show_claims=write)
sys.exit(cli.main())
"""


def ignore_ctrl_c() -> None:
    """As in the background of a script."""
    hear_all()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("sent", "prepare"),
    [([signal.SIGINT], hear_all), ([signal.SIGTERM], hear_all), ([signal.SIGHUP], hear_all),
     ([signal.SIGINT, signal.SIGTERM], ignore_ctrl_c)],
)  # fmt: skip
def test_a_stopped_command_leaves_every_file(
    tmp_path: Path, sent: list[signal.Signals], prepare: Callable[[], None]
) -> None:
    """A command that is stopped ends with one line and leaves every file as it was."""
    kept = tmp_path / "record.json"
    kept.write_text("as it was")
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "claims"], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=prepare,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "writes\n"
        for number in sent:
            process.send_signal(number)
        assert process.communicate(timeout=20) == ("", f"{STOPPED}\n")
        assert process.returncode == 130
    assert list(tmp_path.iterdir()) == [kept]
    assert kept.read_text() == "as it was"
