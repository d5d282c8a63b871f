"""What computes or looks at this machine: respeed measure, turn after turn, with what is said on the screen and in a
file; gauge and describe.
"""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from respeed.errors import UserError, cannot_write
from respeed.inputs.config import load_config, parse_settings
from respeed.machine.description import machine_slug
from respeed.measure.session import measure_gauge, measure_session, with_another_session
from respeed.paths import hardware_path, results_folder
from respeed.records.store import check_room, hold_folder
from respeed.schedule.availability import write_description
from respeed.schedule.messages import without_devices
from respeed.schedule.selection import profiles_shown
from respeed.schedule.workflow import PROFILE, resolve_workflow

# Neither success nor a mistake: the time was up, and the same command goes on (EX_TEMPFAIL of sysexits.h).
UNFINISHED = 75
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)")


def measure(
    budget: str | None, wait: str | None, session: Path | None, log: Path | None, another_session: bool,
    config: Sequence[str],
) -> int:  # fmt: skip
    """Measure turn after turn; with `session`, the exit code is 75 as long as something is left, and else that empty
    file is written."""
    budget_seconds = None if budget is None else parse_duration(budget, "--budget")
    wait_seconds = _wait_seconds(wait)
    with _logging_to(log) as say, contextlib.ExitStack() as held:
        workflow = resolve_workflow(parse_settings(config))
        if workflow.nodes:
            raise UserError(f"cluster: true measures by snakemake --profile {PROFILE}; to do it here: cluster=false")
        check_room(results_folder(workflow.smoke))
        if session is None:  # by hand; a run of Snakemake holds the folder for the sessions that it asks for
            held.callback(os.close, hold_folder(workflow.smoke))
        (target,) = workflow.targets
        if target.asks_again or (session is None and not target.description.exists()):
            # Snakemake may not know what it was made of, and then never asks for another.
            describe(target.description)
        work = with_another_session(target.work) if another_session else target.work
        outcome = measure_session(work, budget_seconds, say, wait_seconds)
        say(f"respeed: {outcome}")
        # A run of Snakemake says this itself, when it is done.
        if session is None and (line := without_devices(target, target.read_plan())):
            say(f"respeed: {line}")
    if session and not outcome.is_whole:
        return UNFINISHED
    if session:
        session.touch()
    return 0


def gauge(path: Path | None, wait: str | None) -> None:
    """Measure the hardware sheet `path`, by default this machine's."""
    check_room(results_folder(smoke=False))
    path = path or hardware_path(load_config().machine or machine_slug(), smoke=False)
    measure_gauge(path, _wait_seconds(wait))


def describe(path: Path) -> None:
    """Write the machine's description."""
    write_description(path, profiles_shown())


@contextlib.contextmanager
def _logging_to(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that prints a line to the screen, and to the file if there is one. A user's mistake is put into the
    file as well: on a cluster, nobody sees the screen. UserError if the system refuses to write the file."""
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


def _wait_seconds(wait: str | None) -> float | None:
    """How long --wait lets it wait for another measurement; None until that is done."""
    return None if wait is None else parse_duration(wait, "--wait", or_none_at_all=True)


def parse_duration(text: str, where: str, *, or_none_at_all: bool = False) -> float:
    """Seconds of "90 s", "15min" or "1.5 h", or also of "0"; UserError for anything else."""
    if or_none_at_all and text.strip() == "0":
        return 0.0
    found = _DURATION.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise UserError(f"{where}: {text!r} is no duration; write it as 90s, 15min or 1.5h")
    return float(found[1]) * _UNITS[found[2]]
