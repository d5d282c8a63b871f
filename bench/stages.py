"""Stages of a long job on a machine that may be gone any minute: each a process with its own time limit.

One that fails, crashes or hangs does not stop the next. What each printed stands in a file of its own from its first
line on, and `STEM-stages.json` says of each how it ended, when it began, how long it took, and its last lines.

The same job called again does what has not passed. A job is the same on the same machine with the same preset: a trial,
or files that came from elsewhere, stand for nothing else.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.records.store import read_json, write_json
from respeed.timing.clock import utc_now

LAST_LINES = 12
# Of what a process says where it stood.
NOISE = "Extension modules:"
# Between a signal that asks to end and the one that does not.
GRACE_SECONDS = 3.0
# How often what there is so far is saved while a stage runs.
SAVE_SECONDS = 30.0

PASSED, FAILED, LATE, RUNNING = "passed", "failed", "over its time limit", "running"
SKIPPED, UNFINISHED = "not begun: no time left", "its time was up: the same command goes on"
# The exit code of a stage that did what it had time for, and is to be run again for the rest (EX_TEMPFAIL of
# sysexits.h); and of a job of which a stage did.
TIME_UP = 75
_BY_CODE = {0: PASSED, TIME_UP: UNFINISHED}


@dataclass(frozen=True)
class Stage:
    """A command of Python's, and the most seconds that it may take."""

    name: str
    command: Sequence[str]
    seconds: float


@dataclass
class Ended:
    """How a stage ended. `exit_code` is negative for a signal, as subprocess has it."""

    stage: str
    command: Sequence[str]
    limit_seconds: float
    started: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    ended: str = RUNNING
    last_lines: list[str] = field(default_factory=list)
    job: Mapping[str, Any] = field(default_factory=dict)


class Stages:
    """The stages of one job. Their files lie beside `bundle`, and have its name; `save` is called whenever there may be
    more to save than before; `job` are facts by which it is told from others with the same files."""

    def __init__(self, bundle: Path, deadline: float, save: Callable[[], None], job: Mapping[str, Any]) -> None:
        self._bundle, self._deadline, self._save, self._job = bundle, deadline, save, dict(job)
        self._others: list[dict[str, Any]] = []
        self._log: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError, ValueError, UserError):  # one that cannot be read is begun anew
            for one in read_json(self.log):
                if one.get("job") == self._job:
                    self._log[one["stage"]] = one
                else:
                    self._others.append(one)

    @property
    def log(self) -> Path:
        return self._bundle.with_name(f"{self._bundle.stem}-stages.json")

    @property
    def exit_code(self) -> int:
        """0 if all that were run passed, 75 if only their time was up, 1 if one failed."""
        ends = {one["ended"] for one in self._log.values()} - {PASSED}
        return 0 if not ends else TIME_UP if ends <= {UNFINISHED, SKIPPED} else 1

    def output(self, stage: str) -> Path:
        """What it printed, each time that it was run."""
        return self._bundle.with_name(f"{self._bundle.stem}-{stage}.txt")

    def run(self, stage: Stage) -> None:
        """Run it, unless it passed when this job was called before."""
        if self._log.get(stage.name, {}).get("ended") == PASSED:
            return
        seconds = min(stage.seconds, self._deadline - time.monotonic())
        found = Ended(stage.name, [*stage.command], round(seconds, 1), utc_now(), job=self._job)
        if seconds < GRACE_SECONDS:
            self._put_down(found, SKIPPED)
            return
        self._put_down(found, RUNNING)
        began, output = time.monotonic(), self.output(stage.name)
        before = output.stat().st_size if output.exists() else 0
        try:
            with output.open("ab") as file:
                found.exit_code, in_time = self._in_process(stage.command, seconds, file)
        finally:  # also where this process is told to end
            found.seconds = round(time.monotonic() - began, 1)
            printed = output.read_bytes()[before:] if output.exists() else b""
            lines = printed.decode(errors="replace").splitlines()
            found.last_lines = [line for line in lines if line.strip() and not line.startswith(NOISE)][-LAST_LINES:]
            if found.exit_code is None:
                self._put_down(found, "stopped from outside")
        self._put_down(found, _BY_CODE.get(found.exit_code, FAILED) if in_time else LATE)
        print("\n".join(f"    {line}" for line in found.last_lines), flush=True)
        self._save()

    def _in_process(self, command: Sequence[str], seconds: float, file: Any) -> tuple[int, bool]:
        """Its exit code, and whether it ended by itself in time."""
        # Lines at once, and where it stood if it crashes or is ended.
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
        process = subprocess.Popen(
            [sys.executable, *command], stdout=file, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True, preexec_fn=_no_core,
        )  # fmt: skip
        until = time.monotonic() + seconds
        try:
            while (left := until - time.monotonic()) > 0:
                try:
                    return process.wait(min(left, SAVE_SECONDS)), True
                except subprocess.TimeoutExpired:
                    self._save()
        finally:
            _end(process)
        return process.returncode, False

    def _put_down(self, found: Ended, how: str) -> None:
        found.ended = how
        self._log[found.stage] = asdict(found)
        write_json(self.log, [*self._others, *self._log.values()])
        code = "" if found.exit_code in {None, *_BY_CODE} else f", exit code {found.exit_code}"
        print(f"{found.stage}: {how}{code}, {found.seconds:g} of {found.limit_seconds:g} s", flush=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started. SIGABRT has Python say where it stood."""
    with contextlib.suppress(ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGABRT)
            process.wait(GRACE_SECONDS)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _no_core() -> None:
    """A process that is made to say where it stood leaves no copy of its memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
