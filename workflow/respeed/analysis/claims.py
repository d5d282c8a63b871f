"""results/tables/claims.csv: what a paper claims, and whether it holds on each machine.

A claim is about two published rows. Ours beside them are compared case by case (`compare_claim`), the rules of
claim_rules judge what came out, and where a row is missing a sentence says what can be said all the same
(`claim_fallback`).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from respeed.analysis import claim_rules as rules
from respeed.analysis.cells import NOT_YET, rows_beside
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.estimates import (
    FULL_PRECISION,
    SETTLED_MARGIN,
    TWO_LOOKS,
    Estimate,
    what_is_missing,
)
from respeed.analysis.labels import across_precisions, label_row, words_of_unit
from respeed.analysis.rounds import CellKey, key_of
from respeed.analysis.speedups import Samples, fastest_by
from respeed.model.paper import Claim, Paper, PublishedRow
from respeed.numbers import (
    NO_INTERVAL,
    format_duration,
    format_number,
    format_share,
    format_speedup,
    format_whole_share,
)
from respeed.text import join_words

# What a case is without that the smoke preset, say, has not.
NOT_MEASURED = "nothing of the paper's sizes was measured"
# The tests of claims that are about published numbers.
NUMBERED = ("each", "largest", "growth", "total")
# Rows of the frame of cells, as itertuples gives them.
Cells = Sequence[Any]


def make_claims(
    cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper], totals: pd.DataFrame
) -> pd.DataFrame:
    """For every machine and claim a row for the claim, then one for each of its cases (where it has several).

    Of a claim about several cases, `published_low` and `published_high` are the range of what was printed,
    `speedup_low` and `speedup_high` that of our intervals, and `speedup` is missing. `published` and `here` are the
    same as texts for people ("12.9x to 72.6x"). Of a claim about memory the numbers are shares of what a copy moves.
    """
    rows = [
        {"machine": machine, "paper": paper.name, "claim": claim.name, "says": claim.says} | row
        for machine, paper, claim, evidence in _with_evidence(cells, samples, papers, totals)
        for row in _rows(claim, paper, evidence)
    ]
    return make_frame(rows, "claims")


def open_claims(
    cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper], totals: pd.DataFrame
) -> list[tuple[float, set[CellKey]]]:
    """Of every claim that was measured and is not settled: about how many rounds would settle it, if numbers stay as
    they are, and the cells that need them."""
    found = []
    for _, paper, claim, evidence in _with_evidence(cells, samples, papers, totals):
        compared = [one for one in compare_claim(claim, paper, evidence) if one.here]
        singles = {one.case: _judge_case(claim, one) for one in compared}
        if not compared or judge_claim(claim, compared, singles)[0] != rules.NOT_SETTLED:
            continue
        left = [
            one for one in compared
            if one.here and (rules.NOT_SETTLED in singles[one.case] or what_is_missing(one.here, one.rounds))
        ]  # fmt: skip
        chosen = {_row_of(cell) for one in left for cell in (one.row, one.base)}
        cases = {one.case for one in left}
        keys = {key_of(cell) for cell in evidence.cells if _row_of(cell) in chosen and cases & {cell.case, ""}}
        found.append((max((_rounds_needed(one) for one in left), default=math.inf), keys))
    return found


def _rounds_needed(one: "Compared") -> float:
    """For an interval of ±10 %; at least one more than there are."""
    margin = one.here.margin if one.here else None
    return one.rounds + 1 if margin is None else max(one.rounds + 1, one.rounds * (margin / SETTLED_MARGIN) ** 2)


def _with_evidence(
    cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper], totals: pd.DataFrame
) -> Iterator[tuple[str, Paper, Claim, "Evidence"]]:
    """Every claim on every machine."""
    of: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for cell in rows_of(cells):
        of[cell.machine, cell.paper, cell.experiment].append(cell)
    known = samples, list(rows_of(totals))
    for machine in cells["machine"].unique():
        for paper in papers.values():
            for claim in paper.claims:
                yield machine, paper, claim, Evidence(of[machine, paper.name, claim.experiment], *known)


@dataclass(frozen=True)
class Evidence:
    """What a machine measured of a table: its cells, and of all machines seconds a step of the rounds of each cell, by
    session and by number of the round, and the totals."""

    cells: Cells
    samples: Samples
    totals: Cells


@dataclass(frozen=True)
class Compared:
    """One case of a claim; of a total, the whole table.

    `column` is the printed one that the case answers, `text` what is printed there, and `rounding` how far that may be
    off, relative to it; a claim that names no number has none. `row` and `base` are our cells (of a total one of each
    column), `here` their ratio and `rounds` those of the one that has fewer; without a ratio `missing` says why, and
    `may_come` if that is only disturbed or not measured yet. `ideal` is what a claim about a limit is held against.
    """

    case: str
    column: str
    published: float | None = None
    text: str = ""
    rounding: float = 0.0
    row: Any = None
    base: Any = None
    here: Estimate | None = None
    rounds: int = 0
    missing: str = ""
    may_come: bool = False
    ideal: float = 1.0


class _Missing(Exception):
    """Why one of the rows that a claim is about is not there."""

    def __init__(self, reason: str, may_come: bool = False) -> None:
        super().__init__(reason)
        self.may_come = may_come


def _rows(claim: Claim, paper: Paper, evidence: Evidence) -> Iterator[dict[str, Any]]:
    compared = compare_claim(claim, paper, evidence)
    singles = {one.case: _judge_case(claim, one) for one in compared}
    kind, why, shown, about = judge_claim(claim, compared, singles)
    measured = [one for one in compared if one.here]
    is_whole = measured and len(measured) == len(compared)
    fallback = "" if is_whole else claim_fallback(claim, paper, evidence)
    yield _row(claim, "", kind, why, about, shown, measured) | {"instead": fallback}
    for one in compared if len(compared) > 1 else ():
        yield _row(claim, one.case, *singles[one.case], [one], [one.here] if one.here else [], [one])


def _row(
    claim: Claim, case: str, kind: str, why: str, about: Sequence[Compared], shown: Sequence[Estimate],
    measured: Sequence[Compared],
) -> dict[str, Any]:  # fmt: skip
    published = sorted((one for one in about if one.published), key=lambda one: one.published or 0.0)
    there = [one for one in measured if one.here]
    lows, highs = [one.low for one in shown], [one.high for one in shown]
    return {
        "case": case,
        "published_low": published[0].published if published else None,
        "published_high": published[-1].published if published else None,
        "speedup": shown[0].value if len(shown) == 1 else None,
        "speedup_low": None if None in lows else min(lows, default=None),  # type: ignore[type-var]
        "speedup_high": None if None in highs else max(highs, default=None),  # type: ignore[type-var]
        "verdict": kind,
        "reason": why,
        "instead": "",
        "profile": " or ".join(dict.fromkeys(one.row.profile for one in there)),
        "base_profile": " or ".join(dict.fromkeys(one.base.profile for one in there)),
        "published": _range([one.text for one in published]),
        "here": _here(shown, there, format_whole_share if claim.test == "memory" else format_speedup),
    }


def _here(shown: Sequence[Estimate], measured: Sequence[Compared], say: Callable[[float], str]) -> str:
    """Our numbers for people: from the smallest to the largest, with the widest of their intervals."""
    if not shown:
        return ""
    margins = [one.margin for one in shown if one.margin is not None]
    interval = f"±{format_share(max(margins))}" if len(margins) == len(shown) else NO_INTERVAL
    marks = dict.fromkeys(across_precisions(one.row.precision, [one.base.precision]) for one in measured)
    text = _range([say(value) for value in sorted(one.value for one in shown)])
    return " ".join([text, interval, *(f"({mark})" for mark in marks if mark)])


def _range(texts: list[str]) -> str:
    return " to ".join(dict.fromkeys([texts[0], texts[-1]])) if texts else ""


def judge_claim(
    claim: Claim, compared: Sequence[Compared], singles: Mapping[str, rules.Verdict]
) -> tuple[str, str, list[Estimate], list[Compared]]:
    """The verdict on a claim from the comparison of its cases and their verdicts, the reason (cases that have no time
    are named in it), our numbers, and the cases whose published numbers the claim is about."""
    measured = [one for one in compared if one.here]
    absent = [one for one in compared if not one.here]
    shown = [one.here for one in measured if one.here]
    about = list(compared)
    if claim.test == "largest":
        about = [max(compared, key=lambda one: one.published or 0.0)] if compared else []
    if not measured:
        kind = rules.NOT_SETTLED if any(one.may_come for one in absent) else rules.NOT_TESTABLE
        return kind, "; ".join(dict.fromkeys(one.missing for one in absent)) or NOT_MEASURED, [], about
    if claim.test == "crossover" and (end := next((one for one in (compared[0], compared[-1]) if not one.here), None)):
        # Between which sizes it lies, the ends decide.
        return (rules.NOT_SETTLED if end.may_come else rules.NOT_TESTABLE), f"{end.case}: {end.missing}", shown, []
    shown = [rules.largest(shown)] if claim.test == "largest" else shown
    kind, why = _judge_together(claim, measured, shown, about, singles)
    # A case without a time may yet make the claim fail, and the largest of all may be the one that is missing.
    reproduced = {one.column for one in measured if singles[one.case][0] == rules.REPRODUCED}
    # Of several cases that answer one printed column, one that is reproduced is enough.
    absent = [one for one in absent if claim.test != "each" or one.column not in reproduced]
    if (
        absent and kind != rules.LARGER if claim.test == "largest"
        else kind != rules.ANOTHER_SHAPE and any(one.may_come for one in absent)
    ):  # fmt: skip
        kind, why = rules.NOT_SETTLED, why if kind == rules.NOT_SETTLED else ""
    unmeasured = dict.fromkeys(": ".join(filter(None, [one.case, one.missing])) for one in absent)
    return kind, "; ".join(filter(None, [why, *unmeasured])), shown, about


def _judge_together(
    claim: Claim, measured: Sequence[Compared], shown: Sequence[Estimate], about: Sequence[Compared],
    singles: Mapping[str, rules.Verdict],
) -> rules.Verdict:  # fmt: skip
    cases, fewest = [one.case for one in measured], min(one.rounds for one in measured)
    match claim.test:
        case "largest":
            return rules.judge_value(about[0].published or 0.0, shown[0], fewest, about[0].rounding)
        case "growth":
            return rules.judge_growth(cases, shown, fewest)
        case "faster":
            return rules.judge_faster(cases, shown, fewest)
        case "crossover":
            return rules.judge_crossover(cases, shown, fewest)
        case "limited":
            return rules.judge_limited(cases, shown, [one.ideal for one in measured], fewest)
        case "memory":
            return rules.judge_memory(shown[0], fewest)
    # Of several cases that answer one printed column one was run, and nobody knows which.
    columns: dict[str, list[rules.Verdict]] = {}
    for one in measured:
        columns.setdefault(one.column, []).append(singles[one.case])
    kind, why = rules.judge_each(list(columns), [rules.judge_alternatives(found) for found in columns.values()])
    return kind, rules.would_show(shown) if kind == rules.REPRODUCED else why


def _judge_case(claim: Claim, one: Compared) -> rules.Verdict:
    if one.here is None:
        return rules.NOT_SETTLED if one.may_come else rules.NOT_TESTABLE, one.missing
    if claim.test == "limited":
        return rules.judge_limited([one.case], [one.here], [one.ideal], one.rounds)
    if claim.test == "crossover":
        return rules.judge_side(one.here, one.rounds)
    if one.published is None:  # its part of a claim about all cases: on which side of 1 it is
        return rules.judge_faster([one.case], [one.here], one.rounds)
    return rules.judge_value(one.published, one.here, one.rounds, one.rounding)


def compare_claim(claim: Claim, paper: Paper, evidence: Evidence) -> list[Compared]:
    """Every case of the claim, on the machine whose cells these are; of a claim that names numbers, every case of which
    one was published."""
    experiment = paper.experiments[claim.experiment]
    names, numbered = experiment.case_names(), claim.test in NUMBERED
    sizes = {case.name: case.parameters[claim.by] for case in experiment.cases} if claim.by else {}
    if claim.test == "total":
        return _compare_totals(claim, paper, evidence)
    if claim.test == "memory":
        return [_compare_case(claim, paper, names[-1], evidence, 0.0)]
    printed = {case: published_value(claim, paper, case) if numbered else None for case in names}
    asked = [case for case in names if case != claim.over_case and (printed[case] is not None or not numbered)]
    confidence = rules.confidence_for(len(asked))
    return [
        replace(
            _compare_case(claim, paper, case, evidence, confidence),
            column=experiment.columns.get(case, case),
            published=printed[case],
            text=_printed(claim, paper, case, printed[case]),
            rounding=paper.speedup_rounding(claim.experiment, case, claim.row, claim.over),
            ideal=sizes[case] / sizes[claim.over_case] if sizes else 1.0,
        )
        for case in asked
    ]


def _compare_case(claim: Claim, paper: Paper, case: str, evidence: Evidence, confidence: float) -> Compared:
    try:
        row, base = _choose_rows(claim, paper, case, evidence.cells)
        if claim.test == "memory":
            return Compared(case, case, row=row, base=row, here=_share_of_copy(row), rounds=row.rounds)
    except _Missing as why:
        return Compared(case, case, missing=str(why), may_come=why.may_come)
    here, _ = evidence.samples.ratio(base, row, confidence)
    return Compared(case, case, row=row, base=base, here=here, rounds=min(row.rounds, base.rounds))


def _share_of_copy(row: Any) -> Estimate:
    """The bytes that a cell moves a second, over those of a copy in the same sessions."""
    if not (row.bandwidth_gbytes and row.traffic_bytes):
        raise _Missing("no copy was timed")
    share = row.traffic_bytes / row.bandwidth_gbytes / 1e9
    low, high = (share / bound if bound else None for bound in (row.seconds_high, row.seconds_low))
    return Estimate(share / row.seconds, low, high)


def _compare_totals(claim: Claim, paper: Paper, evidence: Evidence) -> list[Compared]:
    """The whole table as one case: the paper's totals are derived from its own rates."""
    where, totals = ("paper", paper.name, claim.experiment), evidence.totals
    theirs = {one.profile: one.seconds for one in totals if (one.machine, one.paper, one.experiment) == where}
    slow, fast = [theirs[name] for name in claim.over if theirs.get(name)], theirs.get(claim.row)
    if not (slow and fast):
        return []
    published = min(slow) / fast
    whole = Compared("", "", published, f"{format_speedup(published)} (from its own rates)")
    try:
        row, base = _choose_rows(claim, paper, None, evidence.cells)
    except _Missing as why:
        return [replace(whole, missing=str(why), may_come=why.may_come)]
    slowest, fastest = ([cell for cell in evidence.cells if _row_of(cell) == _row_of(one)] for one in (base, row))
    here = evidence.samples.sum(slowest, fastest, TWO_LOOKS)
    fewest = min(cell.rounds for cell in (*slowest, *fastest))
    return [replace(whole, row=row, base=base, here=here, rounds=fewest)]


