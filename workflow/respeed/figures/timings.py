"""What the figure of a table shows on one machine: how many times as fast each row is as one base."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle, pairwise

import pandas as pd

from respeed.analysis.cells import PAPER, label_row
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FULL_PRECISION, Estimate
from respeed.analysis.speedups import Samples, times_the_work
from respeed.figures.charts import POINT, Chart, Row
from respeed.figures.results import Outcome
from respeed.figures.style import COLORS, MARKERS, THEIRS, Look
from respeed.model.paper import PublishedRow, number_bytes

ONE_CORE = "single-cpu"
THEIR_MARKERS = ("x", "+", "*", "1", "d", "2", "p", "3", "<", "4", ">", "H")
# More of the paper's rows than these would hide ours.
MOST_THEIRS = 12
# Two cases nearer than this factor have no order that a line could show.
APART = 1.15
TIME = ["seconds", "seconds_low", "seconds_high"]
Colors = Mapping[tuple[str, bool], str]


def color_packages(cells: pd.DataFrame) -> dict[tuple[str, bool], str]:
    """Return a colour for each package on the CPU, and one for it on an accelerator: the same in all figures."""
    packages = dict.fromkeys(zip(cells["package"], cells["is_cpu"], strict=True))
    return {package: COLORS[place % len(COLORS)] for place, package in enumerate(packages)}


def order_cases(outcome: Outcome) -> tuple[tuple[str, ...], bool]:
    """Return the cases in the order of an axis, and whether lines may join them.

    They stand by their arithmetic work, and are joined if no two of them are nearly alike; where the work is not known
    (sparsities), as the paper has them, joined if they are one program at several sizes. Nets that stand there with
    several batches come batch by batch, and no line joins them.
    """
    experiment, cases = outcome.experiment, outcome.cases
    work = {cell.case: cell.flops for cell in rows_of(outcome.cells) if cell.flops}
    known = [experiment.case(name) for name in cases]
    nets = {(case.workload, *sorted(map(str, {**case.parameters, "batch": 0}.items()))) for case in known}
    if len(nets) < len(known):
        batches = {case.name: case.parameters.get("batch", 0) for case in known}
        return tuple(sorted(cases, key=lambda case: (batches[case], work.get(case, 0.0)))), False
    if work.keys() >= set(cases):
        ordered = tuple(sorted(cases, key=lambda case: work[case]))
        return ordered, all(work[right] > APART * work[left] for left, right in pairwise(ordered))
    kinds: dict[str, set[tuple[str, ...]]] = {}
    for case in experiment.smoke_cases if outcome.results.smoke else experiment.cases:
        texts = (str(value) for value in case.parameters.values() if isinstance(value, str))
        kinds.setdefault(case.name, set()).add((case.workload, *texts))
    return cases, not work and len({frozenset(kind) for kind in kinds.values()}) == 1


def chart_speedup(outcome: Outcome, colors: Colors) -> Chart:
    """Return how many times as fast each row is as one base.

    That is the paper's fastest CPU row, or of a table that prints none its fastest row; where the paper prints nothing,
    the fastest row of one core of this machine, or in a table about cores or replicas each row's own first case.
    """
    cells, theirs = outcome.cells[outcome.cells["seconds"] > 0], _theirs(outcome)
    if outcome.experiment.algorithms:
        cells = cells[cells["row"].isin(_rows_in_front(cells))]
    if theirs.empty:
        points, base = _over_own(outcome, cells)
    else:
        points, base = _over_theirs(outcome, pd.concat([theirs, cells, _totals(outcome, cells)], ignore_index=True))
    drawn, printed = _their_rows(outcome), theirs["row"].nunique()
    rows = []
    for row, marker in zip(drawn, cycle(THEIR_MARKERS), strict=False):
        look = Look(THEIRS, marker, line="--" if row.beside[0] == ONE_CORE else "-")
        rows.append(Row(f"{PAPER} {row.name}", f"{label_row(outcome.paper, row)}, {row.year}", look))
    labels = dict(zip(cells["row"], cells["label"], strict=True))
    rows += [Row(key, labels[key], look) for key, look in _looks(outcome, colors, cells).items()]
    cases, is_ordered = order_cases(outcome)
    cases += (outcome.experiment.total,) if outcome.experiment.total else ()
    note = [
        f"How many times as fast as {base}{', the paper in grey' * bool(printed)}. Bars: 95 % intervals.",
        "Of each algorithm the rows that are fastest in most cases." * bool(outcome.experiment.algorithms),
        f"Of the paper's {printed} rows the fastest of each year." * (len(drawn) < printed),
    ]
    points = points[points["row"].isin({row.key for row in rows}) & (points["value"] > 0)]
    there = set(points["row"])
    return Chart(
        title=f"{outcome.experiment.title} on {outcome.machine}",
        note=" ".join(filter(None, note)),
        cases=tuple(case for case in cases if case in set(points["case"])),
        rows=tuple(row for row in rows if row.key in there),
        points=points[POINT].astype({"value": float, "low": float, "high": float}),
        is_ordered=is_ordered,
        suffix="x",
        base=base,
        why_empty="nothing to compare yet",
    )


def _over_theirs(outcome: Outcome, every: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return all rows over the paper's fastest, which is known exactly, and what that is called."""
    cpu = every["row"].isin({f"{PAPER} {name}" for name in outcome.paper.cpu_rows})
    over = every[cpu] if cpu.any() else every[every["row"].str.startswith(f"{PAPER} ")]
    base = every["case"].map(over.groupby("case")["seconds"].min())
    values = every[TIME].astype(float).rdiv(base, axis=0).set_axis(["value", "high", "low"], axis=1)
    return every.assign(**values), "the paper's fastest CPU row" if cpu.any() else "the paper's fastest row"


