"""A table for people, and a writer for each of its formats: CSV, Markdown, LaTeX, HTML and Typst.

All texts of a table are escaped for the format, since labels come from other people's files.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.filters import do_mark_safe

from respeed.analysis.columns import write_csv
from respeed.text import Value, printable

# The key of a line of a table: the heading above it, its look (for a style: theirs, ours, speedup), and its label.
LINE = ["group", "look", "label"]
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
class Table:
    """A table under its title.

    Attributes
    ----------
    title, caption : the title, and an explanation of the numbers
    frame : a Value for each line and column; the index is LINE
    notes : sentences below the table; a note on single fields has the same mark as these fields
    head : the heading of the column of labels
    label : the table's label in LaTeX
    has_cases : whether each column is a case; cases may be many, whereas other columns are few, and may contain words
    """

    title: str
    caption: str
    frame: pd.DataFrame
    notes: tuple[Value, ...] = ()
    head: str = ""
    label: str = ""
    has_cases: bool = False

    @property
    def is_numeric(self) -> bool:
        """Return whether all fields of the table are numbers."""
        return all(value.kind == "number" for value in self.frame.to_numpy().ravel())

    @property
    def parts(self) -> list[pd.DataFrame]:
        """Return the frame, cut into parts that fit the width of a page.

        With more than AT_MOST cases, each group of lines becomes a table of its own, transposed: a line for each case,
        a column for each label. Such a table is cut into as few parts of at most MOST_TURNED columns as possible.
        """
        if not self.has_cases or self.frame.shape[1] <= AT_MOST:
            return [self.frame]
        groups = [_turn(group) for _, group in self.frame.groupby(level="group", sort=False)]
        cuts = [
            group.iloc[:, columns]
            for group in groups
            for columns in np.array_split(np.arange(group.shape[1]), -(-group.shape[1] // MOST_TURNED))
        ]
        # A case without a field in any of the columns gets no line there.
        return [cut[cut.map(lambda value: value.text != "").any(axis=1)] for cut in cuts]


def spread(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the frame of a Table from `rows`, in their order; each row has LINE, a `key`, a `column` and a `value`.

    The key tells lines apart whose labels are the same. Fields for which there is no row are empty.
    """
    frame = rows.set_index([*LINE, "key", "column"])["value"].unstack(sort=False).reindex(columns=list(columns))
    return frame.droplevel("key").map(lambda value: value if isinstance(value, Value) else Value())


def with_fields(lines: pd.DataFrame, fields: Mapping[str, Sequence[Value]]) -> pd.DataFrame:
    """Return the frame of a Table from `lines`, which have the columns LINE, and the `fields` of each column."""
    return pd.DataFrame(dict(fields), pd.MultiIndex.from_frame(lines[LINE]), dtype=object)


def _turn(group: pd.DataFrame) -> pd.DataFrame:
    lines = [(*group.index[0][:2], case) for case in group]
    index = pd.MultiIndex.from_tuples(lines, names=LINE)
    return group.set_axis(group.index.get_level_values("label")).T.set_axis(index)


def groups_of(frame: pd.DataFrame) -> list[tuple[str, list[tuple[str, str, list[Value]]]]]:
    """Return each heading with its lines; a line is its look ("ours", "theirs", ...), its label and its values."""
    lines = zip(frame.index, frame.to_numpy(dtype=object).tolist(), strict=True)
    return [
        (heading, [(look, label, values) for (_, look, label), values in mine])
        for heading, mine in groupby(lines, key=lambda line: line[0][0])
    ]


def to_csv(table: Table, path: Path) -> None:
    """Write the table as CSV.

    A field is a number with its interval, or if there is no number, the note with the reason.
    """
    why = {note.mark: note.text for note in table.notes if note.mark}
    texts = table.frame.map(lambda value: why.get(value.mark) or f"{value.text} {value.interval}".strip())
    lines = [[group, label, *fields] for (group, _, label), fields in zip(texts.index, texts.to_numpy(), strict=True)]
    write_csv(pd.DataFrame(lines, columns=["group", "label", *texts]), path, mark="\ufeff")


def _lines_of(frame: pd.DataFrame) -> Iterator[tuple[str, list[Value]]]:
    """Yield each heading with an empty list, and after it the label and the values of each of its lines."""
    for heading, lines in groups_of(frame):
        if heading:
            yield heading, []
        yield from ((label, values) for _, label, values in lines)


