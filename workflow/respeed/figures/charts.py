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

from respeed.analysis.cells import label_row, reference
from respeed.analysis.estimates import FULL_PRECISION, Estimate
from respeed.analysis.tables import Cell, group_by
from respeed.figures.style import (
    LABEL_LETTERS,
    MARKERS,
    ONE_CORE,
    THEIR_MARKERS,
    THEIRS,
    UNSURE,
    UPRIGHT_LETTERS,
    Colors,
    Look,
    add_key,
    fold,
    mark_ticks,
    new_figure,
    style_row,
)
from respeed.model import Experiment, Paper, number_bytes
from respeed.output.results import Results

# Letters that fit on one axis, for the names of all cases together.
NAME_LETTERS = 64
# More of the paper's rows than these would hide ours.
MOST_THEIRS = 12
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
    measured = _measured_rows(timed, colors)
    printed = _printed_rows(paper, experiment, cells)
    gflop = {cell.case: cell.flops / 1e9 for cell in cells if cell.flops}
    amounts = gflop
    y_title = "GFLOP/s"
    has_base = bool(experiment.algorithms) or len(gflop) < len(experiment.case_names())
    if has_base:
        cpu_rows = [row for row in printed if row.is_cpu]
        fastest = _seconds_of(cpu_rows or printed).min(axis=1)
        amounts = {str(case): seconds for case, seconds in fastest.items()}
        base = "CPU row" if cpu_rows else "row"
        y_title = f"times as fast as the paper's fastest {base}"
    note = f"Bars: 95 % intervals. Hollow: no interval. Small: one core. Grey: {reference(paper)}."
    if experiment.algorithms:
        note += " Of each algorithm the rows that are fastest in most cases."
        full = [cell for cell in timed if cell.precision == FULL_PRECISION]
        measured = _fastest_in_most(_measured_rows(full, colors))
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
    if is_growing(experiment, gflop):
        _draw_lines(axes, rows, list(cases))
    else:
        _draw_marks(axes, rows, list(cases))
    axes.set(yscale="log", xlim=(-0.6, len(cases) - 0.4))
    axes.set_xlabel(fold(experiment.axis or "case", NAME_LETTERS))
    axes.set_ylabel(fold(y_title, UPRIGHT_LETTERS))
    mark_ticks(axes.yaxis)
    _name_cases(axes, list(cases.values()))
    add_key(figure)
    return figure


def _convert(rows: Sequence[Row], amounts: Mapping[str, float], markers: str) -> list[Row]:
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


def _draw_lines(axes: Axes, rows: Sequence[Row], cases: Sequence[str]) -> None:
    """Draw rows as lines along their cases; the key has the order of their ends."""
    for row in sorted(rows, key=_last_value, reverse=True):
        x = np.array([cases.index(case) for case in row.values])
        _draw_row(axes, x, row)


def _draw_marks(axes: Axes, rows: Sequence[Row], cases: Sequence[str]) -> None:
    """Draw the rows of each case side by side, as marks."""
    for number, row in enumerate(rows):
        shift = 0.8 * ((number + 0.5) / len(rows) - 0.5)
        x = np.array([cases.index(case) + shift for case in row.values])
        _draw_row(axes, x, replace(row, look=row.look | {"linestyle": ""}))


def _last_value(row: Row) -> float:
    return list(row.values.values())[-1].value


def _draw_row(axes: Axes, x: NDArray[np.float64], row: Row) -> None:
    """Draw a row's bars, its line with marks, and the marks of numbers without an interval."""
    times = list(row.values.values())
    y = np.array([time.value for time in times])
    low = np.array([time.low or time.value for time in times])
    high = np.array([time.high or time.value for time in times])
    errors = [y - low, high - y]
    color = row.look["color"]
    axes.errorbar(x, y, errors, fmt="none", elinewidth=2.5, ecolor=color, clip_on=False)
    label = fold(row.label)
    axes.plot(x, y, label=label, clip_on=False, **row.look)
    # The paper's numbers have no interval, and need none.
    is_unsure = np.array([time.low is None and color != THEIRS for time in times])
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

    Lines join no algorithms, and no parts of a total.
    """
    if experiment.algorithms or experiment.total:
        return False
    sizes = [flops.get(case, 0.0) for case in experiment.case_names()]
    return all(after > APART * before > 0.0 for before, after in pairwise(sizes))


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

    A rate of operations or bytes is converted to seconds by what cells of any machine counted.
    """
    counts = {}
    for cell in cells:
        if cell.flops or cell.traffic_bytes:
            elements = (cell.traffic_bytes or 0.0) / number_bytes(cell.precision)
            counts[cell.case] = (cell.flops, elements * number_bytes(FULL_PRECISION))
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
