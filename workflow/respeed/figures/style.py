"""One look for all figures: page and type, axes, and files that are the same byte for byte when the data are.

A point is 1/72 inch, and so is a pixel while a figure is laid out: lengths here are points.
"""

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import Affine2D

from respeed.records.store import replacing

INCH = 72
PNG_DPI = 160
# A Times that comes with matplotlib. The report sets figures in its own face, which is as wide to a few per cent; a
# browser that has not got it, in the next that is as narrow.
FACE, FALLBACK = "STIXGeneral", "DejaVu Sans"
REPORT_FACE = "Libertinus Serif"
NARROW_FACES = ("Times New Roman", "Liberation Serif", "Nimbus Roman", "Times")
# How much wider the report's face may be: bold 6 %.
WIDER = 1.07
# Points of a line, of each point of its letters.
LEADING = 1.2

TITLE_SIZE, SIZE, TICK_SIZE = 10.5, 8.5, 8.0
INK, QUIET, THEIRS, PALE, GRID = "#1b2838", "#5c6773", "#6e6e6e", "#c3cfdd", "#e4e7ea"
STAMP, STAMP_TEXT = "#d9d9d9", "no measurement"

# For packages, in their order; each has another lightness, for a grey print: 46, 71, 58, 31, 78 and 20 of 100.
# Source: three of Okabe and Ito, Color universal design (2008), three of Paul Tol, Colour schemes (2021).
COLORS = ("#0072b2", "#e69f00", "#009e73", "#882255", "#88ccee", "#332288")
# For rows: each colour and shape stands once in a figure.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "8")

LOOK: dict[Any, Any] = {
    "font.family": [FACE, FALLBACK],
    "font.size": SIZE,
    "text.color": INK,
    "text.parse_math": False,  # a label's dollar sign is one
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.6,
    "axes.spines.left": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.labelsize": TICK_SIZE,
    "ytick.labelsize": TICK_SIZE,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "axes.titlesize": SIZE,
    "axes.labelsize": SIZE,
    "axes.labelcolor": INK,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "svg.hashsalt": "respeed",
    "pdf.fonttype": 42,
}


def set_look() -> None:
    """What figures are drawn from now on look like."""
    sns.set_theme(context="paper", style="whitegrid", palette=COLORS, rc=LOOK)


@dataclass(frozen=True)
class Page:
    """`width` in points. A slide has a `shape`, its height over its width, and no room for how to read a figure.

    A slide is laid out on a small page, so that its letters are large on a screen: of a page 400 points wide, those of
    8.5 points are as large as 20 points on the usual slide of 960.
    """

    name: str
    width: float
    endings: tuple[str, ...]
    pixels: float  # of its width as a PNG
    shape: float | None = None

    def least(self, plot: float) -> float:
        """How tall axes are at least that are `plot` tall in a column: on a slide they get what is left of it."""
        return plot if self.shape is None else min(plot, 110.0)


WIDTH = 170 / 25.4  # a text column of A4, inches
COLUMN = Page("", WIDTH * INCH, ("svg", "pdf", "png"), WIDTH * PNG_DPI)
SLIDE = Page("-slide", 400.0, ("svg", "png"), 1920, 9 / 16)
PAGES = (COLUMN, SLIDE)
# A slide that is too small for what must be on it grows by so much at a time.
GROWTH = 20.0


@dataclass(frozen=True)
class Margins:
    """Points that are left free beside the axes, `top` below the title, and how tall the axes must be at least."""

    plot: float
    left: float = 0.0
    right: float = 0.0
    foot: float = 0.0
    top: float = 0.0


