"""What the report shows of a machine's hardware sheet: its rates, and what more threads bring."""

from dataclasses import asdict
from typing import Any

from respeed.analysis.columns import make_frame, rows_of
from respeed.figures.hardware import why_no_curve
from respeed.paths import results_folder
from respeed.tables.build import Tables
from respeed.tables.missing import missing_scaling
from respeed.tables.sheets import Line, beside_machines, differing_peaks, make_sheet_table, scaling_lines


def sheet_facts(tables: Tables, machines: list[str]) -> list[dict[str, Any]]:
    """A section for each machine that has a sheet."""
    measured = {row.machine for row in tables.reached}
    return [_section(tables, machine) for machine in machines if machine in measured]


def sheets_across(tables: Tables, machines: list[str]) -> dict[str, Any]:
    """The machines beside one another; without rows where fewer than two have a sheet."""
    return {"machines": machines, "rows": beside_machines(tables.reached, tables.scaling, machines)}


def _section(tables: Tables, machine: str) -> dict[str, Any]:
    reached = [row for row in tables.reached if row.machine == machine]
    scaled = [row for row in tables.scaling if row.machine == machine]
    table = make_sheet_table(reached, bare=tables.smoke)
    counts, lines = scaling_lines(scaled, bare=tables.smoke)
    has_curve = len({row.threads for row in scaled if row.speedup}) > 1
    points = list(rows_of(tables.roofline[tables.roofline["machine"] == machine]))
    passes = [row.passes for row in scaled if row.passes] or [0]
    return {
        "machine": machine,
        "sizes": table.sizes,
        "columns": table.columns,
        "groups": [{"heading": heading, "lines": _lines(found)} for heading, found in table.groups],
        "missing": table.missing,
        "missing_points": missing_scaling(scaled) if has_curve else [],
        "differs": [] if tables.smoke else differing_peaks(reached, points),
        "no_curve": "" if has_curve else why_no_curve(make_frame(map(vars, scaled), "scaling")),
        "library": next((row.library for row in scaled if row.library), ""),
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
