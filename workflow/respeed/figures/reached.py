"""What a machine's products reach in each precision: a dot for one core, all cores, and every device."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from respeed.figures.chart import Chart, Point, Series
from respeed.figures.draw import draw_chart
from respeed.figures.looks import Look
from respeed.figures.style import COLORS, MARKERS
from respeed.tables.reached import PRODUCT, Reached, place_name


def draw_reached(machine: str, rows: Sequence[Reached], stamp: str) -> Figure:
    """Square products alone: what else a machine reaches is in other units."""
    timed = [row for row in rows if row.what == PRODUCT and row.value]
    chart = Chart(
        title=f"{machine}: what a square product reaches",
        note="GFLOP/s by library and precision. Hollow: one core.",
        cases=tuple(dict.fromkeys(map(_case, timed))),
        series=tuple(_series(timed)),
        bars="95 % intervals, or of few passes the lowest and the highest",
    )
    return draw_chart(chart, {}, False, stamp)


def _case(row: Reached) -> str:
    return f"{row.package}, {row.precision}"


def _series(rows: Sequence[Reached]) -> list[Series]:
    places = dict.fromkeys((row.device, row.threads, row.accelerator) for row in rows)
    found = []
    for number, (device, threads, accelerator) in enumerate(places):
        mine = [row for row in rows if (row.device, row.threads) == (device, threads)]
        look = Look(COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)], filled=threads != 1)
        points = tuple(Point(_case(row), row.value or 0.0, row.low, row.high) for row in mine)
        found.append(Series(place_name(device, threads, accelerator), look, points))
    return found
