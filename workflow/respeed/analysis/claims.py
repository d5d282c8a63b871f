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

A growth or a crossover is only weakly reproduced if it rests on a cell far above its bound, as where a GPU waits for
launches at the smallest size.

A ratio's interval lies inside, above or below its band. If the interval lies only partly in the band, the case is left
open, whatever the ratio; but a narrow interval (±10 %) that meets a printed number's band counts as inside.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import pandas as pd

from respeed.analysis.cells import across_precisions, is_beside
from respeed.analysis.columns import Fields, make_frame
from respeed.analysis.estimates import (
    FULL_PRECISION,
    SETTLED_MARGIN,
    Estimate,
    estimate_mean,
    level_of_each,
    verdict_of,
    what_is_missing,
)
from respeed.analysis.expected import WEAK
from respeed.analysis.speedups import Samples, published_speedup, times_the_work
from respeed.analysis.tables import Cell, CellKey
from respeed.model import INFERRED, SMOKE_TOTAL, TOTAL, Claim, Paper, Papers
from respeed.text import (
    NO_INTERVAL,
    counted,
    format_number,
    format_share,
    format_speedup,
    format_whole_share,
    join_words,
)

REPRODUCED = "reproduced"
WEAKLY = "weakly reproduced"
LARGER = "larger"
SMALLER = "smaller"
ANOTHER_SHAPE = "trend not reproduced"
NOT_SETTLED = "not settled"
NOT_TESTABLE = "not testable here"
VERDICTS = (REPRODUCED, WEAKLY, LARGER, SMALLER, ANOTHER_SHAPE, NOT_SETTLED, NOT_TESTABLE)

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
Cells = Sequence[Cell]
# A verdict and the reason for it.
Verdict = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """One case of a claim, with its printed number and ours.

    `words` is the case's heading and `column` its printed column. If the claim names numbers, `published` is the number
    in that column, `text` the number as text, and `rounding` its relative error; if not, `published` is NaN. `pairs`
    has our two cells, a row and its base; a mean has several pairs. `here` is the ratio of the two cells, and `rounds`
    the smaller of their numbers of rounds. Without a ratio, `here` is NaN, `missing` is the reason, and `may_come` is
    true if a cell is only disturbed or not measured yet. `ideal` is the ratio that a claim about a limit is compared
    with.
    """

    case: str
    column: str = ""
    words: str = ""
    published: float = math.nan
    text: str = ""
    rounding: float = 0.0
    pairs: tuple[tuple[Cell, Cell], ...] = ()
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

    def place(self) -> str:
        """Return where the interval lies: inside, above or below the printed number with its rounding, or open.

        An interval that meets the printed number is inside only if it is narrow: a wide interval meets any number.
        """
        if self.here.is_above(self.published * (1 + self.rounding)):
            return "above"
        if self.here.is_below(self.published * (1 - self.rounding)):
            return "below"
        return "open" if self.open else "inside"


# All cases of a claim, or those that were measured.
Cases = Sequence[Compared]


def judge_claim(claim: Claim, compared: Cases) -> Verdict:
    """Judge a claim from all of its cases; the reason names cases without a time."""
    measured = [case for case in compared if case.is_measured]
    absent = [case for case in compared if not case.is_measured]
    if not measured:
        return _untested(absent), "; ".join(dict.fromkeys(case.missing for case in absent)) or NOT_MEASURED
    absent_ends = [case for case in (compared[0], compared[-1]) if not case.is_measured]
    if claim.test == "crossover" and absent_ends:
        return _untested(absent_ends), _name(absent_ends[0])
    kind, why = RULES[claim.test](measured)
    if claim.test == "each":  # if several cases share one printed column, one reproduced case is enough
        answered = {case.column for case in measured if case.place() == "inside"}
        absent = [case for case in absent if case.column not in answered]
    # A case without a time may yet make the claim fail.
    if kind not in (ANOTHER_SHAPE, NOT_SETTLED) and any(case.may_come for case in absent):
        kind, why = NOT_SETTLED, ""
    if kind == REPRODUCED and claim.test in ("growth", "crossover") and find_weakest(measured):
        kind = WEAKLY
    return kind, "; ".join(filter(None, [why, *dict.fromkeys(map(_name, absent))]))


