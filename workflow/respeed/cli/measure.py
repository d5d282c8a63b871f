"""What computes or looks at this machine: respeed measure, turn after turn, with what is said on the screen and in a
file; learn, gauge and describe.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from respeed.errors import UserError, refusal
from respeed.inputs.config import load_config, parse_settings
from respeed.machine.description import machine_slug
from respeed.measure.session import measure_gauge, measure_session, with_another_session
from respeed.paths import hardware_path
from respeed.records.store import check_room, hold_folder, write_record
from respeed.records.transfer import export_bundle
from respeed.schedule.availability import write_description
from respeed.schedule.messages import without_devices
from respeed.schedule.next_turn import Plan
from respeed.schedule.selection import profiles_shown
from respeed.schedule.workflow import PROFILE, Workflow, resolve_workflow
from respeed.timing.clock import seconds_now

# Neither success nor a mistake: the time was up, and the same command goes on (EX_TEMPFAIL of sysexits.h).
UNFINISHED = 75
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)")
# A report is made anew after so many times as long as the last one took: of a run, a twentieth at most.
REPORT_EVERY = 20


def measure(
    budget: str | None, wait: str | None, session: Path | None, log: Path | None, another_session: bool, report: bool,
    bundle: Path | None, config: Sequence[str],
) -> int:  # fmt: skip
    """Measure turn after turn; with `session`, the exit code is 75 as long as something is left, and else that file is
    written. What is made of the records meanwhile, `Shown` says."""
    budget_seconds = None if budget is None else parse_duration(budget, "--budget")
    wait_seconds = _wait_seconds(wait)
    with _logging_to(log) as say, contextlib.ExitStack() as held:
        workflow = resolve_workflow(parse_settings(config))
        if workflow.nodes:
            raise UserError(f"cluster: true measures by snakemake --profile {PROFILE}; to do it here: cluster=false")
        check_room(workflow.smoke)
        if session is None:  # by hand; a run of Snakemake holds the folder for the sessions that it asks for
            held.callback(os.close, hold_folder(workflow.smoke))
        (target,) = workflow.targets
        is_shown = (report or bundle) and not target.description.exists()
        if target.asks_again or is_shown:
            # Snakemake may not know what it was made of, and then never asks for another.
            describe(target.description)
        work = with_another_session(target.work) if another_session else target.work
        made = Shown(workflow, report, bundle, say)
        outcome = measure_session(work, budget_seconds, say, wait_seconds, made.after_turn)
        say(f"respeed: {outcome}")
        if session is None:  # a run of Snakemake makes the last one itself
            made.pack()  # also where nothing was left to measure
            made.end()
            if line := without_devices(target, target.read_plan()):
                say(f"respeed: {line}")
    if session and not outcome.is_whole:
        return UNFINISHED
    if session:
        write_record(session, outcome.facts(target.work))
    return 0


@dataclass
class Shown:
    """What is made of the records while they are measured, where it is asked for: the `bundle`, anew after each turn,
    and the `report`, as soon as there is a first table. What cannot be made is told, and measuring goes on."""

    workflow: Workflow
    report: bool
    bundle: Path | None
    say: Callable[[str], None]
    is_old: bool = False
    _due: float = 0.0

    def pack(self) -> None:
        if self.bundle:
            try:
                export_bundle(self.bundle, self.workflow.smoke, self.workflow.targets[0].work.machine)
            except UserError as error:
                self.say(f"respeed: not packed: {error}")

    def after_turn(self, plan: Plan) -> None:
        self.pack()
        self.is_old = self.report and not plan.left_of_first_table
        if self.is_old and seconds_now() >= self._due:
            self.build_report()

    def end(self) -> None:
        if self.is_old or (self.report and not Path(f"{self.workflow.document}.pdf").exists()):
            self.build_report()

    def build_report(self) -> None:
        """Tables, figures and PDF, by processes of their own: what draws may not be installed."""
        self.is_old, began = False, seconds_now()
        for stage in ("tables", "figures", "report"):
            command = [sys.executable, "-m", "respeed", stage, *self.workflow.shown]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                self.report = False
                self.say(f"respeed: no report yet: {(done.stderr.strip() or stage).splitlines()[-1]}")
                return
        now = seconds_now()
        self._due = now + REPORT_EVERY * (now - began)
        self.say(f"respeed: what is measured so far is in {self.workflow.document}.pdf")


def learn(path: Path, wait: str | None) -> None:
    """Let an experiment's programs learn, and write the record `path`."""
    from respeed.measure.learning import learn

    check_room(smoke=False)
    learn(path, _wait_seconds(wait))


def gauge(path: Path | None, wait: str | None) -> None:
    """Measure the hardware sheet `path`, by default this machine's."""
    check_room(smoke=False)
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
        raise refusal(error, path) or UserError(f"{path}: cannot be written: {error.strerror}") from None

    def write(text: str) -> None:
        left = f"{text}\n".encode(errors="backslashreplace")
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as error:
            raise refusal(error, path) or error from None

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
