"""The paper's numbers beside a machine's, a row each, in the words of the report's first page."""

from dataclasses import dataclass

from respeed.model.paper import Experiment, Paper
from respeed.tables.cells import Cell
from respeed.tables.numbers import format_measured, format_measured_speedup, format_number, format_speedup
from respeed.tables.speedups import CPU_ARCHITECTURES, Speedup, published_speedup

NOTHING = "–"


@dataclass(frozen=True)
class Comparison:
    """`rows` maps a description to a text for each case; every number is formatted."""

    cases: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def compare(paper: Paper, experiment: Experiment, cells: list[Cell], speedups: list[Speedup]) -> Comparison | None:
    """Theirs beside ours for one experiment of one machine; None where the paper prints nothing to compare with."""
    cases = experiment.case_names()
    # The paper's numbers are of single precision: a row of a lower one is in the tables, not here.
    mine = [cell for cell in cells if cell.case in cases and cell.in_full_precision]
    if not mine or not any(key[0] == experiment.name for key in paper.published):
        return None
    theirs_cpu = [_fastest_published(paper, experiment.name, case, CPU_ARCHITECTURES) for case in cases]
    theirs_gpu = [_fastest_published(paper, experiment.name, case, ("gpu", "tpu")) for case in cases]
    ours_cpu = [_fastest([cell for cell in mine if cell.case == case and cell.is_cpu]) for case in cases]
    ours_gpu = [_fastest([cell for cell in mine if cell.case == case and not cell.is_cpu]) for case in cases]
    rows = (
        ("Paper: fastest CPU, seconds", tuple(_printed(value) for value in theirs_cpu)),
        ("Paper: GPU, seconds", tuple(_printed(value) for value in theirs_gpu)),
        (
            "Paper: speedup",
            tuple(format_speedup(published_speedup(paper, experiment.name, case, "gpu")) or NOTHING for case in cases),
        ),
        ("Here: fastest CPU, seconds", tuple(_seconds(cell) for cell in ours_cpu)),
        ("Here: fastest CPU is", tuple(_first_place(cell, mine, speedups) for cell in ours_cpu)),
        ("Here: GPU, seconds", tuple(_seconds(cell) for cell in ours_gpu)),
        ("Here: speedup", tuple(_speedup(cell, speedups) for cell in ours_gpu)),
        (
            "CPU here over CPU there",
            tuple(_times(there, here) for there, here in zip(theirs_cpu, ours_cpu, strict=True)),
        ),
        (
            "CPU here over GPU there",
            tuple(_times(there, here) for there, here in zip(theirs_gpu, ours_cpu, strict=True)),
        ),
        (
            "GPU here over GPU there",
            tuple(_times(there, here) for there, here in zip(theirs_gpu, ours_gpu, strict=True)),
        ),
    )
    # Rows about a device that this machine has not got say nothing four times over; the tables give the reason.
    return Comparison(cases, tuple((text, values) for text, values in rows if set(values) != {NOTHING}))


def _fastest_published(paper: Paper, experiment: str, case: str, architectures: tuple[str, ...]) -> float | None:
    found = [paper.printed(experiment, case, name) for name in architectures]
    return min((value for value in found if value), default=None)


def _fastest(cells: list[Cell]) -> Cell | None:
    return min((cell for cell in cells if cell.seconds), key=lambda cell: cell.seconds or 0, default=None)


def _first_place(fastest: Cell | None, cells: list[Cell], speedups: list[Speedup]) -> str:
    """The fastest row, and those that cannot be told apart from it: they share its place."""
    if fastest is None:
        return NOTHING
    level = {
        row.row for row in speedups if row.case == fastest.case and row.verdict in {"indistinguishable", "unproven"}
    }
    rivals = [cell for cell in cells if cell.case == fastest.case and cell.is_cpu and cell.row in level]
    return " or ".join([fastest.label, *(cell.label for cell in sorted(rivals, key=lambda cell: cell.seconds or 0))])


def _printed(seconds: float | None) -> str:
    return format_number(seconds) if seconds else NOTHING


def _seconds(cell: Cell | None) -> str:
    return format_measured(cell.seconds, cell.seconds_low, cell.seconds_high) if cell else NOTHING


def _speedup(cell: Cell | None, speedups: list[Speedup]) -> str:
    found = [row for row in speedups if cell and (row.case, row.row) == (cell.case, cell.row) and row.speedup]
    return format_measured_speedup(found[0].speedup, found[0].speedup_low, found[0].speedup_high) if found else NOTHING


def _times(there: float | None, here: Cell | None) -> str:
    """How many times as fast as there it is here, over different machines and years: no interval is claimed."""
    return format_speedup(there / here.seconds) if there and here and here.seconds else NOTHING
