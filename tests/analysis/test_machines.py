"""Machines beside one another."""

import pytest

from respeed.analysis.columns import rows_of
from respeed.analysis.speedups import compare_machines
from tests.derived import ALL, MakeRecord, frames_of, seven


def test_machines_are_set_beside_the_fastest_of_all(make_record: MakeRecord) -> None:
    noise = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998)
    records = [
        *seven(make_record, [0.1 * factor for factor in noise]),
        *seven(make_record, [0.02 * factor for factor in noise], machine="bigger", **ALL),
    ]
    made = frames_of(records)
    rows = {row.machine: row for row in rows_of(compare_machines(made.cells, made.samples))}
    assert rows["bigger"].verdict == "base"
    assert rows["box"].base_machine == "bigger"
    assert rows["box"].speedup == pytest.approx(0.2)
    assert rows["box"].speedup_low < 0.2 < rows["box"].speedup_high
    assert rows["box"].verdict == "slower"


def test_a_machine_alone_is_compared_with_none(make_record: MakeRecord) -> None:
    made = frames_of(seven(make_record, [0.1] * 7))
    assert len(compare_machines(made.cells, made.samples)) == 0
