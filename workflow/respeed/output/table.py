"""A table for people, and a writer for each of its formats: CSV, Markdown, LaTeX, HTML and Typst.

All texts of a table are escaped for the format, since labels come from other people's files.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.filters import do_mark_safe
from numpy.typing import NDArray

from respeed.analysis.columns import write_csv
from respeed.text import Value, printable

# More cases than this are hard to read side by side.
AT_MOST = 4
# A table that is turned has short labels, and so more columns.
MOST_TURNED = 8
# Lines of a table that fit a page of LaTeX, with its caption and notes.
MOST_LINES = 40
# For T1 fonts, in which all other special characters of ASCII print as they are.
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "$": r"\$", "#": r"\#", "&": r"\&", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    # After the end of a row, these would be an option of it.
    "[": "{[}", "*": "{*}",
}  # fmt: skip
# Characters with a meaning in Markdown, in a cell or in a paragraph.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]|(?<=:)(?=//)|(?<=www)(?=\.)")


@dataclass(frozen=True)
class Line:
    """A line of a table.

    Attributes
    ----------
    group, label : the heading that the line shares with its neighbours, and its own name
    values : a value for each column, by its heading; a field without a value is empty
    look : ours, theirs, or in a table of claims, claim or case
    is_ratio : whether the numbers are speedups
    """

    group: str
    label: str
    values: dict[str, Value]
    look: str = "ours"
    is_ratio: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether no field has a text."""
        return not any(value.text for value in self.values.values())


