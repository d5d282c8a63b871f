"""Which speedups say what a table is about: the accelerator over the CPU, theirs and ours, or the nearest to it.

On a machine without an accelerator its rows stand over the paper's accelerator; where the paper prints nothing of one,
all cores over one; and of a table about more cores, or replicas, each case over its first. A table with a total has one
more case, named as the total is.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from respeed.analysis.machines import change_spread
from respeed.estimators.speedup import compare_rounds
from respeed.model.paper import Paper, PublishedRow
from respeed.tables.build import Tables
from respeed.tables.cells import Cell
from respeed.tables.others import Others

DEVICE_OVER_CPU = "device over CPU"
OVER_THEIR_DEVICE = "over their device"
ALL_CORES_OVER_ONE = "all cores over one"
CASE_OVER_FIRST = "case over first"


@dataclass(frozen=True)
class Ours:
    """A number of one of our rows in one case, with its interval; `cell` is any of the same row."""

    cell: Cell
    case: str
    value: float
    low: float | None = None
    high: float | None = None


# Numbers of the paper by published row and case.
Theirs = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class ShownSpeedups:
    """`kind` says what is over what. `cases` are those with a number, in the table's order; `device` is the paper's
    accelerator where that is the base, `first` the case that the others stand over where these are numbers of cores,
    say, and `spreads` are those of many machines, by case."""

    kind: str
    cases: tuple[str, ...]
    ours: tuple[Ours, ...]
    theirs: Theirs
    spreads: Mapping[str, Any]
    device: PublishedRow | None = None
    first: str = ""


def shown_speedups(tables: Tables, others: Others, paper: Paper, experiment: str, machine: str) -> ShownSpeedups:
    """Those of one table and machine; none of ours where it measured nothing."""
    cells = [
        cell
        for cell in tables.cells
        if (cell.machine, cell.paper, cell.experiment) == (machine, paper.name, experiment) and cell.seconds
    ]
    ours = [*_seconds_of(cells), *our_totals(tables, cells)]
    theirs = their_seconds(tables, paper, experiment)
    device = _device(paper, theirs)
    seconds, factors = (others.spread_of(quantity, paper.name, experiment) for quantity in ("seconds", "speedup"))
    kind, spreads, base = ALL_CORES_OVER_ONE, {}, None
    first = next((claim.over_case for claim in paper.claims if claim.experiment == experiment and claim.over_case), "")
    if first:
        kind, ours, theirs = CASE_OVER_FIRST, list(_over_first(tables, cells, first)), {}
    elif any(not cell.is_cpu for cell in cells):
        kind, spreads = DEVICE_OVER_CPU, factors
        ours, theirs = list(_device_over_cpu(tables, ours)), _their_device_over_cpu(paper, theirs)
    elif device:
        kind, base = OVER_THEIR_DEVICE, device
        there = {case: value for (name, case), value in theirs.items() if name == device.name}
        spreads = {case: _spread_over(one, there[case]) for case, one in seconds.items() if case in there}
        ours = [_over(one, there[one.case]) for one in ours if one.case in there]
        theirs = {
            (name, case): there[case] / value
            for (name, case), value in theirs.items()
            if name != device.name and case in there
        }
    else:
        ours, theirs = list(_all_cores_over_one(tables, cells)), {}
    table = paper.experiments[experiment]
    known = {one.case for one in ours} | {case for _, case in theirs} | set(spreads)
    cases = tuple(case for case in (*table.case_names(tables.smoke), table.total or "") if case in known)
    return ShownSpeedups(kind, cases, tuple(ours), theirs, spreads, base, first)


def _seconds_of(cells: Iterable[Cell]) -> Iterator[Ours]:
    for cell in cells:
        yield Ours(cell, cell.case, cell.seconds or 0, cell.seconds_low, cell.seconds_high)


def our_totals(tables: Tables, cells: Iterable[Cell]) -> list[Ours]:
    """Seconds of a machine's rows for the total of the table that the cells are of."""
    first = {(cell.machine, cell.paper, cell.experiment, cell.profile): cell for cell in cells}
    return [
        Ours(cell, tables.papers[row.paper].experiments[row.experiment].total or "", row.seconds, row.seconds_low,
             row.seconds_high)
        for row in tables.totals
        if row.seconds and (cell := first.get((row.machine, row.paper, row.experiment, row.profile)))
    ]  # fmt: skip


