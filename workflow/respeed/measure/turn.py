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
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from respeed.errors import UserError, cannot_write, is_of_the_disk
from respeed.inputs.consent import why_denied
from respeed.inputs.machines import Profile
from respeed.machine import describe_machine
from respeed.machine.cpu import show_list
from respeed.machine.process import (
    Facts,
    Held,
    bind,
    child_environment,
    die_first_for_memory,
    die_with_parent,
    ignore_interrupts,
    private_stdout,
)
from respeed.machine.software import WRITTEN, package_versions, source_commit
from respeed.measure.order import Job, Order, untimed
from respeed.measure.timing import seconds_now, utc_now
from respeed.paths import ELSEWHERE, ROOT, STUDY
from respeed.records import OddLine, Record, Replay, Result, Start, append_line, new_record
from respeed.text import shorten

if TYPE_CHECKING:  # it imports pandas, which the measuring process must not
    from respeed.measure.progress import Progress

# If so many processes lost their device, the device or one of its kernels is broken, and not a case.
MOST_LOST = 3
# Limits: for the start of a process; for a case on an accelerator, or on CPUs, at least; and for a case, as a multiple
# of its guessed time. A capture, a compile or a step that is stuck in a driver sends no event and never ends.
START_MINUTES = 10.0
DEVICE_MINUTES = 5.0
CPU_MINUTES = 60.0
# For the profile of one step: whatever happens to it, all cases have been recorded before.
REPLAY_MINUTES = 1.0
TIMES = 30.0
# The only files that the process writes.
KERNELS = "what is kept of compiled kernels"


# --- the parent


def measure_turn(order: Order, machine: str, smoke: bool, lock: Held, progress: "Progress") -> list[Record]:
    """Measure the cases of an order, and return their records, one for each process that was needed.

    If a case ends the process (out of memory, a crash in a library), or leaves it without its device, only this case
    fails: a new process measures the rest. Each process holds `lock`, the descriptors of the machine's lock, for as
    long as it uses the cores. The `progress` is told what begins, and of every case that is done.
    """
    for job in order.cases:
        if denied := why_denied(job.case):
            raise UserError(denied)
    facts = {
        "smoke": smoke,
        "profile": asdict(order.profile),
        "threads": order.threads,
        "seed": order.seed,
        "timing": asdict(order.timing),
        "machine": describe_machine(),
        "commit": source_commit(ROOT),
        "study": None if STUDY == ROOT else source_commit(STUDY, WRITTEN),
        "versions": package_versions(),
    }
    records = []
    lost = 0
    while order.cases:
        process = _Process(order, machine, facts, progress)
        process.run(lock)
        lost += process.is_lost
        if lost == MOST_LOST:
            process.give_up(process.remaining, "not-run", f"{MOST_LOST} other cases left the device useless")
        order = replace(order, cases=process.remaining)
        records.append(process.record)
    return records


