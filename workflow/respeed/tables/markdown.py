"""Tables in Markdown, as GitHub shows it."""

import re
from collections.abc import Iterable, Sequence

from respeed.numbers import Value
from respeed.tables.folded import FoldedTable, Line, Note
from respeed.tables.layout import Part, lay_out
from respeed.text import printable

# What begins something else than text, in a cell or in a paragraph.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]|(?<=:)(?=//)|(?<=www)(?=\.)")


def write_markdown(table: FoldedTable) -> str:
    """The table with its notes; one that is too wide is cut into parts."""
    stamp = [f"**{escape_markdown(table.stamp)}**"] * bool(table.stamp)
    title = f"**{escape_markdown(table.title)}**: {escape_markdown(table.unit)}. {escape_markdown(table.reference)}"
    parts = [_write_part(part) for part in lay_out(table)]
    return "\n\n".join([*stamp, title, *parts, *(_write_note(note) for note in table.notes)]) + "\n"


def escape_markdown(text: str) -> str:
    """A text that is shown as it is, whatever it says. GitHub takes a dollar for mathematics, backslash or not."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", printable(text)).replace("$", "<span>$</span>")


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """A table of cells that are Markdown; `align` has a letter l or r for each column."""
    ruler = [{"l": ":---", "r": "---:"}[letter] for letter in align]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ruler, *rows))


def _write_part(part: Part) -> str:
    rows = []
    for group in part.groups:
        rows.append([f"**{escape_markdown(group.heading)}**", *[""] * len(part.header)])
        rows += [_write_line(line) for line in group.lines]
    header = ["", *(escape_markdown(column) for column in part.header)]
    return pipe_table(header, rows, "l" + "r" * len(part.header))


def _write_line(line: Line) -> list[str]:
    return [escape_markdown(line.label), *(_write_value(value) for value in line.values)]


def _write_value(value: Value) -> str:
    interval = f" <sub>{escape_markdown(value.interval)}</sub>" if value.interval else ""
    return f"{escape_markdown(value.text)}{interval}{_write_mark(value.mark)}"


def _write_mark(mark: str) -> str:
    return f"<sup>{mark}</sup>" if mark else ""


def _write_note(note: Note) -> str:
    return f"{_write_mark(note.mark)} {escape_markdown(note.text)}".strip()
