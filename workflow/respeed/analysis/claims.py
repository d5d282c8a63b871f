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
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import pandas as pd

from respeed.analysis.cells import NOT_YET, across_precisions, is_beside
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.estimates import (
    FULL_PRECISION,
    SETTLED_MARGIN,
    Estimate,
    estimate_mean,
    level_of_each,
    what_is_missing,
)
from respeed.analysis.rounds import CellKey
from respeed.analysis.speedups import Samples, published_speedup, times_the_work
from respeed.model import INFERRED, Claim, Paper
from respeed.text import NO_INTERVAL, counted, format_share, format_speedup, format_whole_share, join_words

REPRODUCED = "reproduced"
LARGER = "larger"
SMALLER = "smaller"
ANOTHER_SHAPE = "trend not reproduced"
NOT_SETTLED = "not settled"
NOT_TESTABLE = "not testable here"
VERDICTS = (REPRODUCED, LARGER, SMALLER, ANOTHER_SHAPE, NOT_SETTLED, NOT_TESTABLE)

# The reason for a case that has no cells, as in a smoke run.
NOT_MEASURED = "nothing of the paper's sizes was measured"
# A program that moves its bytes at this share of a plain copy's rate is bound by memory. The copy reads and writes
# another number of arrays, and the copy's best time counts: sums of long vectors were seen at 0.84 to 1.2.
NEAR_COPY = 0.8
# At this share of the ideal, such as the number of threads, nobody would speak of a limit.
NEAR_IDEAL = 0.95

# Why a case with a narrow interval is not settled, and why several cases of one printed column are not settled.
LEFT_OPEN = "its interval leaves it open"
EITHER = "larger if one was run, smaller if another, and it is not known which"

UNMEASURED = Estimate(math.nan)
# Rows of the frame of cells.
Cells = Sequence[Any]
# A verdict and the reason for it.
Verdict = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """One case of a claim, with its printed number and ours.

    `words` is the case's heading and `column` its printed column. If the claim names numbers, `published` is the number
    in that column, `text` the number as text, and `rounding` its relative error. `pairs` has our two cells, a row and
    its base; a mean has several pairs. `here` is the ratio of the two cells, and `rounds` the smaller of their numbers
    of rounds. Without a ratio, `here` is NaN, `missing` is the reason, and `may_come` is true if a cell is only
    disturbed or not measured yet. `ideal` is the ratio that a claim about a limit is compared with.
    """

    case: str
    column: str = ""
    words: str = ""
    published: float | None = None
    text: str = ""
    rounding: float = 0.0
    pairs: tuple[tuple[Any, Any], ...] = ()
    here: Estimate = UNMEASURED
    rounds: int = 0
    missing: str = ""
    may_come: bool = False
    ideal: float = 1.0

    @property
    def name(self) -> str:
        """Return the name of the case for people: its heading, if it has one."""
        return self.words or self.case

    @property
    def is_measured(self) -> bool:
        """Return whether both sides have a time."""
        return not math.isnan(self.here.value)

    @property
    def open(self) -> str:
        """Return what the interval lacks to be settled; empty if it is settled."""
        return what_is_missing(self.here, self.rounds)

    def place(self, least: float = 1.0) -> str:
        """Return where the interval lies: inside, above or below the band, or open.

        The band is the printed number with its rounding or, without a printed number, everything above `least`. An
        interval that meets the printed number's band is inside only if it is narrow: a wide interval meets any band.
        """
        if self.published is None:
            return "inside" if self.here.is_above(least) else "below" if self.here.is_below(least) else "open"
        if self.here.is_above(self.published * (1 + self.rounding)):
            return "above"
        if self.here.is_below(self.published * (1 - self.rounding)):
            return "below"
        return "open" if self.open else "inside"


def judge_claim(claim: Claim, compared: Sequence[Compared]) -> Verdict:
    """Judge a claim from all of its cases; the reason names cases without a time."""
    absent = [one for one in compared if not one.is_measured]
    fewest = min((one.rounds for one in compared if one.is_measured), default=0)
    measured = [replace(one, rounds=fewest) for one in compared if one.is_measured]
    # A crossover is decided by the first and the last case.
    needed = absent if not measured else [one for one in (compared[0], compared[-1]) if one in absent]
    if not measured or (claim.test == "crossover" and needed):
        whys = dict.fromkeys(one.missing for one in needed) if not measured else [_name(needed[0])]
        return _untested(needed), "; ".join(whys) or NOT_MEASURED
    kind, why = RULES.get(claim.test, judge_all)(measured)
    # A case without a time may yet make the claim fail. If several cases share one printed column, one reproduced case
    # is enough.
    answered = {one.column for one in measured if one.published and one.place() == "inside"}
    absent = [one for one in absent if one.column not in answered or claim.test != "each"]
    if kind != ANOTHER_SHAPE and any(one.may_come for one in absent):
        kind, why = NOT_SETTLED, why if kind == NOT_SETTLED else ""
    return kind, "; ".join(filter(None, [why, *dict.fromkeys(map(_name, absent))]))


