"""A table for people, and its formats: data for Typst, CSV, and Markdown, LaTeX and HTML by a template each.

All texts of a table are escaped for the format, since labels come from other people's files.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from html import escape
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.filters import do_mark_safe

from respeed.analysis.columns import write_csv
from respeed.analysis.tables import group_by
from respeed.paths import RUN
from respeed.text import Value, printable

# More cases than this are hard to read side by side.
AT_MOST = 4
# A table that is turned has short labels, and so more columns.
MOST_TURNED = 8
# Lines of a table that fit a page of LaTeX, with its caption, headings and notes.
MOST_LINES = 36
# For T1 fonts, in which all other special characters of ASCII print as they are.
_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "$": r"\$", "#": r"\#", "&": r"\&", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    # After the end of a row, these would be an option of it.
    "[": "{[}", "*": "{*}",
})  # fmt: skip
# Characters with a meaning in Markdown, in a cell or in a paragraph.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]|(?<=:)(?=//)|(?<=www)(?=\.)")


@dataclass(frozen=True)
class Line:
    """A line of a table.

    Attributes
    ----------
    group, label : the heading that the line shares with its neighbours, and its own name
    values : the values by the keys of their columns; a field without a value is empty
    look : ours, theirs, or in a table of claims, claim or case
    is_ratio : whether the numbers are speedups
    """

    group: str
    label: str
    values: dict[str, Value]
    look: str = "ours"
    is_ratio: bool = False


@dataclass(frozen=True)
class Table:
    """A table under its title.

    Attributes
    ----------
    title, caption : the title, and an explanation of the numbers
    columns : the heading of each column, by its key
    lines : the lines; a field without a number has the reason, which becomes a note under a mark
    notes : sentences below the table
    head : the heading of the column of labels
    label : the table's label in LaTeX
    has_cases : whether each column is a case; cases may be many, whereas other columns are few, and may contain words
    """

    title: str
    caption: str
    columns: Mapping[str, str]
    lines: Sequence[Line]
    notes: Sequence[str] = ()
    head: str = ""
    label: str = ""
    has_cases: bool = False

    @property
    def values(self) -> list[Value]:
        """Return all values of the table."""
        return list(chain.from_iterable(line.values.values() for line in self.lines))

    @property
    def is_numeric(self) -> bool:
        """Return whether all fields of the table are numbers."""
        return all(value.kind == "number" for value in self.values)

    @property
    def marks(self) -> dict[str, str]:
        """Return the mark of each reason for a missing number."""
        reasons = dict.fromkeys(value.reason for value in self.values if value.reason)
        return {reason: str(number) for number, reason in enumerate(reasons, start=1)}

    def fields(self, line: Line) -> list[Value]:
        """Return the values of a line in the order of the columns."""
        return [line.values.get(column, Value()) for column in self.columns]

    @property
    def parts(self) -> list["Table"]:
        """Return the table, cut into parts that fit the width of a page.

        With more than AT_MOST cases, each group of lines becomes a table of its own, transposed: a line for each case,
        a column for each label. Such a table is cut into as few parts of at most MOST_TURNED columns as possible.
        """
        if not self.has_cases or len(self.columns) <= AT_MOST:
            return [self]
        parts = []
        for lines in group_by(self.lines, attrgetter("group")).values():
            count = -(-len(lines) // MOST_TURNED)
            for part in np.array_split(np.array(lines), count):
                parts.append(self._turn(part.tolist()))
        return parts

    def _turn(self, lines: Sequence[Line]) -> "Table":
        """Return the lines, of one group, transposed. A case without a field in any of them gets no line."""
        numbered = {str(number): line for number, line in enumerate(lines)}
        turned = []
        for case, heading in self.columns.items():
            values = {}
            for number, line in numbered.items():
                if case in line.values:
                    values[number] = line.values[case]
            if values:
                turned.append(replace(lines[0], label=heading, values=values))
        labels = {number: line.label for number, line in numbered.items()}
        return replace(self, columns=labels, lines=turned)


def capitalized(text: str) -> str:
    """Return the text with a capital letter at its beginning, and the others as they are."""
    return text[:1].upper() + text[1:]


def to_csv(table: Table, path: Path) -> None:
    """Write the table as CSV for a spreadsheet, which needs the byte order mark to read ± and µ.

    A field is a number with its interval; if there is no number, it is the reason.
    """
    rows = []
    for line in table.lines:
        fields = [value.reason or f"{value.text} {value.interval}".strip() for value in table.fields(line)]
        rows.append([line.group, line.label, *fields])
    write_csv(pd.DataFrame(rows, columns=["group", "label", *table.columns.values()]), path, mark="\ufeff")


def to_markdown(table: Table, stamp: str = "") -> str:
    """Return the table as GitHub's Markdown, with its notes below and a `stamp` above."""
    return templates(escape_markdown).get_template("markdown.jinja").render(table=table, stamp=stamp)


def escape_markdown(text: str) -> str:
    """Escape a text, so that Markdown shows it as it is.

    A dollar sign gets a <span>, since GitHub reads it as mathematics even after a backslash.
    """
    escaped = _SPECIAL.sub(r"\\\g<0>", printable(text))
    return escaped.replace("$", "<span>$</span>")


def to_latex(table: Table, stamp: str = "") -> str:
    r"""Return the table for \input, in one column or two: floats as wide as the page, under one number and label.

    The notes are in the last float.
    """
    floats = []
    for part in table.parts:
        for first in range(0, len(part.lines), MOST_LINES):
            lines = part.lines[first : first + MOST_LINES]
            floats.append(replace(part, lines=lines))
    # Braces belong to LaTeX.
    syntax = templates(escape_latex).overlay(variable_start_string="<<", variable_end_string=">>")
    return syntax.get_template("latex.jinja").render(table=table, floats=floats, stamp=stamp)


def escape_latex(text: str) -> str:
    """Escape a text so that LaTeX prints it unchanged. A letter that Western fonts lack becomes a question mark."""
    western = printable(text).encode("cp1252", "replace").decode("cp1252")
    return western.translate(_ESCAPES)


def to_html(table: Table) -> str:
    """Return the table with its notes as a part of a page."""
    return templates(escape).get_template("html.jinja").render(table=table)


def to_typst(table: Table) -> dict[str, Any]:
    """Return the table as data for the report's templates, where no text of it is read as markup."""
    parts = []
    for part in table.parts:
        lines = list(map(asdict, part.lines))
        parts.append({"columns": part.columns, "lines": lines})
    facts = {name: getattr(table, name) for name in ("title", "caption", "notes", "head", "is_numeric", "marks")}
    return facts | {"parts": parts}


@cache
def templates(escaping: Callable[[str], str]) -> Environment:
    """Return the Jinja templates of this folder; `escaping` escapes all values that are not marked safe."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else do_mark_safe(escaping(str(value))),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["RUN"] = RUN
    environment.filters |= {"markdown": to_markdown, "html": to_html}
    return environment
