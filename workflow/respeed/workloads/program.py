"""Programs by others: a step runs the program once, in a new process.

A row runs the program where the row's steps would run: on its CPUs, with its number of threads in the environment, or
with its device as the only visible one. No shell is used: the words of a command are passed as the paper's file has
them. Time and output of a run are limited; when a case ends, in whatever way, all processes that it started are ended.

A run's time is that of the whole process, from its start until both the process and its output have ended, or a number
that the program prints. The first run loads files from the disk; it is never timed.
"""

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.random import Generator

from respeed.errors import NotMeasurable, ProgramFailed, WrongResult
from respeed.machine.process import read_word
from respeed.machine.software import checksums, files_of
from respeed.model import filled
from respeed.paths import find_file
from respeed.text import clip, printable
from respeed.workloads import Arrays, Named, Pairs, Row, Step, Workload

MOST_PRINTED = 2**20
MOST_IN_FILE = 2**26
# A search in MOST_PRINTED bytes takes milliseconds; a pattern that backtracks too much would take for ever.
PATTERN_SECONDS = 1.0
TIMEOUT_SECONDS = 600
UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6}
# CPU time, or a printed time, may exceed the measured one by so much: two clocks are never read at quite the same
# moment, and CPU time is counted in ticks.
MOST_TAKEN = 1.05
TICKS = 0.05
# Variables that tune this project's own libraries (`respeed.machine.process`) are not for others' programs.
_OURS = ("MALLOC_", "GLIBC_TUNABLES", "OPENBLAS_THREAD_TIMEOUT", "GOMP_SPINCOUNT", "XLA_")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
# The leader of the process group of runs. When this process closes the pipe, or ends in whatever way, the leader ends
# the whole group, itself included.
_WATCH = "import os, shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True); os.killpg(0, 9)"


class Given:
    """Parameters of a case, besides those in its command.

    They have a class of their own, as `flops` is also the name of a method of workloads.

    Parameters
    ----------
    program : dict
        The keys of `model.Program` that the table has, with the paper; `on_row` adds the device.
    batch : int
        Number of examples in a run.
    flops : float
        FLOP of a run.
    """

    program: dict[str, Any]
    batch: int = 0
    flops: float = 0.0


class Program(Given, Workload):
    """Run a program as its table says: its command, how it is timed, and how its result is checked."""

    products = False
    allocates = True
    is_outside = True
    captured = False

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.program = given["program"]

    def on_row(self, architecture: str, device: str) -> "Program":
        """Return the program with the command for the row's architecture, and with the row's device."""
        entry = {**self.program, "device": device}
        if isinstance(entry["command"], dict):
            entry["command"] = entry["command"][architecture]
        return Program(**{**self.given, "program": entry})

    def arrays(self, random: Generator) -> Named:
        """Draw the value of {seed} in the command; the program makes all other data itself."""
        return {"seed": random.integers(2**31, size=1)}

    def prepare_program(self, a: Arrays, row: Row) -> None:
        """Find the program's files; NotMeasurable if one is missing."""
        a.runner = Runner(self, row.threads, row.precision, int(a.seed[0]))

    def steps_program(self, a: Arrays, row: Row) -> dict[str, Step]:
        """Return the only step, which runs the program once."""
        return {"step": a.runner.step}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare the program's file with the expected one; without a file, only the end of a run is checked."""
        entry = self.program
        runner = seen.runner
        if runner.checksums() != runner.executables:
            raise WrongResult(f"{runner.name} was changed while it was measured")
        if "file" not in entry:
            return {"ended": (np.ones(1), np.ones(1))}
        expected = read_numbers(find_file("papers", entry["paper"]) / filled(entry["like"], self.given))
        numbers = read_numbers(Path(runner.scratch, entry["file"]))
        if expected.shape != numbers.shape or not expected.size:
            raise WrongResult(f"{entry['file']} has {numbers.size} numbers, {entry['like']} has {expected.size}")
        return {entry["file"]: (numbers, expected)}

    def flops(self) -> float | None:  # type: ignore[override]
        """Return the FLOP that the table states; None if it states none."""
        return float(self.given["flops"]) if "flops" in self.given else None

    def traffic_bytes(self) -> float:
        """Count nothing: the traffic is not known."""
        return 0.0

    def memory_bytes(self) -> float:
        """Count nothing: this process needs no memory, and the table may state what the program needs."""
        return 0.0