def judge_case(claim: Claim, one: Compared) -> Verdict:
    """Judge one case of a claim by itself."""
    if not one.is_measured:
        return _untested([one]), one.missing
    if claim.test == "crossover":
        kind = {"inside": "faster here", "below": "slower here", "open": NOT_SETTLED}[one.place()]
        return kind, (one.open or "near 1") if kind == NOT_SETTLED else ""
    # One case cannot grow: it is judged by its printed number or, without a printed number, by whether it is above 1.
    kind, why = (RULES if claim.test in ("limited", "memory") else {}).get(claim.test, judge_all)([one])
    return kind, why.removeprefix(f"{one.name}: ")


def judge_all(measured: Sequence[Compared], least: float = 1.0) -> Verdict:
    """Judge a claim that states the same bound for every case, or a number for each case.

    If some cases lie above their band and others below, the trend is not reproduced, whatever becomes of open cases.
    Otherwise one open case leaves the claim open. But a single case below the bound is enough to refute a claim that
    all cases are above the bound.
    """
    is_numbered = measured[0].published is not None
    answers = Counter(one.column for one in measured)
    columns: dict[str, list[Compared]] = defaultdict(list)
    for one in measured:
        columns[one.column if is_numbered and answers[one.column] > 1 else one.name].append(one)
    places = {column: _place_of_alternatives({one.place(least) for one in found}) for column, found in columns.items()}
    above, below, unknown = (
        [column for column, place in places.items() if place == kind] for kind in ("above", "below", "open")
    )
    if above and below:
        return ANOTHER_SHAPE, f"larger at {join_words(above)}, smaller at {join_words(below)}"
    if unknown and (is_numbered or not below):
        whys: dict[str, str] = {}
        for cases in (columns[column] for column in unknown):
            left = [one for one in cases if one.place(least) == "open"]
            whys |= {one.name: one.open or LEFT_OPEN for one in left} or dict.fromkeys(
                (one.name for one in cases), EITHER
            )
        return NOT_SETTLED, _by_reason(whys)
    if some := above or below:
        others = [column for column in places if column not in some]
        agree = ["", f"; {others[0]} agrees", "; the others agree"][min(len(others), 2)] if others else ""
        is_told = (is_numbered or len(measured) > 1) and (others or not is_numbered)
        where = f"{'' if is_numbered else 'slower '}at {join_words(some)}{agree if is_numbered else ''}"
        return (LARGER if above else SMALLER), where if is_told else ""
    margin = max(one.here.margin or 0.0 for one in measured)
    # Two numbers may lie at opposite ends of their intervals.
    return REPRODUCED, f"a difference of {format_share(2 * margin)} would show" if is_numbered else ""


def _place_of_alternatives(found: Collection[str]) -> str:
    """Return the place of the cases that share one printed column: it is inside if one of the cases is inside."""
    return next((place for place in ("inside", "open") if place in found), min(found) if len(found) == 1 else "open")


def judge_growth(measured: Sequence[Compared]) -> Verdict:
    """Judge whether a number grows from case to case, as the published one does.

    The number grows if the last interval lies above the first, and each case is known to be above the previous case or
    level with it: two settled numbers are level if the second is at most 10 % below the first. The trend is not
    reproduced if a number is more than 10 % below an earlier number, and its interval lies below the earlier interval;
    or if the first and the last case are settled, the last interval does not lie above the first, and the last number
    is at most 10 % above the first number. With one case, the claim is not settled.
    """
    first, last = measured[0], measured[-1]
    if first is last:
        return NOT_SETTLED, f"only {first.name} was measured; growth needs two cases"
    grows = last.here.is_above(first.here.high)
    for before, after in itertools.combinations(measured, 2):
        if before.here.is_above(after.here.high) and after.here.value < before.here.value * (1 - SETTLED_MARGIN):
            in_all = f"larger at {last.name} than at {first.name}, but " if grows else ""
            return ANOTHER_SHAPE, f"{in_all}it falls from {before.name} to {after.name}"
    if not grows and not (first.open or last.open) and last.here.value <= first.here.value * (1 + SETTLED_MARGIN):
        return ANOTHER_SHAPE, f"no larger at {last.name} than at {first.name}"
    for before, after in [(first, last), *itertools.pairwise(measured)]:
        if after.here.is_above(before.here.high):
            continue
        if why := before.open or after.open:
            return NOT_SETTLED, f"{before.name} and {after.name} cannot be told apart yet: {why}"
        if after.here.value < before.here.value * (1 - SETTLED_MARGIN):
            return NOT_SETTLED, f"it may fall from {before.name} to {after.name}: the intervals leave it open"
    return (REPRODUCED, "") if grows else (NOT_SETTLED, f"whether {last.name} lies above {first.name} is left open")


