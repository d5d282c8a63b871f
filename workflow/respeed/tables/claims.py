"""What a paper claims, and whether it holds on each machine: results/tables/claims.csv."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from respeed.estimators.intervals import Estimate, estimate_sum_ratio
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import compare_rounds
from respeed.estimators.verdicts import (
    ANOTHER_SHAPE,
    LARGER,
    NOT_SETTLED,
    NOT_TESTABLE,
    confidence_for,
    judge_each,
    judge_growth,
    judge_value,
    largest,
)
from respeed.model.claim import Claim
from respeed.model.paper import Paper
from respeed.tables.cells import Cell
from respeed.tables.claimed_rows import NOT_MEASURED, Rows, choose_rows, published_value
from respeed.tables.instead import say_instead
from respeed.tables.numbers import format_share, format_speedup
from respeed.tables.totals import Total, measured_together

COLUMNS = (
    "machine", "paper", "claim", "case", "published_low", "published_high", "speedup", "speedup_low", "speedup_high",
    "verdict", "reason", "instead", "profile", "base_profile", "says",
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """One row of claims.csv: a claim on a machine as a whole (`case` is empty), or one case of it.

    `verdict` is reproduced, larger, smaller, another shape, not settled or not testable here; `reason` says why, or
    what is missing, and `instead` what can be said all the same. Of a claim about several cases, `published_low` and
    `published_high` are the range of what was printed, `speedup_low` and `speedup_high` that of our intervals, and
    `speedup` is None. Not in the file: `published` and `here`, the same as texts for people ("12.9x to 72.6x").
    """

    machine: str
    paper: str
    claim: str
    case: str
    published_low: float | None
    published_high: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    verdict: str
    reason: str
    instead: str
    profile: str
    base_profile: str
    says: str
    published: str
    here: str


@dataclass(frozen=True)
class _Compared:
    """One case of a claim; of a total, the whole table. `here` is None where a row is missing."""

    case: str
    published: float
    text: str
    rows: Rows
    here: Estimate | None
    rounds: int


def make_claims(
    cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper], totals: list[Total]
) -> list[Verdict]:
    """For every machine and claim a row for the claim, then one for each of its cases."""
    of: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        of[cell.machine, cell.paper, cell.experiment].append(cell)
    verdicts: list[Verdict] = []
    for machine in dict.fromkeys(cell.machine for cell in cells):
        for paper in papers.values():
            for claim in paper.claims:
                mine = [cell for cell in of[machine, paper.name, claim.experiment] if cell.in_full_precision]
                compare = _totals if claim.test == "total" else _cases
                compared = list(compare(claim, paper, mine, rounds, totals))
                instead = say_instead(claim, paper, mine, rounds, totals)
                verdicts += _verdicts(machine, claim, paper, compared, instead)
    return verdicts


def _cases(
    claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], totals: list[Total]
) -> Iterator[_Compared]:
    experiment = paper.experiments[claim.experiment]
    printed = [(case, published_value(claim, paper, case)) for case in experiment.case_names()]
    confidence = confidence_for(sum(value is not None for _, value in printed))
    for case, value in printed:
        if value is not None:
            rows = choose_rows(claim, [cell for cell in cells if cell.case == case], rounds)
            here = compare_rounds(rounds[rows.base.key], rounds[rows.row.key], confidence) if rows.found else None
            fewest = min(rows.base.rounds, rows.row.rounds) if rows.found else 0
            yield _Compared(case, value, _printed(claim, paper, case, value), rows, here, fewest)


def _totals(
    claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], totals: list[Total]
) -> Iterator[_Compared]:
    """The whole table as one case: the paper's totals are derived from its own rates."""
    experiment = paper.experiments[claim.experiment]
    theirs = {
        total.profile: total.seconds
        for total in totals
        if (total.machine, total.paper, total.experiment) == ("paper", paper.name, claim.experiment)
    }
    slow = min((seconds for name in claim.over if (seconds := theirs.get(name))), default=None)
    fast = theirs.get(claim.row)
    if not (slow and fast):
        return
    rows = choose_rows(claim, cells, rounds, of_total=True)
    here = None
    if rows.found:
        slowest, fastest = (measured_together(_column(cells, one), rounds, experiment) for one in (rows.base, rows.row))
        here = estimate_sum_ratio(slowest, fastest)
    fewest = min((cell.rounds for cell in cells if rows.found and cell.row in {rows.base.row, rows.row.row}), default=0)
    yield _Compared("", slow / fast, f"{format_speedup(slow / fast)} at its own rates", rows, here, fewest)


def _column(cells: list[Cell], one: Cell) -> list[Cell]:
    return [cell for cell in cells if cell.row == one.row]


