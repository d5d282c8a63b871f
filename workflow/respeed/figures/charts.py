"""Charts of rows and cases: a mark for each row in every case, joined by a line if the cases grow.

The chart of a table shows what each row does in a second, or how many times as fast as a row of the paper it is. The
colour shows the package, or is grey for the paper; small marks and broken lines show one core; hollow marks show
numbers without an interval; the shape of a mark shows the row.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from operator import attrgetter

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from respeed.analysis.cells import label_row, reference
from respeed.analysis.estimates import FULL_PRECISION, Estimate
from respeed.analysis.tables import Cell, group_by
from respeed.figures.style import (
    LABEL_LETTERS,
    LINE,
    MARKERS,
    ONE_CORE,
    THEIR_MARKERS,
    THEIRS,
    UNSURE,
    UPRIGHT_LETTERS,
    Colors,
    Look,
    fit_height,
    fold,
    mark_ticks,
    new_figure,
    style_row,
)
from respeed.model import Experiment, Paper
from respeed.output.results import Results

# Letters that fit on one axis, for the names of all cases together.
NAME_LETTERS = 64
# More of the paper's rows than these would hide ours.
MOST_THEIRS = 12
# More names than these would lie far from the ends of their lines.
MOST_AT_ENDS = 9
# Two cases nearer than this factor have no order that a line could show.
APART = 1.15


@dataclass(frozen=True)
class Row:
    """One row of a chart.

    `values` are by case: its seconds at first, in a chart what the chart shows. Of a `group` of rows, one is drawn if
    there are many.
    """

    label: str
    look: Look
    is_cpu: bool
    group: Hashable
    values: Mapping[str, Estimate]


def draw_table(results: Results, paper: Paper, experiment: Experiment, machine: str, colors: Colors) -> Figure:
    """Draw the rows of a table on a machine: their GFLOP/s, if all do the same counted work; or else speedups.

    Speedups are over one base for all rows: the paper's fastest CPU row, or if no CPU row is printed, its fastest row.
    """
    cells = results.rows(Cell, paper=paper.name, experiment=experiment.name)
    timed = [cell for cell in cells if cell.machine == machine and cell.seconds]
    if experiment.algorithms:
        timed = [cell for cell in timed if cell.precision == FULL_PRECISION]
    measured = _measured_rows(timed, colors)
    printed = _printed_rows(paper, experiment, cells)
    gflop = {cell.case: cell.flops / 1e9 for cell in cells if cell.flops}
    amounts: Mapping[str, float] | pd.Series = gflop
    y_title = "GFLOP/s"
    has_base = bool(experiment.algorithms) or len(gflop) < len(experiment.case_names())
    if has_base:
        cpu_rows = [row for row in printed if row.is_cpu]
        amounts = _seconds_of(cpu_rows or printed).min(axis=1)
        base = "CPU row" if cpu_rows else "row"
        y_title = f"times as fast as the paper's fastest {base}"
    note = f"Bars: 95 % intervals. Hollow: no interval. Small: one core. Grey: {reference(paper)}."
    if experiment.algorithms:
        note += " Of each algorithm the rows that are fastest in most cases."
        measured = _fastest_in_most(measured)
    if len(printed) > MOST_THEIRS:
        note += f" Of the paper's {len(printed)} rows the fastest of each year."
        printed = _fastest_in_most(printed)
    rows = _convert(printed, amounts, THEIR_MARKERS)
    rows += _convert(measured, amounts, MARKERS)
    filled = set().union(*(row.values for row in rows))
    words = experiment.column_words()
    cases = {case: words[case] for case in words if case in filled}
    title = f"{experiment.title} on {results.aliases[machine]}"
    figure, axes = new_figure(title, note, results.stamp)
    if has_base:
        axes.axhline(1.0, color=THEIRS, linewidth=0.9, zorder=1)
    has_lines = is_growing(experiment, gflop)
    # Without lines, the marks of a case stand side by side.
    shifts = np.linspace(-0.4, 0.4, 2 * len(rows) + 1)[1::2]
    if has_lines:
        rows.sort(key=_last_value, reverse=True)
        shifts = np.zeros(len(rows))
    places = {case: place for place, case in enumerate(cases)}
    for row, shift in zip(rows, shifts, strict=True):
        x = np.array([places[case] + shift for case in row.values])
        if not has_lines:
            row.look["linestyle"] = ""
        _draw_row(axes, x, row)
    margin = 0.2 if has_lines else 0.6
    axes.set(yscale="log", xlim=(-margin, len(cases) - 1 + margin))
    axes.set_xlabel(fold(experiment.axis or "case", NAME_LETTERS))
    axes.set_ylabel(fold(y_title, UPRIGHT_LETTERS))
    mark_ticks(axes.yaxis)
    _name_cases(axes, list(cases.values()))
    labels = [fold(row.label) for row in rows]
    lines = "\n".join(labels).count("\n") + 1
    height = fit_height(figure, lines)
    if has_lines and len(rows) == lines <= MOST_AT_ENDS:
        _name_ends(axes, rows, LINE / height)
    else:
        figure.legend(loc="outside right upper")
    return figure


def _convert(rows: Sequence[Row], amounts: Mapping[str, float] | pd.Series, markers: str) -> list[Row]:
    """Return the rows with amounts over their seconds, and each with a marker; without rows that have no amount."""
    converted = []
    for row, marker in zip(rows, cycle(markers)):
        values = {}
        for case, time in row.values.items():
            if case in amounts:
                values[case] = time.over(amounts[case])
        if values:
            look = row.look | {"marker": marker}
            converted.append(replace(row, values=values, look=look))
    return converted


def _last_value(row: Row) -> float:
    return list(row.values.values())[-1].value


def _draw_row(axes: Axes, x: NDArray[np.float64], row: Row) -> None:
    """Draw a row's bars, its line with marks, and the marks of numbers without an interval."""
    y = np.array([time.value for time in row.values.values()])
    half = np.array([time.half for time in row.values.values()])
    errors = [y - y * np.exp(-half), y * np.exp(half) - y]
    color = row.look["color"]
    axes.errorbar(x, y, errors, fmt="none", elinewidth=2.5, ecolor=color, clip_on=False)
    axes.plot(x, y, label=fold(row.label), clip_on=False, **row.look)
    # The paper's numbers have no interval, and need none.
    is_unsure = np.isnan(half) & (color != THEIRS)
    if is_unsure.any():
        look = row.look | UNSURE
        axes.plot(x[is_unsure], y[is_unsure], clip_on=False, **look)