def _choose_rows(claim: Claim, paper: Paper, case: str | None, cells: Cells) -> tuple[Any, Any]:
    """The fastest of our rows beside the claim's `row` in a case (of None: in all cases together), and what it is
    compared with: the fastest beside `over`, or that row itself in `over_case`, or of neither itself.

    Only programs that answer a published row count: of several algorithms the paper's own for that row; rows in its
    precision where such were measured, or else in fp32. Of two CPU rows both are of one package, so that the claim is
    about cores and not about libraries.
    """
    mine = [cell for cell in cells if case in (None, cell.case)]
    if not mine:
        raise _Missing(NOT_MEASURED)
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
    for row in fast:
        for base in slow:
            if not row.is_cpu or row.package == base.package:
                return row, base
    raise _Missing(f"no row of {fast[0].package} answers {' or '.join(claim.over)}")


def _candidates(paper: Paper, names: Collection[str], threads: int | None, cells: Cells) -> list[Any]:
    """Cells with a time beside the published rows `names`, the fastest first (of a total, one cell of each column)."""
    answering = [cell for cell in cells if _answers(cell, paper, names)]
    theirs = {paper.row(name).precision or FULL_PRECISION for name in names}
    alike = [cell for cell in answering if cell.precision in theirs]
    if not any(cell.seconds for cell in alike):
        alike = [cell for cell in answering if cell.precision == FULL_PRECISION]
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


