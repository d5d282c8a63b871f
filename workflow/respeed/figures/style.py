"""One look for all figures, and files that are the same byte for byte when the data are."""

import io
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from respeed.records.store import replacing

# A Times that comes with matplotlib. The report sets figures in its own face, which is as wide to a few per cent; a
# browser that has not got it, in the next that is as narrow.
FACE, FALLBACK = "STIXGeneral", "DejaVu Sans"
FACES = ("Libertinus Serif", FACE, "Times New Roman", "Liberation Serif", "Nimbus Roman", "Times")
# A text column of A4, inches; below it a line of the legend, and how high the axes are at least.
WIDTH, LINE, HEIGHT = 170 / 25.4, 0.155, 3.1
# Letters in a line of the note, of the title and of the legend.
NOTE_LETTERS, TITLE_LETTERS, LABEL_LETTERS = 118, 52, 28
INK, QUIET, THEIRS, PALE = "#1b2838", "#5c6773", "#6e6e6e", "#c3cfdd"
STAMP_TEXT = "no measurement"
# For packages, in their order; each has another lightness, for a grey print: 46, 71, 58, 31, 78 and 20 of 100.
# Source: three of Okabe and Ito, Color universal design (2008), three of Paul Tol, Colour schemes (2021).
COLORS = ("#0072b2", "#e69f00", "#009e73", "#882255", "#88ccee", "#332288")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "8")
ENDINGS, PNG_DPI = ("svg", "pdf", "png"), 160

LOOK: dict[Any, Any] = {
    "font.family": [FACE, FALLBACK],
    "font.size": 8.5,
    "text.color": INK,
    "text.parse_math": False,  # a label's dollar sign is one
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.6,
    "axes.spines.left": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e4e7ea",
    "grid.linewidth": 0.6,
    "figure.labelsize": 8.5,
    "figure.titlesize": 10.5,
    "figure.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "svg.hashsalt": "respeed",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Look:
    """How a row is drawn. Hollow marks and broken lines are one core."""

    color: str
    marker: str = ""
    is_hollow: bool = False
    line: str = "-"

    @property
    def marks(self) -> dict[str, Any]:
        """Return what matplotlib is told of marks and lines."""
        face = "white" if self.is_hollow else self.color
        return {"color": self.color, "marker": self.marker, "markerfacecolor": face, "linestyle": self.line}


def set_look() -> None:
    """Let figures that are drawn from now on look so."""
    matplotlib.rcdefaults()
    sns.set_style("whitegrid")
    matplotlib.rcParams.update(LOOK)


def new_figure(title: str, note: str, lines: int, stamp: str) -> tuple[Figure, Axes]:
    """Return a figure with a title and how to read it, tall enough for a legend of so many lines.

    A `stamp` says that the numbers are no measurement.
    """
    set_look()
    told = fold(note, NOTE_LETTERS)
    figure = Figure(figsize=(WIDTH, max(HEIGHT, LINE * (lines + len(told.splitlines())) + 1.0)), layout="constrained")
    axes = figure.add_subplot()
    figure.suptitle(fold(title, TITLE_LETTERS), x=0.01, ha="left")
    figure.supxlabel(told, x=0.01, ha="left", color=QUIET)
    if stamp:
        axes.text(0.5, 0.5, STAMP_TEXT, fontsize=34, color="#d9d9d9", zorder=0.5, ha="center", va="center",
                  transform=axes.transAxes)  # fmt: skip
    return figure, axes


def add_legend(figure: Figure, entries: Sequence[tuple[str, Look]]) -> None:
    """Name the looks beside the axes."""
    handles = [
        Line2D([], [], label=fold(label, LABEL_LETTERS), markersize=4.5, **look.marks) for label, look in entries
    ]
    if handles:
        figure.legend(handles=handles, loc="outside right upper")


def legend_lines(labels: Sequence[str]) -> int:
    """Return how many lines these labels take in a legend beside the axes."""
    return sum(len(fold(label, LABEL_LETTERS).splitlines()) for label in labels)


def fold(text: str, letters: int) -> str:
    """Return the text in lines of at most so many letters, without what is no letter."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return textwrap.fill(" ".join(plain.split()), letters)


def set_log(axis: Axis, suffix: str = "") -> None:
    """Put plain round numbers on a logarithmic axis, each with the suffix behind it."""
    low, high = axis.get_view_interval()
    round_numbers = LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=12).tick_values(low, high)
    ticks = [float(tick) for tick in round_numbers if low <= tick <= high]
    axis.set_ticks(ticks, [f"{tick:,.12g}{suffix}" for tick in ticks])
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    """Return the letters that the face itself has."""
    return frozenset(get_font(findfont(FontProperties(family=FACE))).get_charmap())


def save_figure(figure: Figure, path: Path) -> None:
    """Write <path>.svg, <path>.pdf and <path>.png."""
    texts = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    # The report can be no PDF/A with letters that its faces have not got; in outlines they are drawn as well as may be.
    is_plain = all(_letters().issuperset(map(ord, text.replace("\n", ""))) for text in texts)
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    for ending in ENDINGS:
        made = io.BytesIO()
        with warnings.catch_warnings(), matplotlib.rc_context({"svg.fonttype": "none" if is_plain else "path"}):
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(made, format=ending, metadata=dateless[ending], dpi=PNG_DPI)
        content = made.getvalue()
        if ending == "svg":
            content = content.replace(f"'{FACE}'".encode(), ", ".join(f"'{face}'" for face in FACES).encode())
        with replacing(path.with_name(f"{path.name}.{ending}")) as file:
            file.write(content)
