"""All that the report shows as one plain structure: texts, each already formatted, for the templates in report/."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import Any

from respeed.analysis import cost
from respeed.analysis.cells import PAPER, words_of_unit
from respeed.analysis.claims import fold_claims, summarize
from respeed.analysis.columns import rows_of
from respeed.analysis.decomposition import COMPARISONS, explain
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.hardware_sheet import beside_machines, describe_sheet
from respeed.analysis.roofline import hardware_roofs, highest_roofs
from respeed.figures.learning import shown_program
from respeed.figures.results import Outcome, Results
from respeed.figures.timings import NUMBERS, rows_in_front
from respeed.model.paper import Experiment, Paper
from respeed.output.published import describe_hardware, fold, make_published
from respeed.paths import results_folder
from respeed.schedule.outputs import RATIOS
from respeed.text import (
    NOTHING,
    format_duration,
    format_measured,
    format_number,
    format_range,
    format_share,
    format_speedup,
    measured_value,
)

# More machines than that do not fit beside one another.
MOST_PRICED = 4
# What multiplies to a speedup, in the order in which it is read.
FACTORS = {
    "peaks": "= hardware (ratio of the peaks)",
    "algorithm": "times the algorithm (on one CPU here)",
    "shares": "times use (ratio of the shares of the peak)",
    "rest": "times all else",
}
SIDES = ("the paper's GPU", "the paper's CPU", "GPU here", "CPU here")
# What a figure shows, and what its pale bars are where there are many machines.
FIGURES = {
    "speedup": ("speedups", "the highest speedup of each machine's accelerator"),
    "seconds": ("times or rates", "each machine's fastest row"),
}


def make_context(results: Results) -> dict[str, Any]:
    """The facts file of the report, ready for JSON: of the machines in full all, of all others a row each."""
    dates = sorted(filter(None, results.every("hardware")["last_day"]))
    return {
        "stamp": results.stamp,
        "version": version("respeed"),
        "date": [int(part) for part in dates[-1].split("-")] if dates else None,
        "machines": [_machine(results, machine) for machine in results.machines],
        "many": _standings(results) if results.left_out else None,
        "across": [] if results.left_out or results.smoke else _across(results),
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
        for part in ("summary", "hardware", "rounds", "software", "measured")
    }
    return parts | {
        "name": machine,
        "summary": parts["summary"][0][1],
        "backends": [
            [row.label, row.library, row.kernel, f"{row.threads} asked, {row.threads_ran or 'not seen'} ran",
             row.precision, NOTHING if row.error is None else f"{row.error:.0e}"]
            for row in rows_of(results.table("backends", machine))
        ],
    }  # fmt: skip


def _standings(results: Results) -> dict[str, Any]:
    """Where the machines that are shown in full stand, and a row for every machine."""
    standings, hardware = list(rows_of(results.every("standings"))), list(rows_of(results.every("hardware")))
    by_machine = {(one.machine, one.paper, one.experiment): one for one in standings}
    best = {(one.paper, one.experiment): one.machine for one in reversed(standings)}
    titles = {(paper.name, one.name): one.title for paper in results.papers.values()
              for one in paper.experiments.values() if (paper.name, one.name) in best}  # fmt: skip

    def texts_of(machine: str, table: tuple[str, str]) -> tuple[str, str, str]:
        """Its place, and its share of the first's speed, roughly and with a digit more."""
        one = by_machine.get((machine, *table))
        if one is None:
            return NOTHING, "not measured", NOTHING
        if one.rank:
            return f"{one.rank} of {one.machines}", f"{one.share:.0%}", f"{one.share:.1%}"
        cases = f"({one.cases} of {one.all_cases} cases)"
        return NOTHING, f"{one.share:.0%} {cases}", f"{one.share:.1%} {cases}"

    return {
        "machines": len(hardware),
        "first": len(results.machines),
        "left_out": results.left_out,
        "tables": str(results_folder(results.smoke) / "tables"),
        "records": str(results_folder(results.smoke) / "records"),
        "header": list(titles.values()),
        "standing": [
            [title, machine, *texts_of(machine, table)[:2], best[table]]
            for table, title in titles.items()
            for machine in results.machines
        ],
        "rows": [
            [one.machine, describe_hardware(one), *(texts_of(one.machine, table)[2] for table in titles)]
            for one in sorted(hardware, key=lambda one: one.machine not in results.machines)
        ],
    }


