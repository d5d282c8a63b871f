"""Make all tidy tables from the records that exist."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.columns import make_frame, write_table
from respeed.analysis.hardware import describe_machine
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, add_totals, compare_machines, make_speedups
from respeed.analysis.tables import TABLES, Fact, MachineRow
from respeed.analysis.why import make_why
from respeed.inputs.machines import Profiles
from respeed.model import Papers
from respeed.records import Description, read_description, read_imports, read_machines


@dataclass(frozen=True)
class Tables:
    """The tidy tables of a run, by name.

    Each table is a frame with the columns of its class; `rounds` also has those of `JudgedRound`.
    """

    papers: Papers
    smoke: bool
    frames: Mapping[str, pd.DataFrame]

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return the table called `name`."""
        return self.frames[name]

    def write(self, folder: Path) -> None:
        """Write every table as <folder>/<name>.csv."""
        for name in TABLES:
            write_table(self[name], name, folder)


def make_tables(
    smoke: bool,
    papers: Papers,
    profiles: Profiles,
    only: Collection[str] = (),
) -> Tables:
    """Read the records of all machines, or only of the machines in `only`, and derive every table of the `papers`."""
    descriptions: dict[str, Description] = {}
    facts: list[Fact] = []
    frames = [read_rounds([], papers)]
    # One machine's records at a time, since the records of a hundred machines are gigabytes.
    for machine, records in read_machines(smoke, only):
        of_machine = read_rounds(records, papers)
        description = read_description(machine, smoke)
        if records or description:
            imports = read_imports(machine, smoke)
            facts += describe_machine(machine, records, description, imports)
        frames.append(of_machine)
        if description:
            descriptions[machine] = description
    rounds = pd.concat(frames, ignore_index=True)
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, papers, profiles, descriptions), samples, papers)
    rows: dict[str, Sequence[MachineRow]] = {
        "cells": cells,
        "speedups": make_speedups(cells, samples, papers),
        "claims": make_claims(cells, samples, papers),
        "why": make_why(cells, samples, papers),
        "machines": compare_machines(cells, samples),
        "facts": facts,
    }
    return Tables(papers, smoke, {"rounds": rounds} | {name: make_frame(table, name) for name, table in rows.items()})
