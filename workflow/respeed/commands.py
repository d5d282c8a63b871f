"""The commands that measure, and those that show results: measure, report, status, claims, trace and compare."""

import contextlib
import json
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from tabulate import tabulate

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import say_precision
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.compare import compare_rounds, read_side
from respeed.analysis.controls import count_controls
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import Cell, ClaimRow, Status
from respeed.analysis.trace import find_cells, trace_cell
from respeed.errors import UserError, cannot_write, nearest
from respeed.inputs.config import ALL, MOST_ROUNDS, THIS, load_config, parse_settings
from respeed.inputs.papers import paper_names
from respeed.measure.progress import Progress
from respeed.measure.session import measure_session
from respeed.measure.timing import utc_now
from respeed.model import Paper
from respeed.outcome import announce, say_limits, say_what_came_out
from respeed.output import read_tables
from respeed.output.page import make_text
from respeed.output.published import lay_out_published
from respeed.output.results import Results
from respeed.output.table import to_markdown
from respeed.paths import check_room, hold_folder, results_folder
from respeed.records import read_description, read_imports, read_records, recorded_machines
from respeed.schedule.plan import read_plan
from respeed.schedule.rows import check_same_machine
from respeed.schedule.run import PROFILE, Run, resolve_run
from respeed.sessions import move_session, name_session, split_sessions
from respeed.shown import Asked, machines_shown, papers_shown
from respeed.text import NOTHING, counted

# Neither success nor a mistake: the time is up, and the same command resumes the run (EX_TEMPFAIL of sysexits.h).
UNFINISHED = 75
# What --again means without a moment.
NOW = "now"
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)")


def measure(
    budget: str | None, wait: str | None, stamp: Path | None, log: Path | None, only: Sequence[str],
    profiles: Sequence[str], rounds: int | None, again: str | None, config: Sequence[str],
) -> int:  # fmt: skip
    """Measure the cells that are asked for and not measured yet; with `again`, as if none were before that moment.

    The exit code is 1 if a cell failed or had a wrong result, and 75 if a cell is left, or if no new round counts.
    Snakemake's rules pass a `stamp`: if no cell is left, this empty file is written and the exit code is 0; otherwise
    the exit code is 75.
    """
    budget_seconds = parse_duration(budget, "--budget") if budget is not None else None
    wait_seconds = parse_duration(wait, "--wait") if wait is not None else None
    settings = parse_settings(config)
    if profiles:
        settings["profiles"] = list(profiles)
    if rounds is not None:
        if not 1 <= rounds <= MOST_ROUNDS:
            raise UserError(f"--rounds: {rounds} is no number of rounds; give one from 1 to {MOST_ROUNDS}")
        settings |= {"rounds": rounds, "most": rounds}
    since = utc_now() if again == NOW else parse_moment(again, "--again") if again else ""
    with _logging_to(log) as say, contextlib.ExitStack() as held:
        run = resolve_run(settings, only=tuple(only), since=since)
        if run.nodes:
            raise UserError(f"cluster: true measures by snakemake --profile {PROFILE}; to do it here: cluster=false")
        if only and run.rows and not run.work.wanted:  # the last line names cells that rows cannot run
            raise UserError(
                f"--only: no cell on the rows that this machine can run has {' or '.join(only)} in its name"
            )
        check_room(results_folder(run.smoke))
        if stamp is None:  # by hand; otherwise Snakemake's run holds the folder
            held.callback(os.close, hold_folder(run.smoke))
        run.describe()
        if again == NOW:
            say(f"respeed: measures anew; if it is stopped, go on with --again {since}")
        progress = Progress(say, lambda rounds: _show_first_table(run, rounds))
        is_whole = measure_session(run.work, progress, budget_seconds, wait_seconds)
        if stamp is None:
            return _conclude(run, progress, say)
        if is_whole:  # Snakemake's run prints the outcome when it is done
            stamp.touch()
        return 0 if is_whole else UNFINISHED


def _conclude(run: Run, progress: Progress, say: Callable[[str], None]) -> int:
    """Say what came out of a run by hand, and return its exit code."""

    def tell(line: str) -> None:
        say(f"respeed: {line}")

    plan = read_plan(run.work)
    for line in say_limits(run, plan):
        tell(line)
    outcome = say_what_came_out(run, plan, tell)
    is_futile = progress.turns > 0 and not progress.counted
    if is_futile:
        tell("no new round counts; the line of each case says why")
    if outcome.has_failed:
        return 1
    return UNFINISHED if outcome.is_left or is_futile else 0


def _show_first_table(run: Run, rounds: int) -> None:
    """Print the run's first table as it is after so many rounds."""
    first = next(wanted for wanted in run.work.wanted if wanted.is_first).cells[0]
    tables = read_tables(run.smoke, [run.machine], [first.paper])
    results = Results(tables.papers, [run.machine], run.smoke, tables.frames)
    paper = tables.papers[first.paper]
    table = lay_out_published(results, paper, paper.experiments[first.experiment])
    stamp = f"Preliminary, after {counted(rounds, 'round')} of {run.config.preset.rounds}"
    print(to_markdown(table, stamp), file=sys.stderr)


