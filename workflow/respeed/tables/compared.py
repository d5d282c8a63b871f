"""What a claim is about, case by case: the published number beside ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from respeed.analysis.labels import across_precisions
from respeed.estimators.intervals import Estimate, estimate_sum_ratio
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import compare_rounds
from respeed.estimators.verdicts import confidence_for
from respeed.model.claim import Claim
from respeed.model.paper import Paper
from respeed.numbers import format_speedup
from respeed.tables.ceilings import ceilings_of
from respeed.tables.cells import Cell
from respeed.tables.claimed_rows import Rows, choose_own, choose_rows, published_value
from respeed.tables.totals import Total, measured_together

# The tests of claims that are about published numbers.
NUMBERED = ("each", "largest", "growth", "total")


@dataclass(frozen=True)
class Compared:
    """One case of a claim; of a total, the whole table. `column` is the printed one that the case answers, `text` what
    is printed there; a claim that names no number has none. `here` is None where a row is missing; `rounds` are those
    of the row that has fewer. `ideal` is what a claim about a limit is held against."""

    case: str
    column: str
    published: float | None
    text: str
    rows: Rows
    here: Estimate | None
    rounds: int
    ideal: float = 1.0


def compare_claim(
    claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], totals: list[Total]
) -> list[Compared]:
    """Every case of the claim, on the machine whose cells these are; of a claim that names numbers, every case of which
    one was published."""
    match claim.test:
        case "total":
            return list(_totals(claim, paper, cells, rounds, totals))
        case "limited":
            return list(_scaled(claim, paper, cells, rounds))
        case "memory":
            return [_moved(claim, paper, cells, rounds)]
        case _:
            return list(_cases(claim, paper, cells, rounds))


def _cases(claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> Iterator[Compared]:
    experiment = paper.experiments[claim.experiment]
    numbered = claim.test in NUMBERED
    printed = {case: published_value(claim, paper, case) if numbered else None for case in experiment.case_names()}
    asked = [case for case, value in printed.items() if value is not None or not numbered]
    confidence = confidence_for(len(asked))
    for case in asked:
        rows = choose_rows(claim, paper, [cell for cell in cells if cell.case == case], rounds)
        column, value = experiment.columns.get(case, case), printed[case]
        text = "" if value is None else _printed(claim, paper, case, value)
        yield _compare(case, column, value, text, rows, rounds, confidence)


def _scaled(claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> Iterator[Compared]:
    """Each case over the one that it is compared with, on the same row."""
    sizes = {case.name: case.parameters[claim.by] for case in paper.experiments[claim.experiment].cases}
    others = [case for case in sizes if case != claim.over_case]
    for case in others:
        rows = choose_own(claim, paper, case, cells, rounds)
        compared = _compare(case, case, None, "", rows, rounds, confidence_for(len(others)))
        yield replace(compared, ideal=sizes[case] / sizes[claim.over_case])


def _moved(claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> Compared:
    """The bytes that the last case moves a second, over those of a copy in the same sessions."""
    case = paper.experiments[claim.experiment].case_names()[-1]
    rows = choose_own(claim, paper, case, cells, rounds)
    copied = ceilings_of(rounds[rows.row.key]).bandwidth if rows.found else None
    if not (rows.found and copied and rows.row.traffic):
        return Compared(case, case, None, "", rows if not rows.found else Rows((), "no copy was timed"), None, 0)
    share = rows.row.traffic / copied
    low, high = (share / bound if bound else None for bound in (rows.row.seconds_high, rows.row.seconds_low))
    here = Estimate(share / (rows.row.seconds or 1.0), low, high)
    return Compared(case, case, None, "", rows, here, rows.row.rounds)


def _compare(
    case: str,
    column: str,
    value: float | None,
    text: str,
    rows: Rows,
    rounds: Mapping[CellKey, CellRounds],
    confidence: float,
) -> Compared:
    if not rows.found:
        return Compared(case, column, value, text, rows, None, 0)
    here = compare_rounds(rounds[rows.base.key], rounds[rows.row.key], confidence)
    return Compared(case, column, value, text, rows, here, min(rows.base.rounds, rows.row.rounds))


def _totals(
    claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], totals: list[Total]
) -> Iterator[Compared]:
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
    rows = choose_rows(claim, paper, cells, rounds)
    here = None
    if rows.found:
        slowest, fastest = (measured_together(_column(cells, one), rounds, experiment) for one in (rows.base, rows.row))
        here = estimate_sum_ratio(slowest, fastest)
    fewest = min((cell.rounds for cell in cells if rows.found and cell.row in {rows.base.row, rows.row.row}), default=0)
    yield Compared("", "", slow / fast, f"{format_speedup(slow / fast)} (from its own rates)", rows, here, fewest)


def _column(cells: list[Cell], one: Cell) -> list[Cell]:
    return [cell for cell in cells if cell.row == one.row]


def _printed(claim: Claim, paper: Paper, case: str, value: float) -> str:
    """As it was printed, where it was: the paper's speedups are over its fastest CPU row."""
    printed = paper.printed_speedup(claim.experiment, case, claim.row)
    slow = paper.fastest(claim.experiment, case, claim.over)
    fastest = paper.fastest(claim.experiment, case, paper.cpu_rows)
    text = f"{printed.text}x" if printed and slow == fastest else format_speedup(value)
    across = across_precisions(paper.row(claim.row).precision, [slow.precision]) if slow else ""
    return f"{text} ({across})" if across else text
