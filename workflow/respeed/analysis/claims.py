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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from operator import attrgetter
from typing import NamedTuple

import pandas as pd

from respeed.analysis.cells import across_precisions
from respeed.analysis.estimates import (
    SETTLED_MARGIN,
    Estimate,
    Number,
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
    over_theirs,
    say_least,
    share_of_copy,
    times_least,
    why_unfair,
)
from respeed.analysis.speedups import Samples, published_speedup, published_text, times_the_work
from respeed.analysis.tables import Cell, CellKey, ClaimRow, group_by
from respeed.model import SMOKE_TOTAL, TOTAL, Claim, Names, Paper, Papers
from respeed.text import NO_INTERVAL, counted, format_share, format_speedup, format_whole_share, join_words

REPRODUCED = "reproduced"
WEAKLY = "weakly reproduced"
LARGER = "larger"
SMALLER = "smaller"
ANOTHER_SHAPE = "trend not reproduced"
NOT_FAIR = "not fair here"
NOT_SETTLED = "not settled"
NOT_TESTABLE = "not testable here"
VERDICTS = (REPRODUCED, WEAKLY, LARGER, SMALLER, ANOTHER_SHAPE, NOT_FAIR, NOT_SETTLED, NOT_TESTABLE)

# How a ratio above its band is called, and one below.
FASTER = ("faster", "slower")
WORDS = {"faster": FASTER, "crossover": FASTER, "limited": ("faster", "no faster")}

# A program that moves its bytes at this share of a plain copy's rate is bound by memory. The copy reads and writes
# another number of arrays, and the copy's best time counts: sums of long vectors were seen at 0.84 to 1.2.
NEAR_COPY = 0.8
# At this share of the ideal, such as the number of threads, nobody would speak of a limit.
NEAR_IDEAL = 0.95
# Why a case with a narrow interval is not settled, and why several cases of one printed column are not settled.
LEFT_OPEN = "its interval leaves it open"
EITHER = "larger if one was run, smaller if another, and it is not known which"


@dataclass(frozen=True)
class Stated:
    """One case of a claim, as the paper states it.

    `heading` is its name for people, and `column` its printed column. If the claim names numbers, `published` is the
    number in that column, `text` the number as text, and `rounding` its relative error; if not, `published` is the
    bound that ratios must exceed. `ideal` is the ratio that a claim about a limit is compared with.
    """

    case: str
    column: str = ""
    heading: str = ""
    published: float = 1.0
    text: str = ""
    rounding: float = 0.0
    ideal: float = 1.0

    @property
    def name(self) -> str:
        """Return the name of the case for people: its heading, if it has one."""
        return self.heading or self.case


@dataclass(frozen=True)
class Compared:
    """A case with our ratio, whose cells have at least so many `rounds`.

    `pairs` has these cells, each a row and its base; a mean has several pairs. `unfair` says why a base is not fair.
    """

    stated: Stated
    ratio: Estimate
    rounds: int
    pairs: tuple[tuple[Cell, Cell], ...] = ()
    unfair: str = ""

    @property
    def name(self) -> str:
        """Return the name of the case for people."""
        return self.stated.name

    @property
    def open(self) -> str:
        """Return what the interval lacks to be settled; empty if it is settled."""
        return what_is_missing(self.ratio, self.rounds)

    @property
    def place(self) -> str:
        """Return where the interval lies: above or below the published number with its rounding, inside, or open.

        An interval that meets a printed number is inside only if it is narrow: a wide interval meets any number. A
        bound has no inside.
        """
        published = self.stated.published
        rounding = self.stated.rounding
        if self.ratio.is_above(published * (1 + rounding)):
            return "above"
        if self.ratio.is_below(published * (1 - rounding)):
            return "below"
        return "open" if self.open or not self.stated.text else "inside"


# The measured cases of a claim; and all of its cases, each with our ratio or the reason why there is none.
Measured = Sequence[Compared]
Answers = Mapping[Stated, Compared | Untimed]
CROSSINGS = {
    ("below", "above"): REPRODUCED,
    ("above", "above"): LARGER,
    ("below", "below"): SMALLER,
    ("above", "below"): ANOTHER_SHAPE,
}