def _answers(cell: Any, paper: Paper, names: Collection[str]) -> bool:
    """Whether a cell stands beside any of these published rows."""
    beside = rows_beside(paper, cell.experiment, cell.architecture, cell.algorithm)
    return any(row.name in names for row in beside)


def _may_come(cell: Any) -> bool:
    """Whether it has no time only because it was disturbed, or not measured yet."""
    return bool(cell.status == "contaminated" or cell.reason == NOT_YET)


def _row_of(cell: Any) -> tuple[str, str]:
    """The row of its table: how it ran and, where the table tells algorithms apart, which."""
    return cell.profile, cell.label


def published_value(claim: Claim, paper: Paper, case: str) -> float | None:
    """The fastest row of `over` against `row`, as the paper has it; a speedup that it prints alone is over its fastest
    CPU row."""
    made = paper.speedup(claim.experiment, case, claim.row, claim.over)
    printed = paper.printed_speedup(claim.experiment, case, claim.row)
    return made or (printed.value if printed and set(paper.cpu_rows) <= set(claim.over) else None)


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


def claim_fallback(claim: Claim, paper: Paper, evidence: Evidence) -> str:
    """What a machine can say of a claim that it cannot test, in a sentence made from what was measured in fp32.

    A CPU row stands in for the accelerator, each time with the algorithm of the published row that it is set beside.
    """
    cells = [cell for cell in evidence.cells if cell.precision == FULL_PRECISION and cell.seconds]
    if claim.test == "total":
        return _fallback_of_total(claim, paper, cells, evidence.totals)
    if claim.threads:
        return _fallback_of_cores(claim, paper, cells)
    said = ""
    if claim.test == "growth":
        said = _fallback_of_growth(claim, paper, cells)
    elif claim.test in NUMBERED:
        said = _fallback_of_speedup(claim, paper, cells)
    experiment = paper.experiments[claim.experiment]
    if said or paper.prints(claim.experiment):
        return said
    fastest = fastest_by((cell for cell in cells if cell.is_cpu), "case").values()
    values = [value for cell in fastest if (value := experiment.unit.value(cell.seconds, cell.amount))]
    return f"The fastest CPU program here: {_span(values)} {words_of_unit(experiment)}." if values else ""


