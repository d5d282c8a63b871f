"""For tests that send signals to real processes."""

import signal
import time

import psutil

# The last line of a command that was stopped.
STOPPED = "respeed: stopped; what was measured is kept, and the same command goes on"


def hear_all() -> None:
    """For a process that is about to be started: hear them all. The tests themselves may run in the background of a
    script, where Ctrl-C is ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def still_run(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that have not ended after so long; one that has may stay in the list until somebody asks how."""
    deadline = time.monotonic() + seconds
    while (left := [one for one in processes if _runs(one)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
