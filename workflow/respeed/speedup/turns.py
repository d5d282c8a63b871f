"""Run commands in turns and time them.

In each round every command runs, in an order that is drawn anew: so what slows this machine for a while slows them all.
A command that takes less than `BLOCK_SECONDS` runs several times in a round, of which the median counts.

The first run of a command shows whether it works, what it prints, and which threads and GPUs it uses. It is timed only
if there is time for nothing else.
"""

import contextlib
import hashlib
import math
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple, cast

import psutil

from respeed.analysis.estimates import Estimate, estimate_cell
from respeed.errors import ProgramFailed, UserError
from respeed.machine.devices import devices_used_by
from respeed.measure.timing import seconds_now
from respeed.text import clip

BLOCK_SECONDS = 0.2
MOST_RUNS = 50
MOST_ROUNDS = 99
# How often a first run is looked at.
LOOK_SECONDS = 0.01
# Of what a run prints, the end is searched for its time.
SEARCHED_BYTES = 2**20
# Signs of a command for a shell.
FOR_A_SHELL = re.compile(r"[|$~;&<>*]")


@dataclass(frozen=True)
class How:
    """How commands are run: by a shell or not, after which other command, and whether they may fail.

    `time_pattern` finds the seconds that a command prints; if it is None, those of the whole process count.
    """

    shell: bool = False
    prepare: str = ""
    ignore_failure: bool = False
    time_pattern: re.Pattern[str] | None = None


class Run(NamedTuple):
    """The seconds of a run, by its own clock if it prints them, those that passed, and its CPU seconds."""

    seconds: float
    elapsed: float
    cpu_seconds: float


