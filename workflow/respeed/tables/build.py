"""Builds every table from the records that exist."""

from dataclasses import dataclass
from typing import Any

from respeed.load.hardware import load_profiles
from respeed.load.papers import load_papers
from respeed.model.paper import Paper
from respeed.model.timing import SMOKE_STAMP
from respeed.record.files import read_learning, read_records, read_sheets
from respeed.record.paths import results_folder
from respeed.tables import cells, factors, machines, parts, speedups, totals, wholes
from respeed.tables.published import PublishedTable, make_published_table
from respeed.tables.rounds import CellKey, CellRounds, collect_rounds
from respeed.tables.write import write_published, write_tidy


@dataclass(frozen=True)
class Tables:
    """All that figures and the report show."""

    papers: dict[str, Paper]
    records: list[dict[str, Any]]
    learning: list[dict[str, Any]]
    sheets: dict[str, dict[str, Any]]
    rounds: dict[CellKey, CellRounds]
    cells: list[cells.Cell]
    speedups: list[speedups.Speedup]
    factors: list[factors.Factors]
    parts: list[parts.Part]
    totals: list[totals.Total]
    wholes: list[wholes.Whole]
    across: list[machines.Across]
    published: list[PublishedTable]
    smoke: bool


def make_tables(smoke: bool) -> Tables:
    """Read all records and derive every table from them."""
    papers, records, sheets = load_papers(), list(read_records(smoke)), read_sheets(smoke)
    rounds = collect_rounds(records)
    all_cells = cells.make_cells(rounds, papers, load_profiles(), sheets, smoke)
    all_speedups = speedups.make_speedups(all_cells, rounds, papers)
    published = [
        make_published_table(paper, experiment, all_cells, all_speedups, smoke)
        for paper in papers.values()
        for experiment in paper.experiments.values()
    ]
    return Tables(
        papers=papers,
        records=records,
        learning=read_learning(smoke),
        sheets=sheets,
        rounds=rounds,
        cells=all_cells,
        speedups=all_speedups,
        factors=factors.make_factors(all_cells, rounds, papers),
        parts=parts.make_parts(all_cells, rounds, papers),
        totals=totals.make_totals(all_cells, rounds, papers, smoke),
        wholes=wholes.make_wholes(all_cells, rounds, papers),
        across=machines.compare_machines(all_cells, rounds),
        published=published,
        smoke=smoke,
    )


def build_tables(smoke: bool) -> None:
    """Write results/tables: the tidy tables, and each published table as .csv, .md and .tex."""
    tables = make_tables(smoke)
    folder = results_folder(smoke) / "tables"
    write_tidy(folder / "cells.csv", cells.COLUMNS, tables.cells)
    write_tidy(folder / "speedups.csv", speedups.COLUMNS, tables.speedups)
    write_tidy(folder / "factors.csv", factors.COLUMNS, tables.factors)
    write_tidy(folder / "parts.csv", parts.COLUMNS, tables.parts)
    write_tidy(folder / "totals.csv", totals.COLUMNS, tables.totals)
    write_tidy(folder / "wholes.csv", wholes.COLUMNS, tables.wholes)
    write_tidy(folder / "machines.csv", machines.COLUMNS, tables.across)
    for table in tables.published:
        write_published(folder / table.paper, table, SMOKE_STAMP if smoke else "")