class Verdict(NamedTuple):
    """A verdict, and the names of the cases that it rests on.

    `above` and `below` lie above and below their bands. `lacking` maps cases that are open or absent to the reason.
    `remark` is a reason of another kind.
    """

    kind: str
    above: Names = ()
    below: Names = ()
    lacking: Mapping[str, str] = {}
    remark: str = ""

    def say(self, test: str, cases: int) -> str:
        """Return the reason for the verdict on a claim of so many cases; what holds for all of them names none."""
        words = WORDS.get(test, (LARGER, SMALLER))
        sides = zip(words, (self.above, self.below), strict=True)
        places = [f"{word} at {join_words([*names])}" for word, names in sides if 0 < len(names) < cases]
        return "; ".join(filter(None, [", ".join(places), self.remark, by_reason(self.lacking, cases)]))


def by_reason(reasons: Mapping[str, str], number: int) -> str:
    """Return each reason once, after the names that have it, unless these are all of that `number`."""
    names = group_by(reasons, reasons.__getitem__)
    texts = [reason if len(having) == number else f"{join_words(having)}: {reason}" for reason, having in names.items()]
    return "; ".join(texts)


def _measured(answers: Answers) -> list[Compared]:
    """Return the cases that have a ratio."""
    return [answer for answer in answers.values() if isinstance(answer, Compared)]


def _absent(answers: Answers) -> dict[Stated, Untimed]:
    """Return the cases that have no ratio, with the reasons."""
    return {stated: answer for stated, answer in answers.items() if isinstance(answer, Untimed)}


def judge_claim(claim: Claim, answers: Answers) -> Verdict:
    """Judge a claim from all of its cases."""
    measured = _measured(answers)
    absent = _absent(answers)
    if not measured or (absent and claim.test == "crossover"):
        return _untested(absent)
    verdict = RULES[claim.test](measured)
    if claim.test == "each":  # if several cases share one printed column, one reproduced case is enough
        answered = {case.stated.column for case in measured if case.place == "inside"}
        absent = {stated: untimed for stated, untimed in absent.items() if stated.column not in answered}
    # A case without a time may yet make the claim fail.
    if verdict.kind not in (ANOTHER_SHAPE, NOT_SETTLED) and any(untimed.is_due for untimed in absent.values()):
        verdict = Verdict(NOT_SETTLED)
    verdict = _question(verdict, measured)
    if verdict.kind == REPRODUCED and claim.test in ("growth", "crossover") and find_weakest(measured):
        verdict = verdict._replace(kind=WEAKLY)
    return verdict._replace(lacking={**verdict.lacking, **_untested(absent).lacking})


def judge_case(claim: Claim, stated: Stated, answer: Compared | Untimed) -> Verdict:
    """Judge one case of a claim by itself."""
    if isinstance(answer, Untimed):
        return _untested({stated: answer})
    if claim.test == "crossover":
        kind = {"above": "faster here", "below": "slower here"}.get(answer.place, NOT_SETTLED)
        return Verdict(kind, lacking=_why_open([answer]))
    # One case cannot grow: it is judged by its printed number.
    rule = judge_numbers if claim.test == "growth" else RULES[claim.test]
    return _question(rule([answer]), [answer])


def _untested(absent: Mapping[Stated, Untimed]) -> Verdict:
    kind = NOT_SETTLED if any(untimed.is_due for untimed in absent.values()) else NOT_TESTABLE
    return Verdict(kind, lacking={stated.name: untimed.reason for stated, untimed in absent.items()})


def _question(verdict: Verdict, measured: Measured) -> Verdict:
    """Return the verdict; if it is good and rests on a base that is not fair, say only that."""
    if verdict.kind not in (REPRODUCED, LARGER) or not any(case.unfair for case in measured):
        return verdict
    return Verdict(NOT_FAIR, remark=f"else {verdict.kind}")


def find_weakest(measured: Measured) -> Cell | None:
    """Return the row, not the base, that is farthest above its bound; None if no row is weak."""
    rows = [row for row, _ in _pairs(measured) if times_least(row) > WEAK]
    return max(rows, key=times_least, default=None)