def find_weakest(measured: Cases) -> Cell | None:
    """Return the cell that is farthest above its bound; None if no cell is weak."""
    cells = itertools.chain.from_iterable(_pairs(measured))
    weak = [cell for cell in cells if _times_bound(cell) > WEAK]
    return max(weak, key=_times_bound, default=None)


def _times_bound(cell: Cell) -> float:
    return (cell.seconds or 0.0) / (cell.expected_seconds or math.nan)


def _name_weakest(measured: Cases) -> str:
    cell = find_weakest(measured)
    if cell is None:
        return ""
    return f"{cell.label} at {cell.case}: {format_number(_times_bound(cell), 2)} times the least it needs"


def judge_case(claim: Claim, case: Compared) -> Verdict:
    """Judge one case of a claim by itself."""
    if not case.is_measured:
        return _untested([case]), case.missing
    if claim.test == "crossover":
        verdict, _ = verdict_of(case.here)
        return (f"{verdict} here", "") if verdict in ("faster", "slower") else (NOT_SETTLED, case.open or "near 1")
    # One case cannot grow: it is judged by its printed number.
    rule = judge_numbers if claim.test == "growth" else RULES[claim.test]
    kind, why = rule([case])
    return kind, why.removeprefix(f"{case.name}: ")


def judge_numbers(measured: Cases) -> Verdict:
    """Judge a claim that names a number for each case.

    If some cases lie above their number and others below, the trend is not reproduced, whatever becomes of open cases.
    Otherwise one open case leaves the claim open.
    """
    columns: dict[str, list[Compared]] = defaultdict(list)
    for case in measured:
        columns[case.column].append(case)
    names: dict[str, list[str]] = {"above": [], "below": [], "inside": []}
    whys: dict[str, str] = {}
    for column, cases in columns.items():
        name = column if len(cases) > 1 else cases[0].name
        places = {case.place() for case in cases}
        if "inside" in places:  # one of several cases that share a printed column is enough
            names["inside"].append(name)
        elif "open" in places:
            whys |= {case.name: case.open for case in cases if case.place() == "open"}
        elif len(places) > 1:
            whys |= {case.name: EITHER for case in cases}
        else:
            names[places.pop()].append(name)
    above, below, inside = names.values()
    if above and below:
        return ANOTHER_SHAPE, f"larger at {join_words(above)}, smaller at {join_words(below)}"
    if whys:
        return NOT_SETTLED, _by_reason(whys)
    if above or below:
        kind = LARGER if above else SMALLER
        if not inside:
            return kind, ""
        agree = "the others agree" if len(inside) > 1 else f"{inside[0]} agrees"
        return kind, f"at {join_words(above or below)}; {agree}"
    margin = max(case.here.margin or 0.0 for case in measured)
    # Two numbers may lie at opposite ends of their intervals.
    return REPRODUCED, f"a difference of {format_share(2 * margin)} would show"


def judge_bound(measured: Cases, least: float = 1.0) -> Verdict:
    """Judge a claim that every ratio lies above `least`: a single case below is enough to refute the claim."""
    below = [case.name for case in measured if case.here.is_below(least)]
    if below:
        return SMALLER, f"slower at {join_words(below)}" if len(measured) > 1 else ""
    unsure = [case for case in measured if not case.here.is_above(least)]
    return (NOT_SETTLED, _say_open(unsure)) if unsure else (REPRODUCED, "")


