"""What the report shows of why: each speedup's factors, theirs beside ours, and the roofline of each machine."""

from typing import Any

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.decomposition import COMPARISONS, explain
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.labels import PAPER, label_row
from respeed.analysis.roofline import hardware_roofs, highest_roofs
from respeed.model.paper import Experiment, Paper
from respeed.numbers import NOTHING, format_measured, format_number, format_share, format_speedup
from respeed.paths import results_folder
from respeed.tables.build import Tables

# What multiplies to the speedup, in the order in which it is read.
FACTORS = {
    "peaks": "= hardware (ratio of the peaks)",
    "algorithm": "times the algorithm (on one CPU here)",
    "shares": "times use (ratio of the shares of the peak)",
    "rest": "times all else",
}


def why_facts(paper: Paper, experiment: Experiment, machine: str, tables: Tables) -> dict[str, Any] | None:
    """The table of factors, a row a comparison and factor, a column a case; None where there is nothing to explain.

    `sentences` say the same in words, the case of the largest printed speedup first.
    """
    mine = [
        one
        for one in tables.why
        if (one.paper, one.experiment) == (paper.name, experiment.name) and one.machine in {PAPER, machine}
    ]
    if not mine:
        return None
    cases = experiment.case_names(tables.smoke)
    by_place = {(one.comparison, one.case): one for one in mine}
    rows = [
        [title, " over ".join(COMPARISONS[comparison]), *values]
        for factor, title in {"speedup": "Speedup", **FACTORS}.items()
        for comparison in COMPARISONS
        if any(values := [_value(by_place.get((comparison, case)), factor, bare=tables.smoke) for case in cases])
    ]
    rows += [["Share of its peak", side, *values] for side, values in _shares(mine, cases).items() if any(values)]
    printed = {one.case: one.speedup for one in mine if one.comparison == "theirs"}
    return {
        "header": ["", "", *cases],
        "rows": [[value or NOTHING for value in row] for row in rows],
        "peaks": _peaks(mine, paper),
        "sentences": [
            {"case": one.case, "comparison": " over ".join(COMPARISONS[one.comparison]), "text": f"{explain(one)}."}
            for one in sorted(mine, key=lambda one: printed.get(one.case, 0.0), reverse=True)
        ],
    }


def _value(one: Any | None, factor: str, *, bare: bool) -> str:
    if one is None:
        return ""
    if factor != "speedup":
        return format_speedup(getattr(one, factor))
    if one.comparison == "theirs":
        return f"{one.printed}x" if one.printed else format_speedup(one.speedup)
    return format_measured(one.speedup, one.speedup_low, one.speedup_high, unit="x", bare=bare)


def _shares(mine: list[Any], cases: tuple[str, ...]) -> dict[str, list[str]]:
    """Of each side, the share that it reached in each case."""
    found: dict[tuple[str, str], float | None] = {}
    for one in mine:
        row, base = COMPARISONS[one.comparison]
        found |= {(row, one.case): one.share, (base, one.case): one.base_share}
    sides = ("GPU there", "CPU there", "GPU here", "CPU here")
    return {
        side: [format_share(share) if (share := found.get((side, case))) else "" for case in cases] for side in sides
    }


def _peaks(mine: list[Any], paper: Paper) -> list[list[str]]:
    """Which peak is whose, and how it is known: side, row, GFLOP/s, source."""
    sources = {
        label_row(paper, row): f"{row.hardware.label}: {row.hardware.source} ({row.hardware.confidence})"
        for row in paper.rows
        if row.hardware
    }
    rows: dict[tuple[str, str], list[str]] = {}
    for one in mine:
        row, base = COMPARISONS[one.comparison]
        for side, label, peak in ((row, one.row, one.peak_gflops), (base, one.base, one.base_peak_gflops)):
            if peak:
                how = sources.get(label, "") if side.endswith("there") else "measured: a bare product on the same row"
                rows[side, label] = [side, label, format_number(peak), how]
    return list(rows.values())


def roofline_facts(paper: Paper, machine: str, tables: Tables) -> dict[str, str]:
    """The roofline of a machine: path, caption and alt text."""
    points = tables.roofline[tables.roofline["paper"] == paper.name]
    ours = points[(points["machine"] == machine) & (points["precision"] == FULL_PRECISION)]
    theirs = points[points["machine"] == PAPER]
    reached = [
        f"{text} {' to '.join(dict.fromkeys(map(format_share, (found.min(), found.max()))))} of their roofs"
        for text, found in ((f"The cases of {machine} reach", ours["share"]), ("the paper's reach", theirs["share"]))
        if len(found)
    ]
    return {
        "path": f"/{results_folder(tables.smoke)}/figures/{paper.name}/{machine}-roofline.svg",
        "caption": "What each row can do at most in single precision, and every case beneath; the paper's in grey, in "
        "the precision of its rows. "
        "Left of the bend the memory is the limit. Broken lines and hollow markers are one core. Named is the paper's "
        "case farthest below each of its roofs, with its share of it." + (f" {'; '.join(reached)}." if reached else ""),
        "alt": f"Roofline chart, both axes logarithmic: GFLOP/s against FLOP a byte. Roofs on {machine}: "
        f"{_roofs(highest_roofs(ours))}. Roofs of the paper: {_roofs(hardware_roofs(paper))}. "
        "Its numbers are in results/tables/roofline.csv.",
    }


def _roofs(roofs: pd.DataFrame) -> str:
    texts = [
        f"{one.label}, {format_number(one.peak_gflops)} GFLOP/s and {format_number(one.bandwidth_gbytes)} Gbyte/s"
        for one in rows_of(roofs)
    ]
    return "; ".join(texts) or "none"
