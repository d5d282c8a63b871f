"""Charts of rows and cases: a mark for each row in every case, joined by a line if the cases have an order.

The chart of a table shows what each row does in a second, or how many times as fast as a row of the paper it is. The
colour shows the package, or is grey for the paper; small marks and broken lines show one core; hollow, pale marks show
numbers without an interval; the shape of a mark shows the row.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from respeed.analysis.cells import label_row, reference
from respeed.analysis.estimates import FULL_PRECISION, Estimate
from respeed.analysis.tables import Cell, group_by
from respeed.figures.style import (
    LABEL_LETTERS,
    MARKERS,
    ONE_CORE,
    QUIET,
    THEIR_MARKERS,
    THEIRS,
    UNSURE,
    Colors,
    Look,
    finish,
    fold,
    look_of,
    mark_ticks,
    new_figure,
)
from respeed.model import Experiment, Paper, number_bytes
from respeed.output.results import Results

# Letters that fit on one axis, for the names of all cases together.
NAME_LETTERS = 64
# More of the paper's rows than these would hide ours.
MOST_THEIRS = 12
# More names than these would lie far from the ends of their lines.
MOST_AT_ENDS = 12
# The least way from name to name, as a share of the axis.
LEAST_GAP = 0.09
# Two cases nearer than this factor have no order that a line could show.
APART = 1.15
# What rows of a group share: algorithm and device, or year.
Group = tuple[str | int | bool, ...]
# The FLOP and the bytes of each case; None if they are not known.
Work = Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Row:
    """One row of a chart.

    `values` are by case: its seconds at first, in a chart what the chart shows. Of a `group` of rows, one is drawn if
    there are many.
    """

    label: str
    look: Look
    is_cpu: bool
    group: Group
    values: dict[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True)
class Chart:
    """The contents of a figure of rows and cases.

    `cases` are in the order of the horizontal axis, where `words` are their labels. Lines join the values of a row if
    `is_ordered`; a line at 1 is drawn if `has_base`.
    """

    title: str
    note: str
    x_title: str
    y_title: str
    cases: Sequence[str]
    words: Mapping[str, str]
    rows: Sequence[Row]
    is_ordered: bool = False
    has_base: bool = False


def draw_chart(chart: Chart, stamp: str) -> Figure:
    """Draw the rows of a chart along its cases, with bars for the intervals of numbers."""
    figure, axes = new_figure(chart.title, chart.note, stamp)
    if not chart.rows:  # at tiny sizes, of which nothing is printed
        axes.set_axis_off()
        axes.text(0.5, 0.5, "nothing to compare at these sizes", ha="center", color=QUIET, transform=axes.transAxes)
        return figure
    is_long = any(len(row.label) > LABEL_LETTERS for row in chart.rows)
    has_key = is_long or not chart.is_ordered or len(chart.rows) > MOST_AT_ENDS
    for number, row in enumerate(chart.rows):
        # Without lines, the rows of a case are drawn side by side.
        shift = 0.0
        if not chart.is_ordered:
            shift = 0.8 * ((number + 0.5) / len(chart.rows) - 0.5)
        _draw_row(axes, chart, row, shift, fold(row.label) if has_key else None)
    numbers = [1.0] if chart.has_base else []
    for row in chart.rows:
        for estimate in row.values.values():
            numbers += [end for end in (estimate.value, estimate.low, estimate.high) if end]
    if chart.has_base:
        axes.axhline(1.0, color=THEIRS, linewidth=0.9, zorder=1)
    axes.set(yscale="log", xlim=(-0.6, len(chart.cases) - 0.4))
    mark_ticks(axes.yaxis, np.array(numbers))
    _name_cases(axes, [chart.words[case] for case in chart.cases])
    if not has_key:
        _name_ends(axes, chart)
    return finish(figure, chart.x_title, chart.y_title)


def _draw_row(axes: Axes, chart: Chart, row: Row, shift: float, label: str | None) -> None:
    """Draw a row's bars, its line with marks, and the marks of numbers without an interval."""
    look = row.look if chart.is_ordered else row.look | {"linestyle": ""}
    cases = [case for case in chart.cases if case in row.values]
    estimates = [row.values[case] for case in cases]
    x = np.array([chart.cases.index(case) + shift for case in cases])
    y = np.array([estimate.value for estimate in estimates])
    below = [estimate.value - (estimate.low or estimate.value) for estimate in estimates]
    above = [(estimate.high or estimate.value) - estimate.value for estimate in estimates]
    axes.errorbar(x, y, [below, above], fmt="none", elinewidth=2.5, ecolor=look["color"], clip_on=False)
    # The paper's numbers have no interval, and need none.
    is_sure = np.array([estimate.low is not None or look["color"] == THEIRS for estimate in estimates])
    axes.plot(x, y, label=label, clip_on=False, markevery=is_sure.tolist(), **look)
    if not is_sure.all():
        axes.plot(x[~is_sure], y[~is_sure], clip_on=False, **look | UNSURE)