def _over_own(outcome: Outcome, cells: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return each cell over the row of one core that is fastest in its case, or over the same row's first case, where a
    claim of the table is about that; and what the base is called."""
    samples = Samples(outcome.results.table("rounds", outcome.machine, outcome.paper.name))
    claims = (claim for claim in outcome.paper.claims if claim.experiment == outcome.experiment.name)
    first = next((claim.over_case for claim in claims if claim.over_case), "")
    if first:
        bases = {cell.row: cell for cell in rows_of(cells[cells["case"] == first])}
    else:
        one = cells[(cells["architecture"] == ONE_CORE) & (cells["precision"] == FULL_PRECISION)]
        bases = {cell.case: cell for cell in rows_of(one.loc[one.groupby("case")["seconds"].idxmin()])}
    found = []
    for cell in rows_of(cells):
        if base := bases.get(cell.row if first else cell.case):
            ratio = Estimate(1.0) if cell == base else samples.ratio(base, cell)[0].times(times_the_work(base, cell))
            found.append((cell.row, cell.case, ratio.value, ratio.low, ratio.high))
    return pd.DataFrame(found, columns=POINT), first or "the fastest row of one core"


def _rows_in_front(cells: pd.DataFrame) -> set[str]:
    """Return of each algorithm the CPU row and the accelerator's that are fastest in most cases, in fp32."""
    full = cells[cells["precision"] == FULL_PRECISION]
    best = full.loc[full.groupby(["algorithm", "is_cpu", "case"], sort=False)["seconds"].idxmin()]
    return {Counter(mine["row"]).most_common(1)[0][0] for _, mine in best.groupby(["algorithm", "is_cpu"], sort=False)}


def _theirs(outcome: Outcome) -> pd.DataFrame:
    """Return the seconds of what the paper prints, and of its total at its own rates."""
    paper, name = outcome.paper, outcome.experiment.name
    # Of a rate of operations or of bytes, how many these are must be known: as they were counted here.
    amounts = {}
    for cell in rows_of(outcome.results.table("cells", paper=paper.name, experiment=name)):
        if cell.flops or cell.traffic_bytes:
            width = number_bytes(cell.precision) / number_bytes(FULL_PRECISION)
            amounts[cell.case] = (cell.flops, cell.traffic_bytes and cell.traffic_bytes / width)
    printed = [
        (f"{PAPER} {row.name}", case, paper.seconds(name, case, row.name, *amounts.get(case, (None, None))))
        for row in paper.rows
        for case in outcome.cases
    ]
    totals = outcome.table("totals", PAPER)
    totals = totals.assign(row=f"{PAPER} " + totals["profile"])[["row", "seconds"]]
    found = pd.DataFrame(printed, columns=["row", "case", "seconds"]).astype({"seconds": float})
    found = pd.concat([found, totals.assign(case=outcome.experiment.total or "")], ignore_index=True)
    return found[found["seconds"] > 0]


def _totals(outcome: Outcome, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the totals of the machine's rows as one more case, in the columns of cells."""
    totals = outcome.table("totals")[["profile", *TIME]]
    found = cells.drop_duplicates("profile").drop(columns=TIME).merge(totals[totals["seconds"] > 0], on="profile")
    return found.assign(case=outcome.experiment.total or "")


def _their_rows(outcome: Outcome) -> list[PublishedRow]:
    """Return the published rows that a chart has room for: all, or of very many that of each year which is the fastest
    in most cases."""
    paper, table = outcome.paper, outcome.experiment.name
    found = [row for row in paper.rows if any(paper.printed(table, case, row.name) for case in outcome.cases)]
    if len(found) <= MOST_THEIRS:
        return list(paper.rows)
    years = [[row.name for row in found if row.year == year] for year in dict.fromkeys(row.year for row in found)]
    fastest = ([paper.fastest(table, case, names) for case in outcome.cases] for names in years)
    return [paper.row(Counter(row.name for row in rows if row).most_common(1)[0][0]) for rows in fastest]


def _looks(outcome: Outcome, colors: Colors, cells: pd.DataFrame) -> dict[str, Look]:
    """Return the look of each row: colour for its package, fill and dashes for its cores, shape for the rest."""
    looks: dict[str, Look] = {}
    markers: dict[tuple[str, ...], str] = {}
    for cell in rows_of(cells.drop_duplicates("row")):
        is_one = cell.architecture == ONE_CORE
        kind = (cell.algorithm,) if outcome.experiment.algorithms else (cell.package, str(cell.is_cpu), cell.precision)
        marker = markers.setdefault(kind, MARKERS[len(markers) % len(MARKERS)])
        line = "--" if is_one else "-" if cell.precision == FULL_PRECISION else "-."
        look = Look(colors[cell.package, cell.is_cpu], marker, is_one, line)
        # Of two profiles that are alike in all of this, the second has another shape.
        free = (look, *(replace(look, marker=other) for other in MARKERS if other not in markers.values()))
        looks[cell.row] = next((other for other in free if other not in looks.values()), look)
    return looks