@contextlib.contextmanager
def _logging_to(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints a line on the screen and, if there is a `path`, appends the line to that file.

    A user's mistake is written into the file as well: on a cluster, nobody sees the screen. Raises UserError if the
    file cannot be written.
    """

    def write(text: str) -> None:
        if path:
            try:
                with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                    print(text, file=file)
            except OSError as error:
                raise cannot_write(path, error) from None

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        write(text)

    try:
        yield say
    except UserError as error:
        with contextlib.suppress(UserError):  # the log's own, which may be what ended it
            write(f"respeed: {error}")
        raise


def parse_moment(text: str, where: str) -> str:
    """Return a moment in UTC as records have it; raise UserError if `text` is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(f"{where}: {text!r} is no moment; write it as 2026-11-28T10:15, in UTC") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def parse_duration(text: str, where: str) -> float:
    """Return the seconds of "90 s", "15min", "1.5 h" or "0"; raise UserError for anything else."""
    if text.strip() == "0":
        return 0.0
    duration = _DURATION.fullmatch(text.strip())
    seconds = float(duration[1]) * _UNITS[duration[2]] if duration else 0.0
    if not seconds:
        raise UserError(f"{where}: {text!r} is no duration; write it as 90s, 15min or 1.5h")
    return seconds


def show_sessions(smoke: bool, machine: str | None, set_aside: str | None, take_back: str | None) -> None:
    """Print the sessions of a machine; before that, set one aside, or take one back."""
    name = _recorded(machine, smoke)
    with contextlib.ExitStack() as held:
        if set_aside or take_back:
            held.callback(os.close, hold_folder(smoke))
        for session, aside, done in ((set_aside, True, "set aside"), (take_back, False, "taken back")):
            if session:
                records = move_session(name, smoke, session, aside=aside)
                print(f"{name}: {counted(records, 'record')} of {session} {done}; next: ./run snakemake --cores all")
    headers = ["session (UTC)", "minutes", "rounds", "blocks discarded", "", "rows"]
    lines = sorted([*_list_sessions(name, smoke, aside=False), *_list_sessions(name, smoke, aside=True)])
    print(tabulate(lines, headers, disable_numparse=True))


def _list_sessions(machine: str, smoke: bool, *, aside: bool) -> Iterator[list[str]]:
    """Yield a line for each session: its name, minutes, rounds, discarded blocks, whether it counts, and its rows."""
    records = read_records(smoke, machine, aside=aside)
    rounds = read_rounds(records, papers_shown(smoke, paper_names())).drop_duplicates("record")
    state = "set aside" if aside else ""
    for number, session in enumerate(split_sessions(records)):
        measured = rounds[rounds["session"] == number]
        minutes = sum(record.wall_seconds for record in session) / 60
        discarded = f"{measured['discarded'].sum()} of {measured['blocks'].sum()}"
        profiles = sorted({record.profile for record in session})
        yield [name_session(session), f"{minutes:.1f}", str(len(measured)), discarded, state, ", ".join(profiles)]


# The states of a cell, in the order of the columns.
STATES = get_args(Status)


def show_status(smoke: bool, machine: Sequence[str], config: Sequence[str], as_json: bool) -> int:
    """Print how much is measured, and what a run with these settings would measure.

    For each `machine`, by default for those that config.yaml shows, print a line for each table. Last comes the outcome
    of the cells that are asked for on this machine; the exit code is 1 if one of these cells failed.

    Raises UserError if a run would refuse to measure because records of another machine have this machine's name.
    """
    run = resolve_run(parse_settings(config) | ({"preset": "smoke"} if smoke else {}))
    for name in {*machine} - {ALL}:
        _recorded(name, run.smoke)
    counts = {name: _count_cells(run, name) for name in machines_shown(run.smoke, run.machine, machine or run.show)}
    if not as_json:
        for name, table in counts.items():
            fields = table.astype(object).replace([0, ""], NOTHING)
            headers = fields.columns.str.replace("_", "\n").to_list()
            origin = "".join(f"\n  from {source}" for source in read_imports(name, run.smoke))
            print(f"{name}{origin}\n\n{tabulate(fields.to_dict('list'), headers, disable_numparse=True)}\n")
    if not run.nodes:
        check_same_machine(run.machine, run.smoke)
    lines: list[str] = []
    say = lines.append if as_json else print
    say(announce(run))
    has_failed = False
    if not run.nodes and run.machine in recorded_machines(run.smoke):
        has_failed = say_what_came_out(run, run.plan, say).has_failed
    if as_json:
        machines = {name: table.to_dict("records") for name, table in counts.items()}
        _print("status", {"machine": run.machine, "machines": machines, "says": lines}, as_json)
    return int(has_failed)


def _recorded(machine: str | None, smoke: bool) -> str:
    """Return the name of a machine, by default of this one; raise UserError if it has no records."""
    name = machine or load_config().this_machine
    recorded = recorded_machines(smoke)
    if name not in recorded:
        raise UserError(f"--machine: no records of {name!r}{nearest(name, recorded)}")
    return name


def _count_cells(run: Run, machine: str) -> pd.DataFrame:
    """Count a machine's cells by table and state, and add the time at which each table was last measured."""
    table = ["paper", "experiment"]
    description = read_description(machine, run.smoke)
    is_planned = machine == run.machine and not run.nodes
    rounds = run.plan.rounds if is_planned else read_rounds(read_records(run.smoke, machine), run.papers)
    descriptions = {machine: description} if description else {}
    cells = make_frame(make_cells(rounds, run.papers, run.profiles, descriptions), Cell)
    is_in = pd.get_dummies(cells["status"]).reindex(columns=STATES, fill_value=False)
    counts = cells[table].join(is_in).groupby(table, sort=False).sum()
    counts["of"] = counts.sum(axis=1)
    counts["last_measured"] = rounds.groupby(table)["started"].max().str[:16].str.replace("T", " ")
    return counts.reset_index().fillna("")


def show_claims(smoke: bool, machine: str | None, as_json: bool) -> None:
    """Print each claim with the published number, ours, and the verdict; then how precise the numbers are."""
    name = _recorded(machine, smoke) if machine else load_config().this_machine
    tables = read_tables(smoke, [name])
    cells = list(rows_of(tables["cells"], Cell))
    papers = {}
    for paper in tables.papers.values():
        if paper.claims:
            papers[paper.name] = {"title": _title(paper), "precision": say_precision(paper, cells)}
    controls = "" if smoke else count_controls(cells, Samples(tables["rounds"]))
    document = {
        "smoke": smoke,
        "machine": name,
        "controls": controls,
        "papers": papers,
        "claims": [asdict(claim) for claim in rows_of(tables["claims"], ClaimRow)],
    }
    _print("claims", document, as_json)


def _title(paper: Paper) -> str:
    """Return the paper's title, and where and when it appeared."""
    return f"{paper.title} ({paper.venue} {paper.year})"


def show_trace(cell: str, profile: str, smoke: bool, machine: str | None, as_json: bool) -> None:
    """Print how the number of each cell with this name was made; papers and algorithms may share a name.

    Raises UserError if there is no such cell, or no record of the machine.
    """
    recorded = [*recorded_machines(smoke)]
    name = _recorded(recorded[0] if machine is None and len(recorded) == 1 else machine, smoke)
    tables = read_tables(smoke, [name], [cell.split("/")[0]] if cell.count("/") > 1 else None)
    records = read_records(smoke, name)
    traces = [trace_cell(tables, records, row) for row in find_cells(tables["cells"], cell, profile)]
    _print("trace", {"smoke": smoke, "traces": traces}, as_json)


def show_comparison(a: str, b: str, smoke: bool, as_json: bool) -> None:
    """Print which cells are faster or slower in the records of one side than of the other (see `read_side`)."""
    papers = papers_shown(smoke, [*load_config().papers, *paper_names()])
    compared = compare_rounds(read_side(a, smoke, papers), read_side(b, smoke, papers), papers)
    _print("compare", {"smoke": smoke} | compared, as_json)


def _print(name: str, document: Mapping[str, Any], as_json: bool) -> None:
    """Print a document, as JSON or in the words of its template."""
    print(json.dumps(document, indent=1, allow_nan=False) if as_json else make_text(name, document).rstrip())


# The functions that build each part of a report. Each imports libraries that the others do not need, such as Seaborn or
# Typst.
BUILDERS = {
    "tables": ("respeed.output:build_tables",),
    "figures": ("respeed.figures:build_figures",),
    "pdf": ("respeed.report:build_report",),
    "review": ("respeed.output:build_tables", "respeed.output:build_review"),
}


def make_report(only: str | None, **options: Any) -> None:
    """Build tables, the page for browsers, figures, and the report's PDF from the records that exist.

    With `only`, build one of these parts from the files that exist, or for "review" the tables and the reviewer's page.
    The other `options` are those of `Asked`. Print the path of the PDF or of the reviewer's page.
    """
    # Matplotlib ends as it is imported if a notebook's shell names a backend that is not installed here.
    os.environ["MPLBACKEND"] = "agg"
    asked = Asked(**options)
    recorded = recorded_machines(asked.smoke)
    for name in {*(asked.show or load_config().show)} - {THIS, ALL, *recorded}:
        print(f"respeed: show: no records of {name!r}{nearest(name, recorded)}", file=sys.stderr)
    for part in [only] if only else ("tables", "figures", "pdf"):
        for builder in BUILDERS[part]:
            if path := pkgutil.resolve_name(builder)(asked):
                print(path)