def _fallback_of_speedup(claim: Claim, paper: Paper, cells: Cells) -> str:
    """The fastest CPU row here beside the two published rows that the claim is about."""
    experiment = paper.experiments[claim.experiment]
    there, base, where = paper.row(claim.row), _fastest_published(claim, paper), "The"
    if claim.test == "largest":
        top = max(experiment.case_names(), key=lambda case: published_value(claim, paper, case) or 0.0)
        cells, where = [cell for cell in cells if cell.case == top], f"At {top} the"
    fast = [cell.seconds / printed for cell, printed in _beside(cells, paper, claim, there)]
    slow = [printed / cell.seconds for cell, printed in _beside(cells, paper, claim, base)]
    if not (fast and slow and base):
        return ""
    with_what = ", each time with the algorithm that the paper ran there" if experiment.algorithms else ""
    takes = f"{_span(fast)} of the time" if max(fast) < 1 else f"{_span(fast, 'x')} the time"
    return (
        f"{where} fastest CPU program here takes {takes} of the paper's {label_row(paper, there)} "
        f"({_hardware(there)}), and is {_span(slow, 'x')} as fast as its CPU ({_hardware(base)}){with_what}."
    )


def _fallback_of_growth(claim: Claim, paper: Paper, cells: Cells) -> str:
    """How the CPU changes from case to case: an accelerator gains where the CPU loses."""
    fastest = _beside(cells, paper, claim, _fastest_published(claim, paper))
    if len(fastest) < 2:
        return ""
    if all(cell.flops for cell, _ in fastest):
        ours = [cell.flops / cell.seconds / 1e9 for cell, _ in fastest]
        theirs = [cell.flops / printed / 1e9 for cell, printed in fastest]
        apart = [format_number(max(one) / min(one), 2) for one in (ours, theirs)]
        return (
            f"The fastest CPU program here does {_span(ours)} GFLOP/s over these cases, the paper's CPU "
            f"{_span(theirs)}: the rates differ by a factor of {apart[0]} here and of {apart[1]} there."
        )
    (cell, printed), *_, (last_cell, last_printed) = fastest
    grows = [format_number(one) for one in (last_cell.seconds / cell.seconds, last_printed / printed)]
    columns = paper.experiments[claim.experiment].columns
    first, last = (columns.get(case, case) for case in (cell.case, last_cell.case))
    return (
        f"From {first} to {last} the time of the paper's CPU algorithm grows by a factor of {grows[0]} here, "
        f"of {grows[1]} there."
    )