def _name_cases(axes: Axes, cases: Sequence[str]) -> None:
    """Write the names of the cases below the horizontal axis; names with a long word lean."""
    letters = NAME_LETTERS // len(cases)
    look: Look = {"rotation": 0, "ha": "center"}
    if any(len(word) > letters for word in " ".join(cases).split()):
        letters = LABEL_LETTERS
        look = {"rotation": 30, "ha": "right"}
    names = [fold(case, letters) for case in cases]
    axes.set_xticks(range(len(names)), names, rotation_mode="anchor", **look)
    axes.grid(visible=False, axis="x")


def _name_ends(axes: Axes, chart: Chart) -> None:
    """Write the name of each row beside the end of its line, with room between the names."""
    ends = {}
    for row in chart.rows:
        last = max(row.values, key=chart.cases.index)
        ends[row.label] = row.values[last].value
    rows = sorted(chart.rows, key=lambda row: ends[row.label])
    low, high = np.log(axes.get_ylim())
    logarithms = np.log([ends[row.label] for row in rows])
    heights = (logarithms - low) / (high - low)
    least = LEAST_GAP * np.arange(len(rows))
    heights = np.maximum.accumulate(heights - least) + least
    heights = np.minimum(heights, 1.0 - least[::-1])
    for row, height in zip(rows, heights, strict=True):
        axes.text(1.01, height, fold(row.label), va="center", color=row.look["color"], transform=axes.transAxes)


def chart_table(results: Results, paper: Paper, experiment: Experiment, machine: str, colors: Colors) -> Chart:
    """Return the chart of a table on a machine: GFLOP/s, if all rows do the same counted work; or else speedups.

    Speedups are over one base for all rows: the paper's fastest CPU row, or if no CPU row is printed, its fastest row.
    """
    every_cell = results.rows(Cell, paper=paper.name, experiment=experiment.name)
    cells = [cell for cell in every_cell if cell.machine == machine and cell.seconds]
    threads = max((cell.threads or 1 for cell in cells if cell.is_cpu), default=1)
    cores = f"one core of {threads}" if threads > 1 else "one core"
    note = [f"Bars: 95 % intervals. Hollow: no interval. Small: {cores}. Grey: {reference(paper)}."]
    work = work_of(every_cell)
    printed = printed_rows(paper, experiment, work)
    cpu_rows = [row for row in printed if row.is_cpu]
    if experiment.algorithms:
        cells = [cell for cell in cells if cell.precision == FULL_PRECISION]
    measured = _measured_rows(experiment, cells, colors)
    amounts = {case: (flops or 0.0) / 1e9 for case, (flops, _) in work.items()}
    y_title = "GFLOP/s"
    is_rate = not experiment.algorithms and all(amounts.values())
    if not is_rate:
        amounts = _fastest_seconds(cpu_rows or printed)
        y_title = f"times as fast as the paper's fastest {'CPU row' if cpu_rows else 'row'}"
    if experiment.algorithms:
        measured = _fastest_in_most(measured)
        note.append("Of each algorithm the rows that are fastest in most cases.")
    if len(printed) > MOST_THEIRS:
        note.append(f"Of the paper's {len(printed)} rows the fastest of each year.")
        printed = _fastest_in_most(printed)
    marked = [*zip(printed, cycle(THEIR_MARKERS), strict=False), *zip(measured, cycle(MARKERS), strict=False)]
    rows = []
    for row, marker in marked:
        values = {case: time.over(amounts[case]) for case, time in row.values.items() if case in amounts}
        if values:
            rows.append(replace(row, values=values, look=row.look | {"marker": marker}))
    flops = {case: flops for case, (flops, _) in work.items()}
    cases, is_ordered = order_cases(experiment, flops)
    return Chart(
        title=f"{experiment.title} on {results.aliases[machine]}",
        note=" ".join(note),
        x_title=experiment.axis or "case",
        y_title=y_title,
        cases=[case for case in cases if any(case in row.values for row in rows)],
        words=experiment.column_words(),
        rows=rows,
        is_ordered=is_ordered,
        has_base=not is_rate,
    )


