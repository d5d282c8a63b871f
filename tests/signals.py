"""For tests that start real processes, send them signals, and read the files that these leave."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import psutil

# The last line of a command that was stopped.
STOPPED = "respeed: stopped; what was measured is kept, and the same command resumes the run"


def hear_all() -> None:
    """For a process that is about to be started, as the tests may run where a script has Ctrl-C ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def still_run(pids: list[int]) -> list[int]:
    """Those that have not ended after a minute; one that has may stay in the list until somebody asks how."""
    deadline = time.monotonic() + 60
    while (left := [*filter(runs, pids)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def runs(pid: int) -> bool:
    """Whether the process has not ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def lines_of(path: Path) -> list[dict[str, Any]]:
    """What each line of a record says; a line that was cut is none."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
