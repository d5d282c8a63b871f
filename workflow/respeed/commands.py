"""The commands that measure, and those that show results: measure, report, status, claims, trace and compare."""

import contextlib
import json
import os
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args

from tabulate import tabulate

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import say_precision
from respeed.analysis.columns import rows_of
from respeed.analysis.controls import count_controls
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import Cell, ClaimRow, Status, group_by
from respeed.analysis.trace import find_cells, trace_cell
from respeed.errors import UNFINISHED, UserError, cannot_write, tell, unknown
from respeed.inputs.config import ALL, MOST_ROUNDS, THIS, load_config, parse_settings
from respeed.inputs.papers import name_paper, paper_names
from respeed.measure.progress import Progress
from respeed.measure.session import measure_session
from respeed.outcome import Outcome, announce, conclude, count_cells
from respeed.output import read_tables
from respeed.output.page import make_text
from respeed.output.published import lay_out_published
from respeed.output.results import Results
from respeed.output.table import to_markdown
from respeed.paths import RUN, check_room, hold_folder, results_folder
from respeed.records import check_recorded, read_description, read_imports, read_records, recorded_machines
from respeed.schedule.rows import check_same_machine
from respeed.schedule.run import PROFILE, Run, resolve_run
from respeed.sessions import move_session, name_session, split_sessions
from respeed.shown import Asked, machines_shown, papers_shown
from respeed.text import NOTHING, counted


def measure(
    budget: float | None, wait: float | None, stamp: Path | None, log: Path | None, only: Sequence[str],
    profiles: Sequence[str], rounds: int | None, again: str | None, config: Sequence[str],
) -> int:  # fmt: skip
    """Measure the cells that are asked for and not measured yet; with `again`, as if none were before that moment.

    The exit code is 1 if a cell failed or had a wrong result, and 75 if a cell is left, or if no new round counts.
    Snakemake's rules pass a `stamp`: if no cell is left, this empty file is written and the exit code is 0; otherwise
    the exit code is 75. `budget` and `wait` are in seconds.
    """
    settings = parse_settings(config)
    if profiles:
        settings["profiles"] = list(profiles)
    if rounds is not None:
        if not 1 <= rounds <= MOST_ROUNDS:
            raise UserError(f"--rounds: {rounds} is no number of rounds; give one from 1 to {MOST_ROUNDS}")
        settings |= {"rounds": rounds, "most": rounds}
    with _logging_to(log) as say, contextlib.ExitStack() as held:
        run = resolve_run(settings, only=tuple(only), since=again or "")
        if run.nodes:
            raise UserError(f"cluster: true measures by snakemake --profile {PROFILE}; to do it here: cluster=false")
        if only and run.rows and not run.work.wanted:  # the last line names cells that rows cannot run
            raise UserError(
                f"--only: no cell on the rows that this machine can run has {' or '.join(only)} in its name"
            )
        if stamp is None:  # by hand; otherwise Snakemake's run holds the folder
            held.enter_context(os.fdopen(hold_folder(run.smoke)))
        check_room(results_folder(run.smoke))
        run.describe()
        if again:
            say(f"respeed: measures anew; if it is stopped, go on with --again {again}")
        progress = Progress(say, partial(_show_first_table, run))
        is_whole = measure_session(run.work, progress, budget, wait)
        if stamp is None:
            return _conclude(run, progress, say)
        if is_whole:  # Snakemake's run prints the outcome when it is done
            stamp.touch()
        return 0 if is_whole else UNFINISHED


def _conclude(run: Run, progress: Progress, say: Callable[[str], None]) -> int:
    """Say what came out of a run by hand, and return its exit code."""
    outcome = conclude(run)
    is_futile = progress.turns > 0 and not progress.counted
    if is_futile:
        outcome.lines.append("no new round counts; the line of each case says why")
    for line in outcome.lines:
        say(f"respeed: {line}")
    if outcome.has_failed:
        return 1
    return UNFINISHED if outcome.is_left or is_futile else 0


def _show_first_table(run: Run, rounds: int) -> None:
    """Print the run's first table as it is after so many rounds."""
    first = run.work.wanted[0].cells[0]
    tables = read_tables(run.smoke, [run.machine], [first.paper])
    results = Results(tables.papers, [run.machine], run.smoke, tables.frames)
    paper = tables.papers[first.paper]
    table = lay_out_published(results, paper, paper.experiments[first.experiment])
    stamp = f"Preliminary, after {counted(rounds, 'round')} of {run.config.preset.rounds}"
    print(to_markdown(table, stamp), file=sys.stderr)