class Run(NamedTuple):
    """A run's output, its CPU seconds, and the seconds that its first thread waited for a core (NaN if unknown)."""

    printed: str
    cpu_seconds: float
    waited_seconds: float


class Runner:
    """Runs a program on a row, and keeps the output of its last runs."""

    def __init__(self, program: Program, threads: int, precision: str, seed: int) -> None:
        self.entry = entry = program.program
        device = entry.get("device", "cpu")
        folder = find_file("papers", entry["paper"])
        self.threads = threads if device == "cpu" else math.inf
        command = [filled(word, program.given) for word in entry["command"]]
        files = files_of(command, folder)
        for word, path in files.items():
            if path is None:
                where = f"in the folder of {entry['paper']}" if "/" in word else "on the PATH"
                raise NotMeasurable(f"there is no {clip(word, 100)} {where}; the paper's program must be built first")
        self.checksums = partial(checksums, command, folder)
        self.executables = self.checksums()
        row = {
            "threads": threads,
            "precision": precision,
            "seed": seed,
            "device": device.partition(":")[0],
            "paper": folder,
        }
        self.name = clip(command[0], 100)
        program_file, *words = command
        self.command = [str(files[program_file]), *(filled(word, row) for word in words)]
        self.counts_whole = "time_pattern" not in entry
        self.run_seconds = math.nan
        self._runs: deque[Run] = deque(maxlen=1000)
        self._waited = 0.0
        self.scratch = tempfile.mkdtemp(prefix="respeed-program-")
        self.environment = environment(device, f"{self.scratch}/__pycache__")
        watch = [sys.executable, "-I", "-S", "-c", _WATCH, self.scratch]
        self._leader = subprocess.Popen(watch, stdin=subprocess.PIPE, process_group=0)
        # Closes the leader's pipe, and waits until the leader has ended.
        self.close: Any = weakref.finalize(self, self._leader.communicate)

    def step(self) -> None:
        """Run the program once, from its start to its end; ProgramFailed if it fails or takes too long."""
        if "file" in self.entry:
            Path(self.scratch, self.entry["file"]).unlink(missing_ok=True)
        try:
            with within(TIMEOUT_SECONDS, f"{self.name} had not ended after {TIMEOUT_SECONDS:g} s"):
                self._runs.append(self._run())
        except OSError as error:
            raise ProgramFailed(f"{self.name} cannot be run: {error.strerror}") from None

    def _run(self) -> Run:
        with subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd=self.scratch, env=self.environment, process_group=self._leader.pid,
        ) as process:  # fmt: skip
            try:
                printed = cast(IO[bytes], process.stdout).read(MOST_PRINTED + 1)  # until nobody can print any more
                if len(printed) > MOST_PRINTED:
                    raise ProgramFailed(f"{self.name} printed more than {MOST_PRINTED / 1e6:.0f} MB")  # noqa: TRY301
                waited = _waited_seconds(process.pid)
                _, status, used = os.wait4(process.pid, 0)
            except BaseException:  # leaving the block waits for the process, which may have left the group
                process.kill()
                self.close()
                raise
            process.returncode = code = os.waitstatus_to_exitcode(status)
        text = printed.decode(errors="replace")
        if code:
            how = f"exit code {code}" if code > 0 else f"signal {-code} ({signal.strsignal(-code)})"
            last = clip(printable(text.strip().rpartition("\n")[2]), 200)
            raise ProgramFailed(f"{self.name} ended with {how}{last and f': {last}'}")
        return Run(text, used.ru_utime + used.ru_stime, waited)

    def own_seconds(self, steps: int, seconds: float) -> float:
        """Return the time of the last `steps` runs: `seconds` or, with a time_pattern, the sum that they printed."""
        runs = list(self._runs)[-steps:]
        self._runs.clear()
        self.run_seconds = seconds / steps
        taken = sum(run.cpu_seconds for run in runs)
        if taken > (MOST_TAKEN * seconds + TICKS) * self.threads:
            raise WrongResult(f"took the time of {taken / seconds:.1f} CPUs, {self.threads} asked")
        self._waited += sum(run.waited_seconds for run in runs)
        if self.counts_whole:
            return seconds
        printed = UNITS[self.entry.get("time_unit", "seconds")] * sum(map(self._number, runs))
        if printed > MOST_TAKEN * seconds:
            raise WrongResult(f"{self.name} printed {printed:.3g} s as its time, and took {seconds:.3g} s (time_unit?)")
        return printed

    def happened(self) -> dict[str, Any]:
        """Return what disturbed the runs since the last call.

        No page faults are reported: those of a program are part of each run. How many threads ran is not known.
        """
        waited = self._waited
        self._waited = 0.0
        # The wait may have been in a part of the run that does not count.
        delay = waited if self.counts_whole and math.isfinite(waited) else None
        return {"run_delay_seconds": delay, "threads_ran": None, "minor_faults": 0}

    def _number(self, run: Run) -> float:
        """Return the number that a run printed as its time; ProgramFailed if it printed none above 0."""
        pattern = self.entry["time_pattern"]
        why_not = f"time_pattern takes more than {PATTERN_SECONDS:g} s to look for; write a simpler one"
        with within(PATTERN_SECONDS, why_not):
            match = re.search(pattern, run.printed, re.MULTILINE)
        if not match:
            raise ProgramFailed(f"{self.name} printed nothing that matches time_pattern, {clip(pattern, 100)}")
        try:
            number = float(match[1])
        except (TypeError, ValueError):
            number = math.nan
        if not 0 < number < math.inf:
            text = clip(printable(str(match[1])), 80)
            raise ProgramFailed(f"{self.name} printed {text!r} as its time: no number above 0")
        return number


