"""Tables in the paper's shape as Markdown, as GitHub shows it, and as LaTeX: booktabs, numbers aligned at the point.

Both cut a table into parts that a page is wide enough for.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import NamedTuple

import pandas as pd

from respeed.output.published import FoldedTable, Note, groups_of
from respeed.text import Value, printable

# More columns of numbers than that are hard to read side by side.
AT_MOST = 4
# What the first column gets of a line at least, in points.
LABEL_WIDTH = 90.0
# The space between two columns of numbers.
GAP = 8.0
HEADER_LETTERS = 11
# A wider word may be broken at every fourth letter: hyphenation does not know it.
WIDE_WORD = 70.0

_NUMBER = re.compile(r"([\d,]+)(\.\d+)?")
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "$": r"\$", "#": r"\#", "&": r"\&", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}", "`": r"\textasciigrave{}",
    # After the end of a row, these would be an option of it.
    "[": "{[}", "]": "{]}", "*": "{*}",
    "\u00b1": r"$\pm$", "\u00d7": r"$\times$", "\u00b5": r"$\mu$", "\u03bc": r"$\mu$", "\u00b0": r"$^\circ$",
    "\u2013": r"\textendash{}", "\u2014": r"\textemdash{}", "\u2026": r"\ldots{}", "\u2018": r"\textquoteleft{}",
    "\u2019": r"\textquoteright{}", "\u201c": r"\textquotedblleft{}", "\u201d": r"\textquotedblright{}",
    "\u00ae": r"\textregistered{}", "\u2122": r"\texttrademark{}", "\u00a9": r"\textcopyright{}", "\u00df": r"\ss{}",
    "\u00e6": r"\ae{}", "\u00c6": r"\AE{}", "\u00f8": r"\o{}", "\u00d8": r"\O{}", "\u0142": r"\l{}",
    "\u0141": r"\L{}", "\u0153": r"\oe{}", "\u0152": r"\OE{}",
}  # fmt: skip
# How wide characters are in \footnotesize, about; others as a small or a capital letter.
_POINTS = dict.fromkeys(".,:;'il| ", 2.4) | dict.fromkeys("0123456789", 4.25) | dict.fromkeys("mwM", 7.5) | {"W": 9.0}
_ACCENTS = {
    "\u0300": r"\`", "\u0301": r"\'", "\u0302": r"\^", "\u0303": r"\~", "\u0304": r"\=", "\u0306": r"\u",
    "\u0307": r"\.", "\u0308": r"\"", "\u030a": r"\r", "\u030b": r"\H", "\u030c": r"\v", "\u0327": r"\c",
}  # fmt: skip


# What begins something else than text in Markdown, in a cell or in a paragraph.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]|(?<=:)(?=//)|(?<=www)(?=\.)")


class Form(NamedTuple):
    """Where a table in LaTeX is to stand: the width of a line in points, where letters are of 8pt, the lines that there
    is room for, but for caption and notes, what it is called, and what stands between two floats."""

    width: float
    lines: int
    place: str
    between: str = ""


# By the ending of the file's name.
FORMS = {
    "": Form(345.0, 48, "a page of one column, of 345pt as article has at 10pt on A4"),
    "-narrow": Form(220.0, 46, "one column of two, of 220pt as article has at 10pt"),
    "-slide": Form(270.0, 16, r"a slide of beamer: \begin{frame}[allowframebreaks]", "\\framebreak\n"),
}


def lay_out(numbers: pd.DataFrame, at_most: int = AT_MOST) -> list[pd.DataFrame]:
    """The numbers of a FoldedTable in parts of at most so many columns, as few and as equal as can be. A table of more
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
        for parts in [-(-part.shape[1] // at_most)]
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


def write_latex(table: FoldedTable, label: str, form: Form = FORMS[""]) -> str:
    r"""The table with its caption, label and notes as LaTeX to be read with \input: a float, or if it is too long
    several, of which each but the first is a continued one."""
    title = f"{table.title}: {table.unit}. {table.reference}"
    needs = rf"% For {form.place}. Needs \usepackage{{array,booktabs,tabularx}}."
    stamp = rf"\textbf{{{escape_latex(table.stamp)}}} " if table.stamp else ""
    caption = f"\\caption{{{stamp}{escape_latex(title)}"
    notes = " ".join(map(_latex_note, table.notes))
    fitting = (lay_out(table.numbers, many) for many in range(AT_MOST, 0, -1))
    floats, left = [""], form.lines
    # A single column has to fit.
    for part in next(
        parts for parts in fitting if all(one.shape[1] == 1 or _room(one, form) >= LABEL_WIDTH for one in parts)
    ):
        for piece, lines in _pieces(part, form):
            if floats[-1] and lines > left:
                floats.append("")
                left = form.lines
            floats[-1] += "\n\\medskip\n\n" * bool(floats[-1]) + _latex_part(piece)
            left -= lines
    floats[-1] += f"\\par\\smallskip\\parbox{{\\linewidth}}{{\\raggedright\\scriptsize {notes}}}\n" * bool(notes)
    captions = [
        f"{caption}}}\\label{{{label}}}",
        *[f"\\addtocounter{{table}}{{-1}}{caption} (continued)}}"] * len(floats),
    ]
    begin = "\\begin{table}\n\\footnotesize\\raggedright\\setlength{\\tabcolsep}{4pt}%\n"
    text = (f"{begin}{one}\\par\\smallskip\n{two}\\end{{table}}\n" for one, two in zip(captions, floats, strict=False))
    return f"% {printable(title)}\n{needs}\n{form.between.join(text)}"


def escape_latex(text: str) -> str:
    """A text that is printed as it is, in ASCII. A character that LaTeX's own fonts lack becomes a question mark."""
    escaped = "".join(_escape_word(word) for word in re.split("([ -])", printable(text)))
    # Two of these in a row would be drawn as one.
    return re.sub(r"([-'])(?=\1)", r"\1{}", escaped)


def _escape_word(word: str) -> str:
    step = 4 if _width(word) > WIDE_WORD else len(word) or 1
    pieces = [word[place : place + step] for place in range(0, len(word), step)]
    return r"\penalty5000 ".join("".join(map(_escape_character, piece)) for piece in pieces)


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isascii():
        return character
    taken_apart = unicodedata.normalize("NFD", character)
    letter, accent = taken_apart[0], taken_apart[1:]
    return f"{_ACCENTS[accent]}{{{letter}}}" if letter.isascii() and accent in _ACCENTS else "?"


def _latex_part(part: pd.DataFrame) -> str:
    columns = part.shape[1]
    header = "".join(f" & \\multicolumn{{3}}{{c}}{{{_latex_header(str(name))}}}" for name in part)
    groups = []
    for heading, lines in groups_of(part):
        cell = f"\\multicolumn{{{3 * columns + 1}}}{{@{{}}p{{\\linewidth}}@{{}}}}"
        rows = [f"{cell}{{\\raggedright\\itshape {escape_latex(heading)}}}"]
        rows += [" & ".join([escape_latex(label), *map(_latex_value, values)]) for _, label, values in lines]
        groups.append("".join(f"{row} \\\\\n" for row in rows))
    return (
        "\\noindent\\begin{tabularx}{\\linewidth}"
        f"{{@{{}}>{{\\raggedright\\arraybackslash}}X*{{{columns}}}{{r@{{}}l@{{\\,}}l}}@{{}}}}\n"
        f"\\toprule\n{header.strip()} \\\\\n\\midrule\n"
        + "\\addlinespace\n".join(groups)
        + "\\bottomrule\n\\end{tabularx}\n"
    )


def _latex_header(text: str) -> str:
    lines = [escape_latex(line) for line in _lines(text)]
    stacked = r"\\ ".join(lines)
    return lines[0] if len(lines) == 1 else f"\\begin{{tabular}}[b]{{@{{}}c@{{}}}}{stacked}\\end{{tabular}}"


def _latex_value(value: Value) -> str:
    whole, rest = _split(value.text)
    loose = f"{escape_latex(value.text)}{_latex_mark(value.mark)}"
    number = f"{whole} & {rest}" if rest is not None else f"\\multicolumn{{2}}{{r}}{{{loose}}}"
    interval = escape_latex(value.interval).replace(r" \%", r"\,\%")
    return f"{number} & " + f"{{\\scriptsize {interval}}}" if interval else f"{number} &"


def _latex_mark(mark: str) -> str:
    return f"\\textsuperscript{{{mark}}}" if mark else ""


def _latex_note(note: Note) -> str:
    mark = f"{_latex_mark(note.mark)}\\," if note.mark else ""
    return f"{mark}{escape_latex(note.text)}"


def _split(text: str) -> tuple[str, str | None]:
    """A number before and from its point on; None for what is no number and is not aligned."""
    found = _NUMBER.fullmatch(text)
    return (found[1], found[2] or "") if found else (text, None)


def _lines(header: str) -> list[str]:
    return wrap(printable(header), HEADER_LETTERS) or [""]


def _room(part: pd.DataFrame, form: Form) -> float:
    """What the numbers leave of a line for the first column."""
    return form.width - sum(_width_of(str(header), part.iloc[:, place]) for place, header in enumerate(part))


def _pieces(part: pd.DataFrame, form: Form) -> list[tuple[pd.DataFrame, int]]:
    """The part cut where a float ends, with how many lines each piece takes, about."""
    index, room = part.index.to_frame(index=False), max(_room(part, form), LABEL_WIDTH)
    head = 2 + max(len(_lines(str(name))) for name in part)
    tall = 1 + index["label"].map(_width) // room
    tall += (1 + index["heading"].map(_width) // form.width).mask(index["heading"].duplicated(), 0)
    many = -(-tall.sum() // (form.lines - head))
    cuts = ((tall.cumsum() - 1) * many // tall.sum()).to_numpy()
    return [(piece, head + int(tall[cuts == cut].sum())) for cut, piece in part.groupby(cuts)]


def _width_of(header: str, values: Iterable[Value]) -> float:
    """Of a column of numbers."""
    pairs = [_split(value.text) for value in values]
    aligned = [(_width(whole), _width(rest)) for whole, rest in pairs if rest is not None]
    number = max((whole for whole, _ in aligned), default=0.0) + max((rest for _, rest in aligned), default=0.0)
    loose = max((_width(text) for text, rest in pairs if rest is None), default=0.0)
    interval = max(_width(value.interval) for value in values)
    return GAP + max(max(number, loose) + interval, *map(_width, _lines(header)))


def _width(text: str) -> float:
    """In points, about."""
    return sum(_POINTS.get(char, 6.4 if char.isupper() else 4.7) for char in text)
