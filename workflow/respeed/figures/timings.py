"""What the two figures of a table show on one machine: seconds or rates, and the speedups that it is about."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from operator import attrgetter
from typing import Any

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.labels import PAPER, label_row, words_of_unit
from respeed.analysis.speedups import Samples
from respeed.figures.charts import ONE_CORE, POINT, SPREAD, Chart, Row
from respeed.figures.labels import DASH_DOT, DASHED, SOLID, Look
from respeed.figures.results import Results
from respeed.figures.style import COLORS, MARKERS, THEIRS
from respeed.model.paper import SECONDS, UNITS, Experiment, Paper, PublishedRow, Unit
from respeed.model.precision import number_bytes

THEIR_MARKERS = ("x", "+", "*", "1")
# Two cases nearer than this factor would lie on one another.
APART = 1.15
NUMBERS = ["lowest", "lower_quartile", "median", "upper_quartile", "highest"]
Colors = Mapping[tuple[str, bool], str]


def color_packages(cells: pd.DataFrame) -> dict[tuple[str, bool], str]:
    """A colour for each package on the CPU, and one for it on an accelerator: the same in all figures."""
    packages = dict.fromkeys(zip(cells["package"], cells["is_cpu"], strict=True))
    return {package: COLORS[place % len(COLORS)] for place, package in enumerate(packages)}


def place_cases(experiment: Experiment, cells: pd.DataFrame, smoke: bool) -> tuple[dict[str, float], bool]:
    """Where each case lies along the logarithmic axis, and whether lines may join them.

    At its arithmetic work; where that is not known (sparsities, which are ordered) or hardly tells two cases apart
    (which are not), one after another at equal distances.
    """
    cases = experiment.case_names(smoke)
    work = {cell.case: cell.flops for cell in rows_of(cells) if cell.flops}
    if all(case in work for case in cases):
        placed = {case: work[case] for case in sorted(cases, key=lambda case: work[case])}
        if all(right > APART * left for left, right in pairwise(placed.values())):
            return placed, True
    # Those of one program at several sizes have an order, those of other networks or directions have none.
    kinds: dict[str, set[tuple[str, ...]]] = {}
    for case in experiment.smoke_cases if smoke else experiment.cases:
        texts = (str(value) for value in case.parameters.values() if isinstance(value, str))
        kinds.setdefault(case.name, set()).add((case.workload, *texts))
    alike = len({frozenset(kind) for kind in kinds.values()}) == 1
    return {case: 2.0**position for position, case in enumerate(cases)}, not work and alike


def rows_in_front(cells: pd.DataFrame, experiment: Experiment) -> set[str]:
    """Of one machine, and of each algorithm that its table tells apart, the CPU row and the accelerator's that are
    fastest in most cases, in fp32."""
    by = ["algorithm", "is_cpu"] if experiment.algorithms else ["is_cpu"]
    full = cells[(cells["precision"] == FULL_PRECISION) & (cells["seconds"] > 0)]
    won = full.loc[full.groupby([*by, "case"], sort=False)["seconds"].idxmin()]
    return {Counter(rows).most_common(1)[0][0] for _, rows in won.groupby(by, sort=False)["row"]}


def chart_seconds(results: Results, paper: Paper, experiment: Experiment, machine: str, colors: Colors) -> Chart:
    """One table on one machine, in the unit of the paper's; rates where its seconds are of single steps, whose sizes
    nobody compares. Each round is a faint point."""
    cells = results.cells(paper.name, experiment, machine)
    rates = experiment.unit == SECONDS and not experiment.is_extrapolated and not paper.prints(experiment.name)
    unit = UNITS["GFLOP/s"] if rates else experiment.unit
    timed = cells.assign(amount=cells["flops"] if rates else cells["amount"])[cells["seconds"] > 0]
    ours = _in_unit(timed[timed["amount"] > 0] if unit.counted else timed, unit)
    theirs, spread = {}, pd.DataFrame(columns=SPREAD)
    if not rates:
        theirs = {
            (row.name, case): printed.value
            for row in paper.rows
            for case in experiment.case_names(results.smoke)
            if (printed := paper.printed(experiment.name, case, row.name))
        }
        spread = results.spread("seconds", paper.name, experiment.name)
        amounts = dict(zip(timed["case"], timed["amount"], strict=True))
        spread = spread[spread["case"].isin(amounts)] if unit.counted else spread
        spread = _change(spread, lambda case, seconds: unit.value(seconds, amounts.get(case)) or 0.0)
    if not unit.counted:  # the amount of work of a total is that of no single case: it is a time, or has no place here
        ours = pd.concat([ours, _in_unit(_totals(results, experiment, timed), unit)])
        theirs |= {place: seconds / unit.size for place, seconds in _their_totals(results, paper, experiment).items()}
    rows, points = _rows(paper, experiment, cells, cells, colors, theirs, ours)
    cases = [*experiment.case_names(results.smoke), experiment.total or ""]
    known = {*points["case"], *spread["case"]}
    title = f"{experiment.title}: {'rates' if rates else unit.name}"
    more = ", GFLOP/s" if rates else words_of_unit(experiment).removeprefix(unit.name)
    note = f"GFLOP/s on {machine}. Thin lines: the highest rate of any bare product on the same row."
    if not rates:
        what = words_of_unit(experiment)
        note = f"{what[0].upper()}{what[1:]} on {machine}{', and in the paper (grey)' if theirs else ''}."
        note += _derived(experiment, bool(theirs)) + _many(spread, "the fastest row")
    ceilings = dict(timed.groupby("row")["ceiling"].max()) if rates else {}
    rows = tuple(replace(row, ceiling=ceilings.get(row.key, row.ceiling)) for row in rows)
    return Chart(title, note, tuple(case for case in cases if case in known), rows, points, more, spread=spread)


def _in_unit(timed: pd.DataFrame, unit: Unit) -> pd.DataFrame:
    """Points of cells with a time. The interval of a rate is that of its time, turned round."""
    factor = 1 / unit.size if unit.counted is None else timed["amount"] / unit.size
    ends = ("low", "high") if unit.counted is None else ("high", "low")
    seconds = timed[["seconds", "seconds_low", "seconds_high"]].set_axis(["value", *ends], axis=1)
    values = (seconds if unit.counted is None else 1 / seconds).mul(factor, axis=0)
    each = [
        tuple(unit.value(second, amount) or 0.0 for second in seconds)
        for seconds, amount in zip(timed["each"], timed["amount"], strict=True)
    ]
    points = timed[["row", "case"]].join(values).assign(program=timed["algorithm"])
    points["rounds"] = pd.Series(each, points.index, dtype=object)
    return points[POINT]


def _rows(
    paper: Paper, experiment: Experiment, cells: pd.DataFrame, shown: pd.DataFrame, colors: Colors,
    theirs: Mapping[tuple[str, str], float], ours: pd.DataFrame,
) -> tuple[tuple[Row, ...], pd.DataFrame]:  # fmt: skip
    """The paper's rows in grey and then ours, and the points of all; `shown` are the cells of the rows to look at."""
    rows = []
    for row, marker in zip(paper.rows, cycle(THEIR_MARKERS), strict=False):
        look = Look(THEIRS, marker, dashes=DASHED if row.beside[0] == ONE_CORE else SOLID)
        rows.append(Row(f"{PAPER} {row.name}", f"{label_row(paper, row)}, {row.year}", look))
    printed = [(f"{PAPER} {row}", case, value, None, None, "", ()) for (row, case), value in theirs.items()]
    front = rows_in_front(shown, experiment) if experiment.algorithms else None
    labels = dict(zip(cells["row"], cells["label"], strict=True))
    looks = _looks(cells, colors, front, by_algorithm=bool(experiment.algorithms))
    rows += [Row(key, labels[key], looks[key]) for key in dict.fromkeys(ours["row"])]
    points = pd.concat([pd.DataFrame(printed, columns=POINT), ours], ignore_index=True)
    points = points.astype({"value": float, "low": float, "high": float})
    order = {row.key: place for place, row in enumerate(rows)}
    points = points.sort_values("row", key=lambda keys: keys.map(order), kind="stable", ignore_index=True)
    there = set(points["row"])
    return tuple(row for row in rows if row.key in there), points


