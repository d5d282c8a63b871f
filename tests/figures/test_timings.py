"""What the two figures of a table are about, by what a machine has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from respeed.analysis.columns import make_frame
from respeed.figures.results import Results, load_results
from respeed.figures.timings import (
    ALL_CORES_OVER_ONE,
    CASE_OVER_FIRST,
    DEVICE_OVER_CPU,
    OVER_THEIR_DEVICE,
    Speedups,
    chart_seconds,
    choose_speedups,
    color_packages,
    rows_in_front,
)
from respeed.inputs.papers import load_papers
from respeed.output.build import build_tables
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json
from tests.derived import NOISE
from tests.figures.machines import ALL, CPU, RATES, write_machine

MakeRecord = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def chosen(experiment: str, paper: str = "raina2009") -> tuple[Speedups, Results]:
    build_tables(smoke=False, papers=[paper])
    results = load_results(smoke=False, papers=[paper])
    table = results.papers[paper].experiments[experiment]
    return choose_speedups(results, results.papers[paper], table, results.cells(paper, table, "box")), results


def by_profile(ours: pd.DataFrame) -> dict[str, float]:
    return dict(zip(ours["profile"], ours["value"], strict=True))


def test_without_a_gpu_every_row_stands_over_the_papers(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, results = chosen("rbm")
    assert found.kind == OVER_THEIR_DEVICE
    assert found.device is not None
    assert found.device.name == "gpu"
    assert set(found.ours["profile"]) == set(CPU)
    theirs = found.ours["case"].map(lambda case: results.papers["raina2009"].seconds("rbm", case, "gpu"))
    assert list(found.ours["value"]) == pytest.approx(list(theirs / found.ours["seconds"]))
    assert ((found.ours["low"] < found.ours["value"]) & (found.ours["value"] < found.ours["high"])).all()
    assert found.theirs["multi-cpu", "4096x11008"] == pytest.approx(1 / 72.6, rel=1e-3)
    assert {name for name, _ in found.theirs} == {"single-cpu", "multi-cpu"}


def test_with_a_gpu_it_stands_over_the_fastest_cpu_as_in_the_paper(make_record: MakeRecord) -> None:
    write_machine(make_record, ALL)
    found, _ = chosen("rbm")
    assert found.kind == DEVICE_OVER_CPU
    assert set(found.ours["profile"]) == set(ALL) - set(CPU)
    assert by_profile(found.ours)["gpu"] == pytest.approx(2e13 / 2.2e11)
    assert {name for name, _ in found.theirs} == {"gpu"}
    assert found.theirs["gpu", "4096x11008"] == pytest.approx(72.6, rel=1e-3)


def test_where_the_paper_prints_nothing_all_cores_stand_over_one_and_rates_have_ceilings(
    make_record: MakeRecord,
) -> None:
    write_machine(make_record, CPU)
    found, results = chosen("matmul")
    assert found.kind == ALL_CORES_OVER_ONE
    assert not found.theirs
    assert by_profile(found.ours) == {"openblas-all": pytest.approx(1.8), "torch-all": pytest.approx(2.2 / 1.2)}
    paper = results.papers["raina2009"]
    colors = color_packages(results.table("cells"))
    chart = chart_seconds(results, paper, paper.experiments["matmul"], "box", colors)
    assert {row.key: row.ceiling for row in chart.rows} == {
        name: pytest.approx(1.5 * RATES[name] / 1e9) for name in CPU
    }
    points = chart.points
    assert ((points["low"] < points["value"]) & (points["value"] < points["high"])).all()
    assert (points["rounds"].map(len) == 6).all()
    one = results.cells("raina2009", paper.experiments["matmul"], "box").query("profile == 'torch-1'")
    assert list(points.loc[points["row"] == "torch-1", "value"]) == pytest.approx(list(one["gflops"].dropna()))


def test_a_total_is_a_case_of_its_own(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, results = chosen("dbn")
    totals = results.table("totals", experiment="dbn").query("seconds > 0")
    assert set(found.ours["case"]) == {results.papers["raina2009"].experiments["dbn"].total}
    seconds = {machine: dict(zip(mine["profile"], mine["seconds"], strict=True))
               for machine, mine in totals.groupby("machine")}  # fmt: skip
    assert by_profile(found.ours) == {
        profile: pytest.approx(seconds["paper"]["gpu"] / value) for profile, value in seconds["box"].items()
    }


def test_many_machines_are_turned_round_as_one_is(make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    write_machine(make_record, CPU)
    where = {"paper": "raina2009", "experiment": "rbm", "case": "576x1024", "quantity": "seconds", "machines": 9}
    numbers = {"lowest": 1.0, "lower_quartile": 2.0, "median": 4.0, "upper_quartile": 8.0, "highest": 16.0}
    spread = make_frame([where | numbers], "spread")
    monkeypatch.setattr(Results, "spread", lambda *_: spread)
    found, _ = chosen("rbm")
    (one,) = found.spread[list(numbers)].to_numpy()
    assert list(one) == pytest.approx([38.6 / seconds for seconds in (16, 8, 4, 2, 1)])


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
    found, _ = chosen("cores-product", "lectures")
    assert (found.kind, found.first, list(found.ours["case"])) == (CASE_OVER_FIRST, "1-core", ["2-cores"])
    assert found.ours["value"].iloc[0] == pytest.approx(0.1 / 0.06, rel=0.02)


def test_one_row_stands_for_each_algorithm(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    _, results = chosen("sparse-coding")
    table = results.papers["raina2009"].experiments["sparse-coding"]
    cells = results.cells("raina2009", table, "box")
    assert rows_in_front(cells, table) == {f"torch-all {name}" for name in set(cells["algorithm"])}
