"""A turn: a new process that measures cases of one row. This module has the code of the parent and of the process.

The parent sets the environment, which libraries read while they are loaded, survives if the process crashes, and writes
the record: each case becomes a line as soon as it is done. ``python -m respeed.measure.turn`` runs the measuring
process. It reads an `Order` from standard input, binds itself to its cores, only then imports numerical libraries, and
writes one event per line to standard output.
"""

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol, TextIO

from pydantic import TypeAdapter

from respeed.errors import UserError, cannot_write, is_of_the_disk
from respeed.inputs.config import why_denied
from respeed.inputs.machines import Profile
from respeed.machine import describe_machine
from respeed.machine.process import (
    Held,
    bind,
    child_environment,
    die_first_for_memory,
    die_with_parent,
    ignore_interrupts,
    private_stdout,
)
from respeed.machine.software import package_versions, source_commit
from respeed.measure.order import Asked, Order, untimed
from respeed.measure.timing import seconds_now, utc_now
from respeed.paths import ROOT
from respeed.records import OddLine, Record, Result, Start, append_line, new_record

# If so many processes lost their device, the device or one of its kernels is broken, and not a case.
MOST_LOST = 3
# Limits: for the start of a process; for a case on an accelerator, or on CPUs, at least; and for a case, as a multiple
# of its guessed time. A capture, a compile or a step that is stuck in a driver sends no event and never ends.
START_MINUTES, DEVICE_MINUTES, CPU_MINUTES, TIMES = 10.0, 5.0, 60.0, 30.0
# The only files that the process writes.
KERNELS = "what is kept of compiled kernels"


# --- the parent


class Watcher(Protocol):
    """Follows a turn: is told what a process does at the moment, and of each case that is done."""

    def note(self, text: str) -> None:
        """Take note of what is done at the moment."""

    def finish_case(self, record: Record) -> None:
        """Take note of the record's last case."""


def measure_turn(order: Order, machine: str, smoke: bool, lock: Held, watcher: Watcher | None = None) -> list[Record]:
    """Measure the cases of an order, and return their records, one for each process that was needed.

    If a case ends the process (out of memory, a crash in a library), or leaves it without its device, only this case
    fails: a new process measures the rest. Each process holds `lock`, the descriptors of the machine's lock, for as
    long as it uses the cores. The `watcher` is told what begins, and of every case that is done.
    """
    if denied := next(filter(None, (why_denied(asked.case) for asked in order.cases)), None):
        raise UserError(denied)
    facts = {
        "smoke": smoke,
        "profile": asdict(order.profile),
        "threads": order.threads,
        "seed": order.seed,
        "timing": asdict(order.timing),
        "machine": describe_machine(),
        "commit": source_commit(ROOT),
        "versions": package_versions(),
    }
    records, left, lost = list[Record](), list(order.cases), 0
    while left:
        process = _Process(replace(order, cases=tuple(left)), machine, facts, watcher)
        with process.running(lock) as worker:
            process.note("a process starts, and loads its library")
            process.listen(worker)
        lost += process.is_lost
        left = left[len(process.results) :]
        if process.refused or (left and lost == MOST_LOST):
            process.give_up(left, "not-run", process.refused or f"{MOST_LOST} other cases left the device useless")
            left = []
        elif left and not process.is_lost:
            # A process that sent nothing at all would send nothing again.
            gone = left[:1] if process.has_spoken else left
            process.give_up(gone, "failed", process.stuck or how_it_ended(worker.returncode))
            left = left[len(gone) :]
        records.append(process.record)
    return records


