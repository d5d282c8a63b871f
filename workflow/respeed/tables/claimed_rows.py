"""Which two rows of a machine a claim is held against."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from respeed.analysis.labels import across_precisions
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import FULL_PRECISION
from respeed.model.claim import Claim
from respeed.model.paper import Paper
from respeed.tables.cells import NOT_YET, Cell

# What the smoke preset has of a claim.
NOT_MEASURED = "nothing of the paper's sizes was measured"


@dataclass(frozen=True)
class Rows:
    """The cells of one case (or, of a total, one cell of each column) that a claim sets beside one another: the fastest
    beside the published row `row`, and the fastest beside `over`, or that row's own in another case. `missing` says why
    one is not there; `may_come` if it was only disturbed, or not measured yet."""

    rows: tuple[Cell, ...]
    missing: str = ""
    may_come: bool = False

    @property
    def found(self) -> bool:
        return not self.missing

    @cached_property
    def row(self) -> Cell:
        return self.rows[0]

    @cached_property
    def base(self) -> Cell:
        return self.rows[-1]

    @property
    def precisions(self) -> str:
        """Marks a ratio across precisions."""
        return across_precisions(self.row.precision, [self.base.precision]) if self.found else ""


def choose_rows(claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> Rows:
    """The two rows among the cells of one case, or of all cases of a table that adds up.

    Only programs that answer a published row count: of several algorithms the paper's own for that row; rows in its
    precision where such were measured, or else in fp32. Of two CPU rows both are of one package, so that the claim is
    about cores and not about libraries.
    """
    if not cells:
        return Rows((), NOT_MEASURED)
    fast = _candidates(paper, (claim.row,), claim.threads, cells, rounds)
    if not fast.found:
        return fast
    slow = _candidates(paper, claim.over, 1 if claim.threads else None, cells, rounds)
    if not slow.found:
        return slow
    for row in fast.rows:
        for base in slow.rows:
            if not row.is_cpu or row.package == base.package:
                return Rows((row, base))
    return Rows((), f"no row of {fast.row.package} answers {' or '.join(claim.over)}")


def choose_own(claim: Claim, paper: Paper, case: str, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> Rows:
    """The fastest row of `case` beside the claim's, and the same row in the case that it is compared with."""
    mine = [cell for cell in cells if cell.case == case]
    if not mine:
        return Rows((), NOT_MEASURED)
    fast = _candidates(paper, (claim.row,), claim.threads, mine, rounds)
    if not (fast.found and claim.over_case):
        return fast
    first = {cell.row: cell for cell in cells if cell.case == claim.over_case}
    pairs = [(row, base) for row in fast.rows if (base := first.get(row.row))]
    timed = next((pair for pair in pairs if pair[1].seconds), None)
    if timed:
        return Rows(timed)
    base = pairs[0][1] if pairs else None
    why = f"{claim.over_case}: {base.reason}" if base else f"{claim.over_case} does not run on the same row"
    return Rows((), why, base is not None and _may_come(base))


def _candidates(
    paper: Paper,
    names: Collection[str],
    threads: int | None,
    cells: list[Cell],
    rounds: Mapping[CellKey, CellRounds],
) -> Rows:
    """Cells with a time beside the published rows `names`, the fastest first (of a total, one cell of each column); or
    else why there are none."""
    answering = _in_their_precision(paper, names, [cell for cell in cells if set(cell.answers) & set(names)])
    if not answering:
        return Rows((), f"no hardware profile here answers the paper's row {' or '.join(names)}")
    columns: dict[tuple[str, str], list[Cell]] = {}
    for cell in answering:
        columns.setdefault(cell.row, []).append(cell)
    # A row that cannot run all cases of a total has a shorter column, and would look fast.
    most = max(len(column) for column in columns.values())
    whole = {row: column for row, column in columns.items() if len(column) == most and all(c.seconds for c in column)}
    if not whole:
        missing = [cell for cell in answering if not cell.seconds]
        to_come = next((cell for cell in missing if _may_come(cell)), None)
        reason = (to_come or missing[-1]).reason if missing else "no row here runs all cases"
        return Rows((), reason, to_come is not None)
    fitting = [
        column for column in whole.values() if threads is None or rounds[column[0].key].threads == threads
    ]  # fmt: skip
    if not fitting:
        ran = sorted({rounds[column[0].key].threads or 0 for column in whole.values()})
        text = f"no row of {threads} threads was measured, only of {' and '.join(map(str, ran))}"
        return Rows((), f"{text}; add a hardware profile with `threads: {threads}`")
    fitting.sort(key=lambda column: sum(cell.seconds or 0.0 for cell in column))
    return Rows(tuple(column[0] for column in fitting))


def _may_come(cell: Cell) -> bool:
    """Whether it has no time only because it was disturbed, or not measured yet."""
    return cell.status == "contaminated" or cell.reason == NOT_YET


def _in_their_precision(paper: Paper, names: Iterable[str], cells: list[Cell]) -> list[Cell]:
    """Those in the precision of the published rows, if any of them has a time; or else those in fp32."""
    theirs = {paper.row(name).precision or FULL_PRECISION for name in names}
    alike = [cell for cell in cells if cell.precision in theirs]
    return alike if any(cell.seconds for cell in alike) else [cell for cell in cells if cell.in_full_precision]


def published_value(claim: Claim, paper: Paper, case: str) -> float | None:
    """The fastest row of `over` against `row`, as the paper has it; a speedup that it prints alone is over its fastest
    CPU row."""
    made = paper.speedup(claim.experiment, case, claim.row, claim.over)
    printed = paper.printed_speedup(claim.experiment, case, claim.row)
    alone = printed.value if printed and set(paper.cpu_rows) <= set(claim.over) else None
    return made or alone
