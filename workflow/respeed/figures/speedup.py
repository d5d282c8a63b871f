"""The speedups that a table is about: the paper's and one machine's."""

from collections.abc import Mapping

from respeed.figures.chart import Chart, Point, Series
from respeed.figures.looks import look_at_rows
from respeed.figures.seconds import series_of_theirs
from respeed.figures.words import words_of_speedup
from respeed.model.paper import Experiment, Paper
from respeed.tables.cells import Cell
from respeed.tables.fastest import rows_in_front
from respeed.tables.shown_speedups import ShownSpeedups


def chart_speedup(
    paper: Paper,
    experiment: Experiment,
    machine: str,
    cells: list[Cell],
    shown: ShownSpeedups,
    colors: Mapping[tuple[str, bool], str],
) -> Chart:
    """One table on one machine, `cells` all of its."""
    rows = {one.cell.row for one in shown.ours}
    front = rows_in_front(cell for cell in cells if cell.row in rows) if experiment.algorithms else None
    looks = look_at_rows(cells, colors, front)
    points: dict[tuple[str, str], list[Point]] = {}
    for one in shown.ours:
        found = points.setdefault(one.cell.row, [])
        found.append(Point(one.case, one.value, one.low, one.high, program=one.cell.workload))
    labels = {cell.row: cell.label for cell in cells}
    ours = [Series(labels[row], looks[row], tuple(found)) for row, found in points.items()]
    words = words_of_speedup(paper, experiment, machine, shown)
    return Chart(
        title=words.title,
        note=words.note,
        cases=shown.cases,
        series=(*series_of_theirs(paper, shown.theirs), *ours),
        suffix="x",
        base=(1.0, words.base),
        spreads=shown.spreads,
        why_empty="nothing to compare yet",
    )