def order_cases(experiment: Experiment, flops: Mapping[str, float | None]) -> tuple[list[str], bool]:
    """Return the cases in the order of an axis, and whether lines may join them.

    The cases are ordered by their FLOP, or if some FLOP are not known, as in `flops`; the total comes last. Lines may
    join cases of one workload with the same text parameters if all FLOP are known, each case has more than APART times
    the FLOP of the case before, and the table has no total.
    """
    total = experiment.total_case
    counts = {case: count for case, count in flops.items() if case != total}
    if not all(counts.values()):
        return [*counts, total], False
    ordered = sorted(counts, key=lambda case: counts[case] or 0.0)
    sizes = np.array([counts[case] for case in ordered], float)
    kinds = set()
    for case in experiment.cases:
        texts = [value for value in case.parameters.values() if isinstance(value, str)]
        kinds.add((case.workload, *texts))
    are_apart = bool((sizes[1:] > APART * sizes[:-1]).all())
    return [*ordered, total], len(kinds) == 1 and not experiment.total and are_apart


def _measured_rows(experiment: Experiment, cells: Sequence[Cell], colors: Colors) -> list[Row]:
    """Return the times of our rows; where a table has several algorithms, of each row by each algorithm."""
    rows = []
    groups = group_by(cells, lambda cell: (cell.profile, cell.algorithm if experiment.algorithms else ""))
    for group in groups.values():
        first = group[0]
        look = look_of(colors[first.package, first.is_cpu], is_one_core=first.architecture == ONE_CORE)
        times = {cell.case: cell.time for cell in group}
        rows.append(Row(first.label, look, first.is_cpu, (first.algorithm, first.is_cpu), times))
    return rows


def printed_rows(paper: Paper, experiment: Experiment, work: Work) -> list[Row]:
    """Return the paper's times for the cases of `work`.

    A rate of operations or bytes is converted to seconds by the FLOP or bytes in `work`, which were counted here.
    """
    rows = []
    for published in paper.rows.values():
        # A row that is compared with several cores, too, is not drawn as one core.
        is_one_core = all(architecture == ONE_CORE for architecture in published.beside)
        look = look_of(THEIRS, is_one_core=is_one_core, line="-" if published.is_cpu else "-.")
        year = published.year or paper.year
        row = Row(f"{label_row(paper, published)}, {year}", look, published.is_cpu, (year,))
        for case, counts in work.items():
            seconds = paper.seconds(experiment.name, case, published.name, *counts)
            if seconds:
                row.values[case] = Estimate(seconds)
        rows.append(row)
    return [row for row in rows if row.values]


def _fastest_seconds(rows: Sequence[Row]) -> dict[str, float]:
    """Return by case the seconds of the fastest row."""
    fastest: dict[str, float] = {}
    for row in rows:
        for case, time in row.values.items():
            fastest[case] = min(time.value, fastest.get(case, time.value))
    return fastest


def work_of(cells: Sequence[Cell]) -> Work:
    """Return the FLOP and the bytes of each case, at 4 bytes an array element, as counted on any machine."""
    work: dict[str, tuple[float | None, float | None]] = {}
    for cell in cells:
        flops, traffic = work.get(cell.case, (None, None))
        if cell.traffic_bytes:
            traffic = traffic or cell.traffic_bytes * number_bytes(FULL_PRECISION) / number_bytes(cell.precision)
        work[cell.case] = flops or cell.flops, traffic
    return work


def _fastest_in_most(rows: Sequence[Row]) -> list[Row]:
    """Return, for each group of rows, the row that is fastest in the most cases, in the order of `rows`."""
    fastest: dict[tuple[Group, str], Row] = {}
    for row in rows:
        for case, time in row.values.items():
            best = fastest.setdefault((row.group, case), row)
            if time.value < best.values[case].value:
                fastest[row.group, case] = row
    wins: dict[Group, Counter[str]] = defaultdict(Counter)
    for (group, _), row in fastest.items():
        wins[group][row.label] += 1
    chosen = {counts.most_common(1)[0][0] for counts in wins.values()}
    return [row for row in rows if row.label in chosen]
