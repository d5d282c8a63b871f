"""Ctrl-C, and its like, sent to a run: everything ends at once, and one line says that nothing is lost."""

import contextlib
import logging
import os
import signal
import sys
from types import FrameType

import psutil

# Set for the commands of the rules: the run itself says the one line.
STOPPED_BY_RUN = "RESPEED_STOPPED_BY_RUN"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = "respeed: stopped; what was measured is kept, and the same command goes on"
WAIT_SECONDS = 5.0


def end_kindly_when_stopped() -> None:
    """From now on, Ctrl-C, SIGTERM and SIGHUP end this process and all that it started, with one line.

    Every file is written whole or not at all, and the folder's lock ends with the process: there is nothing to tidy.
    """
    os.environ[STOPPED_BY_RUN] = "1"
    for number in SIGNALS:
        signal.signal(number, _end)


def cancel_jobs_when_stopped() -> None:
    """The same for a run whose jobs are on a cluster: Snakemake, interrupted, has Slurm cancel them."""
    os.environ[STOPPED_BY_RUN] = "1"
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Snakemake waits for its next look at the jobs before it ends; who stops it twice need not.
    for other in SIGNALS:
        signal.signal(other, signal.SIG_DFL)
    print(STOPPED, file=sys.stderr, flush=True)
    raise KeyboardInterrupt


def _end(number: int, frame: FrameType | None) -> None:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    # Snakemake would call a run that somebody stopped an error of a rule, in red.
    logging.disable()
    children = psutil.Process().children(recursive=True)
    for child in children:
        _send(child, signal.SIGTERM)
    _, alive = psutil.wait_procs(children, timeout=WAIT_SECONDS)
    for child in alive:
        _send(child, signal.SIGKILL)
    print(STOPPED, file=sys.stderr, flush=True)
    os._exit(128 + number)


def _send(process: psutil.Process, number: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(number)