@contextlib.contextmanager
def _logging_to(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints a line on the screen and, if there is a `path`, appends the line to that file.

    A user's mistake is written into the file as well: on a cluster, nobody sees the screen.
    """
    name = path or Path(os.devnull)

    def write(text: str) -> None:
        try:
            with name.open("a", encoding="utf-8", errors="backslashreplace") as log:
                print(text, file=log)
        except OSError as error:
            raise cannot_write(name, error) from None

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        write(text)

    try:
        yield say
    except UserError as error:
        with contextlib.suppress(UserError):
            write(f"respeed: {error}")
        raise


def show_sessions(smoke: bool, machine: str | None, set_aside: str | None, take_back: str | None) -> None:
    """Print the sessions of a machine; before that, set one aside, or take one back."""
    name = check_recorded(machine or load_config().this_machine, smoke)
    for session, aside, done in ((set_aside, True, "set aside"), (take_back, False, "taken back")):
        if session:
            records = move_session(name, smoke, session, aside=aside)
            print(f"{name}: {counted(records, 'record')} of {session} {done}; next: {RUN}snakemake --cores all")
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


def show_status(smoke: bool, machine: Sequence[str], config: Sequence[str], as_json: bool) -> int:
    """Print how much is measured, and what a run with these settings would measure.

    For each `machine`, by default for those that config.yaml shows, print a line for each table. Last comes the outcome
    of the cells that are asked for on this machine; the exit code is 1 if one of these cells failed.

    Raises UserError if a run would refuse to measure because records of another machine have this machine's name.
    """
    settings = parse_settings(config)
    if smoke:
        settings["preset"] = "smoke"
    run = resolve_run(settings)
    for name in {*machine} - {ALL}:
        check_recorded(name, run.smoke)
    machines = machines_shown(run.smoke, run.machine, machine or run.show)
    counts = {name: _count_cells(run, name) for name in machines}
    for name, tables in counts.items():
        rows = [{column.replace("_", "\n"): value or NOTHING for column, value in row.items()} for row in tables]
        if not as_json:
            print("\n  from ".join([name, *map(str, read_imports(name, run.smoke))]))
            print(f"\n{tabulate(rows, 'keys', disable_numparse=True)}\n")
    outcome = Outcome([])
    if not run.nodes:
        check_same_machine(run.machine, run.smoke)
        if run.machine in recorded_machines(run.smoke):
            outcome = count_cells(run, run.plan)
    lines = [f"respeed: {announce(run)}", *outcome.lines]
    if as_json:
        _print("status", {"machine": run.machine, "machines": counts, "says": lines}, as_json)
    else:
        print("\n".join(lines))
    return int(outcome.has_failed)


def _count_cells(run: Run, machine: str) -> list[dict[str, Any]]:
    """Count a machine's cells by table and state, and add the time at which each table was last measured."""
    rounds = run.plan.rounds
    if machine != run.machine:
        rounds = read_rounds(read_records(run.smoke, machine), run.papers)
    description = read_description(machine, run.smoke)
    cells = make_cells(rounds, run.papers, run.profiles, {machine: description} if description else {})
    last = rounds.groupby(["paper", "experiment"])["started"].max()
    rows = []
    for table, of_table in group_by(cells, attrgetter("paper", "experiment")).items():
        numbers = Counter(cell.status for cell in of_table)
        row = {"paper": table[0], "experiment": table[1]} | {status: numbers[status] for status in get_args(Status)}
        moment = last.get(table, "")[:16].replace("T", " ")
        rows.append(row | {"of": len(of_table), "last_measured": moment})
    return rows


def show_claims(smoke: bool, machine: str | None, as_json: bool) -> None:
    """Print each claim with the published number, ours, and the verdict; then how precise the numbers are."""
    name = load_config().this_machine
    if machine:
        name = check_recorded(machine, smoke)
    tables = read_tables(smoke, [name])
    cells = list(rows_of(tables["cells"], Cell))
    papers = {}
    for paper in tables.papers.values():
        if paper.claims:
            title = f"{paper.title} ({paper.venue} {paper.year})"
            papers[paper.name] = {"title": title, "precision": say_precision(paper, cells)}
    controls = "" if smoke else count_controls(cells, Samples(tables["rounds"]))
    document = {
        "smoke": smoke,
        "machine": name,
        "controls": controls,
        "papers": papers,
        "claims": [asdict(claim) for claim in rows_of(tables["claims"], ClaimRow)],
    }
    _print("claims", document, as_json)


def show_trace(cell: str, profile: str, smoke: bool, machine: str | None, as_json: bool) -> None:
    """Print how the number of each cell with this name was made; papers and algorithms may share a name.

    Raises UserError if there is no such cell, or no record of the machine.
    """
    name = check_recorded(machine or load_config().this_machine, smoke)
    tables = read_tables(smoke, [name], [cell.split("/")[0]] if cell.count("/") > 1 else None)
    records = read_records(smoke, name)
    traces = [trace_cell(tables, records, row) for row in find_cells(tables["cells"], cell, profile)]
    _print("trace", {"smoke": smoke, "traces": traces}, as_json)


def _print(name: str, document: Mapping[str, Any], as_json: bool) -> None:
    """Print a document, as JSON or in the words of its template."""
    print(json.dumps(document, indent=1, allow_nan=False) if as_json else make_text(name, document).rstrip())


# The functions that build the report or a part of it. Each imports libraries that the others do not need, such as
# Seaborn or Typst.
BUILDERS = {
    None: ("respeed.output:build_tables", "respeed.figures:build_figures", "respeed.report:build_report"),
    "tables": ("respeed.output:build_tables",),
    "figures": ("respeed.figures:build_figures",),
    "pdf": ("respeed.report:build_report",),
    "review": ("respeed.output:build_tables", "respeed.output:build_review"),
}


def make_report(only: str | None, papers: Sequence[str] | None, **options: Any) -> None:
    """Build tables, the page for browsers, figures, and the report's PDF from the records that exist.

    With `only`, build one of these parts from the files that exist, or for "review" the tables and the reviewer's page.
    The `papers` are names or paths; the other `options` are those of `Asked`. Print the path of the PDF or of the
    reviewer's page.
    """
    # Matplotlib ends as it is imported if a notebook's shell names a backend that is not installed here.
    os.environ["MPLBACKEND"] = "agg"
    choice = Asked(papers=None if papers is None else tuple(map(name_paper, papers)), **options)
    recorded = recorded_machines(choice.smoke)
    for name in {*(choice.show or load_config().show)} - {THIS, ALL}:
        for line in unknown("show: no records of", name, recorded):
            tell(line)
    for builder in BUILDERS[only]:
        if path := pkgutil.resolve_name(builder)(choice):
            print(path)
