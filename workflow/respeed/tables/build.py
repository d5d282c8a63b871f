"""Builds every table from the records that exist."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from respeed.estimators.rounds import CellKey, CellRounds, collect_rounds
from respeed.load.hardware import load_profiles
from respeed.load.papers import load_papers
from respeed.model.paper import Paper
from respeed.model.timing import SMOKE_STAMP
from respeed.plan.machines import machines_in_full
from respeed.record.files import read_json, read_learning, read_records, recorded_machines
from respeed.record.paths import machine_sheet, results_folder
from respeed.tables import cells, claims, factors, machines, origins, parts, speedups, spread, standings, totals, wholes
from respeed.tables.published import PublishedTable, make_published_table
from respeed.tables.write import write_published, write_tidy
from respeed.tables.write_pages import write_pages


@dataclass(frozen=True)
class Tables:
    """All that figures and the report show."""

    papers: dict[str, Paper]
    origins: dict[str, origins.Origin]
    rounds: dict[CellKey, CellRounds]
    cells: list[cells.Cell]
    speedups: list[speedups.Speedup]
    claims: list[claims.Verdict]
    factors: list[factors.Factors]
    parts: list[parts.Part]
    totals: list[totals.Total]
    wholes: list[wholes.Whole]
    across: list[machines.Across]
    published: list[PublishedTable]
    smoke: bool

    @cached_property
    def learning(self) -> list[dict[str, Any]]:
        """What was learned on these machines; read when it is asked for, as no table has any of it."""
        return [record for machine in self.origins for record in read_learning(self.smoke, machine)]


def make_tables(smoke: bool, only: Collection[str] | None = None) -> Tables:
    """Read the records of all machines, or of `only` those, and derive every table from them."""
    papers, there = load_papers(), recorded_machines(smoke)
    sheets: dict[str, dict[str, Any]] = {}
    rounds: dict[CellKey, CellRounds] = {}
    found: dict[str, origins.Origin] = {}
    for machine in there if only is None else sorted(only):
        # One machine's records at a time: a hundred machines' are gigabytes.
        records = list(read_records(smoke, machine))
        mine = collect_rounds(records)
        sheet = machine_sheet(machine, smoke)
        if sheet.exists():
            sheets[machine] = read_json(sheet)
        if records or machine in sheets:
            found[machine] = origins.describe_origin(machine, records, mine, sheets.get(machine))
        rounds |= mine
    all_cells = cells.make_cells(rounds, papers, load_profiles(), sheets, smoke)
    all_speedups = speedups.make_speedups(all_cells, rounds, papers)
    published = [
        make_published_table(paper, experiment, all_cells, all_speedups, smoke)
        for paper in papers.values()
        for experiment in paper.experiments.values()
    ]
    return Tables(
        papers=papers,
        origins=found,
        rounds=rounds,
        cells=all_cells,
        speedups=all_speedups,
        claims=claims.make_claims(all_cells, rounds, papers),
        factors=factors.make_factors(all_cells, rounds, papers),
        parts=parts.make_parts(all_cells, rounds, papers),
        totals=totals.make_totals(all_cells, rounds, papers, smoke),
        wholes=wholes.make_wholes(all_cells, rounds, papers),
        across=machines.compare_machines(all_cells, rounds),
        published=published,
        smoke=smoke,
    )


def build_tables(smoke: bool, machine: str | None = None) -> None:
    """Write results/tables: the tidy tables, each published table as .csv, .md and .tex, and what is read as .html.

    All machines are in each .csv; in what people read, those that are shown in full (see plan.machines).
    """
    tables = make_tables(smoke)
    folder = results_folder(smoke) / "tables"
    write_tidy(folder / "cells.csv", cells.COLUMNS, tables.cells)
    write_tidy(folder / "speedups.csv", speedups.COLUMNS, tables.speedups)
    write_tidy(folder / "claims.csv", claims.COLUMNS, tables.claims)
    write_tidy(folder / "factors.csv", factors.COLUMNS, tables.factors)
    write_tidy(folder / "parts.csv", parts.COLUMNS, tables.parts)
    write_tidy(folder / "totals.csv", totals.COLUMNS, tables.totals)
    write_tidy(folder / "wholes.csv", wholes.COLUMNS, tables.wholes)
    write_tidy(folder / "machines.csv", machines.COLUMNS, tables.across)
    write_tidy(folder / "spread.csv", spread.COLUMNS, spread.measure_spread(tables.cells, tables.speedups))
    write_tidy(folder / "standings.csv", standings.COLUMNS, standings.rank_machines(tables.cells, tables.rounds))
    write_tidy(folder / "hardware.csv", origins.COLUMNS, tables.origins.values())
    in_full = machines_in_full(smoke, machine)
    stamp = SMOKE_STAMP if smoke else ""
    for table in tables.published:
        write_published(folder / table.paper, table, stamp, in_full)
    write_pages(folder, tables, in_full, stamp, machine)
