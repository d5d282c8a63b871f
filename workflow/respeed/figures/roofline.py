"""The roofline of a machine, log-log: what its rows can do at most, and every case as a point beneath; the paper's grey.

Colour tells the package, a broken line and a hollow marker one core, the marker's shape the table of a case.
"""

from collections.abc import Iterable, Mapping, Sequence

import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from respeed.figures.style import MARKERS, THEIRS, finish, new_figure
from respeed.model.paper import Paper
from respeed.tables.numbers import format_number
from respeed.tables.roofline import Point, Roof, highest_roofs, paper_roofs

Color = str | tuple[float, float, float]

HEIGHT = 4.4  # inches: rates of 2009 and of today
# How far beyond the outermost point and ridge the axes go, as a factor; and from which to which if there is none.
BEYOND, WITHOUT = 2.0, (1.0, 1000.0)
# The height of a label and the way to the first, in parts of the axes.
LINE, AWAY = 0.042, 0.03


def draw_roofline(paper: Paper, experiments: Mapping[str, str], machine: list[Point], theirs: list[Point], stamp: str) -> Figure:
    ...