class _Process:
    """A measuring process and its record."""

    def __init__(self, order: Order, machine: str, facts: dict[str, Any], watcher: Watcher | None = None) -> None:
        self.watcher = watcher
        self.order, self.machine, self.facts, self.began = order, machine, facts | {"started": utc_now()}, seconds_now()
        self.path = new_record(machine, order.profile.name, facts["smoke"], self.facts["started"])
        self.start: Start | None = None
        self.results: list[Result] = []
        self.refused, self.has_spoken, self.is_lost, self.stuck = "", False, False, ""

    @contextlib.contextmanager
    def running(self, lock: Held) -> Iterator[subprocess.Popen[str]]:
        """Start the process and send it the order; kill the process if the code within this context fails."""
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "respeed.measure.turn"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=child_environment(self.order.threads), pass_fds=lock, preexec_fn=ignore_interrupts,
        ) as worker:  # fmt: skip
            assert worker.stdin is not None
            try:
                with contextlib.suppress(BrokenPipeError):
                    worker.stdin.write(json.dumps(asdict(self.order)))
                    worker.stdin.close()
                yield worker
            except BaseException:
                worker.kill()
                raise

    def note(self, text: str) -> None:
        """Tell the watcher what the process does at the moment."""
        if self.watcher:
            self.watcher.note(f"{self.order.profile.name}: {text}")

    def listen(self, worker: subprocess.Popen[str]) -> None:
        """Record the events of the process as they arrive; skip a line that was cut off when the process was killed."""
        with contextlib.closing(_Deadline(self, worker)) as deadline:
            self._listen(worker, deadline)

    def _listen(self, worker: subprocess.Popen[str], deadline: "_Deadline") -> None:
        assert worker.stdout is not None
        deadline.set(START_MINUTES)
        for event in (json.loads(line) for line in worker.stdout if line.endswith("}\n")):
            self.has_spoken = True
            match event.pop("event"):
                case "ready":
                    self.facts |= event | {"start_seconds": round(seconds_now() - self.began, 3)}
                    self._begin()
                    self.note(f"{event['backend']['package']} on {event['backend'].get('accelerator') or 'the CPU'}")
                case "begin":
                    deadline.set(self._minutes())
                    self.note(event["case"])
                case "case":
                    try:
                        self._add(event["facts"])
                    except OddLine as why:
                        odd = self.order.cases[len(self.results)]
                        self.give_up([odd], "failed", f"the result cannot be recorded: {why}")
                case "lost":
                    self.is_lost = True
                    worker.kill()  # which may take long to close such a device by itself
                case "refused":
                    raise UserError(event["line"])
                case "not-run":
                    self.refused = event["reason"]

    def _minutes(self) -> float:
        """Return how many minutes the case that now begins may take."""
        asked = self.order.cases[len(self.results)]
        # Others' programs may take long on a device as well; each run of theirs has a limit of its own.
        is_quick = not self.order.profile.is_cpu and "program" not in asked.case.parameters
        return max(DEVICE_MINUTES if is_quick else CPU_MINUTES, TIMES * asked.guess / 60)

    def give_up(self, left: Sequence[Asked], status: str, reason: str) -> None:
        """Record the cases in `left` as not timed, with the status and reason."""
        for asked in left:
            self._add(untimed(asked, status, reason))

    def _begin(self) -> None:
        self.start = append_line(self.path, Start, self.facts)

    def _add(self, facts: dict[str, Any]) -> None:
        if self.start is None:  # it never came to its first case
            self._begin()
        self.results.append(append_line(self.path, Result, facts))
        if self.watcher:
            self.watcher.finish_case(self.record)

    @property
    def record(self) -> Record:
        """Return the record with the cases that are done so far."""
        assert self.start is not None
        return Record(self.machine, self.path, self.start, tuple(self.results))


class _Deadline:
    """Kills a process whose start, or whose current case, takes too long."""

    def __init__(self, process: _Process, worker: subprocess.Popen[str]) -> None:
        self._process, self._worker = process, worker
        self._timer: threading.Timer | None = None

    def set(self, minutes: float) -> None:
        """Restart the limit: the process is killed when `minutes` have passed from now."""
        self.close()
        self._timer = threading.Timer(60 * minutes, self._end, [minutes])
        self._timer.daemon = True
        self._timer.start()

    def _end(self, minutes: float) -> None:
        self._process.stuck = f"said nothing for {minutes:g} min: stuck, perhaps in a driver or a compiler"
        self._worker.kill()

    def close(self) -> None:
        """Lift the limit."""
        if self._timer:
            self._timer.cancel()


def how_it_ended(code: int) -> str:
    """Return, in words, how a process with this exit code ended."""
    if code == -signal.SIGKILL:
        return "the measuring process was killed, perhaps for want of memory"
    if code < 0:
        return f"the measuring process ended with {signal.Signals(-code).name}"
    return f"the measuring process ended with exit code {code}"


# --- the process


def main() -> None:
    """Measure the cases of the order on standard input."""
    events = private_stdout()
    die_with_parent()
    die_first_for_memory()
    try:
        _run(sys.stdin.read(), events)
    except OSError as error:
        if not is_of_the_disk(error):
            raise
        line = str(cannot_write(error.filename or KERNELS, error))
        events.write(json.dumps({"event": "refused", "line": line}) + "\n")


def _run(text: str, events: TextIO) -> None:
    if not text.endswith("}"):  # the parent was stopped before it had sent the whole order
        return
    data = json.loads(text)
    order: Order = TypeAdapter(Order).validate_python(data | {"profile": Profile(**data["profile"])})
    bind(order.cpus)

    from respeed.measure.case import measure_cases

    def emit(event: str, **facts: Any) -> None:
        events.write(json.dumps({"event": event, **facts}, allow_nan=False, default=asdict) + "\n")
        events.flush()

    measure_cases(order, emit)


if __name__ == "__main__":
    main()
