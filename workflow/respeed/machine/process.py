"""What a process that computes asks of the system, before any library is loaded. Uses nothing of the project."""

import atexit
import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

# The rights of a group and of others to write, and to reach what lies in a folder.
_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MAY_ENTER = stat.S_IXGRP | stat.S_IXOTH


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


def why_not_private(folder: Path, like: Path | None = None) -> str:
    """How another user could have put code into the folder, or still can, such as "/tmp/kept/a.so belongs to anna"; ""
    if nobody but this user and root could. Everything below it is looked at: owner, mode, no link, no device. With
    `like`, such as the folder of their sources, its owner and those who may write there are trusted as well."""
    trusted = {0, os.geteuid()} | ({like.stat().st_uid} if like else set())
    unwanted = _MAY_WRITE & ~(like.stat().st_mode if like else 0)
    try:
        # What lies in a folder that nobody else can enter is out of reach, whatever its own mode says.
        reached = bool(folder.lstat().st_mode & _MAY_ENTER)
        below = (Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))
        for path in (folder, *below):
            facts = path.lstat()
            if not (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)):
                return f"{path} is a link, or no file at all"
            if facts.st_uid not in trusted:
                return f"{path} belongs to {user_name(facts.st_uid)}"
            if facts.st_mode & unwanted and (reached or path == folder):
                return f"others may write to {path}"
    except OSError as error:
        return f"{folder} cannot be looked through: {error.strerror}"
    return ""


def private_folder(name: str, wished: Path | None = None) -> Path:
    """A folder to keep compiled code in, and to load it from, which no other user could have put anything into: the one
    wished for, or `name` in the user's cache, or else a new one, for this process alone."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "respeed")
    for folder, checked in ((wished, wished), (caches / name, caches)):
        if folder is None or checked is None:
            continue
        with contextlib.suppress(OSError):
            checked.parent.mkdir(parents=True, exist_ok=True)
            checked.mkdir(mode=0o700, exist_ok=True)
            if not why_not_private(checked) and os.access(checked, os.W_OK):
                folder.mkdir(mode=0o700, exist_ok=True)
                return folder
    made = tempfile.mkdtemp(prefix=f"respeed-{name}-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def user_name(uid: int) -> str:
    """Such as "anna"; "user 1003" where the system knows no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


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
