"""What a claim is about, case by case: the published number beside ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from respeed.estimators.intervals import Estimate, estimate_sum_ratio
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import compare_rounds
from respeed.estimators.verdicts import confidence_for
from respeed.model.claim import Claim
from respeed.model.paper import Paper
from respeed.tables.cells import Cell
from respeed.tables.claimed_rows import Rows, choose_rows, published_value
from respeed.tables.numbers import format_speedup
from respeed.tables.totals import Total, measured_together


@dataclass(frozen=True)
class Compared:
    """One case of a claim; of a total, the whole table. `column` is the printed one that the case answers, `text` what
    is printed there. `here` is None where a row is missing; `rounds` are those of the row that has fewer."""

    case: str
    column: str
    published: float
    text: str
    rows: Rows
    here: Estimate | None
    rounds: int


def compare_claim(
    claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], totals: list[Total]
) -> list[Compared]:
    """Every case of the claim of which a number was published, on the machine whose cells these are."""
    if claim.test == "total":
        return list(_totals(claim, paper, cells, rounds, totals))
    return list(_cases(claim, paper, cells, rounds))


def _cases(claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> Iterator[Compared]:
    experiment = paper.experiments[claim.experiment]
    printed = [(case, published_value(claim, paper, case)) for case in experiment.case_names()]
    confidence = confidence_for(sum(value is not None for _, value in printed))
    for case, value in printed:
        if value is not None:
            rows = choose_rows(claim, [cell for cell in cells if cell.case == case], rounds)
            here = compare_rounds(rounds[rows.base.key], rounds[rows.row.key], confidence) if rows.found else None
            fewest = min(rows.base.rounds, rows.row.rounds) if rows.found else 0
            column, text = experiment.columns.get(case, case), _printed(claim, paper, case, value)
            yield Compared(case, column, value, text, rows, here, fewest)


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
    rows = choose_rows(claim, cells, rounds, of_total=True)
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
    text = paper.printed_speedup(claim.experiment, case, claim.row) if len(claim.over) > 1 else ""
    return f"{text}x" if text else format_speedup(value)
