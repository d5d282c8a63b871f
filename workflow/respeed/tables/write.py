"""Writes tables for other tools (CSV) and for people (Markdown, LaTeX)."""

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from respeed.record.files import write_text
from respeed.tables.published import PublishedTable

# A number in a tidy table: more digits than any measurement has, fewer than a float prints.
DIGITS = 9


def write_tidy(path: Path, columns: Sequence[str], rows: Iterable[Any]) -> None:
    """Write rows with the attributes `columns` as CSV; None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_plain(getattr(row, column)) for column in columns])
    write_text(path, text.getvalue())


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return "" if value is None else value


def write_published(folder: Path, table: PublishedTable, stamp: str, in_full: Collection[str] | None = None) -> None:
    """Write a table in the paper's shape as <experiment>.csv, .md and .tex; in the latter two, for people, only the
    machines `in_full`, by default all."""
    header = ["source", "package", "architecture", *table.cases]
    rows = [[row.source, row.package, row.architecture, *row.values] for row in table.rows]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_text(folder / f"{table.experiment}.csv", text.getvalue())
    shown = table.only(in_full) if in_full is not None else table
    rows = [[row.source, row.package, row.architecture, *row.values] for row in shown.rows]
    if left_out := len(table.machines) - len(shown.machines):
        stamp = "\n\n".join(
            filter(None, [stamp, f"The rows of {left_out} other machines are in {table.experiment}.csv."])
        )
    align = ["left"] * 3 + ["right"] * len(table.cases)
    markdown = tabulate(
        [[_escape_markdown(value) for value in row] for row in rows],
        header,
        "pipe",
        colalign=align,
        disable_numparse=True,
    )
    write_text(folder / f"{table.experiment}.md", "\n\n".join(filter(None, [stamp, markdown])) + "\n")
    latex = tabulate(rows, header, "latex_booktabs", colalign=align, disable_numparse=True).replace("±", "$\\pm$")
    write_text(
        folder / f"{table.experiment}.tex", "".join(f"% {line}\n" for line in stamp.splitlines() if line) + latex + "\n"
    )


def _escape_markdown(text: str) -> str:
    for mark in "\\|*_`<>[]~":
        text = text.replace(mark, f"\\{mark}")
    return text
