"""One look for all figures, and files that are the same byte for byte when the data are."""

import io
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from respeed.figures.text import FACE, FALLBACK, LEADING, break_lines, has_letters
from respeed.records.store import replacing

# A point is 1/72 inch, and so is a pixel while a figure is laid out: lengths here are points.
INCH = 72.0
PAGE = 170 / 25.4 * INCH  # a text column of A4
WIDTH, HEIGHT = PAGE / INCH, 3.4  # inches
MARGIN = 2.0
PNG_DPI = 160
# The report sets the text of an SVG in the first face; a browser that has not got it, in the next that is as narrow.
REPORT_FACE = "Libertinus Serif"
NARROW_FACES = ("Times New Roman", "Liberation Serif", "Nimbus Roman", "Times")

TITLE_SIZE, SIZE, TICK_SIZE = 10.5, 8.5, 8.0
INK, QUIET, THEIRS, PALE, GRID = "#1b2838", "#5c6773", "#6e6e6e", "#c3cfdd", "#e4e7ea"
STAMP = "#d9d9d9"
STAMP_TEXT = "no measurement"

# For packages, in their order; each has another lightness, for a grey print: 46, 71, 58, 31, 78 and 20 of 100.
# Source: three of Okabe and Ito, Color universal design (2008), three of Paul Tol, Colour schemes (2021).
COLORS = ("#0072b2", "#e69f00", "#009e73", "#882255", "#88ccee", "#332288")
# For rows: each colour and shape stands once in a figure.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "8")
THEIR_MARKERS = ("x", "+", "*", "1")

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


def new_figure(height: float = HEIGHT) -> tuple[Figure, Axes]:
    """An empty figure in the house style, as wide as a column; `height` in inches."""
    set_look()
    figure = Figure(figsize=(WIDTH, height), dpi=INCH)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), zorder=2)
    axes.patch.set_visible(False)  # leaders lie behind what they lead to
    return figure, axes


def height_of(figure: Figure) -> float:
    """Points."""
    return float(figure.get_figheight() * INCH)


def place_axes(figure: Figure, axes: Axes, *, left: float, right: float, bottom: float, top: float) -> None:
    """Leave so many points free at each side of the axes."""
    height = height_of(figure)
    axes.set_position((left / PAGE, bottom / height, (PAGE - left - right) / PAGE, (height - bottom - top) / height))


def write_text(figure: Figure, x: float, y: float, text: str, *, align: str = "left", **look: Any) -> None:
    """A line of text: the middle of its height at `y` points from below, and at `x` what `align` says."""
    figure.text(x / PAGE, y / height_of(figure), text, ha=align, va="center_baseline", **look)


def head_lines(title: str, note: str) -> tuple[list[str], list[str], float]:
    """Title and note in lines as wide as the page, and the points that they take with the gap below."""
    titles = break_lines(title, TITLE_SIZE, PAGE, bold=True)
    notes = break_lines(note, SIZE, PAGE, most=4)
    return titles, notes, LEADING * (TITLE_SIZE * len(titles) + SIZE * len(notes)) + SIZE


def write_head(figure: Figure, title: str, note: str) -> float:
    """Write what is shown above all else, in bold, and how to read it; the points that this takes."""
    titles, notes, height = head_lines(title, note)
    y = height_of(figure)
    looks: tuple[dict[str, Any], ...] = ({"size": TITLE_SIZE, "weight": "bold"}, {"size": SIZE, "color": QUIET})
    for lines, look in zip((titles, notes), looks, strict=True):
        for line in lines:
            y -= LEADING * look["size"]
            write_text(figure, 0, y + 0.6 * look["size"], line, **look)
    return height


def finish(figure: Figure, axes: Axes, stamp: str) -> Figure:
    """The stamp across the axes if the numbers are no measurement."""
    if stamp:
        middle: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        axes.text(0.5, 0.5, STAMP_TEXT, fontsize=34, color=STAMP, zorder=0.5, **middle)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write <path>.svg, <path>.pdf and <path>.png."""
    svg, pdf, png = io.StringIO(), io.BytesIO(), io.BytesIO()
    texts = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    # The report can be no PDF/A with letters that its faces have not got; in outlines they are drawn as well as may be.
    kind = "none" if all(map(has_letters, texts)) else "path"
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.fonttype": kind}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(svg, format="svg", metadata={"Date": None})
        figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
        figure.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
    faces = ", ".join(f"'{face}'" for face in (REPORT_FACE, FACE, *NARROW_FACES))
    text = svg.getvalue().replace(f"'{FACE}'", f"{faces}, serif")
    for ending, content in ((".svg", text.encode()), (".pdf", pdf.getvalue()), (".png", png.getvalue())):
        with replacing(path.with_suffix(ending)) as file:
            file.write(content)