def judge_crossover(measured: Sequence[Compared]) -> Verdict:
    """Judge whether the first ratio lies below 1 and the last ratio above 1.

    The verdict is larger if both ratios lie above 1, and smaller if both lie below 1.
    """
    first, last = measured[0], measured[-1]
    if whys := {one.name: one.open or LEFT_OPEN for one in (first, last) if one.place() == "open"}:
        return NOT_SETTLED, _by_reason(whys)
    if first.place() == "inside":
        both = last.place() == "inside"
        return (LARGER, f"faster already at {first.name}") if both else (
            ANOTHER_SHAPE, f"faster at {first.name}, slower at {last.name}")  # fmt: skip
    if last.place() == "below":
        return SMALLER, f"slower even at {last.name}"
    faster = itertools.takewhile(lambda one: one.place() == "inside", reversed(measured))
    return REPRODUCED, f"faster from {list(faster)[-1].name} on"


def judge_limited(measured: Sequence[Compared]) -> Verdict:
    """Judge whether each ratio is above 1 and at least one clearly below its ideal; the reason has ratio / ideal."""
    kind, why = judge_all(measured)
    if kind != REPRODUCED:
        return kind, why.replace("slower", "no faster")
    shares = [one.here.value / one.ideal for one in measured]
    reached = f"efficiency {' to '.join(dict.fromkeys(map(format_whole_share, (min(shares), max(shares)))))}"
    if any(one.here.is_below(NEAR_IDEAL * one.ideal) for one in measured):
        return REPRODUCED, reached
    whys = {one.name: one.open or LEFT_OPEN for one in measured if not one.here.is_above(NEAR_IDEAL * one.ideal)}
    return (NOT_SETTLED, _by_reason(whys)) if whys else (LARGER, f"{reached}: nearly no limit shows")


def judge_memory(measured: Sequence[Compared]) -> Verdict:
    """Judge whether a program moves its bytes nearly as fast as a copy; each ratio is a share of the copy's rate."""
    kind, why = judge_all(measured, NEAR_COPY)
    return kind, "something else than the memory limits it" if kind == SMALLER else why


# The tests that have a rule of their own; all other tests use `judge_all`.
RULES: dict[str, Callable[[Sequence[Compared]], Verdict]] = {
    "growth": judge_growth,
    "crossover": judge_crossover,
    "limited": judge_limited,
    "memory": judge_memory,
}


def _untested(absent: Sequence[Compared]) -> str:
    return NOT_SETTLED if any(one.may_come for one in absent) else NOT_TESTABLE


def _name(absent: Compared) -> str:
    return ": ".join(filter(None, [absent.name, absent.missing]))


def _by_reason(whys: Mapping[str, str]) -> str:
    """Return each reason once, after the names of the cases that have this reason."""
    of: dict[str, list[str]] = defaultdict(list)
    for name, why in whys.items():
        of[why].append(name)
    return "; ".join(f"{join_words(names)}: {why}" for why, names in of.items())


