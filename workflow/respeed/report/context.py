"""All that the report shows as one plain structure: texts, each already formatted, for the templates in report/."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import Any

import pandas as pd

from respeed.analysis.cells import PAPER, words_of_unit
from respeed.analysis.claims import count_results, fold_claims
from respeed.analysis.columns import rows_of
from respeed.analysis.decomposition import COMPARISONS
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.hardware_sheet import beside_machines, describe_sheet
from respeed.analysis.roofline import hardware_roofs, highest_roofs, make_roofline
from respeed.analysis.speedups import CASE
from respeed.figures.results import Outcome, Results
from respeed.model.paper import Experiment, Paper
from respeed.output.published import fold, make_published, summaries_of
from respeed.paths import results_folder
from respeed.text import (
    NOTHING,
    format_duration,
    format_measured,
    format_number,
    format_range,
    format_share,
    format_speedup,
)

# What multiplies to a speedup, in the order in which it is read.
FACTORS = {
    "peaks": "= hardware (ratio of the peaks)",
    "algorithm": "times the algorithm (on one CPU here)",
    "shares": "times use (ratio of the shares of the peak)",
    "rest": "times all else",
}
SIDES = ("the paper's GPU", "the paper's CPU", "GPU here", "CPU here")


def make_context(results: Results) -> dict[str, Any]:
    """The facts file of the report, ready for JSON."""
    dates = sorted(results.table("rounds")["started"].str[:10])
    return {
        "stamp": results.stamp,
        "version": version("respeed"),
        "date": [int(part) for part in dates[-1].split("-")] if dates else None,
        "machines": [_machine(results, machine) for machine in results.machines],
        "across": _across(results),
        "cost": _cost(results),
        "sheets": [_sheet(results, name) for name in results.machines if len(results.table("rates", name))],
        "sheets_across": {
            "machines": list(results.machines),
            "rows": beside_machines(results.table("rates"), results.table("scaling"), results.machines),
        },
        "papers": [_paper(results, paper) for paper in results.papers.values()],
    }


def _grid(
    rows: Iterable[Any], row_of: Callable[[Any], Any], column_of: Callable[[Any], Hashable],
    columns: Sequence[Hashable], show: Callable[[Any], Any], missing: Any = NOTHING,
) -> list[list[Any]]:  # fmt: skip
    """A line for each row in the order in which they come: its name, and what is shown of it in each column, or what
    stands for what is `missing`."""
    found = {(row_of(one), column_of(one)): show(one) for one in rows}
    return [
        [name, [found.get((name, column), missing) for column in columns]]
        for name in dict.fromkeys(name for name, _ in found)
    ]


def _machine(results: Results, machine: str) -> dict[str, Any]:
    """Hardware, software, and how clean its measurements were."""
    facts = results.table("facts", machine)
    parts = {
        part: facts.loc[facts["part"] == part, ["fact", "value"]].to_numpy().tolist()
        for part in ("summary", "hardware", "rounds", "software", "measured", "profiles")
    }
    return parts | {"name": machine, "summary": parts["summary"][0][1]}


def _by_machine(results: Results, table: pd.DataFrame, show: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Return for each table of a paper a row a case and a column a machine; empty where there is no row."""
    groups, machines = [], list(results.machines)
    for paper in results.papers.values():
        for experiment in paper.experiments.values():
            mine = table[(table["paper"] == paper.name) & (table["experiment"] == experiment.name)]
            if lines := _grid(rows_of(mine), lambda row: row.case, lambda row: row.machine, machines, show):
                shown = [[case, *texts] for case, texts in lines]
                groups.append({"title": experiment.title, "machines": machines, "rows": shown})
    return groups


def _across(results: Results) -> list[dict[str, Any]]:
    """Return machines beside one another."""

    def show(row: Any) -> str:
        if row.verdict == "base":
            return "fastest"
        text = format_measured(row.speedup, row.speedup_low, row.speedup_high, unit="x")
        return f"{text} =" if row.verdict == "indistinguishable" else text

    return _by_machine(results, results.table("machines"), show)


def _cost(results: Results) -> list[dict[str, Any]]:
    """Return what the work of each case costs on the row in fp32 of each machine that is the cheapest."""
    cells = results.table("cells")
    full = cells[(cells["cost"] > 0) & (cells["precision"] == FULL_PRECISION)]
    cheapest = full.loc[full.groupby(["machine", *CASE], sort=False)["cost"].idxmin()]
    return _by_machine(
        results, cheapest, lambda row: f"{format_number(row.cost)} {row.currency} for {row.work}: {row.profile}"
    )


def _sheet(results: Results, machine: str) -> dict[str, Any]:
    """What a machine reaches, and what more threads bring it."""
    return {
        "machine": machine,
        **describe_sheet(results.table("rates", machine), results.table("scaling", machine)),
        "curve": {
            "path": f"/{results_folder(results.smoke)}/figures/{machine}-scaling.svg",
            "alt": f"Chart: speedup over one thread on {machine} by the number of threads, "
            "beside the ideal. Its numbers are in the table below it.",
        },
    }


