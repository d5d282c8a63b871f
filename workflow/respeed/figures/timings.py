"""What the two figures of a table show on one machine: seconds or rates, and the speedups that it is about."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from operator import attrgetter
from typing import Any

import pandas as pd

from respeed.analysis.cells import PAPER, label_row, words_of_unit
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.speedups import Samples, times_the_work
from respeed.figures.charts import ONE_CORE, POINT, SPREAD, Chart, Row
from respeed.figures.labels import DASH_DOT, DASHED, SOLID, Look
from respeed.figures.results import Outcome
from respeed.figures.style import COLORS, MARKERS, THEIRS
from respeed.model.paper import SECONDS, UNITS, Unit, number_bytes
from respeed.text import join_words

THEIR_MARKERS = ("x", "+", "*", "1", "d", "2", "p", "3", "<", "4", ">", "H")
# More of the paper's rows than these would hide ours.
MOST_THEIRS = 12
# Two cases nearer than this factor would lie on one another.
APART = 1.15
TIME = ["seconds", "seconds_low", "seconds_high"]
NUMBERS = ["lowest", "lower_quartile", "median", "upper_quartile", "highest"]
Colors = Mapping[tuple[str, bool], str]


def color_packages(cells: pd.DataFrame) -> dict[tuple[str, bool], str]:
    """A colour for each package on the CPU, and one for it on an accelerator: the same in all figures."""
    packages = dict.fromkeys(zip(cells["package"], cells["is_cpu"], strict=True))
    return {package: COLORS[place % len(COLORS)] for place, package in enumerate(packages)}


def place_cases(outcome: Outcome) -> tuple[dict[str, float], bool]:
    """Where each case lies along the logarithmic axis, and whether lines may join them.

    At its arithmetic work; where that is not known (sparsities, which are ordered) or hardly tells two cases apart
    (which are not), one after another at equal distances. So are nets that stand there with several batches, batch by
    batch: a line through both would go up and down.
    """
    experiment, cases, batches = outcome.experiment, outcome.cases, batches_of(outcome)
    work = {cell.case: cell.flops for cell in rows_of(outcome.cells) if cell.flops}
    if batches:
        cases = tuple(sorted(cases, key=lambda case: (batches[case], work.get(case, 0.0))))
    elif all(case in work for case in cases):
        placed = {case: work[case] for case in sorted(cases, key=lambda case: work[case])}
        if all(right > APART * left for left, right in pairwise(placed.values())):
            return placed, True
    # Those of one program at several sizes have an order, those of other networks or directions have none.
    kinds: dict[str, set[tuple[str, ...]]] = {}
    for case in experiment.smoke_cases if outcome.results.smoke else experiment.cases:
        texts = (str(value) for value in case.parameters.values() if isinstance(value, str))
        kinds.setdefault(case.name, set()).add((case.workload, *texts))
    alike = len({frozenset(kind) for kind in kinds.values()}) == 1
    return {case: 2.0**position for position, case in enumerate(cases)}, not work and alike and not batches


def batches_of(outcome: Outcome) -> dict[str, int]:
    """The batch of each case where one net stands there with several; empty where none does."""
    cases = [outcome.experiment.case(name) for name in outcome.cases]
    nets = {(case.workload, *sorted(map(str, {**case.parameters, "batch": 0}.items()))) for case in cases}
    return {case.name: case.parameters.get("batch", 0) for case in cases} if len(nets) < len(cases) else {}


def rows_in_front(outcome: Outcome, cells: pd.DataFrame) -> set[str]:
    """Of these cells, and of each algorithm that their table tells apart, the CPU row and the accelerator's that are
    fastest in most cases, in fp32."""
    by = ["algorithm", "is_cpu"] if outcome.experiment.algorithms else ["is_cpu"]
    full = cells[(cells["precision"] == FULL_PRECISION) & (cells["seconds"] > 0)]
    return {_fastest(mine) for _, mine in full.groupby(by, sort=False)}


def _fastest(timed: pd.DataFrame) -> str:
    """The row that is fastest in most cases."""
    won = timed.loc[timed.groupby("case", sort=False)["seconds"].idxmin(), "row"]
    return str(Counter(won).most_common(1)[0][0])


def chart_seconds(outcome: Outcome, colors: Colors) -> Chart:
    """One table on one machine, in the unit of the paper's; rates where its seconds are of single steps, whose sizes
    nobody compares. Each round is a faint point."""
    paper, experiment, cells = outcome.paper, outcome.experiment, outcome.cells
    rates = experiment.unit == SECONDS and not experiment.is_extrapolated and not paper.prints(experiment.name)
    unit = UNITS["GFLOP/s"] if rates else experiment.unit
    timed = cells.assign(amount=cells["flops"] if rates else cells["amount"])[cells["seconds"] > 0]
    printed = [
        (row.name, case, found.value)
        for row in paper.rows
        for case in outcome.cases
        if (found := paper.printed(experiment.name, case, row.name))
    ]
    theirs = pd.DataFrame(printed, columns=["row", "case", "value"])
    spread = outcome.spread("seconds")[: 0 if rates else None]
    if unit.counted:
        timed = timed[timed["amount"] > 0]
        spread = _over_spread(timed.groupby("case")["amount"].last() / unit.size, spread)
    else:  # a total is a time: the amount of its work is that of no single case
        totals = _their_totals(outcome)
        timed = pd.concat([timed, _totals(outcome, timed)])
        theirs = pd.concat([theirs, totals.assign(value=totals["seconds"] / unit.size)])
        spread = spread.assign(**spread[NUMBERS] / unit.size)
    title, more = f"{experiment.title}: rates", ", GFLOP/s"
    note = f"GFLOP/s on {outcome.machine}. Thin lines: the highest rate of any bare product on the same row."
    if not rates:
        what = words_of_unit(experiment)
        title, more = f"{experiment.title}: {unit.name}", what.removeprefix(unit.name)
        note = f"{what[0].upper()}{what[1:]} on {outcome.machine}{', and in the paper (grey)' * bool(len(theirs))}."
        note += _derived(outcome, theirs) + _many(spread, "the fastest row")
    chart = _chart(outcome, colors, _in_unit(timed, unit), theirs, spread, title=title, note=note, more=more)
    ceilings = dict(timed.groupby("row")["ceiling"].max()) if rates else {}
    return replace(chart, rows=tuple(replace(row, ceiling=ceilings.get(row.key, row.ceiling)) for row in chart.rows))


def _in_unit(timed: pd.DataFrame, unit: Unit) -> pd.DataFrame:
    """Cells with a time, their numbers in the unit. The interval of a rate is that of its time, turned round."""
    values = timed[TIME].set_axis(["value", "low", "high"], axis=1) / unit.size
    if unit.counted:
        rates = timed[TIME].rdiv(timed["amount"] / unit.size, axis=0)
        values = rates.set_axis(["value", "high", "low"], axis=1)
    each = [
        tuple(unit.value(second, amount) or 0.0 for second in seconds)
        for seconds, amount in zip(timed["each"], timed["amount"], strict=True)
    ]
    return timed.assign(**values, rounds=pd.Series(each, timed.index, dtype=object))


def _chart(
    outcome: Outcome, colors: Colors, ours: pd.DataFrame, theirs: pd.DataFrame, spread: pd.DataFrame, **facts: Any
) -> Chart:
    """The paper's rows in grey and then ours, which have a `value` each, in the order of the cases."""
    rows, cells, drawn = [], outcome.cells, _rows_drawn(outcome)
    if left_out := theirs.loc[~theirs["row"].isin(drawn), "row"].nunique():
        theirs = theirs[theirs["row"].isin(drawn)]
        facts["note"] += f" Of the paper's {left_out + len(drawn)} rows the fastest of each year."
    if batches := batches_of(outcome):
        facts["note"] += f" From above: batches of {join_words([str(batch) for batch in sorted({*batches.values()})])}."
    theirs_drawn = (row for row in outcome.paper.rows if row.name in drawn)
    for row, marker in zip(theirs_drawn, cycle(THEIR_MARKERS), strict=False):
        look = Look(THEIRS, marker, dashes=DASHED if row.beside[0] == ONE_CORE else SOLID)
        rows.append(Row(f"{PAPER} {row.name}", f"{label_row(outcome.paper, row)}, {row.year}", look))
    labels, looks = dict(zip(cells["row"], cells["label"], strict=True)), _looks(outcome, colors, ours)
    rows += [Row(key, labels[key], looks[key]) for key in dict.fromkeys(ours["row"])]
    theirs = theirs.assign(row=f"{PAPER} " + theirs["row"], program="")
    points = pd.concat([theirs, ours.assign(program=ours["algorithm"])], ignore_index=True)
    points = points.reindex(columns=POINT).astype({"value": float, "low": float, "high": float})
    points["rounds"] = points["rounds"].map(lambda each: each if isinstance(each, tuple) else ())
    order = {row.key: place for place, row in enumerate(rows)}
    points = points.sort_values("row", key=lambda keys: keys.map(order), kind="stable", ignore_index=True)
    there, known = set(points["row"]), {*points["case"], *spread["case"]}
    cases = tuple(case for case in (*outcome.cases, outcome.experiment.total or "") if case in known)
    return Chart(
        cases=cases, rows=tuple(row for row in rows if row.key in there), points=points, spread=spread[SPREAD], **facts
    )