def their_seconds(tables: Tables, paper: Paper, experiment: str) -> Theirs:
    """What the paper prints, and its total at its own rates."""
    table = paper.experiments[experiment]
    # Of a rate of operations or of bytes, how many these are must be known: as they were counted here.
    amounts = {
        cell.case: (cell.work, cell.traffic_of_fp32)
        for cell in tables.cells
        if (cell.paper, cell.experiment) == (paper.name, experiment) and (cell.work or cell.traffic)
    }
    printed = {
        (row.name, case): paper.seconds(experiment, case, row.name, *amounts.get(case, (None, None)))
        for row in paper.rows
        for case in table.case_names(tables.smoke)
    }
    totals = their_totals(tables, paper, experiment)
    return {key: seconds for key, seconds in (printed | totals).items() if seconds}


def their_totals(tables: Tables, paper: Paper, experiment: str) -> dict[tuple[str, str], float]:
    """The paper's total of a table, at its own rates, in seconds."""
    return {
        (row.profile, paper.experiments[experiment].total or ""): row.seconds
        for row in tables.totals
        if row.seconds and (row.machine, row.paper, row.experiment) == ("paper", paper.name, experiment)
    }


def _device_over_cpu(tables: Tables, ours: list[Ours]) -> Iterator[Ours]:
    """Of cases as speedups.csv has them; of a total over the fastest CPU row's, without an interval."""
    made = {(row.machine, row.paper, row.experiment, row.case, row.row): row for row in tables.speedups}
    for one in ours:
        cell = one.cell
        if cell.is_cpu:
            continue
        row = made.get((cell.machine, cell.paper, cell.experiment, one.case, cell.row))
        if row and row.speedup:
            yield replace(one, value=row.speedup, low=row.speedup_low, high=row.speedup_high)
        elif row is None:
            rivals = [other.value for other in ours if other.case == one.case and _may_be_base(other.cell)]
            if rivals:
                yield Ours(cell, one.case, min(rivals) / one.value)


def _may_be_base(cell: Cell) -> bool:
    return cell.is_cpu and cell.in_full_precision


def _device(paper: Paper, seconds: Theirs) -> PublishedRow | None:
    """The paper's accelerator that is fastest in most cases."""
    fastest: dict[str, tuple[float, str]] = {}
    for (name, case), value in seconds.items():
        if name in paper.device_rows:
            fastest[case] = min((value, name), fastest.get(case, (value, name)))
    names = [name for _, name in fastest.values()]
    return paper.row(max(names, key=names.count)) if names else None


def _their_device_over_cpu(paper: Paper, seconds: Theirs) -> Theirs:
    fastest: dict[str, float] = {}
    for (name, case), value in seconds.items():
        if name in paper.cpu_rows:
            fastest[case] = min(value, fastest.get(case, value))
    return {
        (name, case): fastest[case] / value
        for (name, case), value in seconds.items()
        if name in paper.device_rows and case in fastest
    }


def _over(one: Ours, there: float) -> Ours:
    """Over seconds that have no interval; ours is that of our seconds."""
    low, high = (there / bound if bound else None for bound in (one.high, one.low))
    return Ours(one.cell, one.case, there / one.value, low, high)


def _spread_over(one: Any, there: float) -> Any:
    return change_spread(one, lambda seconds: there / seconds, "speedup")


def _all_cores_over_one(tables: Tables, cells: list[Cell]) -> Iterator[Ours]:
    """What more cores bring to a package, program and precision: its row on several over its row on one."""
    ones = {_alike(cell): cell for cell in cells if cell.architecture == "single-cpu"}
    for cell in cells:
        one = ones.get(_alike(cell))
        if one and cell.architecture == "multi-cpu":
            estimate = compare_rounds(tables.rounds[one.key], tables.rounds[cell.key])
            yield Ours(cell, cell.case, estimate.value, estimate.low, estimate.high)


def _over_first(tables: Tables, cells: list[Cell], first: str) -> Iterator[Ours]:
    """What more cores, or replicas, bring to a row: its case of that name over each of its others."""
    bases = {cell.row: cell for cell in cells if cell.case == first}
    for cell in cells:
        base = bases.get(cell.row)
        if base and cell is not base:
            estimate = compare_rounds(tables.rounds[base.key], tables.rounds[cell.key])
            yield Ours(cell, cell.case, estimate.value, estimate.low, estimate.high)


def _alike(cell: Cell) -> tuple[str, ...]:
    return cell.case, cell.algorithm, cell.package, cell.precision
