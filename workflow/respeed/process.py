"""What a process that computes asks of the system, before any library is loaded. Uses nothing of the project."""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TextIO


def private_stdout() -> TextIO:
    """Keep the pipe to the parent for answers alone: whatever a library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    return answers


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, however that happens (Linux)."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def die_first_for_memory() -> None:
    """Where memory runs out, the kernel ends this process before others: a case is lost, and not the run (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def ignore_interrupts() -> None:
    """For a process that is about to be started: Ctrl-C, SIGTERM and SIGHUP to all of a run are for whoever started it,
    who then ends it. If it died of them first, that would look like a case that cannot be measured."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def bind(cpus: Collection[int]) -> None:
    """Run on these CPUs alone, where the system can be told so; anywhere if there are none."""
    if cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)


def allowed_cpus() -> list[int]:
    """The CPUs that this process may run on; none where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
