"""Text that any label can be: made plain, measured, and broken into lines."""

import re
import warnings
from functools import lru_cache

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font

# A Times that comes with matplotlib. The report sets figures in its own face, which is as wide to a few per cent.
FACE, FALLBACK = "STIXGeneral", "DejaVu Sans"
# How much wider the report's face may be: bold 6 %.
ROOM = 1.07
INCH = 72  # points
# Points of a line, of each point of its letters.
LEADING = 1.2
# A line ends behind a space; in a word that no line holds, behind a hyphen or before the x of a size such as 1024x4096.
SPACES, HYPHENS = re.compile(r"(?<= )"), re.compile(r"(?<=[/-])|(?<=\d)(?=x\d)")


def plain(text: str) -> str:
    """`text` without what is no letter, which XML or a font could not hold."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, bold: bool = False) -> float:
    """Points that a line of text takes, in the wider of the two faces that it may be set in."""
    font = _font(bold)
    font.set_size(100, INCH)  # matplotlib draws with the same object, at other sizes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that neither face has
        font.set_text(text, 0.0)
    return ROOM * size * font.get_width_height()[0] / 64 / 100


@lru_cache(maxsize=2)
def _font(bold: bool) -> FT2Font:
    weight = "bold" if bold else "normal"
    return get_font([findfont(FontProperties(family=name, weight=weight)) for name in (FACE, FALLBACK)])


def has_letters(text: str) -> bool:
    """Whether the face itself has every letter of the text."""
    return _letters().issuperset(map(ord, text))


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=FACE))).get_charmap())


def break_lines(text: str, size: float, width: float, *, bold: bool = False, most: int = 3) -> list[str]:
    """`text`, made plain, in at most so many lines of at most `width` points; one that goes on ends in an ellipsis."""
    lines = [""]
    for piece in _pieces(plain(text), size, width, bold):
        if width_of((lines[-1] + piece).rstrip(), size, bold) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
    if len(lines) > most:
        kept = lines[most - 1]
        while kept and width_of(kept + "…", size, bold) > width:
            kept = kept[:-1]
        lines = [*lines[: most - 1], kept + "…"]
    return [line.rstrip() for line in lines]


def _pieces(text: str, size: float, width: float, bold: bool) -> list[str]:
    """What may be parted; a piece that no line holds is cut anywhere."""
    words = [
        part
        for word in SPACES.split(text)
        for part in ([word] if width_of(word.rstrip(), size, bold) <= width else HYPHENS.split(word))
    ]
    pieces = []
    for piece in words:
        while len(piece) > 1 and width_of(piece.rstrip(), size, bold) > width:
            fits = next((end for end in range(len(piece) - 1, 1, -1) if width_of(piece[:end], size, bold) <= width), 1)
            pieces.append(piece[:fits])
            piece = piece[fits:]
        pieces.append(piece)
    return pieces