def _looks(cells: pd.DataFrame, colors: Colors, front: set[str] | None, *, by_algorithm: bool) -> dict[str, Look]:
    """The look of each row of one table: colour for its package, fill and dashes for its cores, shape for the rest.
    With `front`, all other rows are pale."""
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
    return {row: replace(look, pale=front is not None and row not in front) for row, look in looks.items()}


def _totals(results: Results, experiment: Experiment, timed: pd.DataFrame) -> pd.DataFrame:
    """Like cells: the totals of a machine's rows for the table that the cells are of."""
    first = timed.drop_duplicates("profile").drop(columns=["seconds", "seconds_low", "seconds_high"])
    keys = ["machine", "paper", "experiment", "profile"]
    totals = results.table("totals")[[*keys, "seconds", "seconds_low", "seconds_high"]]
    found = first.merge(totals[totals["seconds"] > 0], on=keys)
    return found.assign(case=experiment.total or "", each=found["profile"].map(lambda _: ()))


def _their_totals(results: Results, paper: Paper, experiment: Experiment) -> dict[tuple[str, str], float]:
    """The paper's total of a table, at its own rates, in seconds, by row and case."""
    totals = rows_of(results.table("totals", PAPER, paper.name, experiment.name))
    return {(row.profile, experiment.total or ""): row.seconds for row in totals if row.seconds}


