"""results/tables/claims.csv: the claims of papers, and whether they hold on each machine.

A claim is about ratios: the seconds of our row for the published rows `over`, divided by the seconds of our row for the
published `row`. Each test has a band in which the ratios must lie:

    each          within the rounding of the printed number
    faster        above 1
    limited       above 1, and at least one clearly below its ideal
    memory        above 0.8 times a copy's rate in bytes
    crossover     the first below 1, the last above 1
    growth        the last above the first, and none clearly below an earlier one
    mean          the mean of several claims' ratios within the rounding of the mean of their printed numbers

A ratio's interval lies inside, above or below its band. If the interval lies only partly in the band, the case is left
open, whatever the ratio; but a narrow interval (±10 %) that meets a printed number's band counts as inside.

A growth or a crossover is only weakly reproduced if a row of it, not a base, is far above its bound, as where a GPU
waits for launches at the smallest size. No claim is reproduced, and no number larger, over a base that is not fair.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from operator import attrgetter
from typing import NamedTuple

from respeed.analysis.cells import across_precisions
from respeed.analysis.estimates import (
    SETTLED_MARGIN,
    Estimate,
    estimate_mean,
    level_of_each,
    rounds_missing,
    what_is_missing,
)
from respeed.analysis.pairs import (
    WEAK,
    Cells,
    Untimed,
    choose_rows,
    say_least,
    share_of_copy,
    times_least,
    why_unfair,
)
from respeed.analysis.speedups import Samples, published_speedup, times_the_work
from respeed.analysis.tables import Cell, CellKey, ClaimRow, group_by
from respeed.model import Claim, Paper, Papers
from respeed.text import NO_INTERVAL, format_share, format_span, format_speedup, format_whole_share, join_words

REPRODUCED = "reproduced"
WEAKLY = "weakly reproduced"
LARGER = "larger"
SMALLER = "smaller"
ANOTHER_SHAPE = "trend not reproduced"
NOT_FAIR = "not fair here"
NOT_SETTLED = "not settled"
NOT_TESTABLE = "not testable here"

# A program that moves its bytes at this share of a plain copy's rate is bound by memory. The copy reads and writes
# another number of arrays, and the copy's best time counts: sums of long vectors were seen at 0.84 to 1.2.
NEAR_COPY = 0.8
# At this share of the ideal, such as the number of threads, there is no practical limit.
NEAR_IDEAL = 0.95
# Why a case with a narrow interval is not settled, and why several cases of one printed column are not settled.
LEFT_OPEN = "its interval leaves it open"
EITHER = "larger if one was run, smaller if another, and it is not known which"
UNKNOWN = Estimate(math.nan)


@dataclass(frozen=True)
class ClaimCase:
    """One case of a claim: what the paper states of it, and our ratio.

    Attributes
    ----------
    case, column : the case and its printed column
    name, table : the names of the case and of its table for people
    published : the number that the claim names, or the bound that ratios must exceed
    text, rounding : of a number, its text and its relative error; a bound has no text
    ideal : the ratio that a claim about a limit is compared with
    untimed, is_due : why we have no ratio, and whether that is only because a cell is not measured yet or disturbed
    ratio : our ratio; NaN without one
    rounds : the fewest rounds of the cells behind the ratio
    pairs : these cells, each a row and its base; a mean has several pairs
    unfair : why a base is not fair
    """

    case: str
    name: str
    column: str = ""
    table: str = ""
    published: float = 1.0
    text: str = ""
    rounding: float = 0.0
    ideal: float = 1.0
    untimed: str = ""
    is_due: bool = False
    ratio: Estimate = UNKNOWN
    rounds: int = 0
    pairs: tuple[tuple[Cell, Cell], ...] = ()
    unfair: str = ""

    @property
    def lacks(self) -> str:
        """Return why there is no ratio, or what its interval lacks to be settled; empty if it is settled."""
        return self.untimed or what_is_missing(self.ratio, self.rounds)

    @property
    def place(self) -> str:
        """Return where the interval lies: above or below the band of the published number, inside, open, or absent.

        The band of a number is its rounding: an interval that meets it is inside only if it is narrow, since a wide
        interval meets any number. The band of a bound is all above it.
        """
        if self.untimed:
            return "absent"
        if self.ratio.is_above(self.published * (1 + self.rounding)):
            return "above" if self.text else "inside"
        if self.ratio.is_below(self.published * (1 - self.rounding)):
            return "below"
        return "inside" if self.text and not self.lacks else "open"


Cases = Sequence[ClaimCase]
# The verdict on a crossover by the places of its first and last case, and on a single case by its place.
CROSSINGS: Mapping[tuple[str, ...], str] = {
    ("below", "inside"): REPRODUCED,
    ("inside", "inside"): LARGER,
    ("below", "below"): SMALLER,
    ("inside", "below"): ANOTHER_SHAPE,
    ("inside",): "faster here",
    ("below",): "slower here",
}


class Measured(NamedTuple):
    """The cells of a machine, by paper and table, and the times of their rounds."""

    tables: Mapping[tuple[str, str], Cells]
    samples: Samples


class Verdict(NamedTuple):
    """A verdict and its reason; `lacking` has the names of cases that are open, and what each lacks."""

    kind: str
    reason: str = ""
    lacking: Mapping[str, str] = {}


def judge_claim(test: str, cases: Cases) -> Verdict:
    """Judge a claim from all of its cases."""
    answers = _merge_columns(cases) if test == "each" else cases
    measured = _timed(answers)
    absent = _names(answers, "absent")
    verdict = Verdict(NOT_TESTABLE)
    if measured and not (absent and test == "crossover"):
        verdict = RULES.get(test, judge_each)(measured)
    is_due = any(case.is_due for case in answers)
    # A case without a time may yet make the claim fail.
    if is_due and verdict.kind not in (ANOTHER_SHAPE, NOT_SETTLED):
        verdict = Verdict(NOT_SETTLED)
    if verdict.kind in (REPRODUCED, LARGER) and _largest_unfair(cases):
        verdict = Verdict(NOT_FAIR, f"else {verdict.kind}")
    if verdict.kind == REPRODUCED and test in ("growth", "crossover") and _say_weakest(cases):
        verdict = verdict._replace(kind=WEAKLY)
    reasons = verdict.reason, _by_reason({**verdict.lacking, **absent}, len(answers))
    return verdict._replace(reason="; ".join(filter(None, reasons)))


def _merge_columns(cases: Cases) -> list[ClaimCase]:
    """Return the cases by printed column: of several that share a column, one that is reproduced is enough."""
    merged: list[ClaimCase] = []
    for column, alike in group_by(cases, attrgetter("column")).items():
        places = {case.place: case for case in alike}
        chosen = places.get("inside") or places.get("open")
        if not chosen and {"above", "below"} <= places.keys():
            chosen = ClaimCase(column, column, untimed=EITHER, is_due=True)
        merged += [chosen] if chosen else alike
    return merged


def judge_case(test: str, case: ClaimCase) -> Verdict:
    """Judge one case of a claim by itself: a single number cannot grow."""
    return judge_claim("each" if test == "growth" else test, [case])


def _timed(cases: Cases) -> list[ClaimCase]:
    """Return the cases that have a ratio."""
    return [case for case in cases if not case.untimed]


def _pairs(cases: Cases) -> list[tuple[Cell, Cell]]:
    """Return our rows and their bases in these cases."""
    return list(chain.from_iterable(case.pairs for case in cases))


def _by_reason(reasons: Mapping[str, str], number: int) -> str:
    """Return each reason once, after the names that have it, unless these are all of that `number`."""
    texts = []
    for reason, names in group_by(reasons, reasons.__getitem__).items():
        if len(names) < number:
            reason = f"{join_words(names)}: {reason}"
        texts.append(reason)
    return "; ".join(texts)


def _say_places(places: Mapping[str, Collection[str]], number: int) -> str:
    """Return the names of the cases in each place, by the word for the place; what holds for all names none."""
    texts = []
    for word, names in places.items():
        if 0 < len(names) < number:
            texts.append(f"{word} at {join_words([*names])}")
    return ", ".join(texts)


def _names(cases: Cases, side: str) -> dict[str, str]:
    """Return the names of the cases that lie on this side, each with what its interval lacks to be settled."""
    return {case.name: case.lacks or LEFT_OPEN for case in cases if case.place == side}


def _say_weakest(cases: Cases) -> str:
    """Name the row, not the base, that is farthest above its bound; empty if no row is weak."""
    weak = [row for row, _ in _pairs(cases) if times_least(row) > WEAK]
    return say_least(max(weak, key=times_least)) if weak else ""


def say_doubt(cases: Cases) -> str:
    """Return why numbers say less than they seem to: the weakest row, and the base of the largest, if not fair."""
    doubts = []
    weakest = _say_weakest(cases)
    if weakest:
        doubts.append(f"weak: {weakest}")
    unfair = _largest_unfair(cases)
    if unfair:
        doubts.append(f"base not fair: {unfair}")
    return "; ".join(doubts)


def _largest_unfair(cases: Cases) -> str:
    """Return why a base is not fair: that of the largest number that has such a base; empty if all are fair."""
    unfair = [case for case in cases if case.unfair]
    return max(unfair, key=lambda case: case.ratio.value).unfair if unfair else ""


def judge_each(measured: Cases) -> Verdict:
    """Judge a claim that names a number, or a bound, for each case.

    If some cases lie above their number and others below, the trend is not reproduced, whatever becomes of open cases.
    A single case below its bound refutes the claim. Otherwise one open case leaves the claim open.
    """
    number = len(measured)
    above = _names(measured, "above")
    below = _names(measured, "below")
    unsettled = _names(measured, "open")
    is_bound = not measured[0].text
    reason = _say_places({LARGER: above, "slower" if is_bound else SMALLER: below}, number)
    if above and below:
        return Verdict(ANOTHER_SHAPE, reason)
    if unsettled and not (is_bound and below):
        return Verdict(NOT_SETTLED, lacking=unsettled)
    if above or below:
        return Verdict(LARGER if above else SMALLER, reason)
    if is_bound:
        return Verdict(REPRODUCED)
    # Two numbers may lie at opposite ends of their intervals.
    margin = 2 * max(case.ratio.margin or 0.0 for case in measured)
    return Verdict(REPRODUCED, f"a difference of {format_share(margin)} would show")


def judge_growth(measured: Cases) -> Verdict:
    """Judge whether a number grows from case to case, as the published one does.

    The number grows if the last interval lies above the first, and each case is known to be above the previous case or
    level with it: two settled numbers are level if the second is at most 10 % below the first. The trend is not
    reproduced if a number is more than 10 % below an earlier number, and its interval lies below the earlier interval;
    or if the first and the last case are settled, the last interval does not lie above the first, and the last number
    is at most 10 % above the first number. With one case, the claim is not settled.
    """
    first = measured[0]
    last = measured[-1]
    if first is last:
        return Verdict(NOT_SETTLED, f"only {first.name} was measured; growth needs two cases")
    for before, after in combinations(measured, 2):
        if _step(before, after) == "falls":
            return Verdict(ANOTHER_SHAPE, f"it falls from {before.name} to {after.name}")
    in_all = _step(first, last)
    if in_all == "level" and last.ratio.value <= first.ratio.value * (1 + SETTLED_MARGIN):
        return Verdict(ANOTHER_SHAPE, f"no larger at {last.name} than at {first.name}")
    unsure = [pair for pair in pairwise(measured) if _step(*pair) == "open"]
    if in_all != "rises":
        unsure.append((first, last))
    if not unsure:
        return Verdict(REPRODUCED)
    before, after = unsure[0]
    reason = before.lacks or after.lacks or "their intervals leave it open"
    return Verdict(NOT_SETTLED, f"{before.name} and {after.name} cannot be told apart yet: {reason}")


def _step(before: ClaimCase, after: ClaimCase) -> str:
    """Return whether a number rises from a case to a later one, falls (by more than 10 %), stays level, or is open."""
    if after.ratio.is_above(before.ratio.high):
        return "rises"
    falls = after.ratio.value < before.ratio.value * (1 - SETTLED_MARGIN)
    if falls and before.ratio.is_above(after.ratio.high):
        return "falls"
    return "open" if falls or before.lacks or after.lacks else "level"


def judge_crossover(measured: Cases) -> Verdict:
    """Judge whether the first ratio lies below 1 and the last ratio above 1; this needs all cases.

    The verdict is larger if both ratios lie above 1, and smaller if both lie below 1. Of one case, it is the side.
    """
    ends = [measured[0], *measured[1:][-1:]]
    unsettled = _names(ends, "open")
    if unsettled:
        return Verdict(NOT_SETTLED, lacking=unsettled)
    kind = CROSSINGS[tuple(case.place for case in ends)]
    sides = {"faster": _names(measured, "inside"), "slower": _names(measured, "below")}
    return Verdict(kind, _say_places(sides, len(measured)))


def judge_limited(measured: Cases) -> Verdict:
    """Judge whether each ratio is above 1 and at least one clearly below its ideal; the reason has ratio / ideal."""
    verdict = judge_each(measured)
    if verdict.kind != REPRODUCED:
        return verdict
    shares = [case.ratio.times(1 / case.ideal) for case in measured]
    reached = f"efficiency {_range([share.value for share in shares], format_whole_share)}"
    if any(share.is_below(NEAR_IDEAL) for share in shares):
        return Verdict(REPRODUCED, reached)
    if all(share.is_above(NEAR_IDEAL) for share in shares):
        return Verdict(LARGER, f"{reached}: nearly no limit shows")
    return Verdict(NOT_SETTLED, f"{reached}: {LEFT_OPEN}")


# The rules of tests that do not judge each case alone.
RULES = {"growth": judge_growth, "crossover": judge_crossover, "limited": judge_limited}


def make_claims(cells: Cells, samples: Samples, papers: Papers) -> list[ClaimRow]:
    """Make a row for every claim on every machine and, if the claim has several cases, a row for each case.

    For a claim about several cases, `published_low` and `published_high` are the range of the printed numbers,
    `speedup_low` and `speedup_high` the range of our intervals, and `speedup` is missing. `published` and `here` have
    the numbers as text for people ("12.9x to 72.6x"). For a claim about memory, numbers are shares of a copy's rate.
    """
    rows: list[ClaimRow] = []
    for machine, paper, claim, cases in _on_machines(cells, samples, papers):
        verdict = judge_claim(claim.test, cases)
        rows.append(_row(machine, paper, claim, cases, verdict))
        for case in cases if len(cases) > 1 else ():
            verdict = judge_case(claim.test, case)
            rows.append(_row(machine, paper, claim, [case], verdict, case.case))
    return rows


def open_claims(cells: Cells, samples: Samples, papers: Papers) -> list[tuple[float, set[CellKey]]]:
    """Find every claim that has a measured case and is not settled.

    Returns
    -------
    list of (rounds, cells)
        For each claim, about how many rounds per cell, in all, would settle the claim if its numbers stay as they are,
        and the keys of the cells to measure.
    """
    unsettled = []
    for *_, claim, cases in _on_machines(cells, samples, papers):
        measured = _timed(cases)
        if judge_claim(claim.test, measured).kind != NOT_SETTLED:
            continue
        most = 0.0
        keys = set[CellKey]()
        for case in measured:
            if not case.lacks and judge_case(claim.test, case).kind != NOT_SETTLED:
                continue
            # At least one more than the case has.
            more = max(1, rounds_missing(case.ratio, case.rounds))
            most = max(most, case.rounds + more)
            for cell in chain.from_iterable(case.pairs):
                keys.update(samples.keys_of(cell))
        unsettled.append((most or math.inf, keys))
    return unsettled


def _on_machines(cells: Cells, samples: Samples, papers: Papers) -> Iterator[tuple[str, str, Claim, Cases]]:
    """Yield every claim on every machine: the names of the machine and the paper, the claim, and its cases there."""
    for name, of_machine in group_by(cells, attrgetter("machine")).items():
        machine = Measured(group_by(of_machine, attrgetter("paper", "experiment")), samples)
        for paper in papers.values():
            for claim in paper.claims.values():
                yield name, paper.name, claim, list_cases(claim, paper, machine)


def _row(machine: str, paper: str, claim: Claim, cases: Cases, verdict: Verdict, case: str = "") -> ClaimRow:
    """Return the row about a claim on a machine, or about some of its cases."""
    measured = _timed(cases)
    printed = [stated.published for stated in cases if stated.text]
    ends = _ends(measured)
    profiles = [row.profile for row, _ in _pairs(measured)]
    base_profiles = [base.profile for _, base in _pairs(measured)]
    return ClaimRow(
        machine,
        paper,
        claim=claim.name,
        case=case,
        published_low=min(printed, default=None),
        published_high=max(printed, default=None),
        speedup=measured[0].ratio.value if len(measured) == 1 else None,
        speedup_low=min(ends, default=None),
        speedup_high=max(ends, default=None),
        doubt=say_doubt(measured),
        verdict=verdict.kind,
        reason=verdict.reason,
        profile=" or ".join(dict.fromkeys(profiles)),
        base_profile=" or ".join(dict.fromkeys(base_profiles)),
        says=claim.says,
        published=say_published(cases),
        here=_say_ours(claim, measured, ends) if measured else "",
    )


def _ends(measured: Cases) -> list[float]:
    """Return the ends of the intervals of cases; none if one of the intervals is missing."""
    lows = [case.ratio.low for case in measured if case.ratio.low]
    highs = [case.ratio.high for case in measured if case.ratio.high]
    return [*lows, *highs] if len(lows) == len(measured) else []


def _say_ours(claim: Claim, measured: Cases, ends: Sequence[float]) -> str:
    """Return the range of our numbers as text, with the `ends` of their interval, and their precisions."""
    write = format_whole_share if claim.test == "memory" else format_speedup
    texts = [
        _range([case.ratio.value for case in measured], write),
        f"({_range(ends, write)})" if ends else NO_INTERVAL,
    ]
    for row, base in _pairs(measured):
        across = across_precisions(row.precision, base.precision)
        if across:
            texts.append(f"({across})")
    return " ".join(dict.fromkeys(texts))


def _range(values: Sequence[float], write: Callable[[float], str]) -> str:
    """Return the lowest and the highest value as text, or one of them if both read the same."""
    texts = [write(min(values)), write(max(values))]
    return " to ".join(dict.fromkeys(texts))


def say_published(cases: Iterable[ClaimCase]) -> str:
    """Return the range of the printed numbers as text; equal numbers, such as 10 and 10.0, count as one."""
    ordered = sorted(cases, key=attrgetter("published"))
    texts = {format_speedup(case.published): case.text for case in ordered[:1] + ordered[-1:]}
    return " to ".join(texts.values())


def list_cases(claim: Claim, paper: Paper, machine: Measured | None = None) -> Cases:
    """Return the cases that a claim is about, as the paper states them and, on a machine, with our ratios.

    For a claim that names numbers (each, growth), these are only cases with a printed number; for a claim about memory,
    the last case; for a mean, one case.
    """
    cases: list[ClaimCase] = []
    for part in [paper.claims[name] for name in claim.of] or [claim]:
        stated = _state(part, paper)
        if machine:
            stated = [_compare(part, paper, case, machine, len(stated)) for case in stated]
        cases += stated
    return [_average(claim, cases)] if claim.of else cases


def _state(claim: Claim, paper: Paper) -> list[ClaimCase]:
    experiment = paper.experiments[claim.experiment]
    experiment = experiment.original or experiment  # a claim is about the paper's sizes
    left_out = {claim.over_case}
    if claim.test not in ("each", "faster"):  # a total is not a problem size
        left_out.add(experiment.total_case)
    cases = []
    for name, words in experiment.column_words().items():
        if name not in left_out and name in (claim.cases or [name]):
            column = experiment.columns.get(name, name)
            cases.append(ClaimCase(name, words, column, experiment.title))
    if claim.test in ("each", "growth"):
        numbers = [_state_number(claim, paper, case) for case in cases]
        return [case for case in numbers if case.text]
    if claim.test == "memory":
        return [replace(case, published=NEAR_COPY) for case in cases[-1:]]
    if claim.test == "limited":
        sizes = {case.name: case.parameters[claim.by] for case in experiment.cases}
        base = sizes[claim.over_case]
        return [replace(case, ideal=sizes[case.case] / base) for case in cases]
    return cases


def _state_number(claim: Claim, paper: Paper, case: ClaimCase) -> ClaimCase:
    """Return the case with the published number; without a text if there is none."""
    table = paper.experiments[claim.experiment]
    number = case.case, claim.row, claim.over
    published = published_speedup(paper, table, *number)
    if published is None:
        return case
    text = published.text
    base = table.fastest(case.case, claim.over)
    across = across_precisions(paper.rows[claim.row].precision, paper.rows[base].precision if base else "")
    if across:
        text += f" ({across})"
    return replace(case, published=published.value, text=text, rounding=table.speedup_rounding(*number))


def _average(claim: Claim, parts: Cases) -> ClaimCase:
    """Return the mean of cases as one case; if one of them has no time here, we have no mean."""
    numbers = [Estimate(case.published) for case in parts]
    upper_ends = [Estimate(case.published * (1 + case.rounding)) for case in parts]
    published = estimate_mean(numbers).value
    absent = {case.table: case.untimed for case in parts if case.untimed}
    return ClaimCase(
        "mean",
        "geometric mean",
        published=published,
        text=format_speedup(published),
        rounding=estimate_mean(upper_ends).value / published - 1,
        untimed=_by_reason(absent, len(claim.of)),
        is_due=bool(absent) and all(case.is_due for case in parts if case.untimed),
        ratio=estimate_mean([case.ratio for case in parts]),
        rounds=min(case.rounds for case in parts),
        pairs=tuple(_pairs(parts)),
        unfair=_largest_unfair(parts),
    )


def _compare(claim: Claim, paper: Paper, case: ClaimCase, machine: Measured, number: int) -> ClaimCase:
    """Return one of a `number` of cases with the ratio of our two rows, or the reason why a row is missing."""
    cells = machine.tables.get((paper.name, claim.experiment), ())
    level = level_of_each(number)  # a claim that is true is refused in at most 5 % of reports
    try:
        row, base = choose_rows(claim, paper, case.case, cells)
        is_share = claim.test == "memory"
        ratio = share_of_copy(row) if is_share else machine.samples.ratio(base, row, level)[0]
    except Untimed as untimed:
        return replace(case, untimed=untimed.reason, is_due=untimed.is_due)
    if claim.over_case:
        ratio = ratio.times(times_the_work(base, row))
    rounds = min(row.rounds, base.rounds)
    return replace(case, ratio=ratio, rounds=rounds, pairs=((row, base),), unfair=why_unfair(row, base, cells))


def say_precision(paper: Paper, cells: Iterable[Cell]) -> str:
    """Say how many of the `cells` of one machine are settled, and in how many rounds; empty if no cell has a time."""
    tried = []
    for cell in cells:
        is_total = cell.paper != paper.name or cell.case == paper.experiments[cell.experiment].total_case
        if not is_total and cell.status not in ("cannot-run", "due"):
            tried.append(cell)
    rounds = [cell.rounds for cell in tried if cell.seconds]
    if not rounds:
        return ""
    settled = sum(cell.status == "settled" for cell in tried)
    text = f"Of {len(tried)} cells, {settled} are known to ±{format_share(SETTLED_MARGIN)}"
    without = sum(cell.seconds_low is None for cell in tried)
    if without:
        text += f", {without} have no interval"
    unit = "round" if max(rounds) == 1 else "rounds"
    return f"{text}; {format_span(rounds, 1)} {unit} each."
