"""What a paper claims, and whether it holds on each machine: results/tables/claims.csv."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from respeed.estimators.intervals import Estimate
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.claim import Claim
from respeed.model.paper import Paper
from respeed.numbers import NO_INTERVAL, format_share, format_speedup, format_whole_share
from respeed.tables.cells import Cell
from respeed.tables.compared import Compared, compare_claim
from respeed.tables.instead import say_instead
from respeed.tables.judged import judge_claim
from respeed.tables.totals import Total

COLUMNS = (
    "machine", "paper", "claim", "case", "published_low", "published_high", "speedup", "speedup_low", "speedup_high",
    "verdict", "reason", "instead", "profile", "base_profile", "says",
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """One row of claims.csv: a claim on a machine as a whole (`case` is empty), or one case of it.

    `verdict` is reproduced, larger, smaller, another shape, not settled or not testable here; `reason` says why, or
    what is missing, and `instead` what can be said all the same. The numbers are speedups; of a claim about memory,
    shares of what a copy moves. Of a claim about several cases, `published_low` and `published_high` are the range of
    what was printed, `speedup_low` and `speedup_high` that of our intervals, and `speedup` is None.
    Not in the file: `published` and `here`, the same as texts for people ("12.9x to 72.6x").
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
                mine = of[machine, paper.name, claim.experiment]
                compared = compare_claim(claim, paper, mine, rounds, totals)
                exact = [cell for cell in mine if cell.in_full_precision]
                instead = say_instead(claim, paper, exact, rounds, totals)
                verdicts += _verdicts(machine, claim, paper, compared, instead)
    return verdicts


def _verdicts(machine: str, claim: Claim, paper: Paper, compared: list[Compared], instead: str) -> Iterator[Verdict]:
    judged = judge_claim(claim, compared)
    measured = [one for one in compared if one.here]
    published = sorted((one for one in judged.published if one.published), key=lambda one: one.published or 0.0)
    say = format_whole_share if claim.test == "memory" else format_speedup
    yield Verdict(
        machine=machine,
        paper=paper.name,
        claim=claim.name,
        case="",
        published_low=published[0].published if published else None,
        published_high=published[-1].published if published else None,
        speedup=judged.shown[0].value if len(judged.shown) == 1 else None,
        speedup_low=_lowest(judged.shown),
        speedup_high=_highest(judged.shown),
        verdict=judged.verdict,
        reason=judged.reason,
        instead="" if len(measured) == len(compared) and measured else instead,
        profile=_names(one.rows.row for one in measured),
        base_profile=_names(one.rows.base for one in measured),
        says=claim.says,
        published=_range([one.text for one in published]),
        here=_here(judged.shown, measured, say),
    )
    for one in compared if len(compared) > 1 else ():
        kind, why = judged.singles[one.case]
        here = [one.here] if one.here else []
        yield Verdict(
            machine=machine,
            paper=paper.name,
            claim=claim.name,
            case=one.case,
            published_low=one.published,
            published_high=one.published,
            speedup=here[0].value if here else None,
            speedup_low=_lowest(here),
            speedup_high=_highest(here),
            verdict=kind,
            reason=why,
            instead="",
            profile=_names([one.rows.row] if here else []),
            base_profile=_names([one.rows.base] if here else []),
            says=claim.says,
            published=one.text,
            here=_here(here, [one], say),
        )


def _names(cells: Iterable[Cell]) -> str:
    return " or ".join(dict.fromkeys(cell.profile for cell in cells))


def _lowest(here: Sequence[Estimate]) -> float | None:
    return None if any(one.low is None for one in here) else min((one.low or 0.0 for one in here), default=None)


def _highest(here: Sequence[Estimate]) -> float | None:
    return None if any(one.high is None for one in here) else max((one.high or 0.0 for one in here), default=None)


def _here(here: Sequence[Estimate], compared: Sequence[Compared], say: Callable[[float], str]) -> str:
    """Our numbers for people: from the smallest to the largest, with the widest of their intervals."""
    if not here:
        return ""
    text = _range([say(one.value) for one in sorted(here, key=lambda one: one.value)])
    margins = [one.margin for one in here if one.margin is not None]
    marks = dict.fromkeys(one.rows.precisions for one in compared if one.rows.precisions)
    interval = f"±{format_share(max(margins))}" if len(margins) == len(here) else NO_INTERVAL
    return " ".join([text, interval, *(f"({mark})" for mark in marks)])


def _range(texts: list[str]) -> str:
    return " to ".join(dict.fromkeys([texts[0], texts[-1]])) if texts else ""