def say_doubt(measured: Measured) -> str:
    """Return why numbers say less than they seem to: the weakest row, and a base that is not fair or slow."""
    doubts = []
    if weakest := find_weakest(measured):
        doubts.append(f"weak: {say_least(weakest)}")
    if unfair := _largest_unfair(measured):
        doubts.append(f"base not fair: {unfair}")
    slowest = max((base for _, base in _pairs(measured)), key=over_theirs, default=None)
    if slowest and over_theirs(slowest) > 1:
        doubts.append(f"slower than the paper's CPU: {slowest.label} at {slowest.case}")
    return "; ".join(doubts)


def _largest_unfair(measured: Measured) -> str:
    """Return why a base is not fair: that of the largest number that has such a base."""
    largest_first = sorted(measured, key=lambda case: case.ratio.value, reverse=True)
    return next((case.unfair for case in largest_first if case.unfair), "")


def judge_numbers(measured: Measured) -> Verdict:
    """Judge a claim that names a number for each case.

    If some cases lie above their number and others below, the trend is not reproduced, whatever becomes of open cases.
    Otherwise one open case leaves the claim open.
    """
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for column, cases in group_by(measured, lambda case: case.stated.column).items():
        places = {case.place: case.open for case in cases}
        # One of several cases that share a printed column is enough.
        side = "inside" if "inside" in places else cases[0].place if len(places) == 1 else "open"
        names[side][column if len(cases) > 1 else cases[0].name] = places.get("open", EITHER)
    above = tuple(names["above"])
    below = tuple(names["below"])
    if above and below:
        return Verdict(ANOTHER_SHAPE, above, below)
    if names["open"]:
        return Verdict(NOT_SETTLED, lacking=names["open"])
    if above or below:
        kind = LARGER if above else SMALLER
        return Verdict(kind, above, below) if names["inside"] else Verdict(kind)
    # Two numbers may lie at opposite ends of their intervals.
    margin = 2 * max(case.ratio.margin or 0.0 for case in measured)
    return Verdict(REPRODUCED, remark=f"a difference of {format_share(margin)} would show")


def judge_bound(measured: Measured) -> Verdict:
    """Judge a claim that every ratio lies above a bound: a single case below is enough to refute the claim."""
    if below := _names(measured, "below"):
        return Verdict(SMALLER, below=below)
    lacking = _why_open(measured)
    return Verdict(NOT_SETTLED if lacking else REPRODUCED, lacking=lacking)


def judge_growth(measured: Measured) -> Verdict:
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
        return Verdict(NOT_SETTLED, remark=f"only {first.name} was measured; growth needs two cases")
    for before, after in combinations(measured, 2):
        if _step(before, after) == "falls":
            return Verdict(ANOTHER_SHAPE, remark=f"it falls from {before.name} to {after.name}")
    in_all = _step(first, last)
    if in_all == "level" and last.ratio.value <= first.ratio.value * (1 + SETTLED_MARGIN):
        return Verdict(ANOTHER_SHAPE, remark=f"no larger at {last.name} than at {first.name}")
    unsure = [(before, after) for before, after in pairwise(measured) if _step(before, after) == "open"]
    if in_all == "rises" and not unsure:
        return Verdict(REPRODUCED)
    before, after = [*unsure, (first, last)][0]
    reason = before.open or after.open or "their intervals leave it open"
    return Verdict(NOT_SETTLED, remark=f"{before.name} and {after.name} cannot be told apart yet: {reason}")


def _step(before: Compared, after: Compared) -> str:
    """Return whether a number rises from a case to a later one, falls (by more than 10 %), stays level, or is open."""
    if after.ratio.is_above(before.ratio.high):
        return "rises"
    falls = after.ratio.value < before.ratio.value * (1 - SETTLED_MARGIN)
    if before.ratio.is_above(after.ratio.high) and falls:
        return "falls"
    return "open" if falls or before.open or after.open else "level"


def judge_crossover(measured: Measured) -> Verdict:
    """Judge whether the first ratio lies below 1 and the last ratio above 1; this needs all cases.

    The verdict is larger if both ratios lie above 1, and smaller if both lie below 1.
    """
    ends = [measured[0], measured[-1]]
    kind = CROSSINGS.get((ends[0].place, ends[1].place), NOT_SETTLED)
    if kind == NOT_SETTLED:
        return Verdict(kind, lacking=_why_open(ends))
    return Verdict(kind, _names(measured, "above"), _names(measured, "below"))


