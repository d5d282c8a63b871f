"""What was measured: respeed status, claims and report."""

import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from tabulate import tabulate

from respeed.analysis.cells import NOT_YET, make_cells
from respeed.analysis.claims import count_results
from respeed.analysis.columns import rows_of
from respeed.analysis.rounds import read_rounds
from respeed.cli.main import PARTS
from respeed.errors import UserError, nearest
from respeed.inputs.config import load_config, parse_settings
from respeed.machine.description import machine_slug
from respeed.output import read_tables
from respeed.protocol import SMOKE_STAMP
from respeed.records import read_description, read_records, recorded_machines
from respeed.schedule.messages import announce, what_came_out
from respeed.schedule.rows import check_same_machine
from respeed.schedule.run import Run, resolve_run

# The states of a cell, in the order of the columns.
STATES = ("settled", "wide", "contaminated", "failed", "not measured", "cannot run")
# Lines are as wide as the terminal, but not so wide that nobody reads them.
WIDEST = 100


def show_status(smoke: bool, machine: Sequence[str], config: Sequence[str]) -> int:
    """Print a line a table of each `machine`, by default of all that have records; then what a run with these settings
    would measure, and what came out of what this one was asked for. The exit code is 1 if any of that failed.

    Raises UserError if a run would refuse to measure, because this machine is another one than its name says.
    """
    run = resolve_run(parse_settings(config) | ({"preset": "smoke"} if smoke else {}))
    there = recorded_machines(run.smoke)
    for name in machine or there:
        if name not in there:
            raise UserError(f"--machine: no records of {name!r}{nearest(name, there)}")
        lines = _count_cells(run, name)
        header = ["table", *(state.replace(" ", "\n") for state in STATES), "of", "last\nmeasured"]
        print(f"{name}\n\n{tabulate(lines, header, disable_numparse=True)}\n")
    if not run.nodes:
        check_same_machine(run.machine, run.smoke)
    print(announce(run))
    if run.nodes or run.machine not in there:
        return 0
    said, has_failed = what_came_out(run)
    print("\n".join(said))
    return int(has_failed)


def _count_cells(run: Run, machine: str) -> list[list[Any]]:
    """Return a line for each table of a machine: its cells by their state, and when the last was measured."""
    description = read_description(machine, run.smoke)
    rounds = read_rounds(read_records(run.smoke, machine), run.papers)
    cells = make_cells(rounds, run.papers, run.profiles, {machine: description} if description else {})
    waits = np.where(cells["reason"] == NOT_YET, "not measured", "cannot run")
    states = cells["status"].where(cells["status"] != "not-run", waits)
    last = rounds.groupby(["paper", "experiment"])["started"].max()
    lines = []
    for (paper, name), mine in cells.groupby(["paper", "experiment"], sort=False):
        counts, when = states[mine.index].value_counts(), last.get((paper, name), "")[:16].replace("T", " ")
        lines.append([f"{paper} {name}", *(counts.get(state, "–") for state in STATES), len(mine), when or "–"])
    return lines


def show_claims(smoke: bool, machine: str | None) -> None:
    """Print each claim with what was published, what came out, and the verdict; then how firm the numbers are."""
    there = recorded_machines(smoke)
    if machine and machine not in there:
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    name = machine or load_config().machine or machine_slug()
    if name not in there:
        print(f"nothing has been measured on {name} yet: ./run snakemake --cores all")
        return
    tables = read_tables(smoke, [name])
    if smoke:
        print(SMOKE_STAMP)
    for paper in tables.papers.values():
        judged = [one for one in rows_of(tables["claims"]) if one.paper == paper.name and not one.case]
        came_out, firmness = count_results(name, paper, tables["cells"], tables["claims"])
        print(f"\n{paper.title} ({paper.venue} {paper.year}), on {name}\n")
        # What this machine has an answer to leads.
        for one in sorted(judged, key=lambda one: not one.here):
            print("\n".join(_lines(one)))
        print(_wrapped(firmness or came_out))


def _lines(one: Any) -> list[str]:
    numbers = ", ".join(f"{who} {text}" for who, text in (("published", one.published), ("here", one.here)) if text)
    lines = [_wrapped(one.says), _wrapped(": ".join(filter(None, [one.verdict, numbers])), "    ")]
    return [*lines, *[_wrapped(one.reason, "    ")] * bool(one.reason), ""]


def _wrapped(text: str, indent: str = "") -> str:
    width = min(WIDEST, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def make_report(only: str | None, smoke: bool, machine: str | None, papers: Sequence[str] | None) -> None:
    """Build tables, figures with the page that shows them, and the report's PDF from the records that exist, or only
    one of these parts from what is there, and print where the PDF is.
    """
    for part in [only] if only else PARTS:
        # Each imports what the others do without: Seaborn, Typst.
        if part == "tables":
            from respeed.output import build_tables

            build_tables(smoke, machine, papers)
        elif part == "figures":
            from respeed.figures import build_figures

            build_figures(smoke, machine, papers)
            # The page has the figures in it.
            from respeed.output import build_page

            build_page(smoke, machine, papers)
        else:
            from respeed.report import build_report

            print(build_report(smoke, machine, papers))