def judge_growth(measured: Cases) -> Verdict:
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
        if before.here.is_above(after.here.high) and _falls(before, after):
            in_all = f"larger at {last.name} than at {first.name}, but " if grows else ""
            return ANOTHER_SHAPE, f"{in_all}it falls from {before.name} to {after.name}"
    if not grows and not (first.open or last.open) and last.here.value <= first.here.value * (1 + SETTLED_MARGIN):
        return ANOTHER_SHAPE, f"no larger at {last.name} than at {first.name}"
    for before, after in [(first, last), *itertools.pairwise(measured)]:
        if after.here.is_above(before.here.high):
            continue
        if why := before.open or after.open:
            return NOT_SETTLED, f"{before.name} and {after.name} cannot be told apart yet: {why}"
        if _falls(before, after):
            return NOT_SETTLED, f"it may fall from {before.name} to {after.name}: the intervals leave it open"
    return (REPRODUCED, "") if grows else (NOT_SETTLED, f"whether {last.name} lies above {first.name} is left open")


def _falls(before: Compared, after: Compared) -> bool:
    """Return whether a number is more than 10 % below an earlier number."""
    return after.here.value < before.here.value * (1 - SETTLED_MARGIN)


def judge_crossover(measured: Cases) -> Verdict:
    """Judge whether the first ratio lies below 1 and the last ratio above 1.

    The verdict is larger if both ratios lie above 1, and smaller if both lie below 1.
    """
    first, last = measured[0], measured[-1]
    faster = [case for case in measured if case.here.is_above(1)]
    unsure = [case for case in (first, last) if case not in faster and not case.here.is_below(1)]
    if unsure:
        return NOT_SETTLED, _say_open(unsure)
    if first in faster and last in faster:
        return LARGER, f"faster already at {first.name}"
    if first in faster:
        return ANOTHER_SHAPE, f"faster at {first.name}, slower at {last.name}"
    if last not in faster:
        return SMALLER, f"slower even at {last.name}"
    *_, lowest = itertools.takewhile(lambda case: case in faster, reversed(measured))
    return REPRODUCED, f"faster from {lowest.name} on"


def judge_limited(measured: Cases) -> Verdict:
    """Judge whether each ratio is above 1 and at least one clearly below its ideal; the reason has ratio / ideal."""
    kind, why = judge_bound(measured)
    if kind != REPRODUCED:
        return kind, why.replace("slower", "no faster")
    shares = sorted(case.here.value / case.ideal for case in measured)
    reached = f"efficiency {_range(list(map(format_whole_share, shares)))}"
    if any(case.here.is_below(NEAR_IDEAL * case.ideal) for case in measured):
        return REPRODUCED, reached
    unsure = [case for case in measured if not case.here.is_above(NEAR_IDEAL * case.ideal)]
    return (NOT_SETTLED, _say_open(unsure)) if unsure else (LARGER, f"{reached}: nearly no limit shows")


def judge_memory(measured: Cases) -> Verdict:
    """Judge whether a program moves its bytes nearly as fast as a copy; each ratio is a share of the copy's rate."""
    kind, why = judge_bound(measured, NEAR_COPY)
    return kind, "something else than the memory limits it" if kind == SMALLER else why


# The rule of each test.
RULES = {
    "each": judge_numbers,
    "mean": judge_numbers,
    "growth": judge_growth,
    "faster": judge_bound,
    "crossover": judge_crossover,
    "limited": judge_limited,
    "memory": judge_memory,
}


def _untested(absent: Cases) -> str:
    return NOT_SETTLED if any(case.may_come for case in absent) else NOT_TESTABLE


def _name(absent: Compared) -> str:
    return ": ".join(filter(None, [absent.name, absent.missing]))


def _say_open(cases: Cases) -> str:
    """Return why cases are not settled."""
    return _by_reason({case.name: case.open or LEFT_OPEN for case in cases})


