"""Builds every table from the records that exist."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.columns import TABLES, make_frame, rows_of, write_table
from respeed.analysis.cost import make_costs
from respeed.analysis.hardware import describe_machine, hardware_of, make_rates, make_scaling
from respeed.analysis.machines import compare_machines, measure_spread, rank_machines
from respeed.analysis.roofline import make_roofline
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import make_speedups
from respeed.analysis.totals import make_totals
from respeed.estimators.rounds import CellKey, CellRounds, collect_rounds
from respeed.model.paper import Paper
from respeed.records.store import (
    left_out_if_odd,
    read_description,
    read_learning,
    read_machines,
    read_machines_hardware,
)
from respeed.schedule.selection import papers_shown, profiles_shown, told_shown
from respeed.schedule.spec import choose_current
from respeed.tables import (
    breakdown,
    cells,
    factors,
    parts,
    speedups,
    totals,
    wholes,
)
from respeed.tables.why import make_why

# Made machine by machine, from the records and the sheet of each.
OF_MACHINES = ("hardware", "facts", "backends", "rates", "scaling")


@dataclass(frozen=True)
class Tables:
    """All that figures and the report show."""

    papers: dict[str, Paper]
    origins: dict[str, Any]
    rounds: dict[CellKey, CellRounds]
    cells: list[cells.Cell]
    round_frame: pd.DataFrame
    cell_frame: pd.DataFrame
    speedup_frame: pd.DataFrame
    total_frame: pd.DataFrame
    speedups: list[speedups.Speedup]
    claims: pd.DataFrame
    factors: list[factors.Factors]
    why: list[breakdown.Breakdown]
    roofline: pd.DataFrame
    parts: list[parts.Part]
    totals: list[totals.Total]
    wholes: list[wholes.Whole]
    across: pd.DataFrame
    costs: pd.DataFrame
    spread: pd.DataFrame
    standings: pd.DataFrame
    smoke: bool
    hardware: pd.DataFrame
    facts: pd.DataFrame
    backends: pd.DataFrame
    rates: pd.DataFrame
    scaling: pd.DataFrame

    @cached_property
    def learning(self) -> list[dict[str, Any]]:
        """What was learned on these machines; read when it is asked for, as no table has any of it."""
        return [record for machine in self.origins for record in read_learning(self.smoke, machine)]


def make_tables(smoke: bool, only: Collection[str] | None = None, papers: Collection[str] | None = None) -> Tables:
    """Read the records of all machines, or of `only` those, and derive every table of the chosen `papers` from them
    (see schedule.selection)."""
    shown = papers_shown(smoke, papers)
    descriptions: dict[str, dict[str, Any]] = {}
    rounds: dict[CellKey, CellRounds] = {}
    frames: list[pd.DataFrame] = []
    machines: dict[str, list[dict[str, Any]]] = {name: [] for name in OF_MACHINES}
    # One machine's records at a time: a hundred machines' are gigabytes.
    for machine, records in read_machines(smoke, only or None):
        with left_out_if_odd(machine, smoke):
            records = choose_current(machine, smoke, records, shown)
            mine = collect_rounds(records)
            frame = read_rounds(records)
            description = read_description(machine, smoke)
            if records or description:
                rows = describe_machine(machine, records, frame, description)
                sheet = read_machines_hardware(machine, smoke, hardware_of(records, description))
                rows |= {"rates": make_rates(sheet), "scaling": make_scaling(sheet)} if sheet else {}
                for name, made in rows.items():
                    machines[name] += made
            if description:
                descriptions[machine] = description
            rounds |= mine
            frames.append(frame)
    all_cells = cells.make_cells(rounds, shown, profiles_shown(), descriptions, smoke)
    all_speedups = speedups.make_speedups(all_cells, rounds, shown)
    all_factors = factors.make_factors(all_cells, rounds, shown)
    all_totals = totals.make_totals(all_cells, rounds, shown, smoke)
    round_frame = pd.concat(frames, ignore_index=True) if frames else read_rounds([])
    cell_frame = make_cells(round_frame, shown, profiles_shown(), descriptions, smoke)
    speedup_frame = make_speedups(cell_frame, round_frame, shown)
    total_frame = make_totals(cell_frame, round_frame, shown, smoke)
    return Tables(
        papers=shown,
        origins={row.machine: row for row in rows_of(make_frame(machines["hardware"], "hardware"))},
        rounds=rounds,
        cells=all_cells,
        round_frame=round_frame,
        cell_frame=cell_frame,
        speedup_frame=speedup_frame,
        total_frame=total_frame,
        speedups=all_speedups,
        claims=make_claims(cell_frame, round_frame, shown, total_frame),
        factors=all_factors,
        why=make_why(all_cells, rounds, shown, all_speedups, all_factors, smoke),
        roofline=make_roofline(cell_frame, round_frame, shown),
        parts=parts.make_parts(all_cells, rounds, shown),
        totals=all_totals,
        wholes=wholes.make_wholes(all_cells, rounds, shown),
        across=compare_machines(cell_frame, round_frame),
        costs=make_costs(cell_frame, round_frame, shown, speedup_frame, told_shown(), smoke),
        spread=measure_spread(cell_frame, speedup_frame),
        standings=rank_machines(cell_frame, round_frame),
        smoke=smoke,
        **{name: make_frame(rows, name) for name, rows in machines.items()},
    )


def write_tidy(tables: Tables, folder: Path) -> None:
    """Write every tidy table as <folder>/<name>.csv."""
    for name, frame in _frames(tables).items():
        write_table(frame, name, folder)


def _frames(tables: Tables) -> dict[str, pd.DataFrame]:
    """The tidy tables as frames, while they move to respeed.analysis."""
    rows: dict[str, Iterable[Any]] = {
        "factors": tables.factors,
        "why": tables.why,
        "parts": tables.parts,
        "wholes": tables.wholes,
    }
    found = {
        name: make_frame(({column: getattr(row, column) for column in TABLES[name].columns} for row in mine), name)
        for name, mine in rows.items()
    }
    found |= {
        "claims": tables.claims,
        "roofline": tables.roofline,
        "machines": tables.across,
        "cost": tables.costs,
        "spread": tables.spread,
        "standings": tables.standings,
        "rounds": tables.round_frame,
        "cells": tables.cell_frame,
        "speedups": tables.speedup_frame,
        "totals": tables.total_frame,
        **{name: getattr(tables, name) for name in OF_MACHINES},
    }
    return {name: found[name] for name in TABLES}
