"""One look for all figures, and files that are the same byte for byte if the data are the same."""

import io
import textwrap
from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import NullLocator

from respeed.analysis.tables import Cell
from respeed.paths import replacing
from respeed.text import printable, squeeze

# A Times that comes with matplotlib. The report sets figures in its own face, whose width differs by a few per cent; a
# browser without that face takes the next one, which is as narrow.
FACE = "STIXGeneral"
FACES = "'Libertinus Serif', 'STIXGeneral', 'Times New Roman', 'Liberation Serif', 'Nimbus Roman', 'Times'"
KNOWN = get_font(findfont(FontProperties(family=FACE))).get_charmap()
# A text column of A4, a height that has room for all texts, the least height of axes, a line of text, and the room
# at the left and right, in which the report's face may be wider: in inches.
WIDTH = 170 / 25.4
HEIGHT = 6.0
AXES_HEIGHT = 1.35
LINE = 0.155
MARGIN = 0.12
# Letters in a line of the note, the title, the key, and the title of the vertical axis.
NOTE_LETTERS = 118
TITLE_LETTERS = 52
LABEL_LETTERS = 42
UPRIGHT_LETTERS = 30
INK = "#1b2838"
QUIET = "#5c6773"
THEIRS = "#6e6e6e"
STAMP_TEXT = "no measurement"
# For packages, in their order; the lightness differs too, for a grey print: 46, 71, 58, 31, 78 and 20 of 100.
# Source: three of Okabe and Ito, Color universal design (2008), three of Paul Tol, Colour schemes (2021).
COLORS = ("#0072b2", "#e69f00", "#009e73", "#882255", "#88ccee", "#332288")
# The packages that most machines have, and whether they are on the CPU: they have the same colour everywhere.
FIRST_PACKAGES = (("OpenBLAS", True), ("PyTorch", True), ("PyTorch", False))
MARKERS = "os^DvPX<>ph8"
THEIR_MARKERS = "x+*1d2p3<4>H"
ONE_CORE = "single-cpu"
Colors = Mapping[tuple[str, bool], str]
# The files of a figure, and the options that keep the time and the version out of each.
DATELESS = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
PNG_DPI = 160

LOOK: dict[Any, Any] = {
    "font.family": FACE,
    "font.size": 8.0,
    "text.color": INK,
    "text.parse_math": False,  # a label's dollar sign is one
    "axes.edgecolor": QUIET,
    "grid.color": "#e4e7ea",
    "figure.titleweight": "bold",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "respeed",
    "pdf.fonttype": 42,
}
# The options of matplotlib for a row's marks and lines.
Look = dict[str, Any]


# How the look of a number without an interval differs.
UNSURE: Look = {"linestyle": "", "markerfacecolor": "white"}


def color_packages(cells: Iterable[Cell]) -> Colors:
    """Return colours that are the same in all figures: for each package, one on the CPU and one on accelerators."""
    present = [(cell.package, cell.is_cpu) for cell in cells]
    packages = dict.fromkeys([*FIRST_PACKAGES, *present])
    return dict(zip(packages, cycle(COLORS), strict=False))


def style_row(color: str, *, is_one_core: bool, line: str = "-") -> Look:
    """Return the look of a row of a chart, whose marker differs from row to row: one core is small and broken."""
    if is_one_core:
        return {"color": color, "linestyle": "--", "markersize": 3.2}
    return {"color": color, "linestyle": line, "markersize": 5.0}


def new_figure(title: str, note: str, stamp: str) -> tuple[Figure, Axes]:
    """Return a figure with a title above, and below a note on how to read the figure.

    If `stamp` is not empty, STAMP_TEXT is written across the figure.
    """
    matplotlib.rcdefaults()
    sns.set_style("whitegrid")
    matplotlib.rcParams.update(LOOK)
    layout = ConstrainedLayoutEngine(w_pad=MARGIN)
    figure = Figure(figsize=(WIDTH, HEIGHT), layout=layout)
    axes = figure.add_subplot()
    axes.spines[["left", "top", "right"]].set_visible(False)
    figure.suptitle(fold(title, TITLE_LETTERS), x=0.01, ha="left")
    figure.supxlabel(fold(note, NOTE_LETTERS), x=0.01, ha="left", color=QUIET, size="medium")
    if stamp:
        axes.text(0.5, 0.5, STAMP_TEXT, fontsize=34, color="#d9d9d9", zorder=0.5, ha="center", va="center",
                  transform=axes.transAxes)  # fmt: skip
    return figure, axes


def fit_height(figure: Figure, lines: int) -> float:
    """Make the axes as high as these lines of text beside them, at least AXES_HEIGHT; return their height."""
    figure.draw_without_rendering()  # sets the layout
    height = max(AXES_HEIGHT, LINE * lines)
    before = figure.axes[0].bbox.height / figure.dpi
    figure.set_figheight(figure.get_figheight() - before + height)
    return height


def mark_ticks(axis: Axis) -> None:
    """Let a logarithmic axis begin and end at ticks, such as 1, 2, 5 and 10, with all numbers between the two."""
    low, high = axis.get_data_interval()
    exponents = np.arange(np.floor(np.log10(low)), np.log10(high) + 2)
    digits = (1, 2, 5) if high < 1000 * low else (1,)
    rounded = np.outer(10.0**exponents, digits).ravel()
    below = np.searchsorted(rounded, low, side="right") - 1
    above = np.searchsorted(rounded, high)
    ticks = rounded[below : max(above, below + 1) + 1]
    axis.set_ticks(ticks)
    axis.set_major_formatter("{x:,.12g}")
    axis.set_minor_locator(NullLocator())
    axis.set_view_interval(ticks[0], ticks[-1], ignore=True)


def fold(text: str, letters: int = LABEL_LETTERS) -> str:
    """Return the text in lines of at most `letters` letters, with a question mark for each that the face lacks.

    PDF/A, and so the report, allows only letters that a face has.
    """
    plain = squeeze(printable(text))
    printed = "".join(letter if ord(letter) in KNOWN else "?" for letter in plain)
    return textwrap.fill(printed, letters, break_on_hyphens=False)


def save_figure(figure: Figure, path: Path) -> None:
    """Write <path>.svg, <path>.pdf and <path>.png."""
    for ending, dateless in DATELESS.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format=ending, metadata=dateless, dpi=PNG_DPI)
        figure.set_layout_engine("none")  # all files have the layout of the first
        content = buffer.getvalue()
        if ending == "svg":
            content = content.replace(f"'{FACE}'".encode(), FACES.encode())
        with replacing(path.with_name(f"{path.name}.{ending}")) as file:
            file.write(content)