def _fallback_of_cores(claim: Claim, paper: Paper, cells: Cells) -> str:
    """What all cores bring, where they are not as many as the claim is about."""
    single = {
        (cell.case, cell.package, cell.algorithm): cell
        for cell in cells
        if _answers(cell, paper, claim.over) and cell.threads == 1
    }
    pairs = [
        (cell, base)
        for cell in cells
        if _answers(cell, paper, (claim.row,)) and (base := single.get((cell.case, cell.package, cell.algorithm)))
    ]
    if not pairs:
        return ""
    counts = " or ".join(map(str, sorted({cell.threads or 0 for cell, _ in pairs})))
    return f"{counts} threads are {_span([base.seconds / cell.seconds for cell, base in pairs], 'x')} as fast as one."


def _fallback_of_total(claim: Claim, paper: Paper, cells: Cells, totals: Cells) -> str:
    where = (paper.name, claim.experiment)
    mine = [one for one in totals if (one.paper, one.experiment) == where and one.headline_seconds]
    theirs = {one.profile: one.headline_seconds for one in mine if one.machine == "paper"}
    here = {(cell.machine, cell.profile) for cell in cells if cell.is_cpu}
    ours = [one for one in mine if (one.machine, one.profile) in here]
    slow = [theirs[name] for name in claim.over if name in theirs]
    if not (ours and slow and claim.row in theirs):
        return ""
    best = min(ours, key=lambda one: one.headline_seconds)
    return (
        f"A day's work of the paper's GPU ({format_duration(min(slow))} for its CPU, both at their own rates) takes "
        f"{format_duration(best.headline_seconds)} here ({best.label})."
    )


