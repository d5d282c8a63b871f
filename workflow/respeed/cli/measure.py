"""respeed measure: turn after turn, with what is said on the screen and in a file."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from respeed.errors import UserError, cannot_write
from respeed.inputs.config import MOST_ROUNDS, parse_settings
from respeed.measure.session import measure_session, with_another_session
from respeed.paths import check_room, hold_folder, results_folder
from respeed.schedule.messages import what_came_out
from respeed.schedule.run import PROFILE, resolve_run

# Neither success nor a mistake: the time was up, and the same command goes on (EX_TEMPFAIL of sysexits.h).
UNFINISHED = 75
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)")


def measure(
    budget: str | None, wait: str | None, stamp: Path | None, log: Path | None, another_session: bool,
    only: Sequence[str], profiles: Sequence[str], rounds: int | None, config: Sequence[str],
) -> int:  # fmt: skip
    """Measure turn after turn what is asked for and is not measured yet.

    The exit code is 1 if a cell failed or was wrong. With a `stamp`, which rules ask for, that empty file is written
    when nothing is left, and the exit code is 75 as long as something is.
    """
    budget_seconds = None if budget is None else parse_duration(budget, "--budget")
    wait_seconds = None if wait is None else parse_duration(wait, "--wait", or_none_at_all=True)
    settings = parse_settings(config) | ({"profiles": list(profiles)} if profiles else {})
    if rounds is not None and not 1 <= rounds <= MOST_ROUNDS:
        raise UserError(f"--rounds: {rounds} is no number of rounds; give one from 1 to {MOST_ROUNDS}")
    with _logging_to(log) as say, contextlib.ExitStack() as held:
        run = resolve_run(settings, only=tuple(only))
        if rounds:
            preset = replace(run.config.preset, rounds=rounds, most=rounds)
            run = replace(run, config=replace(run.config, preset=preset))
        if run.nodes:
            raise UserError(f"cluster: true measures by snakemake --profile {PROFILE}; to do it here: cluster=false")
        if only and not run.work.wanted:
            raise UserError(
                f"--only: no cell on the rows that this machine can run has {' or '.join(only)} in its name"
            )
        check_room(results_folder(run.smoke))
        if stamp is None:  # by hand; a run of Snakemake holds the folder for what it asks for
            held.callback(os.close, hold_folder(run.smoke))
        run.describe()
        work = with_another_session(run.work) if another_session else run.work
        outcome = measure_session(work, budget_seconds, say, wait_seconds)
        say(f"respeed: {outcome}")
        if stamp and not outcome.is_whole:
            return UNFINISHED
        if stamp:  # a run of Snakemake says what came out when it is done
            stamp.touch()
            return 0
        lines, has_failed = what_came_out(run)
        for line in lines:
            say(f"respeed: {line}")
    return int(has_failed)


@contextlib.contextmanager
def _logging_to(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that prints a line to the screen, and to the file if there is one. A user's mistake is put into the
    file as well: on a cluster, nobody sees the screen. UserError if the system refuses to write the file.
    """
    path = path or Path(os.devnull)
    try:
        file = path.open("wb", buffering=0)  # what was refused must not be tried again when it is closed
    except OSError as error:
        raise cannot_write(path, error) from None

    def write(text: str) -> None:
        left = f"{text}\n".encode(errors="backslashreplace")
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as error:
            raise cannot_write(path, error) from None

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        write(text)

    with file:
        try:
            yield say
        except UserError as error:
            with contextlib.suppress(UserError):  # the log's own, which may be what ended it
                write(f"respeed: {error}")
            raise


def parse_duration(text: str, where: str, *, or_none_at_all: bool = False) -> float:
    """Seconds of "90 s", "15min" or "1.5 h", or also of "0"; UserError for anything else."""
    if or_none_at_all and text.strip() == "0":
        return 0.0
    found = _DURATION.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise UserError(f"{where}: {text!r} is no duration; write it as 90s, 15min or 1.5h")
    return float(found[1]) * _UNITS[found[2]]
