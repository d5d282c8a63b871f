"""Trace one number: the program that ran, its rounds, each round's line in a record, and the statistics."""

from dataclasses import asdict
from operator import attrgetter
from pathlib import PurePath
from typing import Any

import pandas as pd

from respeed.analysis.build import Tables
from respeed.analysis.cells import in_unit, label_row, reference, words_of_unit
from respeed.analysis.columns import rows_of
from respeed.analysis.hardware import say_replay, say_source
from respeed.analysis.tables import Cell, Round, Speedup, group_by
from respeed.errors import UserError, nearest
from respeed.inputs.config import MOST_ROUNDS
from respeed.model import Case, Experiment
from respeed.paths import RUN
from respeed.records import Records, is_imported, read_imports
from respeed.text import measured_value

# The number of rounds that the command adds to the existing rounds: as many as an interval needs.
MORE_ROUNDS = 3


def find_cells(cells: pd.DataFrame, name: str, profile: str) -> list[Cell]:
    """Return the cells called `name` on `profile`: more than one if several papers or algorithms have that name.

    Parameters
    ----------
    cells : DataFrame
        The table of cells for one machine.
    name : str
        experiment/case or paper/experiment/case.
    profile : str
        The name of the hardware profile.

    Raises
    ------
    UserError
        There is no such cell or profile; the message has the nearest existing name.
    """
    first = 1 if name.count("/") > 1 else 2
    by_name = group_by(rows_of(cells, Cell), lambda cell: "/".join(cell.key[first:4]))
    if name not in by_name:
        table, slash, _ = name.rpartition("/")
        alike = [candidate for candidate in by_name if candidate.startswith(table + slash)]
        raise UserError(f"trace: no cell {name!r}{nearest(name, alike or by_name)}")
    by_profile = group_by(by_name[name], attrgetter("profile"))
    if profile not in by_profile:
        raise UserError(f"trace: {name} has no row {profile!r}{nearest(profile, by_profile)}")
    return by_profile[profile]


def measure_command(cell: Cell, experiment: Experiment, rounds: int, *, smoke: bool) -> str:
    """Return the command that measures one cell; empty if the cell's machine cannot run the cell, or was imported.

    For a total, the command measures all parts; for a row of a ladder of thread counts, all rows of the ladder.

    Parameters
    ----------
    cell : row of the table of cells
    experiment : Experiment
        The cell's table.
    rounds : int
        The number of existing rounds: the command asks for `MORE_ROUNDS` more.
    smoke : bool
        Whether the rounds are of tiny cases.
    """
    if cell.status == "cannot-run" or is_imported(cell.machine, smoke):
        return ""
    case = "" if cell.case == experiment.total_case else cell.case
    program = f"/{cell.algorithm}" if case and experiment.algorithms else ""
    row = cell.profile.rpartition("-t")[0] if experiment.ladder else cell.profile
    only = f"--only {cell.paper}/{cell.experiment}/{case}{program} --profiles {row}"
    more = f"--rounds {min(MOST_ROUNDS, rounds + MORE_ROUNDS)} --config papers={cell.paper}"
    preset = " preset=smoke" if smoke else ""
    return f"{RUN}respeed measure {only} {more}{preset}"


def _replay_of(case: Case, records: Records, profile: str) -> dict[str, Any] | None:
    """Return the facts of the last profiled step of a case on a row, in the records' order; None if there is none."""
    last = None
    for record in records:
        if record.profile == profile:
            for replay in record.replays:
                last = replay if replay.key == case.key else last
    return last.model_dump() | {"in_words": say_replay(last)} if last else None


def trace_cell(tables: Tables, records: Records, cell: Cell) -> dict[str, Any]:
    """Return everything that the number of a cell was made from, as a document for JSON.

    Parameters
    ----------
    tables : Tables
        The tidy tables that have the cell.
    records : iterable of Record
        The records of the cell's machine.
    cell : row of the table of cells

    Returns
    -------
    dict
        `cell`, `speedup` and `rounds` have the columns of the tables of cells, speedups and rounds. A total has no
        rounds; `parts` names its cases. `replay` has the facts of a profiled step on a device, None without one.
    """
    paper = tables.papers[cell.paper]
    experiment = paper.experiments[cell.experiment]
    cases = {(case.name, case.workload): case for case in experiment.cases}
    case = cases.get((cell.case, cell.algorithm))
    all_rounds = rows_of(tables["rounds"], Round)
    rounds = [row for row in all_rounds if row.key == cell.key]
    speedup = next(row for row in rows_of(tables["speedups"], Speedup) if row.key == cell.key)
    lines = [row.record for row in rounds]
    files = {"/".join(PurePath(line.rpartition(":")[0]).parts[-2:]) for line in lines}
    imports = read_imports(cell.machine, tables.smoke)
    software: dict[str, Any] = {"backend": None}
    last = next((record for record in records if lines and lines[-1] in record.places()), None)
    if last:
        software = last.start.model_dump(include={"backend", "libraries", "versions"})
    measured = measured_value(*in_unit(cell, experiment.unit))
    printed = experiment.printed(cell.case, cell.published_row)
    return {
        "paper": f"{paper.title}: {reference(paper)}",
        "table": f"{experiment.title}, {experiment.column_words()[cell.case]}",
        "parameters": dict(case.parameters) if case else {},
        "parts": [] if case else [f"{cell.experiment}/{name}" for name in experiment.case_names()[:-1]],
        "imports": [str(entry) for entry in imports if files & {*entry.files}],
        "software": software,
        "rounds": list(map(asdict, rounds)),
        "sources": list(dict.fromkeys(say_source(row.commit) for row in rounds)),
        "replay": _replay_of(case, records, cell.profile) if case else None,
        "cell": asdict(cell),
        "speedup": asdict(speedup),
        "published_row": label_row(paper, paper.rows[cell.published_row]) if cell.published_row else "",
        "published": printed.text if printed else "",
        "here": f"{measured.text} {measured.interval}".strip(),
        "unit": words_of_unit(experiment),
        "command": measure_command(cell, experiment, len(rounds) or cell.rounds, smoke=tables.smoke),
    }  # fmt: skip