def _beside(cells: Cells, paper: Paper, claim: Claim, there: PublishedRow | None) -> list[tuple[Any, float]]:
    """In each case the fastest CPU row here that runs what the published row ran, and the seconds printed there."""
    if there is None:
        return []
    algorithms = paper.experiments[claim.experiment].algorithms
    alike = (
        cell
        for cell in cells
        if cell.is_cpu and (cell.algorithm not in algorithms or there.name in algorithms[cell.algorithm].published_for)
    )
    # In fp32, so that its traffic is that of the printed number.
    found = (
        (cell, paper.seconds(claim.experiment, cell.case, there.name, cell.flops, cell.traffic_bytes))
        for cell in fastest_by(alike, "case").values()
    )
    return [(cell, printed) for cell, printed in found if printed]


def _fastest_published(claim: Claim, paper: Paper) -> PublishedRow | None:
    """Of the rows that the claim compares with, the one that is fastest in most of the printed columns."""
    cases = paper.experiments[claim.experiment].case_names()
    names = [row.name for case in cases if (row := paper.fastest(claim.experiment, case, claim.over))]
    return paper.row(max(names, key=names.count)) if names else None


def _hardware(row: PublishedRow) -> str:
    label = row.hardware.label if row.hardware else row.device or row.label
    return label if row.precision in {"", FULL_PRECISION} else f"{label}, {row.precision}"