def _across(results: Results) -> list[dict[str, Any]]:
    """Machines beside one another: for each table a row a case, a column a machine; empty where one was measured."""

    def show(row: Any) -> str:
        if row.verdict == "base":
            return "fastest"
        text = format_measured(row.speedup, row.speedup_low, row.speedup_high, unit="x")
        return f"{text} =" if row.verdict == "indistinguishable" else text

    groups, machines = [], list(results.machines)
    for paper in results.papers.values():
        for experiment in paper.experiments.values():
            rows = rows_of(results.table("machines", paper=paper.name, experiment=experiment.name))
            if lines := _grid(rows, lambda row: row.case, lambda row: row.machine, machines, show):
                shown = [[case, *texts] for case, texts in lines]
                groups.append({"title": experiment.title, "machines": machines, "rows": shown})
    return groups


def _cost(results: Results) -> dict[str, Any]:
    """The section "What it costs", and two lines a machine for the appendix. Where machines are left out, the cheapest
    of all stand beside those that are shown in full."""
    costs = results.every("cost")
    costs = costs[costs["machine"].isin(results.machines) | (costs["standing"] == "cheapest")]
    every = [row for row in rows_of(costs) if row.paper in results.papers]
    mine = [row for row in every if row.machine in results.machines]
    best = cost.cheapest_rows(every)
    currencies = {row.machine: row.currency for row in reversed(best)}
    columns = [*results.machines, *(row.machine for row in best)]
    priced = [name for name in dict.fromkeys(columns) if name in currencies][:MOST_PRICED]
    # Those tables that their paper prints, or says something of.
    shown = {
        (paper.name, experiment.name): (paper, experiment)
        for paper in results.papers.values()
        for experiment in paper.experiments.values()
        if paper.speaks_of(experiment.name)
    }
    rows = [row for row in best if row.machine in priced and (row.paper, row.experiment) in shown]
    told = cost.by_table(row for row in mine if row.joules)
    return {
        "prices": cost.prices_told(rows),
        "untold": cost.prices_untold(mine),
        "machines": [[name, currencies[name]] for name in priced],
        "apart": cost.currencies_apart(rows),
        "tables": [_cost_table(results, table, priced, rows) for table in cost.by_table(rows).values()],
        "energy": [
            found for name, where in shown.items() if (found := _energy(results, *where, told.get(name, []), rows))
        ],
        "not_measured": cost.energy_missing(mine),
        "sheets": {name: _cost_lines([row for row in mine if row.machine == name]) for name in results.machines},
    }


def _cost_table(results: Results, rows: list[Any], machines: list[str], shown: list[Any]) -> dict[str, Any]:
    """A row a case, a column a machine: the cost, and beneath it the row that ran and how many times the cheapest's.
    `shown` are the rows of all tables."""
    work, times_over = cost.in_bulk(rows[0].work, shown)
    paid = list(cost.by_table(rows, "currency").values())
    alone = {row.machine for mine in paid for row in mine if len({one.machine for one in mine}) == 1}

    def show(row: Any) -> dict[str, Any] | None:
        if row.cost is None:
            return None
        factor = cost.times_the_cheapest(row)
        value = measured_value(
            *(end and times_over * end for end in (row.cost, row.cost_low, row.cost_high)), bare=results.smoke
        )
        dearer = format_measured(*factor, unit="x", bare=results.smoke) if factor else ""
        marks = {"cheapest": "the cheapest", "indistinguishable": f"{format_speedup(factor and factor[0])} ="}
        beside = marks.get(row.standing, dearer) if row.machine not in alone else ""
        return {
            "text": value.text,
            "interval": value.interval,
            "small": ", ".join(filter(None, [row.profile, beside])),
            "is_cheapest": row.machine not in alone and row.standing in marks,
        }

    return {
        "title": results.papers[rows[0].paper].experiments[rows[0].experiment].title,
        "unit": f"for {work}",
        "rows": _grid(rows, lambda row: row.case, lambda row: row.machine, machines, show, missing=None),
        "says": " ".join(text for mine in paid for text in cost.say_who_is_cheapest(mine)),
    }