def _by_reason(whys: Mapping[str, str]) -> str:
    """Return each reason once, after the names of the cases that have this reason."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, why in whys.items():
        names[why].append(name)
    return "; ".join(f"{join_words(cases)}: {why}" for why, cases in names.items())


def make_claims(cells: Cells, samples: Samples, papers: Papers) -> pd.DataFrame:
    """Make a row for every claim on every machine and, if the claim has several cases, a row for each case.

    For a claim about several cases, `published_low` and `published_high` are the range of the printed numbers,
    `speedup_low` and `speedup_high` the range of our intervals, and `speedup` is missing. `published` and `here` have
    the numbers as text for people ("12.9x to 72.6x"). For a claim about memory, numbers are shares of a copy's rate.
    """
    rows = []
    for machine, paper, claim, compared in _on_machines(cells, samples, papers):
        facts = {"machine": machine, "paper": paper, "claim": claim.name, "says": claim.says}
        rows.append({**facts, "case": "", **_row(claim, compared, judge_claim(claim, compared))})
        for case in compared if len(compared) > 1 else ():
            rows.append({**facts, "case": case.case, **_row(claim, [case], judge_case(claim, case))})
    return make_frame(rows, "claims")


def open_claims(cells: Cells, samples: Samples, papers: Papers) -> list[tuple[float, set[CellKey]]]:
    """Find every claim that has a measured case and is not settled.

    Returns
    -------
    list of (rounds, cells)
        For each claim, about how many rounds per cell, in all, would settle the claim if its numbers stay as they are,
        and the keys of the cells to measure.
    """
    unsettled = []
    for *_, claim, compared in _on_machines(cells, samples, papers):
        measured = [case for case in compared if case.is_measured]
        if not measured or judge_claim(claim, measured)[0] != NOT_SETTLED:
            continue
        unsure = [case for case in measured if case.open or judge_case(claim, case)[0] == NOT_SETTLED]
        keys = set()
        for cell in itertools.chain(*_pairs(unsure)):
            keys.update(samples.keys_of(cell))
        unsettled.append((max(map(_rounds_needed, unsure), default=math.inf), keys))
    return unsettled


def _rounds_needed(case: Compared) -> float:
    """Return about how many rounds in all give an interval of ±10 %: at least one more than the case has."""
    return max(case.rounds + 1, case.rounds * ((case.here.margin or 0.0) / SETTLED_MARGIN) ** 2)


def _on_machines(cells: Cells, samples: Samples, papers: Papers) -> Iterator[tuple[str, str, Claim, list[Compared]]]:
    """Yield every claim on every machine: the names of the machine and the paper, the claim, and its cases there."""
    tables: dict[tuple[str, str], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        tables[cell.machine, cell.paper][cell.experiment].append(cell)
    for machine in dict.fromkeys(cell.machine for cell in cells):
        for name, paper in papers.items():
            for claim in paper.claims.values():
                yield machine, name, claim, compare_claim(claim, paper, tables[machine, name], samples)


def _row(claim: Claim, compared: Cases, verdict: Verdict) -> Fields:
    """Return the columns of claims.csv for some cases of a claim."""
    measured = [case for case in compared if case.is_measured]
    printed = [case.published for case in compared]
    lows = [case.here.low for case in measured if case.here.low]
    highs = [case.here.high for case in measured if case.here.high]
    have_intervals = len(lows) == len(measured)
    pairs = _pairs(measured)
    return {
        "published_low": min(printed, default=None),
        "published_high": max(printed, default=None),
        "speedup": measured[0].here.value if len(measured) == 1 else None,
        "speedup_low": min(lows, default=None) if have_intervals else None,
        "speedup_high": max(highs, default=None) if have_intervals else None,
        "verdict": verdict[0],
        "reason": verdict[1],
        "weakest": _name_weakest(measured),
        "profile": " or ".join(dict.fromkeys(row.profile for row, _ in pairs)),
        "base_profile": " or ".join(dict.fromkeys(base.profile for _, base in pairs)),
        "published": say_published(compared),
        "here": _say_measured(claim, measured) if measured else "",
    }


def _pairs(cases: Cases) -> list[tuple[Cell, Cell]]:
    """Return our rows and their bases in these cases."""
    return list(itertools.chain.from_iterable(case.pairs for case in cases))


def say_published(compared: Cases) -> str:
    """Return the range of the printed numbers as text; equal numbers, such as 10 and 10.0, count as one."""
    texts = {format_speedup(case.published): case.text for case in sorted(compared, key=attrgetter("published"))}
    return _range(list(texts.values()))


def _say_measured(claim: Claim, measured: Cases) -> str:
    """Return the range of our numbers as text, with the interval of one, or the range of the intervals of several."""
    say = format_whole_share if claim.test == "memory" else format_speedup
    ends = [(case.here.low, case.here.high) for case in measured if case.here.low and case.here.high]
    if len(ends) < len(measured):
        interval = NO_INTERVAL
    elif len(measured) == 1:
        interval = f"±{format_share(measured[0].here.margin or 0.0)}"
    else:
        lows, highs = zip(*ends, strict=True)
        interval = f"({say(min(lows))} to {say(max(highs))})"
    marks = dict.fromkeys(across_precisions(row.precision, [base.precision]) for row, base in _pairs(measured))
    text = _range([say(value) for value in sorted(case.here.value for case in measured)])
    return " ".join([text, interval, *(f"({mark})" for mark in marks if mark)])


def _range(texts: list[str]) -> str:
    """Return the first and the last text, or one of them if both are equal."""
    return " to ".join(dict.fromkeys(texts[:1] + texts[-1:]))


def compare_claim(claim: Claim, paper: Paper, tables: Mapping[str, Cells], samples: Samples) -> list[Compared]:
    """Compare every case of the claim on one machine, given the machine's cells by table.

    For a claim that names numbers (each, growth), only cases with a printed number are compared; for a claim about
    memory, only the last case. A mean is one case, made of all cases of its claims.
    """
    if claim.of:
        cases = []
        for name in claim.of:
            part = paper.claims[name]
            title = paper.experiments[part.experiment].title
            cases += [replace(case, words=title) for case in compare_claim(part, paper, tables, samples)]
        return [average(claim, cases)]
    asked = _cases_of(claim, paper)
    cells = tables.get(claim.experiment, ())
    level = level_of_each(len(asked))  # a claim that is true is refused in at most 5 % of reports
    return [_compare_case(claim, paper, case, cells, samples, level) for case in asked]


def _cases_of(claim: Claim, paper: Paper) -> list[Compared]:
    """Return the cases that a claim is about, with their printed numbers, if the claim names numbers."""
    experiment = paper.experiments[claim.experiment]
    experiment = experiment.original or experiment  # a claim is about the paper's sizes
    words = experiment.column_words()
    # A total is not a problem size: only claims about every case include the total.
    no_size = () if claim.test in ("each", "faster") else (experiment.total_case,)
    names = [case for case in words if case not in (claim.over_case, *no_size)]
    sizes = {case.name: case.parameters[claim.by] for case in experiment.cases} if claim.by else {}
    asked = []
    for case in names[-1:] if claim.test == "memory" else names:
        ideal = sizes[case] / sizes[claim.over_case] if sizes else 1.0
        compared = Compared(case, experiment.columns.get(case, case), words[case], ideal=ideal)
        if claim.test not in ("each", "growth"):
            asked.append(compared)
        elif published := published_speedup(paper, claim.experiment, case, claim.row, claim.over):
            text = _printed(claim, paper, case, published)
            rounding = paper.speedup_rounding(claim.experiment, case, claim.row, claim.over)
            asked.append(replace(compared, published=published, text=text, rounding=rounding))
    return asked


@dataclass
class _Missing(Exception):
    """A row that a claim needs is missing; it `may_come` if a cell is only disturbed or not measured yet."""

    reason: str
    may_come: bool = False


def _compare_case(claim: Claim, paper: Paper, case: Compared, cells: Cells, samples: Samples, level: float) -> Compared:
    """Return the case with our two rows and their ratio, or with the reason why a row is missing."""
    try:
        row, base = _choose_rows(claim, paper, case.case, cells)
        ratio = _share_of_copy(row) if claim.test == "memory" else samples.ratio(base, row, level)[0]
    except _Missing as why:
        return replace(case, missing=why.reason, may_come=why.may_come)
    if claim.over_case:
        ratio = ratio.times(times_the_work(base, row))
    return replace(case, pairs=((row, base),), here=ratio, rounds=min(row.rounds, base.rounds))


def average(claim: Claim, cases: Cases) -> Compared:
    """Return as one case the mean over all cases of several claims; `words` of a case is the title of its table.

    The paper's mean is over all printed cases: if one of these cases is missing here, we have no mean.
    """
    printed = [Estimate(case.published) for case in cases]
    largest = [Estimate(case.published * (1 + case.rounding)) for case in cases]
    published = estimate_mean(printed, claim.mean).value
    rounding = estimate_mean(largest, claim.mean).value / published - 1
    mean = Compared(f"{claim.mean} mean", "", "", published, format_speedup(published), rounding)
    absent = {case.words: case for case in cases if not case.is_measured}
    if absent:
        whys = {title: case.missing for title, case in absent.items()}
        is_of_all = absent.keys() == {case.words for case in cases}
        why = "; ".join(dict.fromkeys(whys.values())) if is_of_all else _by_reason(whys)
        return replace(mean, missing=why, may_come=all(case.may_come for case in absent.values()))
    ratio = estimate_mean([case.here for case in cases], claim.mean)
    return replace(mean, pairs=tuple(_pairs(cases)), here=ratio, rounds=min(case.rounds for case in cases))


def _share_of_copy(row: Cell) -> Estimate:
    """Return the bytes per second that a cell moves, divided by the bytes per second of a copy on the same row."""
    if not (row.bandwidth_gbytes and row.traffic_bytes):
        raise _Missing("no copy was timed")
    share = row.traffic_bytes / row.bandwidth_gbytes / 1e9
    return row.time.over(share)


def _choose_rows(claim: Claim, paper: Paper, case: str, cells: Cells) -> tuple[Cell, Cell]:
    """Return our fastest row for the claim's `row` in a case, and its base.

    If the claim has an `over_case`, the base is the same row in that case; if it has `over`, our fastest row for
    `over`; otherwise, the row itself.

    Only our rows that are compared with the published row count. They run the published row's algorithm, in the
    published row's precision if such rows were measured, or else in fp32. The base of a CPU row has the same package,
    so that the claim is about cores and not about libraries.
    """
    in_case = [cell for cell in cells if cell.case == case]
    if not in_case:
        raise _Missing(NOT_MEASURED)
    fast = _candidates(paper, (claim.row,), claim.threads, in_case)
    if claim.over_case:
        return _choose_over_case(claim.over_case, fast, cells)
    if not claim.over:
        return fast[0], fast[0]
    slow = _candidates(paper, claim.over, 1 if claim.threads else None, in_case)
    if fast[0] in slow:  # a published row is not in fp32, and our fp32 row would replace it
        other = {paper.rows[name].precision for name in (claim.row, *claim.over)} - {FULL_PRECISION, ""}
        raise _Missing(f"no row in {' or '.join(sorted(other))} was measured; name a hardware profile in it")
    for row, base in itertools.product(fast, slow):
        if not row.is_cpu or row.package == base.package:
            return row, base
    raise _Missing(f"no row of {fast[0].package} is compared with {' or '.join(claim.over)}")


def _choose_over_case(over_case: str, fast: Cells, cells: Cells) -> tuple[Cell, Cell]:
    """Return the first of the rows `fast` that has a time in the case `over_case`, and its cell in that case.

    The label of a row names the algorithm.
    """
    bases = {(cell.profile, cell.label): cell for cell in cells if cell.case == over_case}
    untimed = None
    for row in fast:
        base = bases.get((row.profile, row.label))
        if base and base.seconds:
            return row, base
        untimed = untimed or base
    if untimed is None:
        raise _Missing(f"{over_case} does not run on the same row")
    raise _Missing(f"{over_case}: {untimed.reason}", _may_come(untimed))


def _candidates(paper: Paper, names: Collection[str], threads: int | None, cells: Cells) -> list[Cell]:
    """Return the timed cells, on `threads` if given, that are compared with published rows `names`, fastest first."""
    answering = [cell for cell in cells if is_beside(paper, cell, names)]
    precisions = {paper.rows[name].precision or FULL_PRECISION for name in names}
    alike = [cell for cell in answering if cell.precision in precisions]
    full = [cell for cell in answering if cell.precision == FULL_PRECISION]
    timed = [cell for cell in alike if cell.seconds] or [cell for cell in full if cell.seconds]
    if not timed:
        untimed = full or alike
        if not untimed:
            raise _Missing(f"no hardware profile here is compared with the paper's row {' or '.join(names)}")
        absent = next(filter(_may_come, untimed), untimed[-1])
        raise _Missing(absent.reason, _may_come(absent))
    fitting = [cell for cell in timed if threads in (None, cell.threads)]
    if not fitting:
        counts = " and ".join(map(str, sorted({cell.threads or 0 for cell in timed})))
        text = f"no row of {threads} threads was measured, only of {counts}"
        raise _Missing(f"{text}; add a hardware profile with threads: {threads}")
    return sorted(fitting, key=attrgetter("seconds"))


def _may_come(cell: Cell) -> bool:
    """Return whether the cell has no time only because it was disturbed or is not measured yet."""
    return cell.status in ("contaminated", "due")


def _printed(claim: Claim, paper: Paper, case: str, value: float) -> str:
    """Return a claim's number: the printed speedup if it is over the same row, else computed; with "~" if inferred."""
    printed = paper.printed_speedup(claim.experiment, case, claim.row)
    slow = paper.fastest(claim.experiment, case, claim.over)
    fastest = paper.fastest(claim.experiment, case, paper.cpu_rows)
    text = f"{printed.text}x" if printed and slow == fastest else format_speedup(value)
    fast = paper.printed(claim.experiment, case, claim.row)
    if fast and fast.text.startswith(INFERRED):
        text = INFERRED + text
    across = across_precisions(paper.rows[claim.row].precision, [slow.precision]) if slow else ""
    return f"{text} ({across})" if across else text


