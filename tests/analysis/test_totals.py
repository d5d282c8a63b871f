"""The parts of a step, and tables that add up."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from respeed.analysis.claims import list_cases
from respeed.analysis.speedups import Samples, add_totals
from respeed.analysis.tables import Cell
from respeed.model import Case, Claim
from tests.derived import PAPER, PAPERS, Records, frames_of, seven
from tests.made import make_record

DBN = PAPER.experiments["dbn"]
PLACES = {case.name: place for place, case in enumerate(DBN.cases)}


def dbn(cases: Sequence[Case] = DBN.cases, noise: Sequence[float] = (1.0,) * 7, **facts: Any) -> Records:
    """A round of these layers for each noise, 0.1 s a step of the first, 0.2 s of the second, ..."""
    return [
        record
        for case in cases
        for record in seven([0.1 * (1 + PLACES[case.name]) * one for one in noise], case=case, flops=None, **facts)
    ]


def total_of(records: Records) -> Cell:
    return one_total(frames_of(records).cells)


def one_total(cells: Sequence[Cell]) -> Cell:
    (total,) = [cell for cell in cells if (cell.case, cell.profile) == ("total", "torch-1")]
    return total


def test_a_total_of_two_days_includes_their_difference() -> None:
    """To the last digit the same in all rounds: only another day could change it."""
    ours = total_of([*dbn(), *dbn(started="2026-01-02T00:00:00+00:00")])
    # t of 8 + 1 degrees of freedom, and 4 % over the root of two sessions.
    assert 1.045 < ours.seconds_high / ours.seconds < 1.075
    assert ours.seconds_low * ours.seconds_high == pytest.approx(ours.seconds**2)


def test_an_incomplete_total_names_the_missing_case() -> None:
    """A row that has not every case has no total and says which is missing."""
    ours = total_of(dbn(DBN.cases[:2]))
    assert (ours.seconds, ours.reason) == (None, f"{DBN.cases[2].name}: not measured yet")
    made = frames_of(dbn())
    gone = {("dbn", "total"), ("dbn", DBN.cases[0].name)}
    short = [cell for cell in made.cells if (cell.experiment, cell.case) not in gone]
    ours = one_total(add_totals(short, Samples(made.rounds), PAPERS))
    assert (ours.seconds, ours.reason) == (None, f"{DBN.cases[0].name}: cannot run on this row")


def test_a_total_sums_cells_with_lost_rounds() -> None:
    """Six clean rounds of seven, each case another six: no round is clean in all of them, and all of them count."""
    draw = random.Random(1)
    records = [
        make_record([draw.gauss(1, 0.03)], number=number, case=case, run_delay_seconds=9.0 * (number == place))
        for place, case in enumerate(DBN.cases, start=1)
        for number in range(1, 8)
    ]
    cells = [cell for cell in frames_of(records).cells if (cell.experiment, cell.profile) == ("dbn", "torch-1")]
    *parts, ours = cells
    assert len(parts) == len(DBN.cases) == 7
    assert ours.seconds == pytest.approx(sum(part.seconds for part in parts))
    assert (ours.case, ours.rounds) == ("total", 6)
    assert ours.seconds_low < ours.seconds < ours.seconds_high


def test_cases_of_one_process_are_slow_together() -> None:
    """What slows a process slows all of its cases, and does not average out over them. The first process was killed
    before its last two cases: no later round of these stands beside another process for it."""
    whole = dbn(noise=[1.0, 1.2, 0.8, 1.2, 0.8, 1.2, 0.8])
    late = {one.results[0].key for one in whole[-14:]}
    lost = [one for one in whole if one.results[0].number > 1 or one.results[0].key not in late]
    wide, wider = (total.seconds_high / total.seconds_low for total in map(total_of, (whole, lost)))
    assert wider > wide > 1.3
    assert total_of(lost).rounds == 6


def test_a_tiny_total_has_no_printed_one() -> None:
    printed, tried = (paper.experiments["dbn"].total_case for paper in (PAPER, PAPER.at_tiny_sizes()))
    assert PAPER.at_tiny_sizes().experiments["dbn"].fastest(tried, PAPER.rows) == ""
    assert PAPER.experiments["dbn"].fastest(printed, PAPER.rows)


def test_a_claim_about_sizes_excludes_the_total() -> None:
    for test, facts in (("memory", {}), ("crossover", {"over": ("gpu",)}), ("limited", {"over_case": "2048x1024"})):
        claim = Claim("it", "It is.", test, "dbn", "multi-cpu", by="visible" * (test == "limited"), **facts)
        assert "total" not in {one.case for one in list_cases(claim, PAPER)}


def test_a_claim_keeps_the_tables_order_of_sizes() -> None:
    """A claim about single sizes has these in the order of the table."""
    sizes = DBN.case_names()
    claim = Claim("it", "It is.", "faster", "dbn", "gpu", ("single-cpu",), cases=(sizes[2], sizes[0]))
    assert [one.case for one in list_cases(claim, PAPER)] == [sizes[0], sizes[2]]