def _paper(results: Results, paper: Paper) -> dict[str, Any]:
    cells, claims = results.table("cells"), results.table("claims")
    summaries = ((name, *count_results(name, paper, cells, claims)) for name in results.machines)
    points = make_roofline(cells[cells["paper"] == paper.name], {paper.name: paper})
    return {
        "title": paper.title,
        "authors": ", ".join(author.strip("{}") for author in paper.authors),
        "venue": f"{paper.venue} {paper.year}",
        "links": [{"address": address, "text": text} for text, address in paper.links.items()],
        "claim": paper.claim,
        "claims": _claims(results, paper),
        "summaries": [
            {"machine": name, "came_out": came_out, "firmness": firmness} for name, came_out, firmness in summaries
        ],
        "facts": list(map(asdict, paper.facts)),
        "experiments": [_experiment(results, paper, experiment) for experiment in paper.experiments.values()],
        "history": _history(results, paper),
        # Without any case whose bytes are known, as of programs of others, there is nothing to draw.
        "rooflines": [_roofline(results, paper, machine, points) for machine in results.machines if len(points)],
    }


def _claims(results: Results, paper: Paper) -> list[dict[str, Any]]:
    """A row a claim: what it says, what was published, what came out `on` each machine; those with our numbers lead."""
    judged, rows = fold_claims(results.table("claims", paper=paper.name), {paper.name: paper}), []
    for claim in paper.claims:
        found = judged[judged["claim"] == claim.name]
        if len(found):
            first = {name: found[name].iat[0] for name in ("says", "published")} | {"experiment": claim.experiment}
            on = found[["machine", "here", "verdict", "reason", "instead"]].to_dict("records")
            rows.append(first | {"on": on})
    return sorted(rows, key=lambda row: not any(one["here"] for one in row["on"]))


def _experiment(results: Results, paper: Paper, experiment: Experiment) -> dict[str, Any]:
    """The paper's table and ours in one, verdicts, and each machine's part."""
    cells, speedups = (results.table(name, paper=paper.name) for name in ("cells", "speedups"))
    table = make_published(paper, experiment, cells, speedups, results.smoke)
    summaries = summaries_of(results.table("facts"))
    return {
        "name": experiment.name,
        "title": experiment.title,
        "total": experiment.total,
        "examples": f"{experiment.examples:,}" if experiment.examples else "",
        "unit": words_of_unit(experiment),
        "extrapolated": experiment.is_extrapolated,
        "share": _timed_share(experiment, results.smoke),
        "table": fold(table, paper, experiment, results.smoke, summaries, results.machines).as_json(),
        "facts": list(map(asdict, experiment.facts)),
        "caveats": list(experiment.caveats),
        "machines": [_on_machine(Outcome(results, paper, experiment, machine)) for machine in results.machines],
    }


def _timed_share(experiment: Experiment, smoke: bool) -> str:
    """What a reader must know where only a part of the work is timed."""
    cases = experiment.smoke_cases if smoke else experiment.cases
    part = [case for case in cases if case.parameters.get("timed", 0) < case.parameters.get("batch", 0)]
    if not part or "timed" not in part[0].parameters:
        return ""
    labels = dict.fromkeys(experiment.algorithms[case.workload].label for case in part)
    return (
        f"The first batch is timed, and scaled to all. For {' and '.join(labels)} the coefficients of "
        f"{part[0].parameters['timed']} of its {part[0].parameters['batch']} examples are, drawn evenly by how many of "
        "them are nonzero, and scaled to the batch."
    )


def _on_machine(outcome: Outcome) -> dict[str, Any]:
    """One experiment on one machine: its figure, totals, and why."""
    cells = list(rows_of(outcome.cells))
    totals = rows_of(outcome.table("totals", PAPER, outcome.machine))
    # As in the tables above: a row that answers none of the paper's is there if it was measured.
    unlike = {cell.profile for cell in cells if cell.precision != FULL_PRECISION}
    shown = [row for row in totals if row.seconds or row.machine == PAPER or row.profile not in unlike]
    return {
        "machine": outcome.machine,
        "measured": any(cell.seconds for cell in cells),
        "figure": _figure(outcome),
        "totals": list(map(_total, shown)),
        "headline_examples": next((f"{row.headline_examples:,.0f}" for row in shown if row.headline_examples), ""),
        "why": _why(outcome),
    }  # fmt: skip


def _figure(outcome: Outcome) -> dict[str, str]:
    """Return the figure of a table on a machine: path, seen from the folder of the project, caption and alt text."""
    folder = f"{results_folder(outcome.results.smoke)}/figures/{outcome.paper.name}/{outcome.experiment.name}"
    where = f"{outcome.experiment.title} on {outcome.machine}"
    return {
        "path": f"/{folder}/{outcome.machine}-speedup.svg",
        "caption": f"{where}.",
        "alt": f"Chart: {where}, speedups by case. Its numbers are in the tables.",
    }


