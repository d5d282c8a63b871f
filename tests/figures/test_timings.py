"""What the two figures of a table are about, by what a machine has."""

from typing import Any

import pandas as pd
import pytest

from respeed.analysis.columns import make_frame
from respeed.figures.results import Outcome, load_results
from respeed.figures.timings import Speedups, chart_seconds, choose_speedups, color_packages, place_cases, rows_in_front
from respeed.inputs.papers import load_papers
from respeed.output import build_tables
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json
from tests.conftest import MakeRecord
from tests.derived import NOISE
from tests.figures.machines import ALL, CPU, RATES, write_machine


def chosen(experiment: str, paper: str = "raina2009") -> tuple[Speedups, Outcome]:
    build_tables(smoke=False, papers=[paper])
    results = load_results(smoke=False, papers=[paper])
    outcome = Outcome(results, results.papers[paper], results.papers[paper].experiments[experiment], "box")
    return choose_speedups(outcome), outcome


def values(rows: pd.DataFrame, *keys: str) -> dict[Any, float]:
    """The `value` of each row."""
    return rows.set_index(list(keys))["value"].to_dict()


def test_without_a_gpu_every_row_stands_over_the_papers(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, outcome = chosen("rbm")
    assert (found.title, found.base) == ("box over the paper's GPU", "GPU, 2009")
    assert set(found.ours["profile"]) == set(CPU)
    theirs = found.ours["case"].map(lambda case: outcome.paper.seconds("rbm", case, "gpu"))
    assert list(found.ours["value"]) == pytest.approx(list(theirs / found.ours["seconds"]))
    assert ((found.ours["low"] < found.ours["value"]) & (found.ours["value"] < found.ours["high"])).all()
    assert values(found.theirs, "row", "case")["multi-cpu", "4096x11008"] == pytest.approx(1 / 72.6, rel=1e-3)
    assert set(found.theirs["row"]) == {"single-cpu", "multi-cpu"}


def test_with_a_gpu_it_stands_over_the_fastest_cpu_as_in_the_paper(make_record: MakeRecord) -> None:
    write_machine(make_record, ALL)
    found, _ = chosen("rbm")
    assert found.title == "GPU over CPU"
    assert set(found.ours["profile"]) == set(ALL) - set(CPU)
    assert values(found.ours, "profile")["gpu"] == pytest.approx(2e13 / 2.2e11)
    assert set(found.theirs["row"]) == {"gpu"}
    assert values(found.theirs, "case")["4096x11008"] == pytest.approx(72.6, rel=1e-3)


def test_where_the_paper_prints_nothing_all_cores_stand_over_one_and_rates_have_ceilings(
    make_record: MakeRecord,
) -> None:
    write_machine(make_record, CPU)
    found, outcome = chosen("matmul")
    assert (found.title, len(found.theirs)) == ("what all cores bring", 0)
    assert values(found.ours, "profile") == pytest.approx({"openblas-all": 1.8, "torch-all": 2.2 / 1.2})
    chart = chart_seconds(outcome, color_packages(outcome.results.table("cells")))
    assert {row.key: row.ceiling for row in chart.rows} == pytest.approx(
        {name: 1.5 * RATES[name] / 1e9 for name in CPU}
    )
    points = chart.points
    assert ((points["low"] < points["value"]) & (points["value"] < points["high"])).all()
    assert (points["rounds"].map(len) == 6).all()
    one = outcome.cells.query("profile == 'torch-1'")
    assert list(points.loc[points["row"] == "torch-1", "value"]) == pytest.approx(list(one["gflops"].dropna()))


def test_a_total_is_a_case_of_its_own(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, outcome = chosen("dbn")
    assert set(found.ours["case"]) == {outcome.experiment.total}
    (theirs,) = outcome.table("totals", "paper").query("profile == 'gpu'")["seconds"]
    ours = outcome.table("totals").query("seconds > 0").set_index("profile")["seconds"]
    assert values(found.ours, "profile") == pytest.approx(dict(theirs / ours))


def test_many_machines_are_turned_round_as_one_is(make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    write_machine(make_record, CPU)
    where = {"paper": "raina2009", "experiment": "rbm", "case": "576x1024", "quantity": "seconds", "machines": 9}
    numbers = {"lowest": 1.0, "lower_quartile": 2.0, "median": 4.0, "upper_quartile": 8.0, "highest": 16.0}
    spread = make_frame([where | numbers], "spread")
    monkeypatch.setattr(Outcome, "spread", lambda *_: spread)
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
    assert (found.title, found.base, list(found.ours["case"])) == ("over 1-core", "1-core", ["2-cores"])
    assert found.ours["value"].iloc[0] == pytest.approx(0.1 / 0.06, rel=0.02)


def test_steps_of_one_example_and_of_60_stand_apart_no_line_joins_them_and_no_two_rows_look_alike(
    make_record: MakeRecord,
) -> None:
    write_machine(make_record, CPU)
    _, outcome = chosen("nets", "bergstra2010")
    places, ordered = place_cases(outcome)
    names = sorted(places, key=lambda case: places[case])
    assert [name.endswith("-batch-1") for name in names] == [True] * 3 + [False] * 3
    assert not ordered
    chart = chart_seconds(outcome, color_packages(outcome.results.table("cells")))
    assert chart.note.endswith("From above: batches of 1 and 60.")
    assert len({(row.look.color, row.look.marker) for row in chart.rows}) == len(chart.rows) >= 7


def test_of_a_mini_batch_that_grows_with_the_gpus_its_images_count(make_record: MakeRecord) -> None:
    experiment = load_papers(["tensorflow-benchmarks"])["tensorflow-benchmarks"].experiments["vgg16"]
    for index, noise in enumerate(NOISE, start=1):
        record, two = (
            make_record([seconds * noise] * 2, index=index, case=case, profile="gpu", architecture="gpu", device="cuda")
            for case, seconds in (("1-gpu", 0.1), ("2-gpus", 0.11))
        )
        record["cases"] += two["cases"]
        record["id"] |= {"paper": "tensorflow-benchmarks", "experiment": "vgg16"}
        for ran in record["cases"]:
            ran |= {"workload": "convnet_replicas", "parameters": experiment.case(ran["case"]).parameters}
        write_json(round_path(RoundId(**record["id"])), record)
    found, outcome = chosen("vgg16", "tensorflow-benchmarks")
    assert found.ours["value"].iloc[0] == pytest.approx(2 * 0.1 / 0.11, rel=0.02)
    claims = outcome.results.table("claims", "box").set_index("case")
    assert claims.loc["2-gpus", "speedup"] == pytest.approx(2 * 0.1 / 0.11, rel=0.02)
    assert claims.loc["2-gpus", "verdict"] == "reproduced"


def test_one_row_stands_for_each_algorithm(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    _, outcome = chosen("sparse-coding")
    front = [row.split() for row in rows_in_front(outcome, outcome.cells)]
    assert ["torch-all", "sparse_parallel"] in front
    measured = set(outcome.cells.loc[outcome.cells["seconds"] > 0, "algorithm"])
    assert sorted(name for _, name in front) == sorted(measured)
    assert len(measured) > 2
