"""What the report shows of one experiment on one machine: figures, totals, factors, and every cell for the appendix."""

from typing import Any

from respeed.model.paper import Experiment, Paper
from respeed.numbers import format_duration, format_number, format_range, format_share, format_speedup
from respeed.paths import results_folder
from respeed.report.other_facts import behind
from respeed.tables.build import Tables
from respeed.tables.cells import Cell
from respeed.tables.learning import shown_program
from respeed.tables.others import Others
from respeed.tables.speedups import Speedup

# What the figures show.
SHOWN = {"seconds": "times or rates", "speedup": "speedups"}


def run_facts(paper: Paper, experiment: Experiment, machine: str, tables: Tables, others: Others) -> dict[str, Any]:
    where = (machine, paper.name, experiment.name)
    cells = [cell for cell in tables.cells if (cell.machine, cell.paper, cell.experiment) == where]
    speedups = [row for row in tables.speedups if (row.machine, row.paper, row.experiment) == where]
    unlike = {cell.profile for cell in cells if not cell.in_full_precision}
    learned = [
        record for record in tables.learning if (record["machine"], record["paper"], record["experiment"]) == where
    ]
    figures = f"/{results_folder(tables.smoke)}/figures/{paper.name}/{experiment.name}/{machine}"
    return {
        "machine": machine,
        "measured": any(cell.seconds for cell in cells),
        "figures": [_figure(kind, figures, paper, experiment, machine, others) for kind in ("speedup", "seconds")],
        "learned": _learned(experiment, machine, figures, learned[0]) if learned and learned[0]["programs"] else [],
        "cells": _every_cell(experiment, cells, speedups, smoke=tables.smoke),
        "parts": _parts(experiment, [row for row in tables.parts if _of(row) == where], smoke=tables.smoke),
        "factors": [
            [
                row.label,
                row.case,
                *(
                    f"{format_number(value)}x ({format_range(low, high)})"
                    for value, low, high in (
                        (row.speedup, row.speedup_low, row.speedup_high),
                        (row.algorithm_factor, row.algorithm_low, row.algorithm_high),
                        (row.hardware_factor, row.hardware_low, row.hardware_high),
                    )
                ),
                format_speedup(row.published),
            ]
            for row in tables.factors
            if _of(row) == where
        ],
        "totals": _totals(
            [
                row
                for row in tables.totals
                # As in the tables above: a row that answers none of the paper's is there if it was measured.
                if row.machine in {"paper", machine} and (row.seconds or row.profile not in unlike)
            ],
            where,
        ),
        "headline_examples": next(
            (
                f"{row.headline_examples:,.0f}"
                for row in tables.totals
                if where[1:] == (row.paper, row.experiment) and row.headline_examples
            ),
            "",
        ),
        "wholes": [
            [
                row.label,
                row.case,
                format_number(row.extrapolated_seconds) if row.extrapolated_seconds else "",
                format_number(row.whole_seconds),
                format_number(row.ratio) if row.ratio else "",
            ]
            for row in tables.wholes
            if _of(row) == where
        ],
        "missing": _missing(cells),
    }


def _of(row: Any) -> tuple[str, str, str]:
    return row.machine, row.paper, row.experiment


def _figure(
    kind: str, figures: str, paper: Paper, experiment: Experiment, machine: str, others: Others
) -> dict[str, str]:
    what = {"seconds": "each machine's fastest row", "speedup": "the highest speedup of each machine's accelerator"}
    return {
        "path": f"{figures}-{kind}.svg",
        "caption": f"{experiment.title} on {machine}. Bars are 95 % intervals."
        + behind(others, what[kind], others.spread_of(kind, paper.name, experiment.name)),
        "alt": f"Chart: {experiment.title} on {machine}, {SHOWN[kind]} by case. Its numbers are in the tables.",
    }


def _totals(rows: list[Any], where: tuple[str, str, str]) -> list[list[str]]:
    texts = []
    for row in rows:
        if where[1:] != (row.paper, row.experiment):
            continue
        if row.seconds is None:
            texts.append([row.label, f"not known: {row.reason}", "", ""])
            continue
        interval = "derived, no interval" if row.machine == "paper" else format_range(row.seconds_low, row.seconds_high)
        texts.append([row.label, format_number(row.seconds), interval, format_duration(row.headline_seconds)])
    return texts