def _total(row: Any) -> list[str]:
    if row.seconds is None:
        return [row.label, f"not known: {row.reason}", "", ""]
    interval = "derived, no interval" if row.machine == PAPER else format_range(row.seconds_low, row.seconds_high)
    return [row.label, format_number(row.seconds), interval, format_duration(row.headline_seconds)]


def _why(outcome: Outcome) -> dict[str, Any] | None:
    """The table of factors, a row a comparison and factor, a column a case; None where there is nothing to explain."""
    mine = list(rows_of(outcome.table("why", PAPER, outcome.machine)))
    if not mine:
        return None

    def show(one: Any, factor: str) -> str:
        if factor != "speedup":
            return format_speedup(getattr(one, factor))
        if one.comparison == "theirs":
            return f"{one.printed}x" if one.printed else format_speedup(one.speedup)
        return format_measured(one.speedup, one.speedup_low, one.speedup_high, unit="x")

    named = partial(_by_name, outcome.paper)
    whats = {name: " over ".join(map(named, sides)) for name, sides in COMPARISONS.items()}
    whats["theirs"] = f"{named(SIDES[0])} over its CPU"
    table = []
    for factor, title in {"speedup": "Speedup", **FACTORS}.items():
        lines = dict(_grid(mine, lambda one: one.comparison, lambda one: one.case, outcome.cases,
                           partial(show, factor=factor), missing=""))  # fmt: skip
        table += [[title, what, *lines[name]] for name, what in whats.items() if name in lines]
    shares = [
        (side, one.case, share)
        for one in mine
        for side, share in zip(COMPARISONS[one.comparison], (one.share, one.base_share), strict=True)
    ]
    lines = dict(_grid(shares, lambda one: one[0], lambda one: one[1], outcome.cases,
                       lambda one: format_share(one[2]) if one[2] else "", missing=""))  # fmt: skip
    table += [
        ["Share of its peak", f"{named(side)[0].upper()}{named(side)[1:]}", *lines[side]]
        for side in SIDES
        if side in lines
    ]
    return {
        "header": ["", "", *outcome.cases],
        "rows": [[text or NOTHING for text in row] for row in table if any(row[2:])],
        "peaks": _peaks(mine, outcome.paper),
    }


def _by_name(paper: Paper, side: str) -> str:
    """One of SIDES, the paper's GPU by its name."""
    devices = dict.fromkeys(row.hardware.label for row in paper.rows if row.hardware and not row.is_cpu)
    return devices.popitem()[0] if side == SIDES[0] and len(devices) == 1 else side


def _peaks(mine: list[Any], paper: Paper) -> list[list[str]]:
    """Which peak is whose: side, row, GFLOP/s."""
    sides = (zip(COMPARISONS[one.comparison], (one.row, one.base), (one.peak_gflops, one.base_peak_gflops), strict=True)
             for one in mine)  # fmt: skip
    peaks = {
        (_by_name(paper, side), label): format_number(peak) for three in sides for side, label, peak in three if peak
    }
    return [[*whose, peak] for whose, peak in peaks.items()]


def _history(results: Results, paper: Paper) -> dict[str, str] | None:
    """The figure of a paper's rows by their years, if it asks for one."""
    if not paper.history:
        return None
    what = f"{paper.title}: its rows by their years, and the machines here"
    return {
        "path": f"/{results_folder(results.smoke)}/figures/{paper.name}/history.svg",
        "caption": f"{what}. Of each row and machine the highest rate of its kind; a line joins those, by name, that "
        "were faster than all of their kind before.",
        "alt": f"Chart, rates on a logarithmic axis: {what}. Its numbers are in the tables.",
    }


def _roofline(results: Results, paper: Paper, machine: str, points: pd.DataFrame) -> dict[str, str]:
    """The roofline of a machine: path, caption and alt text."""
    ours = points[(points["machine"] == machine) & (points["precision"] == FULL_PRECISION)]
    theirs = points[points["machine"] == PAPER]
    reached = [
        f"{text} {' to '.join(dict.fromkeys(map(format_share, (found.min(), found.max()))))} of their roofs"
        for text, found in ((f"The cases of {machine} reach", ours["share"]), ("the paper's reach", theirs["share"]))
        if len(found)
    ]
    roofs = [
        "; ".join(
            f"{one.label}, {format_number(one.peak_gflops)} GFLOP/s and {format_number(one.bandwidth_gbytes)} Gbyte/s"
            for one in rows_of(found)
        ) or "none"
        for found in (highest_roofs(ours), hardware_roofs(paper))
    ]  # fmt: skip
    return {
        "path": f"/{results_folder(results.smoke)}/figures/{paper.name}/{machine}-roofline.svg",
        "caption": "What each row can do at most in single precision, and every case beneath; the paper's in grey, in "
        "the precision of its rows. Left of the bend the memory is the limit."
        + (f" {'; '.join(reached)}." if reached else ""),
        "alt": f"Roofline chart, both axes logarithmic: GFLOP/s against FLOP a byte. Roofs on {machine}: {roofs[0]}. "
        f"Roofs of the paper: {roofs[1]}. Its numbers are in results/tables/cells.csv.",
    }
