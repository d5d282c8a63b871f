"""results/tables/claims.csv: what a paper claims, and whether it holds on each machine.

A claim is about two published rows. Ours beside them are compared case by case (`compare_claim`), the rules of
claim_rules judge what came out.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any

import pandas as pd

from respeed.analysis import claim_rules as rules
from respeed.analysis.cells import NOT_YET, PAPER, across_precisions, is_beside
from respeed.analysis.claim_rules import Compared
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.decomposition import COMPARISONS
from respeed.analysis.estimates import FULL_PRECISION, RATIO_LEVEL, SETTLED_MARGIN, Estimate
from respeed.analysis.rounds import CellKey, key_of
from respeed.analysis.speedups import Samples, published_speedup, times_the_work
from respeed.model.paper import Claim, Paper
from respeed.text import NO_INTERVAL, format_number, format_share, format_speedup, format_whole_share

# Rows of the frame of cells, or of that of totals.
Cells = Sequence[Any]
# The tests of claims that are about published numbers.
NUMBERED = ("each", "largest", "growth", "total")


def make_claims(
    cells: pd.DataFrame,
    samples: Samples,
    papers: Mapping[str, Paper],
    totals: pd.DataFrame,
    why: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """For every machine and claim a row for the claim, then one for each of its cases (where it has several).

    Of a claim about several cases, `published_low` and `published_high` are the range of what was printed,
    `speedup_low` and `speedup_high` that of our intervals, and `speedup` is missing. `published` and `here` are the
    same as texts for people ("12.9x to 72.6x"). Of a claim about memory the numbers are shares of what a copy moves.
    Where a claim about every case has no number, `instead` says how fast the machine's CPU is, from the table `why`.
    """
    rows = [
        {"machine": machine, "paper": paper.name, "claim": claim.name, "says": claim.says} | row
        for machine, paper, claim, evidence in _with_evidence(cells, samples, papers, totals)
        for row in _rows(claim, paper, evidence)
    ]
    made = make_frame(rows, "claims")
    if why is not None:
        _say_instead(made, papers, why)
    return made


def _say_instead(made: pd.DataFrame, papers: Mapping[str, Paper], why: pd.DataFrame) -> None:
    for paper in papers.values():
        for claim in paper.claims:
            if claim.test == "each" and not claim.threads:
                untested = (made["paper"] == paper.name) & (made["claim"] == claim.name) & (made["here"] == "")
                table = why[(why["paper"] == paper.name) & (why["experiment"] == claim.experiment)]
                for place, machine in made.loc[untested & (made["case"] == ""), "machine"].items():
                    made.loc[place, "instead"] = say_how_fast_the_cpu_is(table[table["machine"] == machine])


def say_how_fast_the_cpu_is(why: pd.DataFrame) -> str:
    """Say how many times as fast as the paper's rows the CPU of a machine is, the least and the most over the cases of
    a table; `why` are the rows of why.csv of both, empty where nothing was measured."""
    found = []
    for comparison, (_, base) in COMPARISONS.items():
        speedups = why.loc[why["comparison"] == comparison, "speedup"]
        if comparison.startswith("cpu over") and len(speedups):
            span = _range([format_number(value) for value in (speedups.min(), speedups.max())])
            found.append(f"{span} times as fast as {base}")
    return f"The CPU here is {' and '.join(found)}." if found else ""


def open_claims(
    cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper], totals: pd.DataFrame
) -> list[tuple[float, set[CellKey]]]:
    """Of every claim that was measured and is not settled: about how many rounds would settle it, if numbers stay as
    they are, and the cells that need them."""
    found = []
    for _, paper, claim, evidence in _with_evidence(cells, samples, papers, totals):
        measured = [one for one in compare_claim(claim, paper, evidence) if one.is_measured]
        if not measured or rules.judge_claim(claim, measured)[0] != rules.NOT_SETTLED:
            continue
        left = [one for one in measured if one.open or rules.judge_case(claim, one)[0] == rules.NOT_SETTLED]
        chosen = {_row_of(cell) for one in left for cell in (one.row, one.base)}
        cases = {one.case for one in left}
        keys = {key_of(cell) for cell in evidence.cells if _row_of(cell) in chosen and cases & {cell.case, ""}}
        found.append((max((_rounds_needed(one) for one in left), default=math.inf), keys))
    return found


def _rounds_needed(one: Compared) -> float:
    """For an interval of ±10 %; at least one more than there are."""
    margin = one.here.margin or 0.0
    return max(one.rounds + 1, one.rounds * (margin / SETTLED_MARGIN) ** 2)


@dataclass(frozen=True)
class Evidence:
    """What a machine measured of a table: its cells, and of all machines the samples and the totals."""

    cells: Cells
    samples: Samples
    totals: Cells


def _with_evidence(
    cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper], totals: pd.DataFrame
) -> Iterator[tuple[str, Paper, Claim, Evidence]]:
    """Every claim on every machine."""
    of: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for cell in rows_of(cells):
        of[cell.machine, cell.paper, cell.experiment].append(cell)
    known = samples, list(rows_of(totals))
    for machine in cells["machine"].unique():
        for paper in papers.values():
            for claim in paper.claims:
                yield machine, paper, claim, Evidence(of[machine, paper.name, claim.experiment], *known)


class _Missing(Exception):
    """Why one of the rows that a claim is about is not there."""

    def __init__(self, reason: str, may_come: bool = False) -> None:
        super().__init__(reason)
        self.may_come = may_come


def _rows(claim: Claim, paper: Paper, evidence: Evidence) -> Iterator[dict[str, Any]]:
    compared = compare_claim(claim, paper, evidence)
    yield _row(claim, "", compared, rules.judge_claim(claim, compared))
    for one in compared if len(compared) > 1 else ():
        yield _row(claim, one.case, [one], rules.judge_case(claim, one))


def _row(claim: Claim, case: str, compared: Sequence[Compared], verdict: rules.Verdict) -> dict[str, Any]:
    measured = [one for one in compared if one.is_measured]
    about, shown = compared, [one.here for one in measured]
    if claim.test == "largest" and compared:
        about = [max(compared, key=lambda one: one.published or 0.0)]
        shown = [rules.largest(measured)] if measured else []
    printed = sorted(((one.published, one.text) for one in about if one.published), key=itemgetter(0))
    lows, highs = [one.low for one in shown if one.low], [one.high for one in shown if one.high]
    have_intervals = shown and len(lows) == len(shown)
    return {
        "case": case,
        "published_low": printed[0][0] if printed else None,
        "published_high": printed[-1][0] if printed else None,
        "speedup": shown[0].value if len(shown) == 1 else None,
        "speedup_low": min(lows) if have_intervals else None,
        "speedup_high": max(highs) if have_intervals else None,
        "verdict": verdict[0],
        "reason": verdict[1],
        "profile": " or ".join(dict.fromkeys(one.row.profile for one in measured)),
        "base_profile": " or ".join(dict.fromkeys(one.base.profile for one in measured)),
        # Of two that are printed alike, 10 and 10.0, one.
        "published": _range(list({format_speedup(value): text for value, text in printed}.values())),
        "here": _here(claim, shown, measured),
    }


def _here(claim: Claim, shown: Sequence[Estimate], measured: Sequence[Compared]) -> str:
    """Our numbers for people: from the smallest to the largest, with the widest of their intervals."""
    if not shown:
        return ""
    say = format_whole_share if claim.test == "memory" else format_speedup
    margins = [one.margin for one in shown if one.margin is not None]
    interval = f"±{format_share(max(margins))}" if len(margins) == len(shown) else NO_INTERVAL
    marks = dict.fromkeys(across_precisions(one.row.precision, [one.base.precision]) for one in measured)
    text = _range([say(value) for value in sorted(one.value for one in shown)])
    return " ".join([text, interval, *(f"({mark})" for mark in marks if mark)])


def _range(texts: list[str]) -> str:
    return " to ".join(dict.fromkeys([texts[0], texts[-1]])) if texts else ""


def compare_claim(claim: Claim, paper: Paper, evidence: Evidence) -> list[Compared]:
    """Every case of the claim, on the machine whose cells these are; of a claim that names numbers, every case of which
    one was published."""
    experiment = paper.experiments[claim.experiment]
    names, numbered = experiment.case_names(), claim.test in NUMBERED
    if claim.test == "total":
        return _compare_totals(claim, paper, evidence)
    if claim.test == "memory":
        return [_compare_case(claim, paper, Compared(names[-1]), evidence)]
    sizes = {case.name: case.parameters[claim.by] for case in experiment.cases} if claim.by else {}
    asked = []
    for case in names:
        published = published_speedup(paper, claim.experiment, case, claim.row, claim.over) if numbered else None
        if case != claim.over_case and (published or not numbered):
            one = Compared(case, experiment.columns.get(case, case), published, _printed(claim, paper, case, published))
            rounding = paper.speedup_rounding(claim.experiment, case, claim.row, claim.over)
            ideal = sizes[case] / sizes[claim.over_case] if sizes else 1.0
            asked.append(replace(one, rounding=rounding, ideal=ideal))
    confidence = rules.confidence_for(len(asked))
    return [_compare_case(claim, paper, one, evidence, confidence) for one in asked]


def _compare_case(
    claim: Claim, paper: Paper, one: Compared, evidence: Evidence, confidence: float = RATIO_LEVEL
) -> Compared:
    """With our rows and their ratio; of a total that of all cases."""
    slow, fast = list[Any](), list[Any]()
    try:
        row, base = _choose_rows(claim, paper, one.case, evidence.cells)
        if claim.test == "total":
            slow, fast = ([cell for cell in evidence.cells if _row_of(cell) == _row_of(end)] for end in (base, row))
            here = evidence.samples.sum(slow, fast, confidence)
        elif claim.test == "memory":
            here = _share_of_copy(row)
        else:
            here, _ = evidence.samples.ratio(base, row, confidence)
            here = here.times(times_the_work(base, row) if claim.over_case else 1.0)
    except _Missing as why:
        return replace(one, missing=str(why), may_come=why.may_come)
    return replace(one, row=row, base=base, here=here, rounds=min(cell.rounds for cell in (row, base, *slow, *fast)))


def _compare_totals(claim: Claim, paper: Paper, evidence: Evidence) -> list[Compared]:
    """The whole table as one case: the paper's totals are derived from its own rates."""
    where = (PAPER, paper.name, claim.experiment)
    theirs = {one.profile: one.seconds for one in evidence.totals if (one.machine, one.paper, one.experiment) == where}
    slow, fast = [theirs[name] for name in claim.over if theirs.get(name)], theirs.get(claim.row)
    if not (slow and fast):
        return []
    published = min(slow) / fast
    whole = Compared("", published=published, text=f"{format_speedup(published)} (from its own rates)")
    return [_compare_case(claim, paper, whole, evidence)]


