"""Which two rows of a machine a claim is held against."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import FULL_PRECISION
from respeed.model.claim import Claim
from respeed.model.paper import Paper
from respeed.tables.cells import NOT_YET, Cell

# What the smoke preset has of a claim, or a machine that measured other precisions alone.
NOT_MEASURED = f"nothing of the paper's sizes was measured in {FULL_PRECISION}"


@dataclass(frozen=True)
class Rows:
    """The cells of one case (or, of a total, one cell of each column) that a claim sets beside one another: the fastest
    of the architecture `row`, and the fastest of `over`. `missing` says why one is not there; `may_come` if it was only
    disturbed, or not measured yet."""

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
        return self.rows[1]


def choose_rows(
    claim: Claim, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], *, of_total: bool = False
) -> Rows:
    """The two rows among the cells of one case, or with `of_total` of all cases of a table that adds up.

    Only programs that answer what was printed count: of several algorithms the paper's own for that row. Of two CPU
    rows both are of one package, so that the claim is about cores and not about libraries.
    """
    if not cells:
        return Rows((), NOT_MEASURED)
    fast = _candidates(claim, (claim.row,), claim.threads, cells, rounds, of_total)
    if not fast.found:
        return fast
    slow = _candidates(claim, claim.over, 1 if claim.threads else None, cells, rounds, of_total)
    if not slow.found:
        return slow
    for row in fast.rows:
        for base in slow.rows:
            if not row.is_cpu or row.package == base.package:
                return Rows((row, base))
    return Rows((), f"no row of {fast.row.package} answers {' or '.join(claim.over)}")


def _candidates(
    claim: Claim,
    architectures: Iterable[str],
    threads: int | None,
    cells: list[Cell],
    rounds: Mapping[CellKey, CellRounds],
    of_total: bool,
) -> Rows:
    """Cells with a time, the fastest first (of a total, one cell of each column); or else why there are none."""
    answering = [cell for cell in cells if cell.architecture in architectures and (of_total or cell.published_seconds)]
    if not answering:
        return Rows((), f"no hardware profile here answers the paper's row {' or '.join(architectures)}")
    columns: dict[tuple[str, str], list[Cell]] = {}
    for cell in answering:
        columns.setdefault(cell.row, []).append(cell)
    # A row that cannot run all cases of a total has a shorter column, and would look fast.
    most = max(len(column) for column in columns.values())
    whole = {row: column for row, column in columns.items() if len(column) == most and all(c.seconds for c in column)}
    if not whole:
        missing = [cell for cell in answering if not cell.seconds]
        to_come = next((cell for cell in missing if cell.status == "contaminated" or cell.reason == NOT_YET), None)
        reason = (to_come or missing[0]).reason if missing else "no row here runs all cases"
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


def published_value(claim: Claim, paper: Paper, case: str) -> float | None:
    """The paper's seconds of the fastest row of `over`, divided by those of `row`."""
    seconds = paper.printed(claim.experiment, case, claim.row)
    over = [value for name in claim.over if (value := paper.printed(claim.experiment, case, name))]
    return min(over) / seconds if over and seconds else None
