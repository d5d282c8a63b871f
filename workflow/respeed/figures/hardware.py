"""What a machine's hardware sheet shows: what more threads bring, and what products reach."""

from collections.abc import Collection

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.hardware import PRODUCT, STEP
from respeed.analysis.hardware_sheet import place_name
from respeed.figures.charts import POINT, Chart, Row
from respeed.figures.labels import DASHED, SOLID, Look
from respeed.figures.style import COLORS, MARKERS, THEIRS

INTERVAL = "95 % interval"
# Many counts of threads are too near one another for all of them to stand at the axis.
MOST_TICKS = 9


def chart_scaling(machine: str, scaling: pd.DataFrame) -> tuple[Chart, dict[str, float]]:
    """The speedup of a step and of its products over one thread beside the ideal, and where each number of threads lies
    along the axis: both axes are logarithmic, so that the ideal is a straight line. With one core alone, no curve."""
    timed = scaling[scaling["speedup"] > 0].sort_values("threads", kind="stable")
    counts = sorted(set(timed["threads"]))
    if len(counts) < 2:
        timed, counts = timed[:0], []
    ideal = pd.DataFrame({"threads": counts, "speedup": list(map(float, counts))}).assign(row="ideal", speedups="")
    timed = timed.assign(row=timed["size"] + " " + timed["what"])
    rows = []
    for place, size in enumerate(dict.fromkeys(scaling["size"])):
        for what in dict.fromkeys(scaling["what"]):
            is_step = what == STEP
            look = Look(COLORS[place % len(COLORS)], MARKERS[place], is_step, SOLID if is_step else DASHED)
            rows.append(Row(f"{size} {what}", f"{what[0].upper()}{what[1:]}, {size}", look))
    drawn = pd.concat([timed, ideal], ignore_index=True)
    points = pd.DataFrame(
        {
            "row": drawn["row"], "case": drawn["threads"].map(_name), "value": drawn["speedup"],
            "low": drawn.get("speedup_low"), "high": drawn.get("speedup_high"), "program": "",
            "rounds": [tuple(map(float, text.split())) for text in drawn["speedups"]],
        },
        columns=POINT,
    )  # fmt: skip
    there = set(points["row"])
    chart = Chart(
        title=f"{machine}: what more threads bring",
        note="How many times as fast so many threads are as one, each number in processes of its own, a core a thread. "
        "Broken: the products of a step alone. Grey: the ideal.",
        cases=tuple(map(_name, counts)),
        rows=tuple(row for row in (*rows, Row("ideal", "ideal", Look(THEIRS))) if row.key in there),
        points=points,
        suffix="x",
        why_empty=why_no_curve(scaling),
        ticks=tuple(map(float, counts[-MOST_TICKS:])),
        bars=_bars(set(timed["speedup_ends"]) - {""}),
        dots="passes",
    )
    return chart, {_name(count): float(count) for count in counts}


def _bars(ends: Collection[str]) -> str:
    if INTERVAL not in ends:
        return "lowest and highest"
    return "95 % intervals" if len(ends) == 1 else "95 % intervals, or of few passes the lowest and the highest"


def why_no_curve(scaling: pd.DataFrame) -> str:
    """Why there is nothing to draw."""
    if scaling.empty:
        return "not measured yet"
    if set(scaling["threads"]) == {1}:
        return "one core: no curve"
    if scaling["is_disturbed"].any():
        return "disturbed in every pass"
    return next((reason for reason in scaling["reason"] if reason), "not measured yet")


def _name(count: int) -> str:
    """As it stands at the axis: the first one says what they are."""
    return "1 thread" if count == 1 else str(count)


def chart_rates(machine: str, rates: pd.DataFrame) -> Chart:
    """What square products reach in each precision on one core, all cores and every device: what else a machine reaches
    is in other units."""
    timed = rates[(rates["what"] == PRODUCT) & (rates["value"] > 0)]
    names = [place_name(row.device, row.threads, row.accelerator) for row in rows_of(timed)]
    points = timed.assign(row=names, case=timed["package"] + ", " + timed["precision"], program="")
    points["rounds"] = [()] * len(points)
    looks = points.drop_duplicates("row")
    rows = tuple(
        Row(name, name, Look(COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)], filled=threads != 1))
        for place, (name, threads) in enumerate(zip(looks["row"], looks["threads"].fillna(0), strict=True))
    )
    return Chart(
        title=f"{machine}: what a square product reaches",
        note="GFLOP/s by library and precision. Hollow: one core.",
        cases=tuple(dict.fromkeys(points["case"])),
        rows=rows,
        points=points[POINT].reset_index(drop=True),
        more=", GFLOP/s",
        bars="95 % intervals, or of few passes the lowest and the highest",
    )