def _rows_drawn(outcome: Outcome) -> set[str]:
    """The published rows that a chart has room for: all, or of very many that of each year which is the fastest in most
    cases."""
    paper, table = outcome.paper, outcome.experiment.name
    found = [row for row in paper.rows if any(paper.printed(table, case, row.name) for case in outcome.cases)]
    if len(found) <= MOST_THEIRS:
        return {row.name for row in paper.rows}
    years = [[row.name for row in found if row.year == year] for year in dict.fromkeys(row.year for row in found)]
    fastest = ([paper.fastest(table, case, names) for case in outcome.cases] for names in years)
    return {Counter(row.name for row in rows if row).most_common(1)[0][0] for rows in fastest}


def _looks(outcome: Outcome, colors: Colors, shown: pd.DataFrame) -> dict[str, Look]:
    """The look of each row of a table: colour for its package, fill and dashes for its cores, shape for the rest. Where
    it tells algorithms apart, of those that are `shown` all but the ones in front are pale."""
    cells, by_algorithm = outcome.cells, bool(outcome.experiment.algorithms)
    front = rows_in_front(outcome, cells[cells["row"].isin(shown["row"])])
    looks: dict[str, Look] = {}
    markers: dict[tuple[str, ...], str] = {}
    for cell in rows_of(cells.drop_duplicates("row")):
        kind = (cell.algorithm,) if by_algorithm else (cell.package, str(cell.is_cpu), cell.precision)
        marker = markers.setdefault(kind, MARKERS[len(markers) % len(MARKERS)])
        one = cell.architecture == ONE_CORE
        dashes = DASHED if one else SOLID if cell.precision == FULL_PRECISION else DASH_DOT
        look = Look(colors[cell.package, cell.is_cpu], marker, not one, dashes)
        # Of two profiles that are alike in all of this, the second has another shape.
        free = (look, *(replace(look, marker=other) for other in MARKERS if other not in markers.values()))
        looks[cell.row] = next((other for other in free if other not in looks.values()), look)
    return {row: replace(look, pale=by_algorithm and row not in front) for row, look in looks.items()}


