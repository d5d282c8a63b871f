"""What the report shows of a machine's hardware sheet: its rates, and what more threads bring."""

from dataclasses import asdict
from typing import Any

from respeed.analysis.columns import rows_of
from respeed.analysis.hardware_sheet import (
    Line,
    beside_machines,
    differing_peaks,
    list_sizes,
    missing_rates,
    missing_scaling,
    tabulate_rates,
    tabulate_scaling,
)
from respeed.figures.hardware import why_no_curve
from respeed.paths import results_folder
from respeed.tables.build import Tables


def sheet_facts(tables: Tables, machines: list[str]) -> list[dict[str, Any]]:
    """A section for each machine that has a sheet."""
    measured = set(tables.rates["machine"])
    return [_section(tables, machine) for machine in machines if machine in measured]


def sheets_across(tables: Tables, machines: list[str]) -> dict[str, Any]:
    """The machines beside one another; without rows where fewer than two have a sheet."""
    rows = beside_machines(list(rows_of(tables.rates)), list(rows_of(tables.scaling)), machines)
    return {"machines": machines, "rows": rows}


def _section(tables: Tables, machine: str) -> dict[str, Any]:
    rates, scaling, points = (
        list(rows_of(frame[frame["machine"] == machine])) for frame in (tables.rates, tables.scaling, tables.roofline)
    )
    columns, groups = tabulate_rates(rates, bare=tables.smoke)
    counts, lines = tabulate_scaling(scaling, bare=tables.smoke)
    has_curve = len({row.threads for row in scaling if row.speedup}) > 1
    passes = [row.passes for row in scaling if row.passes] or [0]
    return {
        "machine": machine,
        "sizes": list_sizes(rates),
        "columns": columns,
        "groups": [{"heading": heading, "lines": _lines(found)} for heading, found in groups],
        "missing": missing_rates(rates),
        "missing_points": missing_scaling(scaling) if has_curve else [],
        "differs": [] if tables.smoke else differing_peaks(rates, points),
        "no_curve": "" if has_curve else why_no_curve(tables.scaling[tables.scaling["machine"] == machine]),
        "library": next((row.library for row in scaling if row.library), ""),
        "passes": _passes(min(passes), max(passes)),
        "counts": [f"{count} thread{'s' if count > 1 else ''}" for count in counts],
        "scaling": _lines(lines),
        "curve": {
            "path": f"/{results_folder(tables.smoke)}/figures/{machine}-scaling.svg",
            "alt": f"Chart, both axes logarithmic: speedup over one thread on {machine} by the number of threads, "
            "beside the ideal. Its numbers are in the table below it.",
        },
    }


def _passes(least: int, most: int) -> str:
    if least < most:
        return f"{least} to {most} passes"
    return f"{most} pass{'es' if most != 1 else ''}"


def _lines(lines: list[Line]) -> list[dict[str, Any]]:
    return [{"label": label, "values": [asdict(value) for value in values]} for label, values in lines]
