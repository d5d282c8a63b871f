"""Rates of cells with their intervals, and the ceilings that bare products set them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from respeed.estimators.rounds import CellKey, CellRounds
from respeed.tables.cells import Cell


@dataclass(frozen=True)
class Rate:
    """GFLOP/s of one cell, with the interval of its seconds; `rounds` has one for every round."""

    value: float
    low: float | None
    high: float | None
    rounds: tuple[float, ...]


def rate_of(cell: Cell) -> Rate | None:
    """None where the cell shows no time, or nobody counts its operations."""
    if not cell.seconds or not cell.work:
        return None
    gigaflops = cell.work / 1e9
    return Rate(
        value=gigaflops / cell.seconds,
        low=gigaflops / cell.seconds_high if cell.seconds_high else None,
        high=gigaflops / cell.seconds_low if cell.seconds_low else None,
        rounds=tuple(gigaflops / seconds for seconds in cell.round_seconds),
    )


def measured_ceilings(cells: Iterable[Cell], rounds: Mapping[CellKey, CellRounds]) -> dict[tuple[str, str], float]:
    """By row: GFLOP/s of the fastest bare product that any session saw on the same profile."""
    ceilings: dict[tuple[str, str], float] = {}
    for cell in cells:
        for time in rounds[cell.key].times.values() if cell.seconds else ():
            if time.peak:
                ceilings[cell.row] = max(time.peak / 1e9, ceilings.get(cell.row, 0.0))
    return ceilings