class Canvas:
    """A figure with a title, how to read it, and one pair of axes; places are points from its lower left corner.

    `margins_at` says what the axes need on a page of so many points' width.
    """

    def __init__(self, page: Page, title: str, note: str, margins_at: Callable[[float], Margins]) -> None:
        set_look()
        width = page.width
        while True:
            margins = margins_at(width)
            titles = break_lines(title, TITLE_SIZE, width, bold=True)
            notes = break_lines(note, SIZE, width, most=4) if page.shape is None else []
            head = LEADING * (TITLE_SIZE * len(titles) + SIZE * len(notes)) + SIZE
            height = head + margins.top + margins.plot + margins.foot
            if page.shape is None or height <= page.shape * width:
                break
            width += GROWTH
        self.page, self.width, self.height = page, width, page.shape * width if page.shape else height
        self.left, self.right, self.foot = margins.left, margins.right, margins.foot
        self.length, self.plot = width - self.left - self.right, self.height - head - margins.top - self.foot
        self.figure = Figure(figsize=(width / INCH, self.height / INCH), dpi=INCH)
        FigureCanvasAgg(self.figure)
        self._points = Affine2D().scale(1 / INCH) + self.figure.dpi_scale_trans
        place = self.left / width, self.foot / self.height, self.length / width, self.plot / self.height
        self.axes = self.figure.add_axes(place, zorder=2)
        self.axes.patch.set_visible(False)  # leaders lie behind what they lead to
        # seaborn looks at every tick: until they are set there are none.
        self.axes.set(xticks=[], yticks=[])
        y = self.height
        for lines, size, look in ((titles, TITLE_SIZE, {"weight": "bold"}), (notes, SIZE, {"color": QUIET})):
            for line in lines:
                y -= LEADING * size
                self.write(0, y + 0.6 * size, line, size=size, **look)

    def write(self, x: float, y: float, text: str, *, align: str = "left", **look: Any) -> None:
        """A line of text: the middle of its height at `y`, and at `x` what `align` says."""
        self.figure.text(x, y, text, ha=align, va="center_baseline", transform=self._points, **look)

    def draw(self, places: Sequence[tuple[float, float]], *, zorder: float = 1.0, **look: Any) -> None:
        """A line from place to place."""
        xs, ys = zip(*places, strict=True)
        self.figure.add_artist(Line2D(xs, ys, transform=self._points, zorder=zorder, **look))

    def x_of(self, value: float) -> float:
        """Where a value of the logarithmic x-axis lies."""
        return self.left + self.length * _share(value, *self.axes.get_xlim())

    def y_of(self, value: float) -> float:
        """Where a value of the logarithmic y-axis lies."""
        return self.foot + self.plot * _share(value, *self.axes.get_ylim())

    def finish(self, stamp: str) -> Figure:
        """The figure, with the stamp across its axes if the numbers are no measurement."""
        if stamp:
            middle: dict[str, Any] = {"transform": self.axes.transAxes, "ha": "center", "va": "center"}
            self.axes.text(0.5, 0.5, STAMP_TEXT, fontsize=34, color=STAMP, zorder=0.5, **middle)
        return self.figure


def _share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


# An axis shows at least such a factor: what noise does to equal numbers is no picture.
LEAST_FACTOR = 1.5
MOST_TICKS = 7


def ends_of(values: Sequence[float]) -> tuple[float, float]:
    """From where to where a logarithmic axis goes that shows all the values."""
    low, high = min(values), max(values)
    widen = max(1.0, math.sqrt(LEAST_FACTOR * low / high))
    room = (widen * widen * high / low) ** 0.06
    return low / widen / room, high * widen * room


def ticks_of(low: float, high: float) -> list[float]:
    """Round numbers: 1, 2 and 5 in each decade, fewer where there are many decades, evenly where there is not one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if 3 <= len(ticks) <= MOST_TICKS:
            return ticks
    if len(ticks) > MOST_TICKS:
        return ticks[:: math.ceil(len(ticks) / MOST_TICKS)]
    even = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in even if low <= tick <= high]


def set_ticks(axis: Axis, ticks: Sequence[float], suffix: str = "") -> None:
    """Put the ticks on a logarithmic axis, each number with the suffix behind it."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter([f"{tick:,.12g}{suffix}" for tick in ticks]))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def width_of_ticks(ticks: Sequence[float], suffix: str = "") -> float:
    """Points that the numbers of a y-axis take beside it."""
    return max(width_of(f"{tick:,.12g}{suffix}", TICK_SIZE) for tick in ticks) + 6


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
    return WIDER * size * font.get_width_height()[0] / 64 / 100


@lru_cache(maxsize=2)
def _font(bold: bool) -> FT2Font:
    weight = "bold" if bold else "normal"
    return get_font([findfont(FontProperties(family=name, weight=weight)) for name in (FACE, FALLBACK)])


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    """Those that the face itself has."""
    return frozenset(get_font(findfont(FontProperties(family=FACE))).get_charmap())


# A line ends behind a space; in a word that no line holds, behind a hyphen or before the x of a size such as 1024x4096.
SPACES, HYPHENS = re.compile(r"(?<= )"), re.compile(r"(?<=[/-])|(?<=\d)(?=x\d)")


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


def save_figure(figure: Figure, path: Path, page: Page = COLUMN) -> None:
    """Write <path>.svg, <path>.pdf and <path>.png; of a slide <path>-slide.svg and .png."""
    texts = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    # The report can be no PDF/A with letters that its faces have not got; in outlines they are drawn as well as may be.
    kind = "none" if all(_letters().issuperset(map(ord, text)) for text in texts) else "path"
    faces = ", ".join(f"'{face}'" for face in (REPORT_FACE, FACE, *NARROW_FACES))
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    for ending in page.endings:
        made = io.BytesIO()
        with warnings.catch_warnings(), matplotlib.rc_context({"svg.fonttype": kind}):
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            how: dict[str, Any] = {"format": ending, "metadata": dateless[ending]}
            if ending == "png":  # compressed as far as takes little time
                how |= {"dpi": page.pixels / figure.get_figwidth(), "pil_kwargs": {"compress_level": 2}}
            figure.savefig(made, **how)
        content = made.getvalue()
        if ending == "svg":
            content = content.replace(f"'{FACE}'".encode(), f"{faces}, serif".encode())
        with replacing(path.with_name(f"{path.name}{page.name}.{ending}")) as file:
            file.write(content)
