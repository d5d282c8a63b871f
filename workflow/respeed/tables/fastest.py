"""The fastest of several rows, and which row stands for an algorithm where a table has many of each."""

from collections import Counter
from collections.abc import Iterable

from respeed.tables.cells import Cell


def fastest_cell(cells: Iterable[Cell]) -> Cell | None:
    """Of those with a time the one with the shortest; of equals the first. None if there is none."""
    return min((cell for cell in cells if cell.seconds), key=lambda cell: cell.seconds or 0.0, default=None)


def fastest_by_case(cells: Iterable[Cell]) -> dict[str, Cell]:
    """The fastest of each case that has a time, in the order of the cells."""
    cases: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.seconds:
            cases.setdefault(cell.case, []).append(cell)
    return {case: found for case, column in cases.items() if (found := fastest_cell(column))}


def rows_in_front(cells: Iterable[Cell]) -> set[tuple[str, str]]:
    """Of each algorithm the CPU row and the accelerator's that are fastest in most cases, in fp32."""
    kinds: dict[tuple[str, bool], list[Cell]] = {}
    for cell in cells:
        if cell.in_full_precision:
            kinds.setdefault((cell.algorithm, cell.is_cpu), []).append(cell)
    won = (Counter(cell.row for cell in fastest_by_case(kind).values()) for kind in kinds.values())
    return {wins.most_common(1)[0][0] for wins in won if wins}