def _totals(outcome: Outcome, timed: pd.DataFrame) -> pd.DataFrame:
    """Like cells: the totals of a machine's rows for the table that the cells are of."""
    totals = outcome.table("totals")[["profile", *TIME]]
    found = timed.drop_duplicates("profile").drop(columns=TIME).merge(totals[totals["seconds"] > 0], on="profile")
    return found.assign(case=outcome.experiment.total or "", each=found["profile"].map(lambda _: ()))


def _their_totals(outcome: Outcome) -> pd.DataFrame:
    """The paper's total of a table, at its own rates."""
    totals = outcome.table("totals", PAPER).rename(columns={"profile": "row"})
    return totals.loc[totals["seconds"] > 0, ["row", "seconds"]].assign(case=outcome.experiment.total or "")


def _their_times(outcome: Outcome) -> pd.DataFrame:
    """Seconds of what the paper prints, and of its total at its own rates."""
    paper, name = outcome.paper, outcome.experiment.name
    # Of a rate of operations or of bytes, how many these are must be known: as they were counted here.
    amounts = {}
    for cell in rows_of(outcome.results.table("cells", paper=paper.name, experiment=name)):
        if cell.flops or cell.traffic_bytes:
            width = number_bytes(cell.precision) / number_bytes(FULL_PRECISION)
            amounts[cell.case] = (cell.flops, cell.traffic_bytes and cell.traffic_bytes / width)
    printed = [
        (row.name, case, paper.seconds(name, case, row.name, *amounts.get(case, (None, None))))
        for row in paper.rows
        for case in outcome.cases
    ]
    found = pd.concat([pd.DataFrame(printed, columns=["row", "case", "seconds"]), _their_totals(outcome)])
    found = found[found["seconds"] > 0].reset_index(drop=True).reindex(columns=["row", "case", *TIME])
    return found.assign(is_cpu=found["row"].isin(paper.cpu_rows))


