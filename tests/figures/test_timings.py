"""What the figure of a table is about, by what a machine has."""

import pytest

from respeed.figures.charts import Chart
from respeed.figures.results import Outcome, load_results
from respeed.figures.timings import chart_speedup, color_packages, order_cases
from respeed.inputs.papers import load_papers
from respeed.output import build_tables
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json
from tests.conftest import MakeRecord
from tests.derived import NOISE
from tests.figures.machines import ALL, CPU, DOUBLE, write_machine


def chosen(experiment: str, paper: str = "raina2009") -> tuple[Chart, Outcome]:
    build_tables(smoke=False, papers=[paper])
    results = load_results(smoke=False, papers=[paper])
    outcome = Outcome(results, results.papers[paper], results.papers[paper].experiments[experiment], "box")
    return chart_speedup(outcome, color_packages(results.table("cells"))), outcome


def values(chart: Chart) -> dict[tuple[str, str], float]:
    """The numbers of a chart by row and case."""
    return chart.points.set_index(["row", "case"])["value"].to_dict()


def test_every_row_stands_over_the_papers_fastest_cpu(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, outcome = chosen("rbm")
    assert (found.base, found.is_ordered) == ("the paper's fastest CPU row", True)
    assert {row.key for row in found.rows} == {*CPU, "paper gpu", "paper multi-cpu", "paper single-cpu"}
    assert values(found)["paper gpu", "4096x11008"] == pytest.approx(72.6, rel=1e-3)
    assert values(found)["paper multi-cpu", "4096x11008"] == 1
    cells = outcome.cells.set_index(["row", "case"])["seconds"]
    theirs = outcome.paper.seconds("rbm", "576x1024", "multi-cpu")
    assert values(found)["torch-all", "576x1024"] == pytest.approx(theirs / cells["torch-all", "576x1024"])
    ours = found.points[found.points["row"].isin(CPU)]
    assert ((ours["low"] < ours["value"]) & (ours["value"] < ours["high"])).all()


def test_where_the_paper_prints_nothing_rows_stand_over_one_core_of_the_machine(make_record: MakeRecord) -> None:
    write_machine(make_record, ALL)
    found, outcome = chosen("matmul")
    assert found.base == "the fastest row of one core"
    for case in outcome.cases:
        assert values(found)["torch-1", case] == 1
        assert values(found)["torch-all", case] == pytest.approx(2.2 / 1.2)
        assert values(found)["gpu", case] == pytest.approx(2e13 / 1.2e11)


def test_a_total_is_a_case_of_its_own(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, outcome = chosen("dbn")
    assert found.cases == (outcome.experiment.total,)
    theirs = outcome.table("totals", "paper").set_index("profile")["seconds"]
    ours = outcome.table("totals").set_index("profile")["seconds"]
    base = theirs[["single-cpu", "multi-cpu"]].min()
    assert values(found)["torch-1", found.cases[0]] == pytest.approx(base / ours["torch-1"])


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
    assert found.base == "1-core"
    assert values(found) == {("torch-all", "1-core"): 1, ("torch-all", "2-cores"): pytest.approx(0.1 / 0.06, rel=0.02)}


def test_steps_of_one_example_and_of_60_stand_apart_no_line_joins_them_and_no_two_rows_look_alike(
    make_record: MakeRecord,
) -> None:
    write_machine(make_record, CPU)
    found, outcome = chosen("nets", "bergstra2010")
    names, is_ordered = order_cases(outcome)
    assert [name.endswith("-batch-1") for name in names] == [True] * 3 + [False] * 3
    assert not is_ordered
    assert len({(row.look.color, row.look.marker) for row in found.rows}) == len(found.rows) >= 7


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
    assert found.base == "the paper's fastest row"
    assert {key for key in values(found) if key[0] == "gpu"} == {("gpu", "1-gpu"), ("gpu", "2-gpus")}
    claims = outcome.results.table("claims", "box").set_index("case")
    assert claims.loc["2-gpus", "speedup"] == pytest.approx(2 * 0.1 / 0.11, rel=0.02)
    assert claims.loc["2-gpus", "verdict"] == "reproduced"


def test_one_row_stands_for_each_algorithm(make_record: MakeRecord) -> None:
    write_machine(make_record, CPU)
    found, outcome = chosen("sparse-coding")
    front = [row.key.split() for row in found.rows if not row.key.startswith("paper ")]
    assert ["torch-all", "sparse_parallel"] in front
    measured = set(outcome.cells.loc[outcome.cells["seconds"] > 0, "algorithm"])
    assert sorted(name for _, name in front) == sorted(measured)
    assert len(measured) > 2


def test_of_very_many_published_rows_the_fastest_of_each_year_are_drawn(make_record: MakeRecord) -> None:
    write_machine(make_record, DOUBLE, paper="check-blas")
    found, _ = chosen("single-2000", "check-blas")
    assert "Of the paper's 37 rows the fastest of each year." in found.note
    assert {row.label for row in found.rows} >= {"GTX 480, 2010", "GTX Titan Black, 2014"}
    assert sum(row.key.startswith("paper ") for row in found.rows) == 6