class _Process:
    """A measuring process and its record."""

    def __init__(self, order: Order, machine: str, facts: Facts, progress: "Progress") -> None:
        self.order = order
        self.machine = machine
        self.progress = progress
        self.facts = facts | {"started": utc_now()}
        self.began = seconds_now()
        self.path = new_record(machine, order.profile.name, facts["smoke"], self.facts["started"])
        self.start: Start | None = None
        self.results: list[Result] = []
        self.replays: list[Replay] = []
        self.is_lost = False
        self._limit: threading.Timer | None = None
        self._stuck = ""

    @property
    def remaining(self) -> tuple[Job, ...]:
        """Return the cases that have no result yet."""
        return self.order.cases[len(self.results) :]

    def run(self, lock: Held) -> None:
        """Start the process, send it the order, and record its events, and which cases fail because of how it ends.

        The process is killed if an event cannot be recorded, or if the next one does not come in time.
        """
        with TemporaryFile("w+", encoding="utf-8", errors="replace") as messages, subprocess.Popen(
            [sys.executable, "-P", "-m", "respeed.measure.turn"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=messages, text=True, env=child_environment(self.order.threads), pass_fds=lock,
            preexec_fn=ignore_interrupts,
        ) as worker:  # fmt: skip
            assert worker.stdin is not None
            try:
                self._note("a process starts, and loads its library")
                with contextlib.suppress(BrokenPipeError):
                    worker.stdin.write(json.dumps(asdict(self.order), default=str))
                    worker.stdin.close()
                is_silent = self._listen(worker)
            except BaseException:
                worker.kill()
                raise
            finally:
                self._cancel_limit()
                worker.wait()
                messages.seek(0)
                printed = messages.read()
                sys.stderr.write(printed)
        if not self.is_lost:
            # One that said nothing would say nothing again.
            failed = self.remaining if is_silent else self.remaining[:1]
            self.give_up(failed, "failed", self._stuck or how_it_ended(worker.returncode, printed))

    def _note(self, text: str) -> None:
        self.progress.note(f"{self.order.profile.name}: {text}")

    def _listen(self, worker: subprocess.Popen[str]) -> bool:
        """Record events as they arrive, but not a line that was cut off; return whether there was none."""
        assert worker.stdout is not None
        is_silent = True
        self._set_limit(worker, START_MINUTES)
        for event in (json.loads(line) for line in worker.stdout if line.endswith("}\n")):
            is_silent = False
            match event.pop("event"):
                case "ready":
                    self.facts |= event | {"start_seconds": round(seconds_now() - self.began, 3)}
                    self._begin()
                case "begin":
                    self._set_limit(worker, self._minutes())
                    self._note(event["case"])
                case "case":
                    try:
                        self._add(event["facts"])
                    except OddLine as error:
                        self.give_up(self.remaining[:1], "failed", f"the result cannot be recorded: {error}")
                case "replaying":
                    self._set_limit(worker, REPLAY_MINUTES)
                    self._note(f"profiles a step of {event['case']}")
                case "replay":
                    with contextlib.suppress(OddLine):
                        self.replays.append(append_line(self.path, Replay, event["facts"]))
                case "lost":
                    self.is_lost = True
                    worker.kill()  # which may take long to close such a device by itself
                case "refused":
                    raise UserError(event["line"])
                case "not-run":
                    self.give_up(self.remaining, "not-run", event["reason"])
        return is_silent

    def _minutes(self) -> float:
        """Return how many minutes the case that now begins may take."""
        job = self.remaining[0]
        # Others' programs may take long on a device as well; each run of theirs has a limit of its own.
        is_quick = not self.order.profile.is_cpu and not job.case.program
        return max(DEVICE_MINUTES if is_quick else CPU_MINUTES, TIMES * job.guess / 60)

    def _cancel_limit(self) -> None:
        if self._limit:
            self._limit.cancel()

    def _set_limit(self, worker: subprocess.Popen[str], minutes: float) -> None:
        """Kill the process when `minutes` have passed from now, unless there is another limit by then."""

        def stop() -> None:
            self._stuck = f"said nothing for {minutes:g} min: stuck, perhaps in a driver or a compiler"
            worker.kill()

        self._cancel_limit()
        self._limit = threading.Timer(60 * minutes, stop)
        self._limit.daemon = True
        self._limit.start()

    def give_up(self, cases: Sequence[Job], status: str, reason: str) -> None:
        """Record the cases as not timed, with the status and reason."""
        for job in cases:
            self._add(untimed(job, status, reason))

    def _begin(self) -> None:
        self.start = append_line(self.path, Start, self.facts)

    def _add(self, facts: Facts) -> None:
        if self.start is None:  # it never came to its first case
            self._begin()
        self.results.append(append_line(self.path, Result, facts))
        self.progress.finish_case(self.record)

    @property
    def record(self) -> Record:
        """Return the record with the cases that are done so far."""
        assert self.start is not None
        return Record(self.machine, self.path, self.start, tuple(self.results), replays=tuple(self.replays))


def how_it_ended(code: int, printed: str) -> str:
    """Return, in words, how a process with this exit code ended, with the last line that it printed as an error."""
    if code == -signal.SIGKILL:
        return "the measuring process was killed, perhaps for want of memory"
    end = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    last = shorten(printed.strip().rpartition("\n")[2])
    return f"the measuring process ended with {end}" + (f": {last}" if last else "")


# --- the process


def main() -> None:
    """Measure the cases of the order on standard input."""
    events = private_stdout()
    die_with_parent()
    die_first_for_memory()

    def emit(event: str, **facts: Any) -> None:
        events.write(json.dumps({"event": event, **facts}, allow_nan=False, default=asdict) + "\n")

    try:
        _run(sys.stdin.read(), emit)
    except UserError as error:
        emit("refused", line=str(error))
    except OSError as error:
        if not is_of_the_disk(error):
            raise
        emit("refused", line=str(cannot_write(error.filename or KERNELS, error)))


def _run(text: str, emit: Callable[..., None]) -> None:
    if not text.endswith("}"):  # the parent was stopped before it had sent the whole order
        return
    data = json.loads(text)
    order: Order = TypeAdapter(Order).validate_python(data | {"profile": Profile(**data["profile"])})
    ELSEWHERE.update(order.papers)
    try:
        bind(order.cpus)
    except OSError as error:
        emit("not-run", reason=f"the system refuses to bind a process to CPU {show_list(order.cpus)}: {error.strerror}")
        return

    from respeed.measure.case import measure_cases

    measure_cases(order, emit)


if __name__ == "__main__":
    main()
