"""Tables in the paper's shape as Markdown, as GitHub shows it, and as LaTeX.

Both cut a table into parts that a page is wide enough for.
"""

import re
from collections.abc import Sequence

import pandas as pd

from respeed.output.published import FoldedTable, groups_of
from respeed.text import Value, printable

# More columns of numbers than that are hard to read side by side.
AT_MOST = 4
# For the fonts of T1: what else is special in ASCII prints as it is.
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "$": r"\$", "#": r"\#", "&": r"\&", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    # After the end of a row, these would be an option of it.
    "[": "{[}", "*": "{*}",
}  # fmt: skip
# What begins something else than text in Markdown, in a cell or in a paragraph.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]|(?<=:)(?=//)|(?<=www)(?=\.)")


def lay_out(numbers: pd.DataFrame) -> list[pd.DataFrame]:
    """The numbers of a FoldedTable in parts of at most AT_MOST columns, as few and as equal as can be. A table of more
    than four cases is turned: each group is then a part of its own, with a line for each case and a column for each of
    its rows."""
    if numbers.empty:
        return []
    whole = [numbers]
    if numbers.shape[1] > AT_MOST:
        whole = [_turned(group) for _, group in numbers.groupby(level="source", sort=False)]
    return [
        part.iloc[:, place * part.shape[1] // parts : (place + 1) * part.shape[1] // parts]
        for part in whole
        for parts in [-(-part.shape[1] // AT_MOST)]
        for place in range(parts)
    ]


def _turned(group: pd.DataFrame) -> pd.DataFrame:
    (source, heading, *_), names = group.index[0], group.index.names
    turned = group.set_axis(group.index.get_level_values("label")).T
    return turned.set_axis(pd.MultiIndex.from_product([[source], [heading], ["seconds"], group.columns], names=names))


def write_markdown(table: FoldedTable) -> str:
    """The table with its notes."""
    stamp = [f"**{escape_markdown(table.stamp)}**"] * bool(table.stamp)
    title = f"**{escape_markdown(table.title)}**: {escape_markdown(table.unit)}. {escape_markdown(table.reference)}"
    parts = [_markdown_part(part) for part in lay_out(table.numbers)]
    notes = [f"{_markdown_mark(note.mark)} {escape_markdown(note.text)}".strip() for note in table.notes]
    return "\n\n".join([*stamp, title, *parts, *notes]) + "\n"


def escape_markdown(text: str) -> str:
    """A text that is shown as it is, whatever it says. GitHub takes a dollar for mathematics, backslash or not."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", printable(text)).replace("$", "<span>$</span>")


def pipe_table(rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown; the first row is the header, and all columns but the first are of numbers."""
    ruler = [":---", *["---:"] * (len(rows[0]) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ruler, *rows[1:]))


def _markdown_part(part: pd.DataFrame) -> str:
    rows = [["", *(escape_markdown(str(name)) for name in part)]]
    for heading, lines in groups_of(part):
        rows.append([f"**{escape_markdown(heading)}**", *[""] * part.shape[1]])
        rows += [[escape_markdown(label), *map(_markdown_value, values)] for _, label, values in lines]
    return pipe_table(rows)


def _markdown_value(value: Value) -> str:
    interval = f" <sub>{escape_markdown(value.interval)}</sub>" if value.interval else ""
    return f"{escape_markdown(value.text)}{interval}{_markdown_mark(value.mark)}"


def _markdown_mark(mark: str) -> str:
    return f"<sup>{mark}</sup>" if mark else ""


def write_latex(table: FoldedTable, label: str) -> str:
    r"""Return the table with its caption, label and notes as LaTeX for \input: a longtable for each part."""
    title = f"{table.title}: {table.unit}. {table.reference}"
    stamp = rf"\textbf{{{escape_latex(table.stamp)}}} " if table.stamp else ""
    caption = stamp + escape_latex(title)
    text = f"% {printable(title)}\n"
    text += "% Needs \\usepackage[T1]{fontenc} and \\usepackage{array,booktabs,longtable}.\n{\\footnotesize\n"
    for number, part in enumerate(lay_out(table.numbers)):
        text += _latex_part(part, f"{caption} (continued)" if number else rf"{caption}\label{{{label}}}", number > 0)
    notes = " ".join(f"{_latex_mark(note.mark)}{escape_latex(note.text)}" for note in table.notes)
    return f"{text}\\noindent {notes}\\par}}\n"


def _latex_part(part: pd.DataFrame, caption: str, is_continued: bool) -> str:
    columns = part.shape[1]
    number = rf">{{\raggedleft\arraybackslash}}p{{{0.56 / columns:.3f}\linewidth}}"
    head = rf"\toprule{''.join(f' & {escape_latex(str(name))}' for name in part)} \\ \midrule"
    lines = [
        rf"\addtocounter{{table}}{{-{int(is_continued)}}}",
        rf"\begin{{longtable}}{{@{{}}>{{\raggedright\arraybackslash}}p{{0.3\linewidth}}*{{{columns}}}{{{number}}}@{{}}}}",
        rf"\caption{{{caption}}}\\ {head} \endfirsthead {head} \endhead",
    ]
    for heading, rows in groups_of(part):
        lines.append(rf"\multicolumn{{{columns + 1}}}{{@{{}}l}}{{\itshape {escape_latex(heading)}}} \\*")
        lines += [rf"{' & '.join([escape_latex(name), *map(_latex_value, values)])} \\" for _, name, values in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def escape_latex(text: str) -> str:
    """Return a text that is printed as it is. A letter that Western fonts lack becomes a question mark."""
    western = printable(text).encode("cp1252", "replace").decode("cp1252")
    return "".join(_ESCAPES.get(letter, letter) for letter in western)


def _latex_value(value: Value) -> str:
    interval = rf" {{\scriptsize {escape_latex(value.interval)}}}" if value.interval else ""
    return f"{escape_latex(value.text)}{interval}{_latex_mark(value.mark)}"


def _latex_mark(mark: str) -> str:
    return rf"\textsuperscript{{{mark}}}" if mark else ""
