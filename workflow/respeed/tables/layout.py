"""Cuts a table for people into parts that a page is wide enough for."""

from dataclasses import dataclass, replace

from respeed.tables.folded import FoldedTable, Group, Line

# More columns of numbers than that are hard to read side by side.
AT_MOST = 4


@dataclass(frozen=True)
class Part:
    """A table of its own: a header for each column of numbers, and groups of lines with as many values."""

    header: tuple[str, ...]
    groups: tuple[Group, ...]


def lay_out(table: FoldedTable, at_most: int = AT_MOST) -> list[Part]:
    """Parts of at most so many columns. A table of more than four cases is turned: each group is then a part of its
    own, with a line for each case and a column for each of its rows."""
    if not table.groups:
        return []
    turned = len(table.columns) > AT_MOST
    whole = [_turn(group, table.columns) for group in table.groups] if turned else [Part(table.columns, table.groups)]
    return [_cut(part, begin, end) for part in whole for begin, end in _cuts(len(part.header), at_most)]


def _turn(group: Group, columns: tuple[str, ...]) -> Part:
    lines = tuple(
        Line(column, "seconds", tuple(line.values[place] for line in group.lines))
        for place, column in enumerate(columns)
    )
    return Part(tuple(line.label for line in group.lines), (replace(group, lines=lines),))


def _cuts(columns: int, at_most: int) -> list[tuple[int, int]]:
    """Where parts begin and end: as few as can be, and as equal as can be."""
    parts = -(-columns // at_most)
    return [(part * columns // parts, (part + 1) * columns // parts) for part in range(parts)]


def _cut(part: Part, begin: int, end: int) -> Part:
    groups = tuple(
        replace(group, lines=tuple(replace(line, values=line.values[begin:end]) for line in group.lines))
        for group in part.groups
    )
    return Part(part.header[begin:end], groups)