def _share_of_copy(row: Any) -> Estimate:
    """The bytes that a cell moves a second, over those of a copy in the same sessions."""
    if not (row.bandwidth_gbytes and row.traffic_bytes):
        raise _Missing("no copy was timed")
    share = row.traffic_bytes / row.bandwidth_gbytes / 1e9
    return Estimate(row.seconds, row.seconds_low, row.seconds_high).over(share)


def _choose_rows(claim: Claim, paper: Paper, case: str, cells: Cells) -> tuple[Any, Any]:
    """The fastest of our rows beside the claim's `row` in a case (of "": in all cases together), and what it is
    compared with: the fastest beside `over`, or that row itself in `over_case`, or of neither itself.

    Only programs that answer a published row count: of several algorithms the paper's own for that row; rows in its
    precision where such were measured, or else in fp32. Of two CPU rows both are of one package, so that the claim is
    about cores and not about libraries.
    """
    mine = [cell for cell in cells if case in ("", cell.case)]
    if not mine:
        raise _Missing(rules.NOT_MEASURED)
    fast = _candidates(paper, (claim.row,), claim.threads, mine)
    if claim.over_case:
        first = {_row_of(cell): cell for cell in cells if cell.case == claim.over_case}
        pairs = [(row, first[_row_of(row)]) for row in fast if _row_of(row) in first]
        if timed := next((pair for pair in pairs if pair[1].seconds), None):
            return timed
        if not pairs:
            raise _Missing(f"{claim.over_case} does not run on the same row")
        raise _Missing(f"{claim.over_case}: {pairs[0][1].reason}", _may_come(pairs[0][1]))
    if not claim.over:
        return fast[0], fast[0]
    slow = _candidates(paper, claim.over, 1 if claim.threads else None, mine)
    if fast[0] in slow:  # one of the two rows is not in fp32, and fp32 would stand in for it
        other = {paper.row(name).precision for name in (claim.row, *claim.over)} - {FULL_PRECISION, ""}
        raise _Missing(f"no row in {' or '.join(sorted(other))} was measured; name a hardware profile in it")
    for row in fast:
        for base in slow:
            if not row.is_cpu or row.package == base.package:
                return row, base
    raise _Missing(f"no row of {fast[0].package} answers {' or '.join(claim.over)}")


