"""How fast each case ran, and how fast its row could have been.

    roof = min(peak, intensity * bandwidth)

with the intensity in FLOP a byte: a step's operations over the bytes that it must move if nothing stays in a cache, at
4 bytes a number, in fp64 at 8. Peak and bandwidth of our rows are measured, a bare product's and a copy's; the paper's
are those of its hardware (paper.yaml), its cases have the intensities of ours, in the precision of its rows. A case
without a FLOP count has no place here.
Source: Williams, Waterman and Patterson, Roofline, Communications of the ACM 52 (2009).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.cells import PAPER, label_row
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import FULL_PRECISION
from respeed.model.paper import Paper, number_bytes

# A roof is one row of a machine, or of the paper (machine "paper"), in the sessions that saw these ceilings.
ROOF = [
    "machine", "paper", "profile", "label", "package", "architecture", "precision", "peak_gflops", "bandwidth_gbytes",
]  # fmt: skip
POINT = [*ROOF, "experiment", "case", "intensity", "gflops"]


def make_roofline(cells: pd.DataFrame, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """The paper's cases that were measured anywhere, then every measured case of ours, where it was measured: under the
    ceilings of its own profile, the median over its rounds of what the session of each saw. One of another day would
    not do: a machine may be another one then, as far as its speed goes.
    """
    timed = cells[(cells["seconds"] > 0) & (cells["flops"] > 0) & (cells["traffic_bytes"] > 0)]
    timed = timed.assign(intensity=timed["flops"] / timed["traffic_bytes"])
    known = timed.drop_duplicates(["paper", "experiment", "case"])
    width = known["precision"].map(number_bytes) / number_bytes(FULL_PRECISION)
    known = known.assign(intensity=known["intensity"] * width)
    theirs = [_theirs(paper, known[known["paper"] == paper.name]) for paper in papers.values()]
    ours = timed[timed["measured_in"] == timed["experiment"]].dropna(subset=["peak_gflops", "bandwidth_gbytes"])
    points = pd.concat([*theirs, ours[ours["paper"].isin(papers)]], ignore_index=True)[POINT]
    points["share"] = points["gflops"] / roof_at(points, points["intensity"])
    return points


def _theirs(paper: Paper, known: pd.DataFrame) -> pd.DataFrame:
    """The paper's cases whose work is `known`, under the roofs of its rows."""
    rows = []
    for case in rows_of(known):
        for roof in rows_of(paper_roofs(paper)):
            moved = case.flops / case.intensity
            if seconds := paper.seconds(case.experiment, case.case, roof.profile, case.flops, moved):
                intensity = case.intensity * number_bytes(FULL_PRECISION) / number_bytes(roof.precision)
                where = {"experiment": case.experiment, "case": case.case, "intensity": intensity}
                rows.append(roof._asdict() | where | {"gflops": case.flops / seconds / 1e9})
    return pd.DataFrame(rows, columns=POINT)


def roof_at(roof: Any, intensity: Any) -> Any:
    """The most that a row can do at so many FLOP a byte, GFLOP/s."""
    return np.minimum(roof.peak_gflops, intensity * roof.bandwidth_gbytes)


def corners(roof: Any, left: float, right: float) -> list[tuple[float, float]]:
    """The line to draw of a roof between two intensities; it bends at the ridge, from where on memory is no limit."""
    ridge = roof.peak_gflops / roof.bandwidth_gbytes
    inner = [ridge] if left < ridge < right else []
    return [(intensity, float(roof_at(roof, intensity))) for intensity in (left, *inner, right)]


def make_history(paper: Paper, cells: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """The rates of the paper's rows by their years, and of the machines in that of their last day: of each row, or
    machine, the highest on one thread, on more, and on a device, in the precisions that the paper has of that.

    `machine` is PAPER for theirs, `kind` says in words what it is, and `leads` is true of the row that was faster than
    all of its kind before."""
    rows: list[tuple[str, str, str, int, float]] = []
    years = rounds.groupby("machine")["started"].max().str[:4].astype(int)
    for name, work in paper.history.items():
        experiment = paper.experiments[name]
        size, single = (
            experiment.unit.size,
            [one.name for one in experiment.cases if one.parameters.get("threads") == 1],
        )
        for row in paper.rows:
            for case in experiment.case_names():
                if printed := paper.printed(name, case, row.name):
                    rate = printed.value if work is None else work / (printed.value * size) / 1e9
                    kind = _kind(row.is_cpu, case in single or row.beside == ("single-cpu",), row.precision)
                    rows.append((PAPER, label_row(paper, row), kind, row.year, rate))
        known = cells["case"].isin(experiment.case_names())  # and not those of the smoke preset
        for cell in rows_of(cells[known & (cells["experiment"] == name) & (cells["seconds"] > 0)]):
            rate = (cell.amount / size if work is None else work / 1e9) / cell.seconds
            kind = _kind(cell.is_cpu, cell.case in single or cell.architecture == "single-cpu", cell.precision)
            rows.append((cell.machine, cell.machine, kind, years[cell.machine], rate))
    points = pd.DataFrame(rows, columns=["machine", "label", "kind", "year", "rate"])
    points = points.sort_values(["year", "rate"], ascending=[True, False], kind="stable", ignore_index=True)
    points = points.drop_duplicates(["machine", "label", "kind"])
    theirs = points[points["machine"] == PAPER]
    leads = theirs.loc[theirs["rate"] == theirs.groupby("kind")["rate"].cummax()].drop_duplicates(["kind", "rate"])
    return points.assign(leads=points.index.isin(leads.index))[points["kind"].isin(theirs["kind"])]


def _kind(is_cpu: bool, is_single: bool, precision: str) -> str:
    threads = "one thread" if is_single else "more threads"
    return f"{threads if is_cpu else 'accelerator'}, {precision or FULL_PRECISION}"


def paper_roofs(paper: Paper) -> pd.DataFrame:
    """Those of the rows whose hardware the paper's file knows."""
    rows = [
        (PAPER, paper.name, row.name, f"{label_row(paper, row)}, {row.year}", row.package, row.beside[0],
         row.precision or FULL_PRECISION, row.hardware.flops_per_second / 1e9, row.hardware.bytes_per_second / 1e9)
        for row in paper.rows
        if row.hardware
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=ROOF)


def hardware_roofs(paper: Paper) -> pd.DataFrame:
    """One roof for each hardware: several programs of one device have the same, which is called by the device then."""
    roofs, rows = paper_roofs(paper), [row for row in paper.rows if row.hardware]
    sharing = pd.Series([row.hardware for row in rows], dtype=object)
    names = [f"{row.hardware.label}, {row.year}" for row in rows if row.hardware]
    roofs["label"] = roofs["label"].mask(sharing.duplicated(keep=False), pd.Series(names, dtype=str))
    return roofs[~sharing.duplicated()]


def highest_roofs(points: pd.DataFrame) -> pd.DataFrame:
    """The roof to draw of each profile: of sessions that saw different ones, the highest."""
    return points.loc[points.groupby("profile", sort=False)["peak_gflops"].idxmax(), ROOF]
