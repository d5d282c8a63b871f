"""Stages of a long job on a machine that may be gone any minute: each a process with its own time limit.

One that fails, crashes or hangs does not stop the next. What each printed stands in a file of its own from its first
line on, and `STEM-stages.json` says of each how it ended, when it began, how long it took, and its last lines.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from respeed.model.errors import UserError
from respeed.record.files import read_json, write_json
from respeed.timing.clock import utc_now

LAST_LINES = 12
# Of what a process says where it stood.
NOISE = "Extension modules:"
# Between a signal that asks to end and the one that does not.
GRACE_SECONDS = 3.0
# How often what there is so far is saved while a stage runs.
SAVE_SECONDS = 30.0

PASSED, FAILED, LATE, RUNNING, SKIPPED = "passed", "failed", "over its time limit", "running", "not begun: no time left"


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


class Stages:
    """The stages of one job. Their files lie beside `bundle`, and have its name; `save` is called whenever there may be
    more to save than before."""

    def __init__(self, bundle: Path, deadline: float, save: Callable[[], None]) -> None:
        self._bundle, self._deadline, self._save = bundle, deadline, save
        self._log: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError, ValueError, UserError):  # one that cannot be read is begun anew
            self._log = {one["stage"]: one for one in read_json(self.log)}

    @property
    def log(self) -> Path:
        return self._bundle.with_name(f"{self._bundle.stem}-stages.json")

    @property
    def all_passed(self) -> bool:
        return all(one["ended"] == PASSED for one in self._log.values())

    def output(self, stage: str) -> Path:
        return self._bundle.with_name(f"{self._bundle.stem}-{stage}.txt")

    def run(self, stage: Stage) -> None:
        """Run it, unless it passed the last time that this job was called."""
        if self._log.get(stage.name, {}).get("ended") == PASSED:
            return
        seconds = min(stage.seconds, self._deadline - time.monotonic())
        found = Ended(stage.name, [*stage.command], round(seconds, 1), utc_now())
        if seconds < GRACE_SECONDS:
            self._put_down(found, SKIPPED)
            return
        self._put_down(found, RUNNING)
        began, output = time.monotonic(), self.output(stage.name)
        try:
            with output.open("wb") as file:
                found.exit_code, in_time = self._in_process(stage.command, seconds, file)
        finally:  # also where this process is told to end
            found.seconds = round(time.monotonic() - began, 1)
            lines = output.read_text(errors="replace").splitlines() if output.exists() else []
            found.last_lines = [line for line in lines if line.strip() and not line.startswith(NOISE)][-LAST_LINES:]
            if found.exit_code is None:
                self._put_down(found, "stopped from outside")
        self._put_down(found, LATE if not in_time else PASSED if found.exit_code == 0 else FAILED)
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
        write_json(self.log, list(self._log.values()))
        code = "" if found.exit_code in {None, 0} else f", exit code {found.exit_code}"
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