def judge_limited(measured: Measured) -> Verdict:
    """Judge whether each ratio is above 1 and at least one clearly below its ideal; the remark has ratio / ideal."""
    verdict = judge_bound(measured)
    if verdict.kind != REPRODUCED:
        return verdict
    shares = sorted(case.ratio.value / case.stated.ideal for case in measured)
    reached = f"efficiency {_range(list(map(format_whole_share, shares)))}"
    if any(case.ratio.is_below(NEAR_IDEAL * case.stated.ideal) for case in measured):
        return Verdict(REPRODUCED, remark=reached)
    if all(case.ratio.is_above(NEAR_IDEAL * case.stated.ideal) for case in measured):
        return Verdict(LARGER, remark=f"{reached}: nearly no limit shows")
    return Verdict(NOT_SETTLED, remark=f"{reached}: {LEFT_OPEN}")


# The rule of each test.
RULES = {
    "each": judge_numbers,
    "mean": judge_numbers,
    "growth": judge_growth,
    "faster": judge_bound,
    "crossover": judge_crossover,
    "limited": judge_limited,
    "memory": judge_bound,
}


def _names(measured: Measured, side: str) -> Names:
    """Return the names of the cases that lie in this place."""
    return tuple(case.name for case in measured if case.place == side)


def _why_open(cases: Measured) -> dict[str, str]:
    """Return why cases are open, by name."""
    return {case.name: case.open or LEFT_OPEN for case in cases if case.place == "open"}


def make_claims(cells: Cells, samples: Samples, papers: Papers) -> list[ClaimRow]:
    """Make a row for every claim on every machine and, if the claim has several cases, a row for each case.

    For a claim about several cases, `published_low` and `published_high` are the range of the printed numbers,
    `speedup_low` and `speedup_high` the range of our intervals, and `speedup` is missing. `published` and `here` have
    the numbers as text for people ("12.9x to 72.6x"). For a claim about memory, numbers are shares of a copy's rate.
    """
    rows: list[ClaimRow] = []
    for machine, paper, claim, answers in _on_machines(cells, samples, papers):
        rows.append(_row(machine, paper, claim, "", answers, judge_claim(claim, answers)))
        if len(answers) == 1:
            continue
        for stated, answer in answers.items():
            verdict = judge_case(claim, stated, answer)
            rows.append(_row(machine, paper, claim, stated.case, {stated: answer}, verdict))
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
    for *_, claim, answers in _on_machines(cells, samples, papers):
        measured = _measured(answers)
        if not measured or judge_claim(claim, {case.stated: case for case in measured}).kind != NOT_SETTLED:
            continue
        unsure = [case for case in measured if case.open or judge_case(claim, case.stated, case).kind == NOT_SETTLED]
        keys = {*chain.from_iterable(map(samples.keys_of, chain.from_iterable(_pairs(unsure))))}
        # At least one more than the case has.
        needed = [case.rounds + max(1, rounds_missing(case.ratio, case.rounds)) for case in unsure]
        unsettled.append((max(needed, default=math.inf), keys))
    return unsettled


def _on_machines(cells: Cells, samples: Samples, papers: Papers) -> Iterator[tuple[str, str, Claim, Answers]]:
    """Yield every claim on every machine: the names of the machine and the paper, the claim, and its cases there."""
    for machine, of_machine in group_by(cells, attrgetter("machine")).items():
        tables = group_by(of_machine, attrgetter("paper", "experiment"))
        for paper in papers.values():
            for claim in paper.claims.values():
                yield machine, paper.name, claim, compare_claim(claim, paper, tables, samples)


def _row(machine: str, paper: str, claim: Claim, case: str, answers: Answers, verdict: Verdict) -> ClaimRow:
    """Return a row about some cases of a claim."""
    measured = _measured(answers)
    printed = [stated.published for stated in answers if stated.text]
    low = _end(min, [answer.ratio.low for answer in measured])
    high = _end(max, [answer.ratio.high for answer in measured])
    pairs = _pairs(measured)
    return ClaimRow(
        machine,
        paper,
        claim=claim.name,
        case=case,
        published_low=min(printed, default=None),
        published_high=max(printed, default=None),
        speedup=measured[0].ratio.value if len(measured) == 1 else None,
        speedup_low=low,
        speedup_high=high,
        doubt=say_doubt(measured),
        verdict=verdict.kind,
        reason=verdict.say(claim.test, len(answers)),
        profile=" or ".join(dict.fromkeys(row.profile for row, _ in pairs)),
        base_profile=" or ".join(dict.fromkeys(base.profile for _, base in pairs)),
        says=claim.says,
        published=say_published(answers),
        here=_say_ours(claim, measured, low, high),
    )


