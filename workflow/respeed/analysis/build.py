"""Every tidy table at once, from the records that exist."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.columns import TABLES, make_frame, write_table
from respeed.analysis.hardware import describe_machine
from respeed.analysis.hardware_sheet import make_rates, make_scaling
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, add_totals, compare_machines, make_speedups
from respeed.analysis.why import make_why
from respeed.inputs.machines import Told
from respeed.inputs.profiles import Profile
from respeed.model.paper import Paper
from respeed.records.store import read_description, read_hardware_sheet, read_machines

# Of the records of one machine, those that count: by its name, whether they are of smoke runs, and the papers.
Choose = Callable[[str, bool, list[dict[str, Any]], Mapping[str, Paper]], list[dict[str, Any]]]


@dataclass(frozen=True)
class Tables:
    """The tidy tables of a run by name, each a frame of the columns that `columns.toml` declares; `rounds` has INSIDE
    too."""

    papers: Mapping[str, Paper]
    smoke: bool
    frames: Mapping[str, pd.DataFrame]

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.frames[name]

    def write(self, folder: Path) -> None:
        """Write every table as <folder>/<name>.csv."""
        for name in TABLES:
            write_table(self[name], name, folder)


def make_tables(
    smoke: bool,
    papers: Mapping[str, Paper],
    profiles: Mapping[str, Profile],
    told: Mapping[str, Told],
    choose: Choose,
    only: Collection[str] | None = None,
) -> Tables:
    """Read the records of all machines, or of `only` those, and derive every table of the `papers` from them. `told` is
    what is told of machines, as their price; `choose` says which records of a machine count."""
    descriptions: dict[str, dict[str, Any]] = {}
    frames = [read_rounds([])]
    of_machines: dict[str, list[dict[str, Any]]] = {name: [] for name in ("facts", "rates", "scaling")}
    prices = {machine: one.price for machine, one in told.items() if one.price}
    # One machine's records at a time: a hundred machines' are gigabytes.
    for machine, records in read_machines(smoke, only or None):
        records = choose(machine, smoke, records, papers)
        mine, description = read_rounds(records), read_description(machine, smoke)
        rows = {}
        if records or description:
            rows = {"facts": describe_machine(machine, records, mine, description, prices.get(machine))}
            if sheet := read_hardware_sheet(machine, smoke):
                rows |= {"rates": make_rates(sheet), "scaling": make_scaling(sheet)}
        for name, made in rows.items():
            of_machines[name] += made
        frames.append(mine)
        if description:
            descriptions[machine] = description
    rounds = pd.concat(frames, ignore_index=True)
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, papers, profiles, descriptions, smoke, prices), samples, papers, smoke)
    speedups = make_speedups(cells, samples, papers)
    found = {
        "rounds": rounds,
        "cells": cells,
        "speedups": speedups,
        "claims": make_claims(cells, samples, papers),
        "why": make_why(cells, samples, speedups, papers, smoke),
        "machines": compare_machines(cells, samples),
    }
    return Tables(papers, smoke, found | {name: make_frame(rows, name) for name, rows in of_machines.items()})
