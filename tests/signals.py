"""For tests that send signals to real processes."""

import contextlib
import signal
import time

import psutil

# What each ends a process with, as a shell tells it.
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def hear_all() -> None:
    """For a process that is about to be started: hear them all. The tests themselves may run in the background of a
    script, where Ctrl-C is ignored."""
    for number in CODES:
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


def words(pid: int) -> list[list[str]]:
    """The words of the commands that the process runs now, and those that they run."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            found.append(child.cmdline())
    return found