def _end(choose: Callable[[Iterable[float]], float], ends: Sequence[Number]) -> Number:
    """Return the end that is chosen of several intervals; None if there is no interval, or one has none."""
    numbers = [end for end in ends if end]
    return choose(numbers) if numbers and len(numbers) == len(ends) else None


def _say_ours(claim: Claim, measured: Measured, low: Number, high: Number) -> str:
    """Return the range of our numbers as text, with their interval and precisions; empty if nothing was measured."""
    if not measured:
        return ""
    write = format_whole_share if claim.test == "memory" else format_speedup
    interval = f"({write(low)} to {write(high)})" if low and high else NO_INTERVAL
    texts = [_range(list(map(write, sorted(case.ratio.value for case in measured)))), interval]
    marks = dict.fromkeys(across_precisions(row.precision, [base.precision]) for row, base in _pairs(measured))
    return " ".join([*texts, *(f"({mark})" for mark in marks if mark)])


def _pairs(cases: Measured) -> list[tuple[Cell, Cell]]:
    """Return our rows and their bases in these cases."""
    return list(chain.from_iterable(case.pairs for case in cases))


def say_published(cases: Iterable[Stated]) -> str:
    """Return the range of the printed numbers as text; equal numbers, such as 10 and 10.0, count as one."""
    texts = {format_speedup(case.published): case.text for case in sorted(cases, key=attrgetter("published"))}
    return _range(list(texts.values()))


def _range(texts: list[str]) -> str:
    """Return the first and the last text, or one of them if both are equal."""
    return " to ".join(dict.fromkeys(texts[:1] + texts[-1:]))


def state_claim(claim: Claim, paper: Paper) -> list[Stated]:
    """Return the cases that a claim is about, as the paper states them.

    For a claim that names numbers (each, growth), these are only cases with a printed number; for a claim about memory,
    the last case. A mean is one case, the mean over all cases of its claims.
    """
    if claim.of:
        parts = chain.from_iterable(state_claim(paper.claims[name], paper) for name in claim.of)
        return [_state_mean(claim, list(parts))]
    experiment = paper.experiments[claim.experiment]
    experiment = experiment.original or experiment  # a claim is about the paper's sizes
    words = experiment.column_words()
    # A total is not a problem size: only claims about every case include the total.
    no_size = () if claim.test in ("each", "faster") else (experiment.total_case,)
    asked = claim.cases or words
    names = [case for case in words if case in asked and case not in (claim.over_case, *no_size)]
    sizes = {case.name: case.parameters[claim.by] for case in experiment.cases} if claim.by else {}
    stated = []
    for case in names[-1:] if claim.test == "memory" else names:
        column_names = case, experiment.columns.get(case, case), words[case]
        if claim.test not in ("each", "growth"):
            ideal = sizes[case] / sizes[claim.over_case] if sizes else 1.0
            least = NEAR_COPY if claim.test == "memory" else 1.0
            stated.append(Stated(*column_names, published=least, ideal=ideal))
        elif published := published_speedup(paper, claim.experiment, case, claim.row, claim.over):
            text = published_text(paper, claim.experiment, case, claim.row, claim.over)
            slow = paper.fastest(claim.experiment, case, claim.over)
            across = across_precisions(paper.rows[claim.row].precision, [slow.precision] if slow else [])
            rounding = paper.speedup_rounding(claim.experiment, case, claim.row, claim.over)
            stated.append(Stated(*column_names, published, f"{text} ({across})" if across else text, rounding))
    return stated