class Uses(threading.Thread):
    """Looks at a process and its descendants until it has ended: the most threads, and the GPUs that they use."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self.threads = 0
        self.devices = set[str]()
        self.start()

    def run(self) -> None:
        """Look every few milliseconds."""
        with contextlib.suppress(psutil.Error):
            while self._process.status() != psutil.STATUS_ZOMBIE:
                family = [self._process, *self._process.children(recursive=True)]
                self.threads = max(self.threads, sum(process.num_threads() for process in family))
                self.devices |= devices_used_by({process.pid for process in family})
                threading.Event().wait(LOOK_SECONDS)


@dataclass
class Runner:
    """Runs commands, and ends what outlives them.

    They read nothing from standard input. What they print goes into the pipe `drain`, since some programs, such as GNU
    grep, do less if they see that it goes nowhere; or into the file `printed`, if it is to be looked at. `uses` is of
    the last first run.
    """

    how: How
    drain: IO[bytes] | None
    printed: IO[bytes]
    complained: IO[bytes]
    uses: Uses | None = None

    def run(self, command: str, *, is_first: bool = False) -> Run:
        """Run a command as its `How` says; of its first run, keep what it prints and uses.

        Raises
        ------
        ProgramFailed
            It ended with another code than 0, unless that is allowed.
        UserError
            There is no such program, or it did not print its time.
        """
        how = self.how
        if how.prepare:
            self._run(how.prepare, self.drain)
        if not (is_first or how.time_pattern):
            return self._run(command, self.drain)
        self.printed.seek(0)
        self.printed.truncate()
        run = self._run(command, self.printed, is_watched=is_first)
        return run._replace(seconds=self._printed_seconds(command)) if how.time_pattern else run

    def _run(self, command: str, output: IO[bytes] | None, *, is_watched: bool = False) -> Run:
        words = ["/bin/sh", "-c", command] if self.how.shell else shlex.split(command)
        self.complained.seek(0)
        self.complained.truncate()
        began = seconds_now()
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=self.complained, start_new_session=True
            )
        except OSError as error:
            hint = "; for pipes, variables and ~ add --shell" if FOR_A_SHELL.search(command) else ""
            raise UserError(f"{words[0]}: cannot be run: {error.strerror}{hint}") from None
        try:
            if is_watched:
                self.uses = Uses(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            elapsed = seconds_now() - began
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode and not self.how.ignore_failure:
            lines = self._end_of(self.complained).strip().splitlines() or ["it says nothing"]
            raise ProgramFailed(f"{command} ended with {process.returncode} ({clip(lines[-1], 120)})")
        return Run(elapsed, elapsed, usage.ru_utime + usage.ru_stime)

    def _printed_seconds(self, command: str) -> float:
        """Return the seconds that a command printed."""
        pattern = self.how.time_pattern
        text = self._end_of(self.printed) + self._end_of(self.complained)
        match = pattern and pattern.search(text)
        with contextlib.suppress(ValueError, IndexError):
            if match and (seconds := float(match[1])) > 0:
                return seconds
        raise UserError(f"--time-pattern: finds no seconds in what {command} prints")

    def _end_of(self, file: IO[bytes]) -> str:
        file.seek(max(0, file.seek(0, os.SEEK_END) - SEARCHED_BYTES))
        return file.read().decode("utf-8", "replace")


@contextlib.contextmanager
def make_runner(how: How) -> Iterator[Runner]:
    """Yield a runner, with a process that reads what commands print."""
    with (
        tempfile.TemporaryFile() as printed,
        tempfile.TemporaryFile() as complained,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader,
    ):
        try:
            yield Runner(how, reader.stdin, printed, complained)
        finally:
            reader.kill()


@dataclass
class Side:
    """A command with its first run, the runs of a round, the seconds of each round, and the totals over all rounds."""

    command: str
    first: Run
    checksum: str
    threads: int
    devices: list[str]
    seconds: list[float] = field(default_factory=list)
    elapsed: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def count(self) -> int:
        """Return how often the command runs in a round."""
        return min(MOST_RUNS, math.ceil(BLOCK_SECONDS / self.first.elapsed))

    @property
    def round_seconds(self) -> float:
        """Return about how long its part of a round takes."""
        return self.count * self.first.elapsed

    @property
    def cores(self) -> float:
        """Return how many cores it kept busy."""
        return (self.cpu_seconds or self.first.cpu_seconds) / (self.elapsed or self.first.elapsed)

    @property
    def time(self) -> Estimate:
        """Return the seconds of a run with their interval."""
        return estimate_cell({0: self.seconds}) if self.seconds else Estimate(math.nan)

    def measure(self, runner: Runner) -> None:
        """Run the command as often as it runs in a round."""
        runs = [runner.run(self.command) for _ in range(self.count)]
        self.seconds.append(statistics.median(run.seconds for run in runs))
        self.elapsed += sum(run.elapsed for run in runs)
        self.cpu_seconds += sum(run.cpu_seconds for run in runs)


def begin_side(command: str, runner: Runner, warmup: int) -> Side:
    """Run a command for the first time, and then `warmup` times more."""
    first = runner.run(command, is_first=True)
    runner.printed.seek(0)
    checksum = hashlib.file_digest(cast(Any, runner.printed), "sha256").hexdigest()
    for _ in range(warmup):
        runner.run(command)
    uses = runner.uses
    return Side(command, first, checksum, uses.threads if uses else 0, sorted(uses.devices) if uses else [])


class Measured(NamedTuple):
    """How many rounds are whole, their seconds, the cores that other programs kept busy, and what ended them early.

    `is_stopped` says whether that was the user.
    """

    rounds: int
    seconds: float
    foreign_cores: float
    trouble: str = ""
    is_stopped: bool = False


def count_first_runs(sides: Sequence[Side]) -> Measured:
    """Take the first runs for a round."""
    for side in sides:
        side.seconds.append(side.first.seconds)
    return Measured(1, sum(side.first.elapsed for side in sides), 0.0)


def measure_rounds(sides: Sequence[Side], runner: Runner, budget_seconds: float) -> Measured:
    """Measure as many rounds as fit into the budget, but at least one.

    Every side has its seconds of the whole rounds afterwards.
    """
    began = seconds_now()
    busy = _busy_seconds()
    trouble = ""
    is_stopped = False
    rounds = 0
    try:
        while rounds < MOST_ROUNDS and (seconds_now() - began) * (rounds + 1) <= budget_seconds * max(rounds, 1):
            for side in random.sample(sides, len(sides)):
                side.measure(runner)
            rounds += 1
    except ProgramFailed as error:
        trouble = f"{error} in round {rounds + 1}"
    except KeyboardInterrupt:
        trouble = f"it was stopped in round {rounds + 1}"
        is_stopped = True
    seconds = seconds_now() - began
    for side in sides:
        del side.seconds[rounds:]
    return Measured(rounds, seconds, max(0.0, _busy_seconds() - busy) / seconds, trouble, is_stopped)


def _busy_seconds() -> float:
    """Return the CPU seconds that all programs took since the system began, but for this one and what it has run."""
    spent = psutil.cpu_times()
    return spent.user + spent.nice + spent.system - sum(os.times()[:4])