def _learned(experiment: Experiment, machine: str, figures: str, record: dict[str, Any]) -> list[dict[str, str]]:
    program = shown_program(record)
    sizes = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in program["parameters"].items())
    algorithm = experiment.algorithms.get(program["workload"])
    by = f" by {algorithm.label}" if algorithm else ""
    left = (
        "the objective over that of no bases at all" if algorithm else "the reconstruction's square error over variance"
    )
    return [
        {
            "path": f"{figures}-learned.svg",
            "caption": f"Some of what was learned from natural images{by} after {program['steps']} steps, each on its "
            f"own scale, zero as grey. A case of its own, smaller than those that are timed: {sizes}.",
            "alt": f"Grid of small pictures: {experiment.title} on {machine}, what was learned from natural images.",
        },
        {
            "path": f"{figures}-learning.svg",
            "caption": f"What is left to explain, {left}, after so many seconds of steps on all cores; the case of the "
            "pictures above, one run of each program, no interval.",
            "alt": f"Line chart: {experiment.title} on {machine}, what is left to explain against seconds.",
        },
    ]


def _every_cell(
    experiment: Experiment, cells: list[Cell], speedups: list[Speedup], *, smoke: bool
) -> dict[str, list[Any]]:
    """A row a profile and algorithm, a column a case. A cell is two texts: the median seconds with the rate, and
    beneath the share of the peak, the speedup, the clean rounds and the discarded blocks."""
    cases = experiment.case_names(smoke)
    found = {(cell.row, cell.case): cell for cell in cells}
    ratios = {(row.row, row.case): row for row in speedups}
    rows = []
    for name in dict.fromkeys(cell.row for cell in cells if cell.seconds):
        row = [found.get((name, case)) for case in cases]
        label = next(cell.label for cell in row if cell)
        rows.append(
            [
                label,
                [_cell_texts(cell, ratios[name, cell.case]) if cell and cell.seconds else ["–", ""] for cell in row],
            ]
        )
    return {"cases": list(cases), "rows": rows}


def _cell_texts(cell: Cell, speedup: Speedup) -> list[str]:
    rate = f", {format_number(cell.gflops)} GFLOP/s" if cell.gflops else ""
    beneath = [
        format_share(cell.peak_share) if cell.peak_share else "",
        _speedup_text(speedup),
        f"{cell.rounds} ({cell.discarded})",
    ]
    return [f"{format_number(cell.seconds_median or 0.0)} s{rate}", " · ".join(filter(None, beneath))]


def _speedup_text(row: Speedup) -> str:
    if row.verdict == "base" or row.speedup is None:
        return row.verdict
    mark = {"indistinguishable": " =", "unproven": " ?"}.get(row.verdict, "")
    return f"{format_number(row.speedup)}x{mark}"


def _parts(experiment: Experiment, rows: list[Any], *, smoke: bool) -> dict[str, list[Any]]:
    """A row a profile, algorithm and part, a column a case that is timed in parts."""
    cases = [case for case in experiment.case_names(smoke) if case in {row.case for row in rows}]
    found = {(row.label, row.part, row.case): row for row in rows}
    names = list(dict.fromkeys((row.label, row.part) for row in rows))
    return {
        "cases": cases,
        "rows": [
            [
                f"{label}: {part}",
                [format_number(one.seconds) if (one := found.get((label, part, case))) else "–" for case in cases],
            ]
            for label, part in names
        ],
    }


def _missing(cells: list[Cell]) -> list[dict[str, str]]:
    """The rows and cases without a time, grouped by their reason."""
    cases: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if not cell.seconds:
            cases.setdefault((cell.label, f"{cell.status}: {cell.reason}"), []).append(cell.case)
    labels: dict[tuple[str, str], list[str]] = {}
    for (label, reason), names in cases.items():
        labels.setdefault((reason, ", ".join(names)), []).append(label)
    return [{"label": "; ".join(rows), "reason": reason, "cases": names} for (reason, names), rows in labels.items()]