def _name_cases(axes: Axes, cases: Sequence[str]) -> None:
    """Write the names of the cases below the horizontal axis; names with a long word lean."""
    letters = NAME_LETTERS // max(len(cases), 1)
    look: Look = {"rotation": 0, "ha": "center"}
    if any(len(word) > letters for word in " ".join(cases).split()):
        letters = LABEL_LETTERS
        look = {"rotation": 30, "ha": "right"}
    names = [fold(case, letters) for case in cases]
    axes.set_xticks(range(len(names)), names, rotation_mode="anchor", **look)
    axes.grid(visible=False, axis="x")


def is_growing(experiment: Experiment, flops: Mapping[str, float]) -> bool:
    """Return whether lines may join the cases: each has more than APART times the FLOP of the case before.

    Lines join sizes of one program alone: no algorithms, no parts of a total, no cases that differ in a text.
    """
    programs = set()
    for case in experiment.cases:
        texts = [value for value in case.parameters.values() if isinstance(value, str)]
        programs.add((case.workload, *texts))
    if experiment.algorithms or experiment.total or len(programs) > 1:
        return False
    sizes = [flops.get(case, 0.0) for case in experiment.case_names()]
    return all(after > APART * before > 0.0 for before, after in pairwise(sizes))


def _name_ends(axes: Axes, rows: Sequence[Row], gap: float) -> None:
    """Write the names of rows beside their ends, the highest first, moved up or down as little as leaves a gap.

    The gap is a share of the height of the axes.
    """
    room = gap * np.arange(len(rows))
    low, high = np.log(axes.get_ylim())
    ends = (np.log(list(map(_last_value, rows))) - low) / (high - low)
    heights = isotonic_regression(ends + room, increasing=False).x - room
    heights = heights.clip(room[::-1], 1.0 - room)
    for row, y in zip(rows, heights, strict=True):
        axes.text(1.01, y, fold(row.label), va="center", color=row.look["color"], transform=axes.transAxes)


def _measured_rows(cells: Sequence[Cell], colors: Colors) -> list[Row]:
    """Return the times of our rows; where a table has several algorithms, of each row by each algorithm."""
    rows = []
    groups = group_by(cells, attrgetter("profile", "label"))
    for (_, label), alike in groups.items():
        first = alike[0]
        color = colors[first.package, first.is_cpu]
        look = style_row(color, is_one_core=first.architecture == ONE_CORE)
        times = {cell.case: cell.time for cell in alike}
        group = (first.algorithm, first.is_cpu)
        rows.append(Row(label, look, first.is_cpu, group, times))
    return rows


def _printed_rows(paper: Paper, experiment: Experiment, cells: Sequence[Cell]) -> list[Row]:
    """Return the paper's times.

    A rate of operations or bytes is converted to seconds by what cells of any machine counted, in the table's
    precision.
    """
    precision = experiment.precision or FULL_PRECISION
    counts = {}
    for cell in cells:
        if cell.precision == precision and (cell.flops or cell.traffic_bytes):
            counts[cell.case] = (cell.flops, cell.traffic_bytes)
    rows = []
    for published in paper.rows.values():
        times = {}
        for case in experiment.case_names():
            seconds = experiment.seconds(case, published.name, *counts.get(case, ()))
            if seconds:
                times[case] = Estimate(seconds)
        # A row that is compared with several cores, too, is not drawn as one core.
        is_one_core = all(architecture == ONE_CORE for architecture in published.beside)
        look = style_row(THEIRS, is_one_core=is_one_core, line="-" if published.is_cpu else "-.")
        year = published.year or paper.year
        label = f"{label_row(paper, published)}, {year}"
        rows.append(Row(label, look, published.is_cpu, year, times))
    return [row for row in rows if row.values]


def _seconds_of(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the seconds of rows: a line for each case, and a column for each row, by its number."""
    columns = {}
    for number, row in enumerate(rows):
        columns[number] = {case: time.value for case, time in row.values.items()}
    return pd.DataFrame(columns)


def _fastest_in_most(rows: Sequence[Row]) -> list[Row]:
    """Return, for each group of rows, the row that is fastest in the most cases."""
    fastest = []
    for alike in group_by(rows, attrgetter("group")).values():
        wins = _seconds_of(alike).rank(axis=1, method="first").eq(1).sum()
        fastest.append(alike[wins.argmax()])
    return fastest