def _energy(
    results: Results, paper: Paper, experiment: Experiment, told: list[Any], shown: list[Any]
) -> dict[str, Any] | None:
    """Of each machine the CPU row and the accelerator's that are fastest in most cases, by each algorithm; a column a
    case: joules, and beneath the watts, for as much work as the costs `shown` are. None where none tells its energy."""
    front = set()
    for machine in {row.machine for row in told}:
        outcome = Outcome(results, paper, experiment, machine)
        is_in_front = outcome.cells["row"].isin(rows_in_front(outcome, outcome.cells))
        front |= {(machine, label) for label in outcome.cells.loc[is_in_front, "label"]}
    told = [row for row in told if (row.machine, row.label) in front]
    if not told:
        return None
    work, times_over = cost.in_bulk(told[0].work, shown)
    cases = list(dict.fromkeys(row.case for row in told))

    def show(row: Any) -> list[str]:
        joules = format_measured(row.joules, row.joules_low, row.joules_high, bare=results.smoke)
        return [joules, f"{format_number(row.watts)} W" if row.watts else ""]

    lines = _grid(
        told, lambda row: (f"{row.machine}: {row.label}", row.energy_of), lambda row: row.case, cases, show,
        missing=[NOTHING, ""],
    )  # fmt: skip
    return {
        "title": experiment.title,
        # The same digits: of a thousand times the work there are as many kilojoules as of the work joules.
        "unit": f"{'kilojoules' if times_over > 1 else 'joules'} for {work}",
        "cases": cases,
        "rows": [[*names, values] for names, values in lines],
    }


def _cost_lines(rows: list[Any]) -> list[list[str]]:
    """Lines for the machine's own page."""
    price = [f"{price} ({source}, {date})" for _, price, source, date in cost.prices_told(rows)]
    untold = [why for _, why in cost.prices_untold(rows)]
    energy = sorted({row.energy_of for row in rows if row.joules})
    energy += [f"not measured: {why}" for _, why in cost.energy_missing(rows)]
    return [["price", "; ".join(price + untold)], ["energy", "; ".join(energy)]] if rows else []


def _sheet(results: Results, machine: str) -> dict[str, Any]:
    """What a machine reaches, and what more threads bring it."""
    rates, scaling, points = (results.table(name, machine) for name in ("rates", "scaling", "roofline"))
    return {
        "machine": machine,
        **describe_sheet(rates, scaling, points, results.smoke),
        "curve": {
            "path": f"/{results_folder(results.smoke)}/figures/{machine}-scaling.svg",
            "alt": f"Chart, both axes logarithmic: speedup over one thread on {machine} by the number of threads, "
            "beside the ideal. Its numbers are in the table below it.",
        },
    }


def _paper(results: Results, paper: Paper) -> dict[str, Any]:
    cells, claims = results.table("cells"), results.table("claims")
    summaries = ((name, *summarize(name, paper, cells, claims)) for name in results.machines)
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
        "rooflines": [
            _roofline(results, paper, machine)
            for machine in results.machines
            if len(results.table("roofline", paper=paper.name))
        ],
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
    hardware = {row.machine: row for row in rows_of(results.table("hardware"))}
    file = results_folder(results.smoke) / "tables" / paper.name / f"{experiment.name}.csv"
    return {
        "name": experiment.name,
        "title": experiment.title,
        "total": experiment.total,
        "examples": f"{experiment.examples:,}" if experiment.examples else "",
        "unit": words_of_unit(experiment),
        "extrapolated": experiment.is_extrapolated,
        "share": _timed_share(experiment, results.smoke),
        "table": fold(table, paper, experiment, results.smoke, hardware).as_json(),
        "facts": list(map(asdict, experiment.facts)),
        "caveats": list(experiment.caveats),
        "machines": [_on_machine(Outcome(results, paper, experiment, machine)) for machine in results.machines],
        "others": f"The rows of {results.left_out} other machines are in {file}." if results.left_out else "",
        "spread": [
            [one.case, str(one.machines), *(format_number(getattr(one, name)) for name in NUMBERS)]
            for one in rows_of(Outcome(results, paper, experiment, "").spread("seconds"))
        ],
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
        + (" The preset full times every example of every batch." if experiment.whole_parameters else "")
    )