def _candidates(paper: Paper, names: Collection[str], threads: int | None, cells: Cells) -> list[Any]:
    """Cells with a time beside the published rows `names`, the fastest first (of a total, one cell of each column)."""
    answering = [cell for cell in cells if is_beside(paper, cell, names)]
    theirs = {paper.row(name).precision or FULL_PRECISION for name in names}
    alike = [cell for cell in answering if cell.precision in theirs]
    if not any(cell.seconds for cell in alike):
        alike = [cell for cell in answering if cell.precision == FULL_PRECISION] or alike
    if not alike:
        raise _Missing(f"no hardware profile here answers the paper's row {' or '.join(names)}")
    columns: dict[tuple[str, str], list[Any]] = {}
    for cell in alike:
        columns.setdefault(_row_of(cell), []).append(cell)
    # A row that cannot run all cases of a total has a shorter column, and would look fast.
    most = max(map(len, columns.values()))
    whole = [one for one in columns.values() if len(one) == most and all(cell.seconds for cell in one)]
    if not whole:
        absent = [cell for cell in alike if not cell.seconds]
        to_come = next(filter(_may_come, absent), None)
        reason = (to_come or absent[-1]).reason if absent else "no row here runs all cases"
        raise _Missing(reason, to_come is not None)
    fitting = [column for column in whole if threads in (None, column[0].threads)]
    if not fitting:
        counts = " and ".join(map(str, sorted({column[0].threads or 0 for column in whole})))
        text = f"no row of {threads} threads was measured, only of {counts}"
        raise _Missing(f"{text}; add a hardware profile with `threads: {threads}`")
    return [column[0] for column in sorted(fitting, key=lambda column: sum(cell.seconds for cell in column))]


