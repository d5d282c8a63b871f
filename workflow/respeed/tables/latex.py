"""Tables in LaTeX: booktabs, numbers aligned at the point, as wide as a column of text."""

import re
import unicodedata
from textwrap import wrap

from respeed.numbers import Value
from respeed.tables.folded import FoldedTable, Group, Line, Note
from respeed.tables.layout import AT_MOST, Part, lay_out
from respeed.text import printable

# The width of a page of `article` at 10pt on A4, and what the first column gets of it at least; in points.
TEXT_WIDTH = 345.0
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


def write_latex(table: FoldedTable) -> str:
    r"""The table as LaTeX to be read with \input, in a float or not; one that is too wide is cut into parts."""
    title = f"{table.title}: {table.unit}. {table.reference}"
    comments = [
        f"% {printable(title)}",
        r"% Needs \usepackage{array,booktabs,tabularx}, and a line of 345pt, as article has at 10pt on A4.",
    ]
    stamp = f"\\noindent\\textbf{{{escape_latex(table.stamp)}}}\\par\n" if table.stamp else ""
    parts = "\n\\medskip\n\n".join(_write_part(part) for part in lay_out(table, _columns_that_fit(table)))
    notes = "".join(f"\\par\\smallskip\\noindent {_write_note(note)}\n" for note in table.notes)
    begin = "\\begingroup\\footnotesize\\raggedright\\setlength{\\tabcolsep}{4pt}%\n"
    return "\n".join(comments) + f"\n{begin}{stamp}{parts}{notes}\\par\\endgroup\n"


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


def _write_part(part: Part) -> str:
    columns = len(part.header)
    header = "".join(f" & \\multicolumn{{3}}{{c}}{{{_write_header(text)}}}" for text in part.header)
    groups = "\\addlinespace\n".join(_write_group(group, 3 * columns + 1) for group in part.groups)
    return (
        "\\noindent\\begin{tabularx}{\\linewidth}"
        f"{{@{{}}>{{\\raggedright\\arraybackslash}}X*{{{columns}}}{{r@{{}}l@{{\\,}}l}}@{{}}}}\n"
        f"\\toprule\n{header.strip()} \\\\\n\\midrule\n{groups}\\bottomrule\n\\end{{tabularx}}\n"
    )


def _write_header(text: str) -> str:
    lines = [escape_latex(line) for line in _lines(text)]
    stacked = r"\\ ".join(lines)
    return lines[0] if len(lines) == 1 else f"\\begin{{tabular}}[b]{{@{{}}c@{{}}}}{stacked}\\end{{tabular}}"


def _write_group(group: Group, columns: int) -> str:
    cell = f"\\multicolumn{{{columns}}}{{@{{}}p{{\\linewidth}}@{{}}}}"
    heading = f"{cell}{{\\raggedright\\itshape {escape_latex(group.heading)}}}"
    return "".join(f"{row} \\\\\n" for row in (heading, *map(_write_line, group.lines)))


def _write_line(line: Line) -> str:
    return " & ".join([escape_latex(line.label), *map(_write_value, line.values)])


def _write_value(value: Value) -> str:
    whole, rest = _split(value.text)
    loose = f"{escape_latex(value.text)}{_write_mark(value.mark)}"
    number = f"{whole} & {rest}" if rest is not None else f"\\multicolumn{{2}}{{r}}{{{loose}}}"
    interval = f"{{\\scriptsize {_write_interval(value.interval)}}}" if value.interval else ""
    return f"{number} & {interval}".rstrip()


def _write_interval(interval: str) -> str:
    return escape_latex(interval).replace(r" \%", r"\,\%")


def _write_mark(mark: str) -> str:
    return f"\\textsuperscript{{{mark}}}" if mark else ""


def _write_note(note: Note) -> str:
    mark = f"{_write_mark(note.mark)}\\," if note.mark else ""
    return f"{mark}{escape_latex(note.text)}"


def _split(text: str) -> tuple[str, str | None]:
    """A number before and from its point on; None for what is no number and is not aligned."""
    found = _NUMBER.fullmatch(text)
    return (found[1], found[2] or "") if found else (text, None)


def _lines(header: str) -> list[str]:
    return wrap(printable(header), HEADER_LETTERS) or [""]


def _columns_that_fit(table: FoldedTable) -> int:
    """How many columns of numbers a part may have."""
    for many in range(AT_MOST, 1, -1):
        if all(LABEL_WIDTH + sum(_widths(part)) <= TEXT_WIDTH for part in lay_out(table, many)):
            return many
    return 1


def _widths(part: Part) -> list[float]:
    """How wide each column of numbers is, about."""
    widths = []
    for place, header in enumerate(part.header):
        values = [line.values[place] for group in part.groups for line in group.lines]
        pairs = [_split(value.text) for value in values]
        aligned = [(_width(whole), _width(rest)) for whole, rest in pairs if rest is not None]
        number = max((whole for whole, _ in aligned), default=0.0) + max((rest for _, rest in aligned), default=0.0)
        loose = max((_width(text) for text, rest in pairs if rest is None), default=0.0)
        interval = max(_width(value.interval) for value in values)
        widths.append(GAP + max(max(number, loose) + interval, *map(_width, _lines(header))))
    return widths


def _width(text: str) -> float:
    """In points, about."""
    return sum(_POINTS.get(char, 6.4 if char.isupper() else 4.7) for char in text)
