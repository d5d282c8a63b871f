"""Rooflines: how fast each case ran, and how fast its row could have been: results/tables/roofline.csv.

    roof = min(peak, intensity * bandwidth)

with the intensity in FLOP a byte: a step's operations over the bytes that it must move if nothing stays in a cache, at
4 bytes a number, in fp64 at 8. Peak and bandwidth of our rows are measured, a bare product's and a copy's; the paper's
are those of its hardware (paper.yaml), its cases have the intensities of ours, in the precision of its rows. A case
without a FLOP count has no place here.
Source: Williams, Waterman and Patterson, Roofline, Communications of the ACM 52 (2009).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from respeed.analysis.labels import label_row
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import FULL_PRECISION
from respeed.model.paper import Paper
from respeed.model.precision import number_bytes
from respeed.model.published import Hardware, PublishedRow
from respeed.tables.ceilings import ceilings_of
from respeed.tables.cells import Cell
from respeed.tables.published import PAPER

COLUMNS = (
    "machine", "paper", "experiment", "case", "profile", "precision", "intensity", "gflops", "peak_gflops",
    "bandwidth_gbytes", "roof_gflops", "share",
)  # fmt: skip


@dataclass(frozen=True)
class Roof:
    """What a row of a machine, or of the paper (machine "paper"), can do at most: GFLOP/s, and Gbyte/s. `where` are the
    device and the threads that it ran on, if nothing else was said of its cores."""

    machine: str
    paper: str
    profile: str
    label: str
    package: str
    architecture: str
    precision: str
    peak_gflops: float
    bandwidth_gbytes: float
    where: tuple[str, int | None] | None = None

    @property
    def ridge(self) -> float:
        """The intensity from which on the memory is no limit, FLOP a byte."""
        return self.peak_gflops / self.bandwidth_gbytes

    def at(self, intensity: float) -> float:
        """The roof there, GFLOP/s."""
        return min(self.peak_gflops, intensity * self.bandwidth_gbytes)

    def corners(self, left: float, right: float) -> list[tuple[float, float]]:
        """The line to draw between two intensities."""
        inner = [self.ridge] if left < self.ridge < right else []
        return [(intensity, self.at(intensity)) for intensity in (left, *inner, right)]


@dataclass(frozen=True)
class Point:
    """One row of roofline.csv: a case under the roof of its row. `profile` is the paper's row where it is theirs."""

    roof: Roof
    experiment: str
    case: str
    intensity: float
    gflops: float

    @property
    def machine(self) -> str:
        return self.roof.machine

    @property
    def paper(self) -> str:
        return self.roof.paper

    @property
    def profile(self) -> str:
        return self.roof.profile

    @property
    def precision(self) -> str:
        return self.roof.precision

    @property
    def peak_gflops(self) -> float:
        return self.roof.peak_gflops

    @property
    def bandwidth_gbytes(self) -> float:
        return self.roof.bandwidth_gbytes

    @property
    def roof_gflops(self) -> float:
        return self.roof.at(self.intensity)

    @property
    def share(self) -> float:
        """Of the roof."""
        return self.gflops / self.roof_gflops


def make_roofline(cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper]) -> list[Point]:
    """The paper's cases that were measured anywhere, then every measured case of ours, where it was measured."""
    ours, known = [], dict[tuple[str, str, str], tuple[float, float]]()
    for cell in cells:
        found = rounds.get(cell.key)
        if not (cell.seconds and cell.gflops and cell.work and found and found.flops and found.traffic_bytes):
            continue
        intensity = found.flops / found.traffic_bytes
        of_fp32 = intensity * number_bytes(cell.precision) / number_bytes(FULL_PRECISION)
        known.setdefault((cell.paper, cell.experiment, cell.case), (cell.work, of_fp32))
        ceilings = ceilings_of(found)
        if cell.measured_in == cell.experiment and ceilings.peak and ceilings.bandwidth:
            roof = Roof(
                cell.machine, cell.paper, cell.profile, cell.label, cell.package, cell.architecture, cell.precision,
                ceilings.peak / 1e9, ceilings.bandwidth / 1e9, _where(found),
            )  # fmt: skip
            ours.append(Point(roof, cell.experiment, cell.case, intensity, cell.gflops))
    theirs = [point for paper in papers.values() for point in _theirs(paper, known)]
    return [*theirs, *ours]


def _where(found: CellRounds) -> tuple[str, int | None] | None:
    profile = found.profile
    if profile.get("cpus") or profile.get("smt"):
        return None
    device = str(profile["device"]).removesuffix(":0")
    return device, found.threads if device == "cpu" else None


def _theirs(paper: Paper, known: Mapping[tuple[str, str, str], tuple[float, float]]) -> Iterator[Point]:
    for (name, experiment, case), (work, intensity) in known.items():
        if name == paper.name:
            for roof in paper_roofs(paper):
                seconds = paper.seconds(experiment, case, roof.profile, work, work / intensity)
                if seconds:
                    width = number_bytes(roof.precision) / number_bytes(FULL_PRECISION)
                    yield Point(roof, experiment, case, intensity / width, work / seconds / 1e9)


def paper_roofs(paper: Paper) -> list[Roof]:
    """Those of the rows whose hardware the paper's file knows."""
    return [
        Roof(
            PAPER, paper.name, row.name, f"{label_row(paper, row)}, {row.year}", row.package, row.beside[0],
            row.precision or FULL_PRECISION, row.hardware.flops_per_second / 1e9, row.hardware.bytes_per_second / 1e9,
        )
        for row in paper.rows
        if row.hardware
    ]  # fmt: skip


def hardware_roofs(paper: Paper) -> list[Roof]:
    """One roof for each hardware: several programs of one device have the same, which is called by the device then."""
    sharing: dict[Hardware, list[PublishedRow]] = {}
    for row in paper.rows:
        if row.hardware:
            sharing.setdefault(row.hardware, []).append(row)
    roofs = {roof.profile: roof for roof in paper_roofs(paper)}
    return [
        roofs[rows[0].name] if len(rows) == 1
        else replace(roofs[rows[0].name], label=f"{hardware.label}, {rows[0].year}")
        for hardware, rows in sharing.items()
    ]  # fmt: skip


def highest_roofs(points: list[Point]) -> list[Roof]:
    """The roof to draw of each profile: of sessions that saw different ones, the highest."""
    highest: dict[str, Roof] = {}
    for point in points:
        other = highest.get(point.profile, point.roof)
        highest[point.profile] = max(other, point.roof, key=lambda roof: roof.peak_gflops)
    return list(highest.values())


def lowest_shares(points: list[Point]) -> list[Point]:
    """Of each roof the point that is farthest below it."""
    lowest: dict[tuple[str, float, float], Point] = {}
    for point in points:
        roof = (point.roof.architecture, point.peak_gflops, point.bandwidth_gbytes)
        lowest[roof] = min(lowest.get(roof, point), point, key=lambda one: one.share)
    return list(lowest.values())


def range_of_shares(points: list[Point]) -> tuple[float, float] | None:
    """The lowest and the highest share of a roof; None of no points."""
    shares = [point.share for point in points]
    return (min(shares), max(shares)) if shares else None
