"""What a process that computes asks of the system, before any library is loaded. Uses nothing of the project."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

import psutil
from platformdirs import user_cache_path


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


def interrupt_when_stopped() -> None:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP as on Ctrl-C, and tell what this process started to end.

    A signal that is ignored when the program starts stays so, as under `nohup`. Ctrl-C a second time ends at once.
    """

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for other in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.terminate()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


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


def private_folder(name: str) -> Path:
    """Return the folder `name` in the user's cache, made so that no other user can put anything into it."""
    folder = user_cache_path("respeed") / name
    for path in (folder.parent, folder):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def read_word(path: Path) -> str:
    """The text of a small file, such as the kernel's; "" where there is none to read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def output_of(*command: str) -> str:
    """What a command of the system prints, in English; "" where there is no such command, or it fails."""
    english = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, env=english).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
