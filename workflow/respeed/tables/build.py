"""The tables of respeed.analysis as lists of rows, for the report until it reads results/tables."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from respeed.analysis import build
from respeed.analysis.columns import rows_of
from respeed.model.paper import Paper
from respeed.records.store import read_learning
from respeed.schedule.selection import papers_shown, profiles_shown, told_shown
from respeed.schedule.spec import choose_current
from respeed.tables.cells import Cell, cells_of
from respeed.tables.speedups import Speedup, speedups_of


def read_tables(
    smoke: bool, only: Collection[str] | None = None, papers: Collection[str] | None = None
) -> build.Tables:
    """Every tidy table of the records of all machines, or of `only` those, and of the chosen `papers` (see
    schedule.selection)."""
    return build.make_tables(smoke, papers_shown(smoke, papers), profiles_shown(), told_shown(), choose_current, only)


@dataclass(frozen=True)
class Tables:
    """All that the report shows."""

    frames: build.Tables
    papers: dict[str, Paper]
    smoke: bool
    origins: dict[str, Any]
    cells: list[Cell]
    speedups: list[Speedup]
    factors: list[Any]
    why: list[Any]
    parts: list[Any]
    totals: list[Any]
    wholes: list[Any]
    cell_frame: pd.DataFrame
    claims: pd.DataFrame
    roofline: pd.DataFrame
    across: pd.DataFrame
    costs: pd.DataFrame
    facts: pd.DataFrame
    backends: pd.DataFrame
    rates: pd.DataFrame
    scaling: pd.DataFrame

    @cached_property
    def learning(self) -> list[dict[str, Any]]:
        """What was learned on these machines; read when it is asked for, as no table has any of it."""
        return [record for machine in self.origins for record in read_learning(self.smoke, machine)]


def make_tables(smoke: bool, only: Collection[str] | None = None, papers: Collection[str] | None = None) -> Tables:
    frames = read_tables(smoke, only, papers)
    lists: dict[str, Any] = {
        name: list(rows_of(getattr(frames, name))) for name in ("factors", "why", "parts", "totals", "wholes")
    }
    same = {name: getattr(frames, name) for name in ("claims", "roofline", "facts", "backends", "rates", "scaling")}
    return Tables(
        frames=frames,
        papers=dict(frames.papers),
        smoke=smoke,
        origins={row.machine: row for row in rows_of(frames.hardware)},
        cells=list(cells_of(frames.cells, frames.papers)),
        speedups=list(speedups_of(frames.speedups, frames.papers)),
        cell_frame=frames.cells,
        across=frames.machines,
        costs=frames.cost,
        **lists,
        **same,
    )