def _state_mean(claim: Claim, parts: Sequence[Stated]) -> Stated:
    """Return the mean of printed numbers as one case."""
    published = estimate_mean([Estimate(case.published) for case in parts], claim.mean).value
    largest = estimate_mean([Estimate(case.published * (1 + case.rounding)) for case in parts], claim.mean).value
    return Stated(
        f"{claim.mean} mean",
        published=published,
        text=format_speedup(published),
        rounding=largest / published - 1,
    )


def compare_claim(claim: Claim, paper: Paper, tables: Mapping[tuple[str, str], Cells], samples: Samples) -> Answers:
    """Compare every case of the claim on one machine, given the machine's cells by paper and table."""
    cases = state_claim(claim, paper)
    if claim.of:
        parts: dict[str, Answers] = {}
        for name in claim.of:
            part = paper.claims[name]
            parts[name] = compare_claim(part, paper, tables, samples)
        titles = {name: paper.experiments[paper.claims[name].experiment].title for name in claim.of}
        return {mean: average(mean, claim.mean, parts, titles) for mean in cases}
    cells = tables.get((paper.name, claim.experiment), ())
    level = level_of_each(len(cases))  # a claim that is true is refused in at most 5 % of reports
    return {stated: _compare_case(claim, paper, stated, cells, samples, level) for stated in cases}


def _compare_case(
    claim: Claim, paper: Paper, stated: Stated, cells: Cells, samples: Samples, level: float
) -> Compared | Untimed:
    """Return the case with the ratio of our two rows, or the reason why a row is missing."""
    try:
        row, base = choose_rows(claim, paper, stated.case, cells)
        ratio = share_of_copy(row) if claim.test == "memory" else samples.ratio(base, row, level)[0]
    except Untimed as untimed:
        return untimed
    if claim.over_case:
        ratio = ratio.times(times_the_work(base, row))
    return Compared(stated, ratio, min(row.rounds, base.rounds), ((row, base),), why_unfair(row, base, cells))


def average(
    mean: Stated, kind: str | None, parts: Mapping[str, Answers], titles: Mapping[str, str]
) -> Compared | Untimed:
    """Return the mean over all cases of several claims, which are called by the `titles` of their tables.

    The paper's mean is over all printed cases: if one of these cases is missing here, we have no mean.
    """
    lacking: dict[str, str] = {}
    is_due = True
    for name, answers in parts.items():
        for untimed in _absent(answers).values():
            lacking[titles[name]] = untimed.reason
            is_due &= untimed.is_due
    if lacking:
        return Untimed(by_reason(lacking, len({*titles.values()})), is_due)
    measured = list(chain.from_iterable(map(_measured, parts.values())))
    ratio = estimate_mean([case.ratio for case in measured], kind)
    rounds = min(case.rounds for case in measured)
    return Compared(mean, ratio, rounds, tuple(_pairs(measured)), _largest_unfair(measured))


def count_results(machine: str, paper: Paper, cells: pd.DataFrame, claims: pd.DataFrame) -> tuple[str, str]:
    """Describe a paper's results on a machine in two texts: claims by verdict, and how many cells are settled.

    The second text is empty if no cell has a time.
    """
    ran = cells[(cells["machine"] == machine) & (cells["paper"] == paper.name)]
    ran = ran[~ran["status"].isin(["cannot-run", "due"]) & ~ran["case"].isin([TOTAL, SMOKE_TOTAL])]
    # A case that two tables show is one measurement.
    ran = ran[ran["seconds"].isna() | ~ran.duplicated(["profile", "algorithm", "seconds"])]
    rounds = ran.loc[ran["seconds"] > 0, "rounds"]
    if rounds.empty:
        return "Nothing of this paper has been measured on this machine yet.", ""
    is_whole = (claims["machine"] == machine) & (claims["paper"] == paper.name) & (claims["case"] == "")
    counts = claims.loc[is_whole, "verdict"].value_counts()
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
    settled = (ran["status"] == "settled").sum()
    text = f"Of {len(ran)} numbers (a case on one row each), {settled} are known to ±{format_share(SETTLED_MARGIN)}"
    without = ran["seconds_low"].isna().sum()
    if without:
        text += f", {without} have no interval"
    fewest = rounds.min()
    most = rounds.max()
    span = counted(most, "round") if fewest == most else f"{fewest} to {most} rounds"
    return f"Claims: {verdicts}." if verdicts else "", f"{text}; {span} each."