@dataclass(frozen=True)
class Table:
    """A table under its title.

    Attributes
    ----------
    title, caption : the title, and an explanation of the numbers
    columns, lines : the headings of the columns, and the lines
    notes : sentences below the table; a note on single fields has the same mark as these fields
    head : the heading of the column of labels
    label : the table's label in LaTeX
    has_cases : whether each column is a case; cases may be many, whereas other columns are few, and may contain words
    """

    title: str
    caption: str
    columns: Sequence[str]
    lines: Sequence[Line]
    notes: Sequence[Value] = ()
    head: str = ""
    label: str = ""
    has_cases: bool = False

    @property
    def is_numeric(self) -> bool:
        """Return whether all fields of the table are numbers."""
        values = chain.from_iterable(line.values.values() for line in self.lines)
        return all(value.kind == "number" for value in values)

    def fields(self, line: Line) -> list[Value]:
        """Return the values of a line in the order of the columns."""
        return [line.values.get(column, Value()) for column in self.columns]

    @property
    def groups(self) -> list[tuple[str, list[Line]]]:
        """Return each heading with the lines below it."""
        return [(heading, list(lines)) for heading, lines in groupby(self.lines, attrgetter("group"))]

    @property
    def parts(self) -> list["Table"]:
        """Return the table, cut into parts that fit the width of a page.

        With more than AT_MOST cases, each group of lines becomes a table of its own, transposed: a line for each case,
        a column for each label. Such a table is cut into as few parts of at most MOST_TURNED columns as possible.
        """
        if not self.has_cases or len(self.columns) <= AT_MOST:
            return [self]
        parts = []
        for _, lines in self.groups:
            count = -(-len(lines) // MOST_TURNED)
            parts += [self._turn(lines, numbers) for numbers in np.array_split(range(len(lines)), count)]
        return parts

    def _turn(self, lines: list[Line], numbers: NDArray[np.int64]) -> "Table":
        """Return the lines of these numbers, of one group, transposed."""
        chosen = {lines[number].label: lines[number].values for number in numbers}
        turned = []
        for case in self.columns:
            values = {label: values.get(case, Value()) for label, values in chosen.items()}
            line = replace(lines[0], label=case, values=values)
            # A case without a field in any of the columns gets no line.
            if not line.is_empty:
                turned.append(line)
        return replace(self, columns=list(chosen), lines=turned)


def capitalized(text: str) -> str:
    """Return the text with a capital letter at its beginning, and the others as they are."""
    return text[:1].upper() + text[1:]


def to_csv(table: Table, path: Path) -> None:
    """Write the table as CSV.

    A field is a number with its interval, or if there is no number, the note with the reason.
    """
    reasons = {note.mark: note.text for note in table.notes if note.mark}
    rows = []
    for line in table.lines:
        fields = []
        for value in table.fields(line):
            number = f"{value.text} {value.interval}".strip()
            fields.append(reasons.get(value.mark) or number)
        rows.append([line.group, line.label, *fields])
    write_csv(pd.DataFrame(rows, columns=["group", "label", *table.columns]), path, mark="\ufeff")


def to_markdown(table: Table, stamp: str = "") -> str:
    """Return the table as GitHub's Markdown, with its notes below and a `stamp` above."""
    texts = []
    if stamp:
        texts.append(f"**{escape_markdown(stamp)}**")
    title = f"**{escape_markdown(table.title)}**"
    texts.append(f"{title}: {escape_markdown(table.caption)}" if table.caption else title)
    texts += [_pipes(part) for part in table.parts if part.lines]
    texts += [f"{_markdown_mark(note.mark)} {escape_markdown(note.text)}".strip() for note in table.notes]
    return "\n\n".join(texts) + "\n"


def _pipes(part: Table) -> str:
    width = len(part.columns)
    names = [escape_markdown(name) for name in (part.head, *part.columns)]
    rows = [names, [":---", *["---:" if part.is_numeric else ":---"] * width]]
    for heading, lines in part.groups:
        if heading:
            rows.append([f"**{escape_markdown(heading)}**", *[""] * width])
        for line in lines:
            fields = map(_markdown_value, part.fields(line))
            rows.append([escape_markdown(line.label), *fields])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _markdown_value(value: Value) -> str:
    text = escape_markdown(value.text)
    if value.kind == "verdict":
        text = f"**{text}**"
    if value.interval:
        text += f" <sub>{escape_markdown(value.interval)}</sub>"
    return text + _markdown_mark(value.mark)


def _markdown_mark(mark: str) -> str:
    return f"<sup>{mark}</sup>" if mark else ""


def escape_markdown(text: str) -> str:
    """Escape a text, so that Markdown shows it as it is.

    A dollar sign gets a <span>, since GitHub reads it as mathematics even after a backslash.
    """
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", printable(text)).replace("$", "<span>$</span>")


def to_latex(table: Table, stamp: str = "") -> str:
    r"""Return the table for \input, in one column or two: floats as wide as the page, under one number and label.

    The notes are in the last float.
    """
    title = escape_latex(table.title)
    caption = f"{title}: {escape_latex(table.caption)}"
    if stamp:
        caption = rf"\textbf{{{escape_latex(stamp)}}} {caption}"
    caption = rf"\caption{{{caption}}}\label{{{table.label}}}"
    floats = []
    for part in table.parts:
        rows = list(_latex_rows(part))
        for first in range(0, len(rows), MOST_LINES):
            floats.append(_latex_float(part, caption, rows[first : first + MOST_LINES]))
            caption = rf"\caption{{{title} (continued)}}"
    notes = " ".join(f"{_latex_mark(note.mark)}{escape_latex(note.text)}" for note in table.notes)
    end = f"\\noindent {notes}\\par\n"
    if floats:
        end = f"\\par\\smallskip\\noindent {notes}\n\\end{{table*}}\n"
    body = "\\end{table*}\n\\addtocounter{table}{-1}\n".join(floats)
    return f"% Needs \\usepackage[T1]{{fontenc}} and \\usepackage{{array,booktabs}}.\n{body}{end}"


def _latex_float(part: Table, caption: str, rows: list[str]) -> str:
    """Return a float without its end; `rows` are some of the part's."""
    width = len(part.columns)
    names = " & ".join(map(escape_latex, (part.head, *part.columns)))
    field = rf">{{\raggedleft\arraybackslash}}p{{{0.7 / width:.3f}\linewidth}}"
    columns = rf"@{{}}>{{\raggedright\arraybackslash}}p{{0.2\linewidth}}*{{{width}}}{{{field}}}@{{}}"
    begin = f"\\begin{{table*}}[tp]\n{caption}\n\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}"
    body = "".join(rows)
    return (
        f"{begin}\n\\begin{{tabular}}{{{columns}}}\n"
        f"\\toprule\n{names} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def _latex_rows(part: Table) -> Iterator[str]:
    """Yield each heading and each line, with its end."""
    for heading, lines in part.groups:
        if heading:
            yield rf"\rlap{{\itshape {escape_latex(heading)}}}{' & ' * len(part.columns)} \\" + "\n"
        for line in lines:
            fields = [escape_latex(line.label), *map(_latex_value, part.fields(line))]
            yield rf"{' & '.join(fields)} \\" + "\n"


def _latex_value(value: Value) -> str:
    interval = rf" {{\scriptsize {escape_latex(value.interval)}}}" if value.interval else ""
    return f"{escape_latex(value.text)}{interval}{_latex_mark(value.mark)}"


def _latex_mark(mark: str) -> str:
    return rf"\textsuperscript{{{mark}}}" if mark else ""


def escape_latex(text: str) -> str:
    """Escape a text so that LaTeX prints it unchanged. A letter that Western fonts lack becomes a question mark."""
    western = printable(text).encode("cp1252", "replace").decode("cp1252")
    return "".join(_ESCAPES.get(letter, letter) for letter in western)


def to_html(table: Table) -> str:
    """Return the table with its notes as a part of a page."""
    return templates(escape).get_template("table.jinja").render(table=table)


def to_typst(table: Table) -> dict[str, Any]:
    """Return the table as data for the report's templates, where no text of it is read as markup."""
    parts = list(map(asdict, table.parts))
    return asdict(table) | {"is_numeric": table.is_numeric, "parts": parts}


def templates(escaping: Callable[[str], str]) -> Environment:
    """Return the Jinja templates of this folder; `escaping` escapes all values that are not marked safe."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else do_mark_safe(escaping(str(value))),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