def _over_spread(base: pd.Series, spread: pd.DataFrame) -> pd.DataFrame:
    """How far many machines lie apart in the `base` of each case over their seconds."""
    spread = spread[spread["case"].isin(base.index)]
    values = spread[NUMBERS].rdiv(spread["case"].map(base), axis=0)
    return spread.assign(**values.set_axis(NUMBERS[::-1], axis=1))


def _derived(outcome: Outcome, theirs: pd.DataFrame) -> str:
    """A total is printed nowhere."""
    is_there = len(theirs) and outcome.experiment.total
    return " The paper's total is worked out from its rates at other sizes." if is_there else ""


def _many(spread: pd.DataFrame, what: str) -> str:
    if spread.empty:
        return ""
    return f" Pale bars: {what} of {spread['machines'].max()} machines, range, middle half and median."


@dataclass(frozen=True)
class Speedups:
    """The speedups that a table is about: its `title`, how to read it, and the `base`, which is what lies at 1. `ours`
    are cells and totals, `theirs` the paper's rows; both have a `value`, `low` and `high`."""

    title: str
    note: str
    base: str
    ours: pd.DataFrame
    theirs: pd.DataFrame
    spread: pd.DataFrame


def choose_speedups(outcome: Outcome) -> Speedups:
    """Those that say what a table is about: the accelerator over the CPU, theirs and ours, or the nearest to it.

    On a machine without an accelerator its rows stand over the paper's accelerator; where the paper prints nothing of
    one, all cores over one; and of a table about more cores, or replicas, each case over its first. A table with a
    total has one more case, named as the total is. None of ours where the machine measured nothing.
    """
    timed, theirs = outcome.cells[outcome.cells["seconds"] > 0], _their_times(outcome)
    claims = (claim for claim in outcome.paper.claims if claim.experiment == outcome.experiment.name)
    if first := next((claim.over_case for claim in claims if claim.over_case), ""):
        bases = {cell.row: cell for cell in rows_of(timed) if cell.case == first}
        pairs = [(bases[cell.row], cell) for cell in rows_of(timed) if cell.case != first and cell.row in bases]
        note = f"How many times as fast as {first}, on the same row of {outcome.machine}."
        return _compared(outcome, pairs, f"over {first}", note, first)
    if not timed["is_cpu"].all():
        return _gpu_over_cpu(outcome, timed, theirs)
    if not theirs["is_cpu"].all():
        return _over_their_device(outcome, timed, theirs)
    alike = attrgetter("case", "algorithm", "package", "precision")
    ones = {alike(cell): cell for cell in rows_of(timed) if cell.architecture == ONE_CORE}
    several = rows_of(timed[timed["architecture"] == "multi-cpu"])
    pairs = [(ones[alike(cell)], cell) for cell in several if alike(cell) in ones]
    note = f"How many times as fast all cores of {outcome.machine} are as one, with the same package."
    return _compared(outcome, pairs, "what all cores bring", note, "one core")


