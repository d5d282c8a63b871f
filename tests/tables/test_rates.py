"""Rates and their ceilings, and the row that stands for an algorithm."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.tables.build import make_tables
from respeed.tables.fastest import rows_in_front
from respeed.tables.rates import measured_ceilings, rate_of
from tests.figures.machines import CPU, RATES, write_machine

MakeRecord = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_rate_has_the_interval_of_its_seconds_and_lies_below_its_ceiling(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    tables = make_tables(smoke=False)
    cells = [cell for cell in tables.cells if cell.experiment == "matmul" and cell.seconds]
    ceilings = measured_ceilings(cells, tables.rounds)
    assert cells
    for cell in cells:
        rate = rate_of(cell)
        assert rate
        assert rate.low
        assert rate.high
        assert rate.value == pytest.approx(cell.gflops)
        assert rate.low < rate.value < rate.high
        assert rate.high < ceilings[cell.row] == pytest.approx(1.5 * RATES[cell.profile] / 1e9)


def test_one_row_stands_for_each_algorithm(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    cells = [cell for cell in make_tables(smoke=False).cells if cell.experiment == "sparse-coding"]
    front = rows_in_front(cells)
    assert {algorithm for _, algorithm in front} == {cell.algorithm for cell in cells}
    assert {profile for profile, _ in front} == {"torch-all"}