def _change(spread: pd.DataFrame, change: Any) -> pd.DataFrame:
    """The same spread of another quantity, which `change` makes of a case's numbers: it only rises, or only falls."""
    rows = [[row.case, row.machines, *sorted(change(row.case, getattr(row, name)) for name in NUMBERS)]
            for row in rows_of(spread)]  # fmt: skip
    return pd.DataFrame(rows, columns=SPREAD)


def _derived(experiment: Experiment, theirs: bool) -> str:
    """A total is printed nowhere."""
    return " The paper's total is worked out from its rates at other sizes." if theirs and experiment.total else ""


def _many(spread: pd.DataFrame, what: str) -> str:
    machines = spread["machines"].max() if len(spread) else 0
    return f" Pale bars: {what} of {machines} machines, range, middle half and median." if machines else ""


@dataclass(frozen=True)
class Speedups:
    """`ours` are cells and totals with a `value`, `low` and `high`; `theirs` numbers of the paper by row and case.
    `device` is the paper's accelerator where that is the base, `first` the case that the others stand over where these
    are numbers of cores, say."""

    kind: str
    ours: pd.DataFrame
    theirs: dict[tuple[str, str], float]
    spread: pd.DataFrame
    device: PublishedRow | None = None
    first: str = ""


DEVICE_OVER_CPU = "device over CPU"
OVER_THEIR_DEVICE = "over their device"
ALL_CORES_OVER_ONE = "all cores over one"
CASE_OVER_FIRST = "case over first"


