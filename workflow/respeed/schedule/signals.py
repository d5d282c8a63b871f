"""Ctrl-C, SIGTERM and SIGHUP: everything ends within a second, and one line says that nothing is lost.

Every file is written whole or not at all, and locks end with their processes: there is little to tidy. A signal that
is ignored when a program starts stays so: that of a terminal that closes under `nohup`, and Ctrl-C in the background of
a script.
"""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import psutil

from respeed.records.store import remove_unfinished

# Set for the commands of the rules: the run itself says the one line.
STOPPED_BY_RUN = "RESPEED_STOPPED_BY_RUN"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = "respeed: stopped; what was measured is kept, and the same command goes on"
# How long the processes that were started may take to end by themselves, and how long to be gone after that.
WAIT_SECONDS, GONE_SECONDS = 0.5, 0.3
LOOK_SECONDS = 0.01

# Asked before this process tells its own children so.
_IS_SAID_ELSEWHERE = STOPPED_BY_RUN in os.environ
_LEAVING = threading.Lock()


def end_kindly_when_stopped() -> None:
    """From now on, a signal ends this process and all that it started, with one line: for Snakemake's, whose commands
    are let end by themselves."""
    os.environ[STOPPED_BY_RUN] = "1"
    _handle(lambda number: _leave(number, WAIT_SECONDS))


def end_when_stopped() -> None:
    """The same for one command. Python hears no signal while a library computes: then a thread ends the process."""
    listening, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    threading.Thread(target=_leave_in_time, args=(listening,), daemon=True).start()
    _handle(lambda number: _leave(number, 0.0))


def cancel_jobs_when_stopped() -> None:
    """The same for a run whose jobs are on a cluster: Snakemake, interrupted, has Slurm cancel them. It waits for its
    next look at the jobs before it ends; who stops it twice need not."""
    os.environ[STOPPED_BY_RUN] = "1"
    _handle(_interrupt, second=signal.SIG_DFL)


def _handle(leave: Callable[[int], NoReturn], second: signal.Handlers = signal.SIG_IGN) -> None:
    mine = os.getpid()

    def handler(number: int, frame: FrameType | None) -> None:
        if os.getpid() != mine:  # a child that is just being started: whoever starts it hears of it as well
            os._exit(128 + number)
        for other in SIGNALS:
            signal.signal(other, second)
        leave(number)

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(number: int) -> NoReturn:
    os.write(2, f"{STOPPED}\n".encode())
    raise KeyboardInterrupt


def _leave_in_time(listening: int) -> None:
    number = 0
    while number not in SIGNALS:
        number = os.read(listening, 1)[0]
    time.sleep(LOOK_SECONDS * 20)
    _leave(number, 0.0)


def _leave(number: int, wait_seconds: float) -> NoReturn:
    """End what this process started, at once or after so long, say the line, and end with the exit code of the signal.

    Runs in the middle of anything: it raises nothing, since that would end where nobody could tell, and prints by the
    system's own call.
    """
    _LEAVING.acquire()  # whoever comes second waits for the end
    # Snakemake would call a run that somebody stopped an error of a rule, in red.
    logging.disable()
    children = psutil.Process().children(recursive=True)
    if wait_seconds:
        _send(children, signal.SIGTERM)
        children = _still_there(children, wait_seconds)
    _send(children, signal.SIGKILL)
    _still_there(children, GONE_SECONDS)
    remove_unfinished()
    if not _IS_SAID_ELSEWHERE:
        with contextlib.suppress(OSError):  # a terminal that is gone
            os.write(2, f"{STOPPED}\n".encode())
    os._exit(128 + number)


def _still_there(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that have not ended after so long."""
    end = seconds / LOOK_SECONDS
    while (left := [one for one in processes if _runs(one)]) and end > 0:
        time.sleep(LOOK_SECONDS)
        end -= 1
    return left


def _runs(process: psutil.Process) -> bool:
    """One that has ended may stay in the list until somebody asks how."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _send(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