@contextlib.contextmanager
def within(seconds: float, why_not: str) -> Iterator[None]:
    """Raise ProgramFailed if the block takes longer than `seconds`. Only for the main thread: it uses SIGALRM."""

    def stop(*_: object) -> None:
        raise ProgramFailed(why_not)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def environment(device: str, scratch: str) -> dict[str, str]:
    """Return this process's environment, which sets thread counts, with no device visible but the row's (CPU: none).

    Python keeps its compiled code in the folder `scratch`.
    """
    variables = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    # Python's compiled code beside a script could be another's: it is made anew, elsewhere.
    variables["PYTHONPYCACHEPREFIX"] = scratch
    kind, _, number = device.partition(":")
    visible = "-1"
    if kind != "cpu":
        # CUDA numbers devices among those that were visible before.
        before = next((variables[name].split(",") for name in _VISIBLE if name in variables), [])
        index = int(number or 0)
        visible = before[index] if index < len(before) else str(index)
    return variables | dict.fromkeys(_VISIBLE, visible)


def read_numbers(path: Path) -> np.ndarray:
    """Return the numbers of a text file, separated by spaces, commas or line breaks, from its first 64 MiB."""
    if path.exists() and not path.is_file():  # such as a pipe that nobody writes to
        raise ProgramFailed(f"{path.name}, which is checked, is no plain file")
    try:
        with path.open("rb") as file:
            return np.array(file.read(MOST_IN_FILE).replace(b",", b" ").split(), dtype=np.float64)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else clip(str(error), 100)
        raise ProgramFailed(f"{path.name}, which is checked, cannot be read: {reason}") from None


def _waited_seconds(pid: int) -> float:
    """Wait until a process ends, and return how long its first thread had waited for a core; NaN if not known.

    Call this before the process's exit code is taken: then the kernel forgets the process.
    """
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    words = read_word(Path(f"/proc/{pid}/schedstat")).split()
    return int(words[1]) * 1e-9 if words else math.nan