def choose_speedups(results: Results, paper: Paper, experiment: Experiment, cells: pd.DataFrame) -> Speedups:
    """Those that say what a table is about: the accelerator over the CPU, theirs and ours, or the nearest to it.

    On a machine without an accelerator its rows stand over the paper's accelerator; where the paper prints nothing of
    one, all cores over one; and of a table about more cores, or replicas, each case over its first. A table with a
    total has one more case, named as the total is. None of ours where the machine measured nothing.
    """
    timed = cells[cells["seconds"] > 0]
    ours = pd.concat([timed, _totals(results, experiment, timed)], ignore_index=True)
    theirs = _their_seconds(results, paper, experiment)
    none = pd.DataFrame(columns=SPREAD)
    claims = (claim for claim in paper.claims if claim.experiment == experiment.name)
    first = next((claim.over_case for claim in claims if claim.over_case), "")
    if first:
        bases = {cell.row: cell for cell in rows_of(timed) if cell.case == first}
        pairs = [(bases[cell.row], cell) for cell in rows_of(timed) if cell.case != first and cell.row in bases]
        return Speedups(CASE_OVER_FIRST, _compared(results, timed, pairs), {}, none, first=first)
    if not timed["is_cpu"].all():
        spread = results.spread("speedup", paper.name, experiment.name)[SPREAD]
        return Speedups(DEVICE_OVER_CPU, _over_cpu(results, ours), _theirs_over_cpu(paper, theirs), spread)
    device = _fastest_device(paper, theirs)
    if device:
        there = {case: seconds for (row, case), seconds in theirs.items() if row == device.name}
        over = ours[ours["case"].isin(there)]
        base = over["case"].map(there).astype(float)
        ends = {"value": "seconds", "low": "seconds_high", "high": "seconds_low"}
        over = over.assign(**{name: base / over[seconds] for name, seconds in ends.items()})
        others = {place: there[place[1]] / seconds for place, seconds in theirs.items()
                  if place[0] != device.name and place[1] in there}  # fmt: skip
        spread = results.spread("seconds", paper.name, experiment.name)
        spread = _change(spread[spread["case"].isin(there)], lambda case, seconds: there[case] / seconds)
        return Speedups(OVER_THEIR_DEVICE, over, others, spread, device)
    alike = attrgetter("case", "algorithm", "package", "precision")
    ones = {alike(cell): cell for cell in rows_of(timed) if cell.architecture == ONE_CORE}
    several = rows_of(timed[timed["architecture"] == "multi-cpu"])
    pairs = [(ones[alike(cell)], cell) for cell in several if alike(cell) in ones]
    return Speedups(ALL_CORES_OVER_ONE, _compared(results, timed, pairs), {}, none)


def _compared(results: Results, timed: pd.DataFrame, pairs: Iterable[tuple[Any, Any]]) -> pd.DataFrame:
    """Each second cell of the pairs, with how many times as fast it is as the first."""
    rounds = results.table("rounds")
    here = rounds["machine"].isin(timed["machine"]) & rounds["paper"].isin(timed["paper"])
    samples, rows = Samples(rounds[here]), []
    for base, cell in pairs:
        ratio, _ = samples.ratio(base, cell)
        rows.append(cell._asdict() | {"value": ratio.value, "low": ratio.low, "high": ratio.high})
    return pd.DataFrame(rows, columns=[*timed, "value", "low", "high"])


def _over_cpu(results: Results, ours: pd.DataFrame) -> pd.DataFrame:
    """Of cases as speedups.csv has them; of a total over the fastest CPU row's, without an interval."""
    keys = ["machine", "paper", "experiment", "case", "algorithm", "profile"]
    three = {"speedup": "value", "speedup_low": "low", "speedup_high": "high"}
    found = ours[~ours["is_cpu"]].merge(results.table("speedups")[[*keys, *three]].rename(columns=three), "left", keys)
    bases = ours[ours["is_cpu"] & (ours["precision"] == FULL_PRECISION)].groupby("case")["seconds"].min()
    known = results.table("speedups")["case"]
    total = ~found["case"].isin(known)
    found["value"] = found["value"].where(~total, found["case"].map(bases) / found["seconds"])
    return found[found["value"].notna()]