def _span(values: Sequence[float], mark: str = "") -> str:
    return " to ".join(dict.fromkeys(f"{format_number(one, 2)}{mark}" for one in (min(values), max(values))))


# How a number of claims of each verdict is said, of one and of several.
_SAID = {
    rules.REPRODUCED: ("is reproduced", "are reproduced"),
    rules.LARGER: ("comes out larger than claimed", "come out larger than claimed"),
    rules.SMALLER: ("comes out smaller", "come out smaller"),
    rules.ANOTHER_SHAPE: ("has another shape", "have another shape"),
    rules.NOT_SETTLED: ("is not settled yet", "are not settled yet"),
    rules.NOT_TESTABLE: ("cannot be tested here", "cannot be tested here"),
}


def summarize(machine: str, paper: Paper, cells: pd.DataFrame, claims: pd.DataFrame) -> tuple[str, str]:
    """What came out of one paper on one machine, in a few plain sentences: what became of its claims, and how far the
    numbers can be relied on, with what would do for more."""
    mine = cells[(cells["machine"] == machine) & (cells["paper"] == paper.name)]
    mine = mine[mine["measured_in"] == mine["experiment"]]
    if not (mine["seconds"] > 0).any():
        return "Nothing of this paper has been measured on this machine yet.", ""
    whole = claims[(claims["machine"] == machine) & (claims["paper"] == paper.name) & (claims["case"] == "")]
    judged = list(rows_of(whole))
    about = {claim.name: claim for claim in paper.claims}
    titles = {one.claim: paper.experiments[about[one.claim].experiment].title for one in judged}
    # Of the claims about the cases of a table, but for those about threads.
    each = [one for one in judged if one.here and about[one.claim].test == "each" and about[one.claim].threads is None]
    said = [f"{titles[one.claim]}: {one.here} here, {one.published} published." for one in each]
    # What stands in for the claims that could not be tested: the first of those about a table, and the whole.
    instead = {about[one.claim].test: one for one in reversed(judged) if one.instead}
    found = [instead[test] for test in ("each", "total") if test in instead]
    said += [f"{titles[one.claim]}: {one.instead}" for one in found]
    return " ".join(filter(None, [_count_verdicts(judged), *said])), _say_how_firm(mine)


def _count_verdicts(judged: Cells) -> str:
    if not judged:
        return ""
    counted = Counter(one.verdict for one in judged)
    parts = [f"{counted[kind]} {said[counted[kind] > 1]}" for kind, said in _SAID.items() if counted[kind]]
    missing = list(dict.fromkeys(one.reason for one in judged if one.verdict == rules.NOT_TESTABLE))
    why = f" ({missing[0]}{'; others for other reasons' if len(missing) > 1 else ''})" if missing else ""
    return f"Of {len(judged)} claim{'s' * (len(judged) > 1)}, {join_words(parts)}{why}."


def _say_how_firm(cells: pd.DataFrame) -> str:
    tried = cells[cells["status"] != "not-run"]
    rounds = tried.loc[tried["seconds"] > 0, "rounds"]
    many = " to ".join(dict.fromkeys(map(str, (rounds.min(), rounds.max()))))
    many += " round" if many == "1" else " rounds"
    with_interval = tried["seconds_low"].notna().sum()
    if not with_interval:
        return f"None of {len(tried)} cells (a case on one row) has an interval, from {many}."
    text = (
        f"Of {len(tried)} cells (a case on one row) {with_interval} have an interval, "
        f"{(tried['status'] == 'settled').sum()} of them one of at most ±{format_share(SETTLED_MARGIN)}, from {many}, "
        "each in a fresh process."
    )
    failed = tried.loc[tried["status"] == "failed", "reason"]
    return f"{text} {len(failed)} failed: {failed.iloc[0]}." if len(failed) else text
