"""Ctrl-C, SIGTERM and SIGHUP: everything ends within a second, and one line says that nothing is lost.

Every file is written whole or not at all, and locks end with their processes: there is nothing to tidy. A signal that
is ignored when a program starts stays so: that of a terminal that closes under `nohup`, and Ctrl-C in the background of
a script.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

import psutil

# Set for the commands of the rules: the run itself says the one line.
STOPPED_BY_RUN = "RESPEED_STOPPED_BY_RUN"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = "respeed: stopped; what was measured is kept, and the same command goes on"
# How long the processes that were started may take to end by themselves, and how long to be gone after that.
WAIT_SECONDS, GONE_SECONDS = 0.5, 0.3

# Asked before this process tells its own children so.
_IS_SAID_ELSEWHERE = STOPPED_BY_RUN in os.environ
_LEAVING = threading.Lock()


class Stopped(BaseException):
    """Somebody told this process to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def end_kindly_when_stopped() -> None:
    """From now on, a signal ends this process and all that it started at once, with one line: for Snakemake's."""
    os.environ[STOPPED_BY_RUN] = "1"
    _handle(_end)


def raise_when_stopped() -> None:
    """From now on, a signal raises Stopped, for whoever catches it to `leave`: for a command, which takes its temporary
    files away. Where it computes in a library, which hears no signal until it is done, it is left as it is."""
    listening, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    threading.Thread(target=_leave_in_time, args=(listening,), daemon=True).start()
    _handle(_raise)


def leave(number: int) -> NoReturn:
    """End what this process started, say the line, and end, with the exit code of the signal."""
    _LEAVING.acquire()  # whoever comes second waits for the end
    children = psutil.Process().children(recursive=True)
    _send(children, signal.SIGTERM)
    _, alive = psutil.wait_procs(children, timeout=WAIT_SECONDS)
    _send(alive, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=GONE_SECONDS)
    with contextlib.suppress(OSError, ValueError):  # a terminal that is gone
        sys.stdout.flush()
        if not _IS_SAID_ELSEWHERE:
            print(STOPPED, file=sys.stderr, flush=True)
    os._exit(128 + number)


def _handle(handler: "signal._HANDLER") -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    _hear_no_more()
    # Snakemake would call a run that somebody stopped an error of a rule, in red.
    logging.disable()
    leave(number)


def _raise(number: int, frame: FrameType | None) -> None:
    _hear_no_more()
    raise Stopped(number)


def _hear_no_more() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _leave_in_time(listening: int) -> None:
    number = 0
    while number not in SIGNALS:
        number = os.read(listening, 1)[0]
    time.sleep(WAIT_SECONDS)
    leave(number)


def _send(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