def _may_come(cell: Any) -> bool:
    """Whether it has no time only because it was disturbed, or not measured yet."""
    return bool(cell.status == "contaminated" or cell.reason == NOT_YET)


def _row_of(cell: Any) -> tuple[str, str]:
    """The row of its table: how it ran and, where the table tells algorithms apart, which."""
    return cell.profile, cell.label


def _printed(claim: Claim, paper: Paper, case: str, value: float | None) -> str:
    """As it was printed, where it was: the paper's speedups are over its fastest CPU row."""
    if value is None:
        return ""
    printed = paper.printed_speedup(claim.experiment, case, claim.row)
    slow = paper.fastest(claim.experiment, case, claim.over)
    fastest = paper.fastest(claim.experiment, case, paper.cpu_rows)
    text = f"{printed.text}x" if printed and slow == fastest else format_speedup(value)
    across = across_precisions(paper.row(claim.row).precision, [slow.precision]) if slow else ""
    return f"{text} ({across})" if across else text


VERDICTS = (
    rules.REPRODUCED, rules.LARGER, rules.SMALLER, rules.ANOTHER_SHAPE, rules.NOT_SETTLED, rules.NOT_TESTABLE
)  # fmt: skip


def count_results(machine: str, paper: Paper, cells: pd.DataFrame, claims: pd.DataFrame) -> tuple[str, str]:
    """Count what came out of a paper on a machine: the claims by verdict, and the cells whose interval is narrow.

    The second text is empty where no cell has a time.
    """
    mine = cells[(cells["machine"] == machine) & (cells["paper"] == paper.name) & (cells["status"] != "not-run")]
    mine = mine[mine["measured_in"] == mine["experiment"]]
    if not (mine["seconds"] > 0).any():
        return "Nothing of this paper has been measured on this machine yet.", ""
    whole = (claims["machine"] == machine) & (claims["paper"] == paper.name) & (claims["case"] == "")
    counts = claims.loc[whole, "verdict"].value_counts()
    verdicts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts]
    settled = (mine["status"] == "settled").sum()
    margin = format_share(SETTLED_MARGIN)
    return (
        f"Claims: {', '.join(verdicts)}." if verdicts else "",
        f"{settled} of {len(mine)} cells (a case on one row) are known to ±{margin} or better.",
    )


def fold_claims(verdicts: pd.DataFrame, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Of claims.csv the claims as a whole. That about every case and that about the largest of them say the same where
    each machine has one verdict for both: they are one row with two sentences."""
    whole = verdicts[verdicts["case"] == ""].copy()
    for paper in papers.values():
        for claim, top in itertools.product(paper.claims, repeat=2):
            if (claim.test, top.test, _about(claim)) == ("each", "largest", _about(top)):
                one, other = (whole[(whole["paper"] == paper.name) & (whole["claim"] == c.name)] for c in (claim, top))
                if list(one["verdict"]) == list(other["verdict"]):
                    whole.loc[one.index, "says"] += f" {top.says}"
                    whole = whole.drop(other.index)
    return whole


_about = attrgetter("experiment", "row", "over", "threads")
