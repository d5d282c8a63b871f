"""What the report says where there are too many machines to show each in full: where they stand, a row each."""

from collections.abc import Mapping
from typing import Any

from respeed.model.paper import Experiment, Paper
from respeed.numbers import format_number
from respeed.paths import results_folder
from respeed.tables.build import Tables
from respeed.tables.others import Others


def beside_others(tables: Tables, others: Others, in_full: list[str]) -> dict[str, Any] | None:
    """Where the machines that are shown in full stand, and a row for every machine; None where all are."""
    if not others.left_out:
        return None
    experiments = [(paper.name, one) for paper in tables.papers.values() for one in paper.experiments.values()]
    by_machine = {(one.machine, one.paper, one.experiment): one for one in others.standings}
    ranked = {(one.paper, one.experiment) for one in others.standings}
    columns = [(paper, experiment) for paper, experiment in experiments if (paper, experiment.name) in ranked]
    best = {(one.paper, one.experiment): one.machine for one in reversed(others.standings)}
    return {
        "machines": len(others.hardware),
        "first": len(in_full),
        "left_out": others.left_out,
        "tables": str(results_folder(tables.smoke) / "tables"),
        "records": str(results_folder(tables.smoke) / "records"),
        "header": [experiment.title for _, experiment in columns],
        "standing": [
            [experiment.title, machine, *_place(by_machine.get((machine, paper, experiment.name))),
             best[paper, experiment.name]]
            for paper, experiment in columns
            for machine in in_full
        ],
        "rows": [
            [machine, _hardware(row), *(_share(by_machine.get((machine, paper, one.name))) for paper, one in columns)]
            for machine, row in sorted(others.hardware.items(), key=lambda one: one[0] not in in_full)
        ],
    }  # fmt: skip


def _place(standing: Any) -> tuple[str, str]:
    if standing is None:
        return "–", "not measured"
    place = f"{standing.rank} of {standing.machines}" if standing.rank else "–"
    return place, f"{standing.share:.0%}{_cases(standing)}"


def _share(standing: Any) -> str:
    return f"{standing.share:.1%}{_cases(standing)}" if standing else "–"


def _cases(standing: Any) -> str:
    return "" if standing.rank else f" ({standing.cases} of {standing.all_cases} cases)"


def _hardware(row: Mapping[str, str]) -> str:
    return ", ".join(filter(None, [row["cpu"], f"{row['usable_cores']} cores", row["accelerators"]]))


def left_out_text(paper: Paper, experiment: Experiment, tables: Tables, others: Others) -> str:
    """How many machines a table leaves out, and where they are; empty where it has all."""
    if not others.left_out:
        return ""
    file = results_folder(tables.smoke) / "tables" / paper.name / f"{experiment.name}.csv"
    return f"The rows of {others.left_out} other machines are in {file}."


def spread_rows(paper: Paper, experiment: Experiment, others: Others) -> list[list[str]]:
    """How far the machines lie apart in each case: seconds of the fastest row of each."""
    found = others.spread_of("seconds", paper.name, experiment.name)
    numbers = ("lowest", "lower_quartile", "median", "upper_quartile", "highest")
    return [
        [case, str(one.machines), *(format_number(getattr(one, name)) for name in numbers)]
        for case, one in found.items()
    ]


def behind(others: Others, what: str, spreads: Mapping[str, Any]) -> str:
    """What a caption says of the pale bars, if there are any."""
    if not spreads:
        return ""
    machines = max(one.machines for one in spreads.values())
    return (
        f" Pale bars are {what}: the range over {machines} machines, its middle half wider, the median a dash. "
        f"The {others.left_out} machines that are not shown in full are in these bars alone."
    )
