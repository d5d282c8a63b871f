"""respeed status: how far every table is measured, and what a run would measure next. respeed claims: what each paper
claims, and whether it holds on a machine. respeed report.
"""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tabulate import tabulate

from respeed.analysis.cells import NOT_YET, OTHER_PARAMETERS, make_cells
from respeed.analysis.claims import summarize
from respeed.analysis.columns import rows_of
from respeed.analysis.rounds import key_of, read_rounds
from respeed.errors import UserError, nearest
from respeed.inputs.config import load_config, parse_settings
from respeed.machine.description import machine_slug
from respeed.model.paper import Paper
from respeed.output import read_tables
from respeed.paths import record_folders
from respeed.protocol import SMOKE_STAMP
from respeed.records.store import read_description, read_records, recorded_machines
from respeed.schedule.messages import announcement
from respeed.schedule.selection import chosen_experiments
from respeed.schedule.spec import choose_current
from respeed.schedule.workflow import Workflow, resolve_workflow
from respeed.text import format_measured

# The states of a cell, in the order of the columns.
STATES = ("settled", "wide", "contaminated", "failed", "not measured", "cannot run")
_ALIGNED = ("left", *["right"] * (len(STATES) + 2), "left")
# Lines are as wide as the terminal, but not so wide that nobody reads them.
WIDEST = 100


def show_status(smoke: bool, every_cell: bool, machine: Sequence[str], config: Sequence[str]) -> None:
    """Print the tables of each `machine`, by default of all that have records, a line a table or `every_cell`; then
    what a run with these settings would measure. UserError at the end if it would refuse to: this machine is another
    one than its name says."""
    workflow, machines = resolve_workflow(parse_settings(config) | ({"preset": "smoke"} if smoke else {})), machine
    there = recorded_machines(workflow.smoke)
    for machine in machines:
        if machine not in there:
            raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    names = machines or sorted(record_folders(workflow.smoke), key=lambda name: name not in workflow.measured)
    for machine in names:
        # One machine's records at a time: a hundred machines' are gigabytes.
        _show_machine(workflow, machine, every_cell)
    if workflow.machine not in there and not machines:
        print(f"nothing has been measured on {workflow.machine} yet\n")
    for target in workflow.targets:
        target.check()
    print(announcement(workflow))


def _show_machine(workflow: Workflow, machine: str, every_cell: bool) -> None:
    records = choose_current(machine, workflow.smoke, read_records(workflow.smoke, machine), workflow.papers)
    description = read_description(machine, workflow.smoke)
    descriptions = {machine: description} if description else {}
    rounds = read_rounds(records)
    cells = make_cells(rounds, _papers(workflow), workflow.profiles, descriptions, workflow.smoke)
    asked = cells[np.array([_is_asked(workflow, cell) for cell in rows_of(cells)], dtype=bool)]
    if asked.empty:
        return
    print(f"{machine}{' (this machine)' if machine == workflow.machine and not workflow.nodes else ''}\n")
    if every_cell:
        planned = {cell for target in workflow.targets for cell in target.work.cells}
        header = ["table", "profile", "case", "rounds", "status", "seconds", "what is missing"]
        rows = [_of_cell(workflow, cell, key_of(cell) in planned) for cell in rows_of(asked)]
    else:
        header = ["table", *(state.replace(" ", "\n") for state in STATES), "of", "rounds", "last\nmeasured"]
        rows = list(_tables(asked, rounds))
    print(tabulate(rows, header, disable_numparse=True, colalign=None if every_cell else _ALIGNED) + "\n")


def _papers(workflow: Workflow) -> dict[str, Paper]:
    """Those that --config names, or else all that are shown."""
    named = workflow.config.papers if "papers" in workflow.overrides else workflow.papers
    return {name: workflow.papers[name] for name in named}


def _is_asked(workflow: Workflow, cell: Any) -> bool:
    """Whether --config lets it be seen. What was measured once is seen, though config.yaml may not ask for it now."""
    if "profiles" in workflow.overrides and cell.profile not in workflow.config.profiles:
        return False
    experiments = chosen_experiments(workflow.config, workflow.papers[cell.paper])
    return "experiments" not in workflow.overrides or cell.experiment in experiments


def _tables(cells: pd.DataFrame, rounds: pd.DataFrame) -> Iterator[list[str]]:
    """A line a table: its cells by their state, the rounds of those that have any, and when the last was measured."""
    # What waits for a run; with another reason, the machine cannot run it.
    waits = np.where(cells["reason"].isin([NOT_YET, OTHER_PARAMETERS]), "not measured", "cannot run")
    states = cells["status"].where(cells["status"] != "not-run", waits)
    last = rounds.groupby(["paper", "experiment"])["started"].max()
    for (paper, experiment), mine in cells.groupby(["paper", "experiment"], sort=False):
        counts, measured = states[mine.index].value_counts(), mine[mine["rounds"] > 0]
        fewest, most = (0, 0) if measured.empty else (measured["rounds"].min(), measured["rounds"].max())
        times = [last.get((paper, where), "") for where in measured["measured_in"]]
        yield [
            f"{paper} {experiment}",
            *(str(counts.get(state, "–")) for state in STATES),
            str(len(mine)),
            f"{fewest} to {most}" if fewest < most else str(most or "–"),
            max(times, default="")[:16].replace("T", " ") or "–",
        ]


def _of_cell(workflow: Workflow, cell: Any, is_planned: bool) -> list[str]:
    algorithms = workflow.papers[cell.paper].experiments[cell.experiment].algorithms
    return [
        f"{cell.paper} {cell.experiment}",
        f"{cell.profile} {cell.algorithm}" if algorithms else cell.profile,
        cell.case,
        f"{cell.rounds}/{workflow.config.preset.rounds}" if is_planned else str(cell.rounds),
        cell.status,
        format_measured(cell.seconds, cell.seconds_low, cell.seconds_high),
        cell.reason,
    ]


def show_claims(smoke: bool, machine: str | None) -> None:
    """Print each claim with what was published, what came out, and the verdict; then how firm the numbers are."""
    there = recorded_machines(smoke)
    if machine and machine not in there:
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    name = machine or load_config(strict=False).machine or machine_slug()
    if name not in there:
        print(f"nothing has been measured on {name} yet: ./run snakemake --cores all")
        return
    tables = read_tables(smoke, [name])
    if smoke:
        print(SMOKE_STAMP)
    for paper in tables.papers.values():
        judged = [one for one in rows_of(tables["claims"]) if one.paper == paper.name and not one.case]
        came_out, firmness = summarize(name, paper, tables["cells"], tables["claims"])
        print(f"\n{paper.title} ({paper.venue} {paper.year}), on {name}\n")
        # What this machine has an answer to leads.
        for one in sorted(judged, key=lambda one: not one.here):
            print("\n".join(_lines(one)))
        print(_wrapped(firmness or came_out))


def _lines(one: Any) -> list[str]:
    numbers = ", ".join(f"{who} {text}" for who, text in (("published", one.published), ("here", one.here)) if text)
    lines = [_wrapped(one.says), _wrapped(": ".join(filter(None, [one.verdict, numbers])), "    ")]
    lines += [_wrapped(text, "    ") for text in (one.reason, one.instead) if text]
    return [*lines, ""]


def _wrapped(text: str, indent: str = "") -> str:
    width = min(WIDEST, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def build_report(smoke: bool, machine: str | None, papers: Sequence[str] | None) -> None:
    """Build the report's PDF, and say where it is."""
    from respeed.report import build_report  # Typst, which the others do without

    print(build_report(smoke, machine, papers))
