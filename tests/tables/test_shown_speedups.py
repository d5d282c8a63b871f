"""What the speedup figure is about, by what a machine has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.columns import make_frame, rows_of
from respeed.figures.timings import ALL_CORES_OVER_ONE, CASE_OVER_FIRST, DEVICE_OVER_CPU, OVER_THEIR_DEVICE
from respeed.inputs.papers import load_papers
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json
from respeed.tables.build import Tables, make_tables
from respeed.tables.others import Others
from respeed.tables.shown_speedups import ShownSpeedups, shown_speedups
from tests.figures.machines import ALL, CPU, write_machine
from tests.tables.derived import NOISE

MakeRecord = Callable[..., dict[str, Any]]
NONE = Others(0, {}, [], [])


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shown(experiment: str, others: Others = NONE) -> tuple[ShownSpeedups, Tables]:
    tables = make_tables(smoke=False)
    return shown_speedups(tables, others, tables.papers["raina2009"], experiment, "box"), tables


def test_without_a_gpu_every_row_stands_over_the_papers(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, tables = shown("rbm")
    assert found.kind == OVER_THEIR_DEVICE
    assert found.device is not None
    assert found.device.name == "gpu"
    assert {one.cell.profile for one in found.ours} == set(CPU)
    for one in found.ours:
        theirs = tables.papers["raina2009"].seconds("rbm", one.case, "gpu")
        assert theirs
        assert one.value == pytest.approx(theirs / (one.cell.seconds or 0))
        assert one.low
        assert one.high
        assert one.low < one.value < one.high
    assert found.theirs["multi-cpu", "4096x11008"] == pytest.approx(1 / 72.6, rel=1e-3)
    assert {name for name, _ in found.theirs} == {"single-cpu", "multi-cpu"}


def test_with_a_gpu_it_stands_over_the_fastest_cpu_as_in_the_paper(make_record: MakeRecord) -> None:
    write_machine(make_record, ALL)
    found, _ = shown("rbm")
    assert found.kind == DEVICE_OVER_CPU
    assert {one.cell.profile for one in found.ours} == set(ALL) - set(CPU)
    strict = next(one for one in found.ours if one.cell.profile == "gpu")
    assert strict.value == pytest.approx(2e13 / 2.2e11)
    assert {name for name, _ in found.theirs} == {"gpu"}
    assert found.theirs["gpu", "4096x11008"] == pytest.approx(72.6, rel=1e-3)


def test_where_the_paper_prints_nothing_all_cores_stand_over_one(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, _ = shown("matmul")
    assert found.kind == ALL_CORES_OVER_ONE
    assert not found.theirs
    assert {one.cell.profile: one.value for one in found.ours} == {
        "openblas-all": pytest.approx(1.8),
        "torch-all": pytest.approx(2.2 / 1.2),
    }


def test_a_total_is_a_case_of_its_own(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, tables = shown("dbn")
    total = tables.papers["raina2009"].experiments["dbn"].total
    assert found.cases == (total,)
    theirs = {row.profile: row.seconds for row in tables.totals if row.machine == "paper"}
    ours = {row.profile: row.seconds for row in tables.totals if row.machine == "box" and row.seconds}
    assert {one.cell.profile: one.value for one in found.ours} == {
        profile: pytest.approx((theirs["gpu"] or 0) / seconds) for profile, seconds in ours.items()
    }


def test_many_machines_are_turned_round_as_one_is(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    where = {"paper": "raina2009", "experiment": "rbm", "case": "576x1024", "quantity": "seconds", "machines": 9}
    numbers = {"lowest": 1.0, "lower_quartile": 2.0, "median": 4.0, "upper_quartile": 8.0, "highest": 16.0}
    (many,) = rows_of(make_frame([where | numbers], "spread"))
    found, _ = shown("rbm", Others(8, {}, [many], []))
    one = found.spreads["576x1024"]
    assert [one.lowest, one.lower_quartile, one.median, one.upper_quartile, one.highest] == pytest.approx(
        [38.6 / seconds for seconds in (16, 8, 4, 2, 1)]
    )


def test_of_a_table_about_cores_each_case_stands_over_its_first(make_record: MakeRecord) -> None:
    paper = load_papers(["lectures"])["lectures"]
    for index, noise in enumerate(NOISE, start=1):
        one, two = (
            make_record([seconds * noise] * 2, index=index, case=case, profile="torch-all", architecture="multi-cpu")
            for case, seconds in (("1-core", 0.1), ("2-cores", 0.06))
        )
        one["cases"] += two["cases"]
        one["id"] |= {"paper": "lectures", "experiment": "cores-product"}
        for ran in one["cases"]:
            ran["workload"] = "matmul_threads"
            ran["parameters"] = paper.experiments["cores-product"].case(ran["case"]).parameters
        write_json(round_path(RoundId(**one["id"])), one)
    tables = make_tables(smoke=False, papers=["lectures"])
    found = shown_speedups(tables, NONE, paper, "cores-product", "box")
    assert (found.kind, found.first, found.cases) == (CASE_OVER_FIRST, "1-core", ("2-cores",))
    assert found.ours[0].value == pytest.approx(0.1 / 0.06, rel=0.02)