def count_results(machine: str, paper: Paper, cells: pd.DataFrame, claims: pd.DataFrame) -> tuple[str, str]:
    """Describe a paper's results on a machine in two texts: claims by verdict, and how many cells are settled.

    The second text is empty if no cell has a time.
    """
    asked = cells[
        (cells["machine"] == machine) & (cells["paper"] == paper.name) & ~cells["status"].isin(["due", "cannot-run"])
    ]
    asked = asked[~asked["case"].isin([TOTAL, SMOKE_TOTAL])]
    rounds = asked.loc[asked["seconds"] > 0, "rounds"]
    if rounds.empty:
        return "Nothing of this paper has been measured on this machine yet.", ""
    whole = (claims["machine"] == machine) & (claims["paper"] == paper.name) & (claims["case"] == "")
    counts = claims.loc[whole, "verdict"].value_counts()
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
    settled = (asked["status"] == "settled").sum()
    fewest, most = rounds.min(), rounds.max()
    span = counted(most, "round") if fewest == most else f"{fewest} to {most} rounds"
    return (
        f"Claims: {verdicts}." if verdicts else "",
        f"{settled} of {len(asked)} cells (a case on one row) are known to ±{format_share(SETTLED_MARGIN)} or better; "
        f"{span} each.",
    )
