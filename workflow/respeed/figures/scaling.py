"""What more threads bring a machine: the speedup of a step and of its products over one thread, beside the ideal."""

from collections.abc import Sequence, Set

from matplotlib.figure import Figure

from respeed.estimators.gauged import INTERVAL
from respeed.figures.chart import Chart, Point, Series
from respeed.figures.draw import draw_chart
from respeed.figures.looks import DASHED, SOLID, Look
from respeed.figures.style import COLORS, MARKERS, THEIRS
from respeed.tables.scaling import STEP, WHAT, Scaled

IDEAL = "ideal"
# Many counts of threads are too near one another for all of them to stand at the axis.
MOST_TICKS = 9


def draw_scaling(machine: str, rows: Sequence[Scaled], stamp: str) -> Figure:
    """Both axes logarithmic, so that the ideal is a straight line; where there is one core alone, no curve."""
    timed = [row for row in rows if row.speedup]
    counts = sorted({row.threads for row in timed})
    has_curve = len(counts) > 1
    chart = Chart(
        title=f"{machine}: what more threads bring",
        note="How many times as fast so many threads are as one, each number in processes of its own, a core a thread. "
        "Broken: the products of a step alone. Grey: the ideal.",
        cases=tuple(map(_name, counts)) if has_curve else (),
        series=(*_series(timed), _ideal(counts)) if has_curve else (),
        suffix="x",
        why_empty=why_no_curve(rows),
        ticks=tuple(map(float, counts[-MOST_TICKS:])),
        bars=_bars({row.speedup_ends for row in timed} - {""}),
        dots="passes",
    )
    return draw_chart(chart, {_name(count): float(count) for count in counts}, True, stamp)


def _bars(ends: Set[str]) -> str:
    if INTERVAL not in ends:
        return "lowest and highest"
    return "95 % intervals" if ends == {INTERVAL} else "95 % intervals, or of few passes the lowest and the highest"


def why_no_curve(rows: Sequence[Scaled]) -> str:
    """Why there is nothing to draw."""
    if not rows:
        return "not measured yet"
    if {row.threads for row in rows} == {1}:
        return "one core: no curve"
    if any(row.is_disturbed for row in rows):
        return "disturbed in every pass"
    return next((row.reason for row in rows if row.reason), "not measured yet")


def _series(rows: Sequence[Scaled]) -> list[Series]:
    """A colour a size; the step solid and filled, its products broken and hollow."""
    sizes = list(dict.fromkeys(row.size for row in rows))
    found = []
    for size in sizes:
        for what in WHAT.values():
            mine = [row for row in rows if (row.size, row.what) == (size, what)]
            place, is_step = sizes.index(size), what == STEP
            look = Look(COLORS[place % len(COLORS)], MARKERS[place], is_step, SOLID if is_step else DASHED)
            points = tuple(
                Point(_name(row.threads), row.speedup or 1.0, row.speedup_low, row.speedup_high, row.each)
                for row in mine
            )
            if points:
                found.append(Series(f"{what[0].upper()}{what[1:]}, {size}", look, points))
    return found


def _name(count: int) -> str:
    """As it stands at the axis: the first one says what they are."""
    return "1 thread" if count == 1 else str(count)


def _ideal(counts: Sequence[int]) -> Series:
    return Series(IDEAL, Look(THEIRS, "None"), tuple(Point(_name(count), float(count)) for count in counts))
