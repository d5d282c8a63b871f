"""Writes tables as CSV for other tools, and in the paper's shape for people too."""

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from respeed.records.files import write_text
from respeed.tables.folded import fold
from respeed.tables.latex import write_latex
from respeed.tables.markdown import write_markdown
from respeed.tables.origins import Origin
from respeed.tables.published import PublishedTable
from respeed.text import printable

# A number in a tidy table: more digits than any measurement has, fewer than a float prints.
DIGITS = 9
# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@")


def write_tidy(path: Path, columns: Sequence[str], rows: Iterable[Any]) -> None:
    """Write rows with the attributes `columns` as CSV; None is an empty field."""
    _write_csv(path, [columns, *([getattr(row, column) for column in columns] for row in rows)])


def write_published(
    folder: Path,
    table: PublishedTable,
    stamp: str,
    in_full: Collection[str] | None = None,
    origins: Mapping[str, Origin] | None = None,
) -> None:
    """Write a table in the paper's shape as <experiment>.csv, .md and .tex; in the latter two, for people, only the
    machines `in_full`, by default all. `origins` tell what the machines are."""
    header = ["source", "package", "architecture", *table.cases]
    rows = [[row.source, row.package, row.architecture, *(value.plain for value in row.values)] for row in table.rows]
    _write_csv(folder / f"{table.experiment}.csv", [header, *rows])
    folded = fold(table, origins or {}, in_full, stamp)
    write_text(folder / f"{table.experiment}.md", write_markdown(folded))
    write_text(folder / f"{table.experiment}.tex", write_latex(folded))


def _write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_plain(value) for value in row] for row in rows)
    write_text(path, text.getvalue())


def _plain(value: Any) -> Any:
    """A number with so many digits, a text without what cannot be printed. Before one that a spreadsheet would compute
    stands an apostrophe, which makes it a text there."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, str):
        text = printable(value)
        return f"'{text}" if text.lstrip().startswith(FORMULA) else text
    return "" if value is None else value