def _their_seconds(results: Results, paper: Paper, experiment: Experiment) -> dict[tuple[str, str], float]:
    """What the paper prints, and its total at its own rates."""
    # Of a rate of operations or of bytes, how many these are must be known: as they were counted here.
    cells = results.table("cells", paper=paper.name, experiment=experiment.name)
    amounts = {}
    for cell in rows_of(cells):
        if cell.flops or cell.traffic_bytes:
            width = number_bytes(cell.precision) / number_bytes(FULL_PRECISION)
            amounts[cell.case] = (cell.flops, cell.traffic_bytes and cell.traffic_bytes / width)
    printed = {
        (row.name, case): paper.seconds(experiment.name, case, row.name, *amounts.get(case, (None, None)))
        for row in paper.rows
        for case in experiment.case_names(results.smoke)
    }
    found = printed | _their_totals(results, paper, experiment)
    return {place: seconds for place, seconds in found.items() if seconds}


def _fastest_device(paper: Paper, seconds: Mapping[tuple[str, str], float]) -> PublishedRow | None:
    """The paper's accelerator that is fastest in most cases."""
    fastest: dict[str, tuple[float, str]] = {}
    for (row, case), value in seconds.items():
        if row in paper.device_rows:
            fastest[case] = min((value, row), fastest.get(case, (value, row)))
    won = Counter(row for _, row in fastest.values()).most_common(1)
    return paper.row(won[0][0]) if won else None


def _theirs_over_cpu(paper: Paper, seconds: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    fastest: dict[str, float] = {}
    for (row, case), value in seconds.items():
        if row in paper.cpu_rows:
            fastest[case] = min(value, fastest.get(case, value))
    return {(row, case): fastest[case] / value for (row, case), value in seconds.items()
            if row in paper.device_rows and case in fastest}  # fmt: skip


def chart_speedup(results: Results, paper: Paper, experiment: Experiment, machine: str, colors: Colors) -> Chart:
    """The speedups that one table is about, on one machine."""
    cells = results.cells(paper.name, experiment, machine)
    shown = choose_speedups(results, paper, experiment, cells)
    ours = shown.ours.assign(program=shown.ours["algorithm"])
    ours["rounds"] = ours["program"].map(lambda _: ())
    rows, points = _rows(paper, experiment, cells, cells[cells["row"].isin(ours["row"])], colors, shown.theirs, ours)
    known = {*points["case"], *shown.spread["case"]}
    cases = [case for case in (*experiment.case_names(results.smoke), experiment.total or "") if case in known]
    title, note, base = _words_of_speedup(paper, experiment, machine, shown)
    return Chart(
        title, note, tuple(cases), rows, points, suffix="x", base=(1.0, base), spread=shown.spread,
        why_empty="nothing to compare yet",
    )  # fmt: skip


def _words_of_speedup(paper: Paper, experiment: Experiment, machine: str, shown: Speedups) -> tuple[str, str, str]:
    """Title, how to read it, and what lies at 1."""
    if shown.kind == ALL_CORES_OVER_ONE:
        note = f"How many times as fast all cores of {machine} are as one, with the same package."
        return f"{experiment.title}: what all cores bring", note, "one core"
    if shown.kind == CASE_OVER_FIRST:
        note = f"How many times as fast as {shown.first}, on the same row of {machine}."
        return f"{experiment.title}: over {shown.first}", note, shown.first
    if shown.device:
        device = label_row(paper, shown.device)
        what = f"{device}, a {shown.device.hardware.label}" if shown.device.hardware else device
        note = f"How many times as fast as the paper's {what}: {machine}, and the paper's other rows (grey)."
        note += _derived(experiment, True) + _many(shown.spread, "the fastest row")
        return f"{experiment.title}: {machine} over the paper's {device}", note, f"{device}, {shown.device.year}"
    where = f"on {machine}, and in the paper (grey)" if shown.theirs else f"on {machine}"
    note = f"How many times as fast a GPU is as the fastest CPU row: {where}."
    note += _derived(experiment, bool(shown.theirs)) + _many(shown.spread, "GPUs")
    return f"{experiment.title}: GPU over CPU", note, "fastest CPU row"