def _compared(outcome: Outcome, pairs: Iterable[tuple[Any, Any]], title: str, note: str, base: str) -> Speedups:
    """Each second cell of the pairs, with how many times as fast it is as the first."""
    samples = Samples(outcome.results.table("rounds", outcome.machine, outcome.paper.name))
    rows = []
    for one, cell in pairs:
        ratio = samples.ratio(one, cell)[0].times(times_the_work(one, cell))
        rows.append(cell._asdict() | {"value": ratio.value, "low": ratio.low, "high": ratio.high})
    ours = pd.DataFrame(rows, columns=[*outcome.cells, "value", "low", "high"])
    return Speedups(title, note, base, ours, pd.DataFrame(columns=POINT), pd.DataFrame(columns=SPREAD))


def _over(base: pd.Series, rows: pd.DataFrame) -> pd.DataFrame:
    """How many times as fast rows are as the `base`, seconds by case, in the cases that it has."""
    rows = rows[rows["case"].isin(base.index)]
    values = rows[TIME].rdiv(rows["case"].map(base).astype(float), axis=0)
    return rows.assign(**values.set_axis(["value", "high", "low"], axis=1))


def _gpu_over_cpu(outcome: Outcome, timed: pd.DataFrame, theirs: pd.DataFrame) -> Speedups:
    """Of cases as speedups.csv has them; of a total over the fastest CPU row's, without an interval."""
    keys = ["case", "algorithm", "profile"]
    three = {"speedup": "value", "speedup_low": "low", "speedup_high": "high"}
    known = outcome.table("speedups").rename(columns=three)[[*keys, *three.values()]]
    ours = timed[~timed["is_cpu"]].merge(known[known["value"].notna()], on=keys)
    totals = _totals(outcome, timed)
    bases = totals[totals["is_cpu"] & (totals["precision"] == FULL_PRECISION)].groupby("case")["seconds"].min()
    totals = _over(bases, totals[~totals["is_cpu"]]).assign(low=None, high=None)
    over = _over(theirs[theirs["is_cpu"]].groupby("case")["seconds"].min(), theirs[~theirs["is_cpu"]])
    spread, where = outcome.spread("speedup"), ", and in the paper (grey)" * bool(len(over))
    note = f"How many times as fast a GPU is as the fastest CPU row: on {outcome.machine}{where}."
    note += _derived(outcome, over) + _many(spread, "GPUs")
    return Speedups("GPU over CPU", note, "fastest CPU row", pd.concat([ours, totals]), over, spread)


def _over_their_device(outcome: Outcome, timed: pd.DataFrame, theirs: pd.DataFrame) -> Speedups:
    device = outcome.paper.row(_fastest(theirs[~theirs["is_cpu"]]))
    base = theirs[theirs["row"] == device.name].set_index("case")["seconds"]
    ours = _over(base, pd.concat([timed, _totals(outcome, timed)]))
    others = _over(base, theirs[theirs["row"] != device.name])
    spread = _over_spread(base, outcome.spread("seconds"))
    label = label_row(outcome.paper, device)
    what = f"{label}, a {device.hardware.label}" if device.hardware else label
    note = f"How many times as fast as the paper's {what}: {outcome.machine}, and the paper's other rows (grey)."
    note += _derived(outcome, theirs) + _many(spread, "the fastest row")
    title = f"{outcome.machine} over the paper's {label}"
    return Speedups(title, note, f"{label}, {device.year}", ours, others, spread)


def chart_speedup(outcome: Outcome, colors: Colors) -> Chart:
    """The speedups that one table is about, on one machine."""
    found = choose_speedups(outcome)
    return _chart(
        outcome, colors, found.ours, found.theirs, found.spread, title=f"{outcome.experiment.title}: {found.title}",
        note=found.note, suffix="x", base=(1.0, found.base), why_empty="nothing to compare yet",
    )  # fmt: skip
