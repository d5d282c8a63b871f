"""Which row stands for an algorithm where a table has many of each."""

from collections import Counter
from collections.abc import Iterable

from respeed.tables.cells import Cell


def rows_in_front(cells: Iterable[Cell]) -> set[tuple[str, str]]:
    """Of each algorithm the CPU row and the accelerator's that are fastest in most cases, in fp32."""
    fastest: dict[tuple[str, bool, str], Cell] = {}
    for cell in cells:
        if cell.seconds and cell.in_full_precision:
            key = (cell.algorithm, cell.is_cpu, cell.case)
            rival = fastest.get(key)
            if rival is None or cell.seconds < (rival.seconds or 0):
                fastest[key] = cell
    wins: dict[tuple[str, bool], Counter[tuple[str, str]]] = {}
    for (algorithm, is_cpu, _), cell in fastest.items():
        wins.setdefault((algorithm, is_cpu), Counter())[cell.row] += 1
    return {won.most_common(1)[0][0] for won in wins.values()}