def to_markdown(table: Table, stamp: str = "") -> str:
    """Return the table as GitHub's Markdown, with its notes below and a `stamp` above."""
    title = f"**{escape_markdown(table.title)}**: {escape_markdown(table.caption)}".removesuffix(": ")
    notes = [f"{_markdown_mark(note.mark)} {escape_markdown(note.text)}".strip() for note in table.notes]
    parts = [_pipes(part, table) for part in table.parts if len(part)]
    return "\n\n".join([*[f"**{escape_markdown(stamp)}**"] * bool(stamp), title, *parts, *notes]) + "\n"


def _pipes(part: pd.DataFrame, table: Table) -> str:
    width = part.shape[1]
    rows = [[escape_markdown(name) for name in (table.head, *part)]]
    rows.append([":---", *["---:" if table.is_numeric else ":---"] * width])
    for label, values in _lines_of(part):
        shown = escape_markdown(label)
        rows.append([shown, *map(_markdown_value, values)] if values else [f"**{shown}**", *[""] * width])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _markdown_value(value: Value) -> str:
    text, small = escape_markdown(value.text), escape_markdown(value.interval)
    text = f"**{text}**" if value.kind == "verdict" else text
    return f"{text}{f' <sub>{small}</sub>' if small else ''}{_markdown_mark(value.mark)}"


def _markdown_mark(mark: str) -> str:
    return f"<sup>{mark}</sup>" if mark else ""


def escape_markdown(text: str) -> str:
    """Escape a text, so that Markdown shows it as it is.

    A dollar sign gets a <span>, since GitHub reads it as mathematics even after a backslash.
    """
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", printable(text)).replace("$", "<span>$</span>")


def to_latex(table: Table, stamp: str = "") -> str:
    r"""Return the table for \input, in one column or two: floats as wide as the page, under one number and label.

    The notes are in the last float.
    """
    above = rf"\textbf{{{escape_latex(stamp)}}} " * bool(stamp)
    title = escape_latex(table.title)
    caption = rf"{above}{title}: {escape_latex(table.caption)}}}\label{{{table.label}"
    floats = []
    for part in table.parts:
        width = part.shape[1]
        rows = [_latex_row(label, values, width) for label, values in _lines_of(part)]
        names = " & ".join(map(escape_latex, (table.head, *part)))
        field = rf">{{\raggedleft\arraybackslash}}p{{{0.7 / width:.3f}\linewidth}}"
        columns = rf"@{{}}>{{\raggedright\arraybackslash}}p{{0.2\linewidth}}*{{{width}}}{{{field}}}@{{}}"
        for first in range(0, len(rows), MOST_LINES):
            body = "".join(rows[first : first + MOST_LINES])
            floats.append(
                f"\\begin{{table*}}[tp]\n\\caption{{{caption}}}\n\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}\n\\begin{{tabular}}{{{columns}}}\n"
                f"\\toprule\n{names} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
            )
            caption = f"{title} (continued)"
    notes = " ".join(f"{_latex_mark(note.mark)}{escape_latex(note.text)}" for note in table.notes)
    body = "\\end{table*}\n\\addtocounter{table}{-1}\n".join(floats)
    end = f"\\par\\smallskip\\noindent {notes}\n\\end{{table*}}\n" if floats else f"\\noindent {notes}\\par\n"
    return f"% Needs \\usepackage[T1]{{fontenc}} and \\usepackage{{array,booktabs}}.\n{body}{end}"


def _latex_row(label: str, values: Sequence[Value], width: int) -> str:
    """Return a line with its end, or a heading, which has no values."""
    text = escape_latex(label)
    fields = [text, *map(_latex_value, values)] if values else [rf"\rlap{{\itshape {text}}}", *[""] * width]
    return f"{' & '.join(fields)} \\\\\n"


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
    return templates(escape).get_template("table.jinja").render(table=table, groups=groups_of(table.frame))


def to_typst(table: Table) -> dict[str, Any]:
    """Return the table as data for the report's templates, where no text of it is read as markup."""
    parts = [{"columns": list(part), "groups": groups_of(part.map(asdict))} for part in table.parts]
    shown = {name: getattr(table, name) for name in ("title", "caption", "head", "is_numeric")}
    return shown | {"parts": parts, "notes": list(map(asdict, table.notes))}


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
