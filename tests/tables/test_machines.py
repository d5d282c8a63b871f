"""Machines beside one another."""

import pytest

from respeed.estimators.rounds import collect_rounds
from respeed.tables import cells, machines
from tests.tables.derived import ALL, PAPERS, PROFILES, SHEET, MakeRecord, seven


def test_machines_are_set_beside_the_fastest_of_all(make_record: MakeRecord) -> None:
    noise = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998)
    records = [
        *seven(make_record, [0.1 * factor for factor in noise]),
        *seven(make_record, [0.02 * factor for factor in noise], machine="bigger", **ALL),
    ]
    rounds = collect_rounds(records)
    made = cells.make_cells(rounds, PAPERS, PROFILES, SHEET, smoke=False)
    rows = {row.machine: row for row in machines.compare_machines(made, rounds)}
    assert rows["bigger"].verdict == "base"
    assert rows["box"].base_machine == "bigger"
    assert rows["box"].speedup == pytest.approx(0.2)
    assert rows["box"].speedup_low < 0.2 < rows["box"].speedup_high
    assert rows["box"].verdict == "slower"


def test_a_machine_alone_is_compared_with_none(make_record: MakeRecord) -> None:
    rounds = collect_rounds(seven(make_record, [0.1] * 7))
    assert machines.compare_machines(cells.make_cells(rounds, PAPERS, PROFILES, SHEET, smoke=False), rounds) == []
