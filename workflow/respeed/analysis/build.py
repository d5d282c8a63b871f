"""Make all tidy tables from the records that exist."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.columns import make_frame, write_csv
from respeed.analysis.hardware import describe_machine
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, add_totals, make_speedups
from respeed.analysis.tables import TABLES, Cell, ClaimRow, Fact, Factors, Speedup, dtypes_of
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
        for name, row_type in TABLES.items():
            columns = [*dtypes_of(row_type)]
            write_csv(self[name][columns], folder / f"{name}.csv")


def make_tables(
    smoke: bool,
    papers: Papers,
    profiles: Profiles,
    only: Collection[str] = (),
) -> Tables:
    """Read the records of all machines, or only of the machines in `only`, and derive every table of the `papers`."""
    descriptions: dict[str, Description] = {}
    facts: list[Fact] = []
    measured = [read_rounds([], papers)]
    # One machine's records at a time, since the records of a hundred machines are gigabytes.
    for machine, records in read_machines(smoke, only):
        description = read_description(machine, smoke)
        if records or description:
            imports = read_imports(machine, smoke)
            facts += describe_machine(machine, records, description, imports)
        measured.append(read_rounds(records, papers))
        if description:
            descriptions[machine] = description
    rounds = pd.concat(measured, ignore_index=True)
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, papers, profiles, descriptions), samples, papers)
    frames = {
        "rounds": rounds,
        "cells": make_frame(cells, Cell),
        "speedups": make_frame(make_speedups(cells, samples, papers), Speedup),
        "claims": make_frame(make_claims(cells, samples, papers), ClaimRow),
        "why": make_frame(make_why(cells, samples, papers), Factors),
        "facts": make_frame(facts, Fact),
    }
    return Tables(papers, smoke, frames)