def _on_machine(outcome: Outcome) -> dict[str, Any]:
    """One experiment on one machine: figures, totals, factors, why, and every cell for the appendix."""
    cells, algorithms = list(rows_of(outcome.cells)), outcome.experiment.algorithms
    totals = rows_of(outcome.table("totals", PAPER, outcome.machine))
    # As in the tables above: a row that answers none of the paper's is there if it was measured.
    unlike = {cell.profile for cell in cells if cell.precision != FULL_PRECISION}
    shown = [row for row in totals if row.seconds or row.machine == PAPER or row.profile not in unlike]
    parts = list(rows_of(outcome.table("parts")))
    of_parts = [case for case in outcome.cases if case in {row.case for row in parts}]
    return {
        "machine": outcome.machine,
        "measured": any(cell.seconds for cell in cells),
        "figures": [_figure(outcome, kind) for kind in FIGURES if not (outcome.results.smoke and f"-{kind}" in RATIOS)],
        "learned": _learned(outcome),
        "cells": {"cases": list(outcome.cases), "rows": _every_cell(outcome, cells)},
        "parts": {
            "cases": of_parts,
            "rows": _grid(parts, lambda row: f"{row.label}: {row.part}", lambda row: row.case, of_parts,
                          lambda row: format_number(row.seconds)),
        },
        "factors": [
            [
                row.label,
                row.case,
                _times(row.speedup, row.speedup_low, row.speedup_high),
                _times(row.algorithm_factor, row.algorithm_low, row.algorithm_high),
                _times(row.hardware_factor, row.hardware_low, row.hardware_high),
                format_speedup(row.published),
            ]
            for row in rows_of(outcome.table("factors"))
            if not outcome.results.smoke
        ],
        "iterations": [
            [
                f"{row.label}, over {algorithms[row.base_algorithm].label}",
                row.case,
                _times(row.ratio, row.ratio_low, row.ratio_high),
                f"{format_number(row.iterations_factor)} ({row.iterations:.1f} over {row.base_iterations:.1f})",
                format_number(row.iteration_factor),
                format_number(row.others_factor),
                format_share(row.iterating_share),
            ]
            for row in rows_of(outcome.table("iterations"))
            if not outcome.results.smoke
        ],
        "totals": list(map(_total, shown)),
        "headline_examples": next((f"{row.headline_examples:,.0f}" for row in shown if row.headline_examples), ""),
        "wholes": [
            [row.label, row.case, *map(format_number, (row.extrapolated_seconds, row.whole_seconds, row.ratio))]
            for row in rows_of(outcome.table("wholes"))
        ],
        "missing": _missing(cells),
        "why": _why(outcome),
    }  # fmt: skip


def _path(outcome: Outcome, kind: str) -> str:
    """Where a figure lies, seen from the folder of the project."""
    folder = f"{results_folder(outcome.results.smoke)}/figures/{outcome.paper.name}/{outcome.experiment.name}"
    return f"/{folder}/{outcome.machine}-{kind}.svg"


def _figure(outcome: Outcome, kind: str) -> dict[str, str]:
    shows, bars = FIGURES[kind]
    where, spread, many = f"{outcome.experiment.title} on {outcome.machine}", outcome.spread(kind), ""
    if len(spread):
        many = (
            f" Pale bars are {bars}: the range over {spread['machines'].max()} machines, its middle half wider, the "
            f"median a dash. The {outcome.results.left_out} machines that are not shown in full are in these bars "
            "alone."
        )
    return {
        "path": _path(outcome, kind),
        "caption": f"{where}.{many}",
        "alt": f"Chart: {where}, {shows} by case. Its numbers are in the tables.",
    }


def _learned(outcome: Outcome) -> list[dict[str, str]]:
    experiment, place = outcome.experiment, (outcome.machine, outcome.paper.name, outcome.experiment.name)
    records = [one for one in outcome.results.learning if (one["machine"], one["paper"], one["experiment"]) == place]
    if not records or not records[0]["programs"]:
        return []
    program = shown_program(records[0])
    sizes = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in program["parameters"].items())
    by, left = "", "the reconstruction's square error over variance"
    if algorithm := experiment.algorithms.get(program["workload"]):
        by, left = f" by {algorithm.label}", "the objective over that of no bases at all"
    where = f"{experiment.title} on {outcome.machine}"
    return [
        {
            "path": _path(outcome, "learned"),
            "caption": f"Some of what was learned from natural images{by} after {program['steps']} steps, each on its "
            f"own scale, zero as grey. A case of its own, smaller than those that are timed: {sizes}.",
            "alt": f"Grid of small pictures: {where}, what was learned from natural images.",
        },
        {
            "path": _path(outcome, "learning"),
            "caption": f"What is left to explain, {left}, after so many seconds of steps on all cores; the case of the "
            "pictures above, one run of each program, no interval.",
            "alt": f"Line chart: {where}, what is left to explain against seconds.",
        },
    ]