def _printed(claim: Claim, paper: Paper, case: str, value: float) -> str:
    """As it was printed, where it was: the paper's speedups are over its fastest CPU row."""
    text = paper.printed_speedup(claim.experiment, case, claim.row) if len(claim.over) > 1 else ""
    return f"{text}x" if text else format_speedup(value)


def _verdicts(machine: str, claim: Claim, paper: Paper, compared: list[_Compared], instead: str) -> Iterator[Verdict]:
    """The claim as a whole, and where it has several cases, each of them."""
    measured = [one for one in compared if one.here]
    cases, here = [one.case for one in measured], [one.here for one in measured if one.here]
    fewest = min((one.rounds for one in measured), default=0)
    singles = [judge_value(one.published, one.here, one.rounds) for one in measured if one.here]
    missing = [
        f"{one.case}: {one.rows.missing}" if measured and one.case else one.rows.missing
        for one in compared
        if not one.here
    ]
    published = [one.published for one in compared]
    text = _range([one.text for one in sorted(compared, key=lambda one: one.published)])
    value = here[0] if len(here) == 1 else None
    if claim.test == "largest":
        top = max(compared, key=lambda one: one.published) if compared else None
        published, text = ([top.published], top.text) if top else ([], "")
        value = largest(here) if here else None
    if not measured:
        kind = NOT_SETTLED if any(one.rows.may_come for one in compared) else NOT_TESTABLE
        verdict = (kind, "; ".join(dict.fromkeys(missing)) or NOT_MEASURED)
    elif claim.test == "largest":
        assert value is not None
        verdict = judge_value(published[0], value, fewest)
    elif claim.test == "growth":
        verdict = judge_growth(cases, here, fewest)
    else:
        verdict = judge_each(cases, singles)
    if measured and _is_open(claim, compared, verdict[0]):
        verdict = (NOT_SETTLED, "" if verdict[0] != NOT_SETTLED else verdict[1])
    reason = "; ".join(filter(None, [verdict[1], *(dict.fromkeys(missing) if measured else ())]))
    shown = [value] if claim.test == "largest" and value else here
    yield Verdict(
        machine=machine,
        paper=paper.name,
        claim=claim.name,
        case="",
        published_low=min(published, default=None),
        published_high=max(published, default=None),
        speedup=value.value if value else None,
        speedup_low=_lowest(shown),
        speedup_high=_highest(shown),
        verdict=verdict[0],
        reason=reason,
        instead="" if len(measured) == len(compared) and measured else instead,
        profile=_names(one.rows.row for one in measured),
        base_profile=_names(one.rows.base for one in measured),
        says=claim.says,
        published=text,
        here=_here(shown),
    )
    if len(compared) < 2:
        return
    found = dict(zip(cases, singles, strict=True))
    for one in compared:
        absent = NOT_SETTLED if one.rows.may_come else NOT_TESTABLE
        kind, why = found.get(one.case, (absent, one.rows.missing))
        yield Verdict(
            machine, paper.name, claim.name, one.case, one.published, one.published,
            one.here.value if one.here else None, one.here.low if one.here else None,
            one.here.high if one.here else None, kind, why, "",
            _names([one.rows.row] if one.here else []), _names([one.rows.base] if one.here else []), claim.says,
            one.text, _here([one.here] if one.here else []),
        )  # fmt: skip


def _is_open(claim: Claim, compared: Sequence[_Compared], verdict: str) -> bool:
    """Whether a case without a time may yet change the verdict of those that have one: one that may come may make a
    claim fail, and the largest of all may be the one that is missing."""
    absent = [one for one in compared if not one.here]
    if claim.test == "largest":
        return verdict != LARGER and bool(absent)
    return verdict != ANOTHER_SHAPE and any(one.rows.may_come for one in absent)


def _names(cells: Iterable[Cell]) -> str:
    return " or ".join(dict.fromkeys(cell.profile for cell in cells))


def _lowest(here: Sequence[Estimate]) -> float | None:
    return None if any(one.low is None for one in here) else min((one.low or 0.0 for one in here), default=None)


def _highest(here: Sequence[Estimate]) -> float | None:
    return None if any(one.high is None for one in here) else max((one.high or 0.0 for one in here), default=None)


def _here(here: Sequence[Estimate]) -> str:
    """Our numbers for people: from the smallest to the largest, with the widest of their intervals."""
    if not here:
        return ""
    text = _range([format_speedup(one.value) for one in sorted(here, key=lambda one: one.value)])
    widths = [max(one.high / one.value - 1, 1 - one.low / one.value) for one in here if one.low and one.high]
    return f"{text} ±{format_share(max(widths))}" if len(widths) == len(here) else f"{text} (no interval)"


def _range(texts: list[str]) -> str:
    return " to ".join(dict.fromkeys([texts[0], texts[-1]])) if texts else ""