def make_claims(cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Make a row for every claim on every machine and, if the claim has several cases, a row for each case.

    For a claim about several cases, `published_low` and `published_high` are the range of the printed numbers,
    `speedup_low` and `speedup_high` the range of our intervals, and `speedup` is missing. `published` and `here` have
    the numbers as text for people ("12.9x to 72.6x"). For a claim about memory, numbers are shares of a copy's rate.
    """
    rows = []
    for machine, paper, claim, tables in _on_machines(cells, papers):
        compared = compare_claim(claim, paper, tables, samples)
        judged = [("", compared, judge_claim(claim, compared))]
        if len(compared) > 1:
            judged += [(one.case, [one], judge_case(claim, one)) for one in compared]
        where = {"machine": machine, "paper": paper.name, "claim": claim.name, "says": claim.says}
        rows += [where | _row(claim, *one) for one in judged]
    return make_frame(rows, "claims")


def open_claims(cells: pd.DataFrame, samples: Samples, papers: Mapping[str, Paper]) -> list[tuple[float, set[CellKey]]]:
    """Find every claim that has a measured case and is not settled.

    Returns
    -------
    list of (rounds, cells)
        For each claim, about how many rounds per cell, in all, would settle the claim if its numbers stay as they are,
        and the keys of the cells to measure.
    """
    found = []
    for _, paper, claim, tables in _on_machines(cells, papers):
        measured = [one for one in compare_claim(claim, paper, tables, samples) if one.is_measured]
        if not measured or judge_claim(claim, measured)[0] != NOT_SETTLED:
            continue
        left = [one for one in measured if one.open or judge_case(claim, one)[0] == NOT_SETTLED]
        keys = {key for one in left for pair in one.pairs for cell in pair for key in samples.keys_of(cell)}
        found.append((max(map(_rounds_needed, left), default=math.inf), keys))
    return found


def _rounds_needed(one: Compared) -> float:
    """Return about how many rounds in all give an interval of ±10 %: at least one more than the case has."""
    return max(one.rounds + 1, one.rounds * ((one.here.margin or 0.0) / SETTLED_MARGIN) ** 2)


def _on_machines(
    cells: pd.DataFrame, papers: Mapping[str, Paper]
) -> Iterator[tuple[str, Paper, Claim, Mapping[str, Cells]]]:  # fmt: skip
    """Yield every claim on every machine: the machine, paper, claim, and the paper's cells there, by table."""
    of: dict[tuple[str, str], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for cell in rows_of(cells):
        of[cell.machine, cell.paper][cell.experiment].append(cell)
    for machine, paper in itertools.product(cells["machine"].unique(), papers.values()):
        for claim in paper.claims.values():
            yield machine, paper, claim, of[machine, paper.name]


def _row(claim: Claim, case: str, compared: Sequence[Compared], verdict: Verdict) -> dict[str, Any]:
    measured = [one for one in compared if one.is_measured]
    shown = [one.here for one in measured]
    printed = [one.published for one in compared if one.published]
    have_intervals = shown and all(one.low and one.high for one in shown)
    pairs = [pair for one in measured for pair in one.pairs]
    return {
        "case": case,
        "published_low": min(printed, default=None),
        "published_high": max(printed, default=None),
        "speedup": shown[0].value if len(shown) == 1 else None,
        "speedup_low": min(one.low or 0.0 for one in shown) if have_intervals else None,
        "speedup_high": max(one.high or 0.0 for one in shown) if have_intervals else None,
        "verdict": verdict[0],
        "reason": verdict[1],
        "profile": " or ".join(dict.fromkeys(row.profile for row, _ in pairs)),
        "base_profile": " or ".join(dict.fromkeys(base.profile for _, base in pairs)),
        "published": say_published(compared),
        "here": _here(claim, measured),
    }


def say_published(compared: Sequence[Compared]) -> str:
    """Return the range of the printed numbers as text; equal numbers, such as 10 and 10.0, count as one."""
    printed = sorted(((one.published, one.text) for one in compared if one.published), key=itemgetter(0))
    return _range(list({format_speedup(value): text for value, text in printed}.values()))


def _here(claim: Claim, measured: Sequence[Compared]) -> str:
    """Return the range of our numbers as text, with the widest of their intervals."""
    if not measured:
        return ""
    say = format_whole_share if claim.test == "memory" else format_speedup
    margins = [one.here.margin for one in measured if one.here.margin is not None]
    interval = f"±{format_share(max(margins))}" if len(margins) == len(measured) else NO_INTERVAL
    pairs = [pair for one in measured for pair in one.pairs]
    marks = dict.fromkeys(across_precisions(row.precision, [base.precision]) for row, base in pairs)
    text = _range([say(value) for value in sorted(one.here.value for one in measured)])
    return " ".join([text, interval, *(f"({mark})" for mark in marks if mark)])


def _range(texts: list[str]) -> str:
    return " to ".join(dict.fromkeys([texts[0], texts[-1]])) if texts else ""


def compare_claim(claim: Claim, paper: Paper, tables: Mapping[str, Cells], samples: Samples) -> list[Compared]:
    """Compare every case of the claim on one machine, given the machine's cells by table.

    For a claim that names numbers (each, growth), only cases with a printed number are compared; for a claim about
    memory, only the last case. A mean is one case, made of all cases of its claims.
    """
    if claim.of:
        members = [paper.claims[name] for name in claim.of]
        parts = {paper.experiments[one.experiment].title: compare_claim(one, paper, tables, samples) for one in members}
        return [average(claim, parts)]
    cells = tables.get(claim.experiment, ())
    experiment = paper.experiments[claim.experiment]
    experiment = experiment.original or experiment  # a claim is about the paper's sizes
    numbered = claim.test in ("each", "growth")
    words = experiment.column_words()
    # A total is not a problem size: only claims about every case include the total.
    no_size = () if claim.test in ("each", "faster") else (experiment.total_case,)
    names = [case for case in words if case not in (claim.over_case, *no_size)]
    sizes = {case.name: case.parameters[claim.by] for case in experiment.cases} if claim.by else {}
    asked = []
    for case in names[-1:] if claim.test == "memory" else names:
        published = published_speedup(paper, claim.experiment, case, claim.row, claim.over) if numbered else None
        if published or not numbered:
            column = experiment.columns.get(case, case)
            one = Compared(case, column, words[case], published, _printed(claim, paper, case, published))
            rounding = paper.speedup_rounding(claim.experiment, case, claim.row, claim.over)
            ideal = sizes[case] / sizes[claim.over_case] if sizes else 1.0
            asked.append(replace(one, rounding=rounding, ideal=ideal))
    level = level_of_each(len(asked))  # a claim that is true is refused in at most 5 % of reports
    return [_compare_case(claim, paper, one, cells, samples, level) for one in asked]


class _Missing(Exception):
    """A row that a claim needs is missing; the message is the reason."""

    def __init__(self, reason: str, may_come: bool = False) -> None:
        super().__init__(reason)
        self.may_come = may_come


def _compare_case(claim: Claim, paper: Paper, one: Compared, cells: Cells, samples: Samples, level: float) -> Compared:
    """Return the case with our two rows and their ratio, or with the reason why a row is missing."""
    try:
        row, base = _choose_rows(claim, paper, one.case, cells)
        if claim.test == "memory":
            here = _share_of_copy(row)
        else:
            here, _ = samples.ratio(base, row, level)
            here = here.times(times_the_work(base, row) if claim.over_case else 1.0)
    except _Missing as why:
        return replace(one, missing=str(why), may_come=why.may_come)
    return replace(one, pairs=((row, base),), here=here, rounds=min(row.rounds, base.rounds))


def average(claim: Claim, parts: Mapping[str, Sequence[Compared]]) -> Compared:
    """Return as one case the mean over all cases of several claims; `parts` has the cases by their table's title.

    The paper's mean is over all printed cases: if one of these cases is missing here, we have no mean.
    """
    every = [one for found in parts.values() for one in found]
    printed = [Estimate(one.published) for one in every if one.published]
    largest = [Estimate(one.published * (1 + one.rounding)) for one in every if one.published]
    published = estimate_mean(printed, claim.mean).value
    rounding = estimate_mean(largest, claim.mean).value / published - 1
    mean = Compared(f"{claim.mean} mean", "", "", published, format_speedup(published), rounding)
    if absent := {title: one for title, found in parts.items() for one in found if not one.is_measured}:
        whys = {title: one.missing for title, one in absent.items()}
        why = "; ".join(dict.fromkeys(whys.values())) if len(whys) == len(parts) else _by_reason(whys)
        return replace(mean, missing=why, may_come=all(one.may_come for one in absent.values()))
    return replace(
        mean,
        pairs=tuple(pair for one in every for pair in one.pairs),
        here=estimate_mean([one.here for one in every], claim.mean),
        rounds=min(one.rounds for one in every),
    )


def _share_of_copy(row: Any) -> Estimate:
    """Return the bytes per second that a cell moves, divided by the bytes per second of a copy on the same row."""
    if not (row.bandwidth_gbytes and row.traffic_bytes):
        raise _Missing("no copy was timed")
    share = row.traffic_bytes / row.bandwidth_gbytes / 1e9
    return Estimate(row.seconds, row.seconds_low, row.seconds_high).over(share)


def _choose_rows(claim: Claim, paper: Paper, case: str, cells: Cells) -> tuple[Any, Any]:
    """Return our fastest row for the claim's `row` in a case, and its base.

    If the claim has an `over_case`, the base is the same row in that case; if it has `over`, our fastest row for
    `over`; otherwise, the row itself.

    Only our rows that are compared with the published row count. They run the published row's algorithm, in the
    published row's precision if such rows were measured, or else in fp32. The base of a CPU row has the same package,
    so that the claim is about cores and not about libraries.
    """
    mine = [cell for cell in cells if cell.case == case]
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
    if fast[0] in slow:  # a published row is not in fp32, and our fp32 row would replace it
        other = {paper.rows[name].precision for name in (claim.row, *claim.over)} - {FULL_PRECISION, ""}
        raise _Missing(f"no row in {' or '.join(sorted(other))} was measured; name a hardware profile in it")
    for row, base in itertools.product(fast, slow):
        if not row.is_cpu or row.package == base.package:
            return row, base
    raise _Missing(f"no row of {fast[0].package} is compared with {' or '.join(claim.over)}")


def _candidates(paper: Paper, names: Collection[str], threads: int | None, cells: Cells) -> list[Any]:
    """Return the timed cells, on `threads` if given, that are compared with published rows `names`, fastest first."""
    answering = [cell for cell in cells if is_beside(paper, cell, names)]
    theirs = {paper.rows[name].precision or FULL_PRECISION for name in names}
    alike = [cell for cell in answering if cell.precision in theirs]
    if not any(cell.seconds for cell in alike):
        alike = [cell for cell in answering if cell.precision == FULL_PRECISION] or alike
    if not alike:
        raise _Missing(f"no hardware profile here is compared with the paper's row {' or '.join(names)}")
    timed = [cell for cell in alike if cell.seconds]
    if not timed:
        absent = next(filter(_may_come, alike), alike[-1])
        raise _Missing(absent.reason, _may_come(absent))
    fitting = [cell for cell in timed if threads in (None, cell.threads)]
    if not fitting:
        counts = " and ".join(map(str, sorted({cell.threads or 0 for cell in timed})))
        text = f"no row of {threads} threads was measured, only of {counts}"
        raise _Missing(f"{text}; add a hardware profile with `threads: {threads}`")
    return sorted(fitting, key=lambda cell: cell.seconds)


def _may_come(cell: Any) -> bool:
    """Return whether the cell has no time only because it was disturbed or is not measured yet."""
    return bool(cell.status == "contaminated" or cell.reason.endswith(NOT_YET))


def _row_of(cell: Any) -> tuple[str, str]:
    """Return what identifies the cell's row in its table: the profile, and the label, which names the algorithm."""
    return cell.profile, cell.label


def _printed(claim: Claim, paper: Paper, case: str, value: float | None) -> str:
    """Return a claim's number: the printed speedup if it is over the same row, else computed; with "~" if inferred."""
    if value is None:
        return ""
    printed = paper.printed_speedup(claim.experiment, case, claim.row)
    slow = paper.fastest(claim.experiment, case, claim.over)
    fastest = paper.fastest(claim.experiment, case, paper.cpu_rows)
    text = f"{printed.text}x" if printed and slow == fastest else format_speedup(value)
    fast = paper.printed(claim.experiment, case, claim.row)
    text = INFERRED * bool(fast and fast.text.startswith(INFERRED)) + text
    across = across_precisions(paper.rows[claim.row].precision, [slow.precision]) if slow else ""
    return f"{text} ({across})" if across else text


def count_results(machine: str, paper: Paper, cells: pd.DataFrame, claims: pd.DataFrame) -> tuple[str, str]:
    """Describe a paper's results on a machine in two texts: claims by verdict, and how many cells are settled.

    The second text is empty if no cell has a time.
    """
    mine = cells[(cells["machine"] == machine) & (cells["paper"] == paper.name) & (cells["status"] != "not-run")]
    if not (mine["seconds"] > 0).any():
        return "Nothing of this paper has been measured on this machine yet.", ""
    whole = (claims["machine"] == machine) & (claims["paper"] == paper.name) & (claims["case"] == "")
    counts = claims.loc[whole, "verdict"].value_counts()
    verdicts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts]
    settled = (mine["status"] == "settled").sum()
    margin, timed = format_share(SETTLED_MARGIN), mine.loc[mine["seconds"] > 0, "rounds"]
    fewest, most = timed.min(), timed.max()
    rounds = counted(most, "round") if fewest == most else f"{fewest} to {most} rounds"
    return (
        f"Claims: {', '.join(verdicts)}." if verdicts else "",
        f"{settled} of {len(mine)} cells (a case on one row) are known to ±{margin} or better; {rounds} each.",
    )
