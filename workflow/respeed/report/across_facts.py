"""Machines beside one another, case by case, where they are few."""

from typing import Any

from respeed.analysis.columns import rows_of
from respeed.numbers import format_measured
from respeed.tables.build import Tables


def across_facts(tables: Tables, machines: list[str]) -> list[dict[str, Any]]:
    """For each table a row a case, a column a machine; empty where one machine alone was measured."""
    found = {(row.paper, row.experiment, row.case, row.machine): row for row in rows_of(tables.across)}
    groups = []
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            cases = dict.fromkeys(
                row.case
                for row in rows_of(tables.across)
                if (row.paper, row.experiment) == (paper.name, experiment.name)
            )
            rows = [
                [case, *(_text(found.get((paper.name, experiment.name, case, machine))) for machine in machines)]
                for case in cases
            ]
            if rows:
                groups.append({"title": experiment.title, "machines": machines, "rows": rows})
    return groups


def _text(row: Any) -> str:
    if row is None:
        return "–"
    if row.verdict == "base":
        return "fastest"
    text = format_measured(row.speedup, row.speedup_low, row.speedup_high, unit="x")
    return f"{text} =" if row.verdict == "indistinguishable" else text