def _every_cell(outcome: Outcome, cells: list[Any]) -> list[list[Any]]:
    """A cell is two texts: the seconds with the rate, and beneath the share of the peak, the speedup, the clean
    rounds and the discarded blocks."""
    speedups = {(row.label, row.case): row for row in rows_of(outcome.table("speedups"))}
    marks = {"indistinguishable": " =", "unproven": " ?"}

    def show(cell: Any) -> list[str]:
        if not cell.seconds:
            return [NOTHING, ""]
        ratio = speedups[cell.label, cell.case]
        has_speedup = ratio.verdict != "base" and ratio.speedup is not None
        speedup = f"{format_number(ratio.speedup)}x{marks.get(ratio.verdict, '')}" if has_speedup else ratio.verdict
        share = format_share(cell.peak_share) if cell.peak_share else ""
        rate = f", {format_number(cell.gflops)} GFLOP/s" if cell.gflops else ""
        ratios = [] if outcome.results.smoke else [share, speedup]
        beneath = " · ".join(filter(None, [*ratios, f"{cell.rounds} ({cell.discarded})"]))
        return [f"{format_number(cell.seconds)} s{rate}", beneath]

    timed = {cell.label for cell in cells if cell.seconds}
    rows = [cell for cell in cells if cell.label in timed]
    return _grid(rows, lambda cell: cell.label, lambda cell: cell.case, outcome.cases, show, missing=[NOTHING, ""])


def _times(value: float, low: float | None, high: float | None) -> str:
    return f"{format_speedup(value)} ({format_range(low, high)})"


def _total(row: Any) -> list[str]:
    if row.seconds is None:
        return [row.label, f"not known: {row.reason}", "", ""]
    interval = "derived, no interval" if row.machine == PAPER else format_range(row.seconds_low, row.seconds_high)
    return [row.label, format_number(row.seconds), interval, format_duration(row.headline_seconds)]


def _missing(cells: list[Any]) -> list[dict[str, str]]:
    """The rows and cases without a time, grouped by their reason."""
    cases: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if not cell.seconds:
            cases.setdefault((cell.label, f"{cell.status}: {cell.reason}"), []).append(cell.case)
    labels: dict[tuple[str, str], list[str]] = {}
    for (label, reason), names in cases.items():
        labels.setdefault((reason, ", ".join(names)), []).append(label)
    return [{"label": "; ".join(rows), "reason": reason, "cases": names} for (reason, names), rows in labels.items()]


def _why(outcome: Outcome) -> dict[str, Any] | None:
    """The table of factors, a row a comparison and factor, a column a case; None where there is nothing to explain, as
    of a smoke run.

    `sentences` say the same in words, the case of the largest printed speedup first.
    """
    mine = list(rows_of(outcome.table("why", PAPER, outcome.machine)))
    if not mine or outcome.results.smoke:
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
    printed = {one.case: one.speedup for one in mine if one.comparison == "theirs"}
    return {
        "header": ["", "", *outcome.cases],
        "rows": [[text or NOTHING for text in row] for row in table if any(row[2:])],
        "peaks": _peaks(mine, outcome.paper),
        "sentences": [
            {"case": one.case, "comparison": whats[one.comparison], "text": f"{explain(one)}."}
            for one in sorted(mine, key=lambda one: printed.get(one.case, 0.0), reverse=True)
        ],
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


def _roofline(results: Results, paper: Paper, machine: str) -> dict[str, str]:
    """The roofline of a machine: path, caption and alt text."""
    points = results.table("roofline", machine, paper.name)
    ours = points[points["precision"] == FULL_PRECISION]
    theirs = results.table("roofline", PAPER, paper.name)
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
        "the precision of its rows. "
        "Left of the bend the memory is the limit. Broken lines and hollow markers are one core. Named is the paper's "
        "case farthest below each of its roofs, with its share of it."
        + (f" {'; '.join(reached)}." if reached and not results.smoke else ""),
        "alt": f"Roofline chart, both axes logarithmic: GFLOP/s against FLOP a byte. Roofs on {machine}: {roofs[0]}. "
        f"Roofs of the paper: {roofs[1]}. Its numbers are in results/tables/roofline.csv.",
    }
