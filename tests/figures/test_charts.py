"""What the figure of a table is about, by what a machine has."""

from dataclasses import replace

import pandas as pd
import pytest

from respeed.figures.charts import Chart, Outcome, chart_ladder, chart_speedup, draw_chart, order_cases
from respeed.figures.style import COLORS, color_packages
from respeed.inputs.papers import load_paper
from respeed.model import TOTAL
from respeed.output import read_tables
from respeed.output.layout import Shown
from tests.derived import GPU, NOISE, PAPER, shown_of
from tests.figures.machines import ALL, CPU, DOUBLE, PROFILES, assert_legible, texts_of, write_machine, write_row
from tests.made import make_lines, write_lines

pytestmark = pytest.mark.usefixtures("own_folder")


def chosen(experiment: str, name: str = "raina2009") -> tuple[Chart, Outcome]:
    tables = read_tables(smoke=False, papers=[name])
    results, paper = Shown(tables.papers, ["box"], False, tables.frames), tables.papers[name]
    outcome = Outcome(results, paper, paper.experiments[experiment], "box")
    return chart_speedup(outcome, color_packages(results.table("cells"))), outcome


def values(chart: Chart) -> dict[tuple[str, str], float]:
    """The numbers of a chart by row and words of the case."""
    return chart.points.set_index(["row", "case"])["value"].to_dict()


def test_rows_stand_over_the_papers_fastest_cpu_and_a_figure_says_what_it_shows_in_the_words_of_the_tables() -> None:
    write_machine(CPU)
    found, outcome = chosen("rbm")
    assert found.y_title == "times as fast as the paper's fastest CPU row"
    assert {row.key for row in found.rows} == {*CPU, "paper gpu", "paper multi-cpu", "paper single-cpu"}
    assert values(found)["paper gpu", "4096x11008"] == pytest.approx(72.6, rel=1e-3)
    assert values(found)["paper multi-cpu", "4096x11008"] == 1
    theirs = outcome.paper.seconds("rbm", "576x1024", "multi-cpu")
    drawn = found.points.set_index(["row", "case"]).loc[("torch-all", "576x1024")]
    ours = outcome.cells.set_index(["row", "case"]).loc[("torch-all", "576x1024")]
    for number, seconds in (("value", "seconds"), ("low", "seconds_high"), ("high", "seconds_low")):
        assert drawn[number] == pytest.approx(theirs / ours[seconds]), number

    found, outcome = chosen("sparse-coding")
    told = {"Sparse coding on box", "share of nonzero coefficients", "GPU, 2009", "3 %", "6 %", "10 %", found.y_title}
    assert told <= texts_of(draw_chart(found, ""))
    assert found.note.startswith("Bars: 95 % intervals. Hollow: one core. Of each algorithm the rows that are fastest")
    assert found.note.endswith("Grey: Raina, Madhavan and Ng (ICML 2009).")
    front = [row.key.split() for row in found.rows if not row.key.startswith("paper ")]
    assert ["torch-all", "sparse_parallel"] in front
    measured = set(outcome.cells.loc[outcome.cells["seconds"] > 0, "algorithm"])
    assert sorted(name for _, name in front) == sorted(measured)
    assert len(measured) > 2


def test_where_the_paper_prints_nothing_rows_stand_over_the_fastest_of_the_machine_as_in_its_table() -> None:
    write_machine(ALL, rounds=3)
    found, outcome = chosen("matmul")
    assert found.y_title == "times as fast as this machine's fastest CPU row"
    words = outcome.experiment.column_words()
    table = outcome.table("speedups").set_index(["profile", "case"])["speedup"]
    assert {(row, words[case]): one for (row, case), one in table.items() if one > 0} == values(found)
    assert values(found)["gpu", "square 512"] == pytest.approx(2e13 / 2.2e11)


def test_without_a_cpu_the_papers_fastest_row_is_the_base_and_without_numbers_the_first_case_at_its_rate() -> None:
    cases = load_paper("tensorflow-benchmarks").experiments["vgg16"].cases
    for seconds, case in zip((0.1, 0.11), cases, strict=False):
        for number, noise in enumerate(NOISE, start=1):
            write_lines(*make_lines([seconds * noise], number=number, case=case, **GPU))
    found, outcome = chosen("vgg16", "tensorflow-benchmarks")
    assert found.y_title == "times as fast as the paper's fastest row"
    assert {key for key in values(found) if key[0] == "gpu"} == {("gpu", "1 gpu"), ("gpu", "2 gpus")}
    silent = replace(outcome, paper=replace(outcome.paper, published={}))
    alone = chart_speedup(silent, color_packages(outcome.cells))
    assert (alone.y_title, alone.x_title) == ("times as fast as 1 gpu", "GPUs")
    # A mini-batch grows with the GPUs.
    assert values(alone) == {("gpu", "1 gpu"): 1, ("gpu", "2 gpus"): pytest.approx(2 * 0.1 / 0.11, rel=0.02)}


def test_cases_stand_by_their_work_the_total_last_and_lines_join_sizes_alone() -> None:
    for name, total, flops, order, is_ordered in (
        ("rbm", None, [4.0, 1.0, 2.0, 8.0], [1, 2, 0, 3], True),
        ("rbm", None, [4.0, 1.0, 4.5, 8.0], [1, 0, 2, 3], False),
        ("rbm", None, [4.0, 1.0, None, 8.0], [0, 1, 2, 3], False),
        ("rbm", "of several parts", [1.0, 2.0, 4.0, 8.0], [0, 1, 2, 3], False),
        ("matmul", None, [1.0, 2.0], [0, 1], False),  # several programs
    ):
        outcome = Outcome(shown_of(), PAPER, replace(PAPER.experiments[name], total=total), "box")
        names = outcome.cases[: len(flops)]
        work = pd.DataFrame({"case": [TOTAL, *names], "flops": [0.5, *flops]})
        assert order_cases(outcome, work) == ([*(names[place] for place in order), TOTAL], is_ordered), flops


def test_no_two_rows_look_alike_one_core_is_hollow_and_a_package_has_its_colour() -> None:
    write_machine((*ALL, *DOUBLE), paper="bergstra2010", rounds=2)
    found, outcome = chosen("nets", "bergstra2010")
    looks = {row.key: row.look for row in found.rows}
    assert len({tuple(look.values()) for look in looks.values()}) == len(looks) >= 12
    hollow = {key for key, look in looks.items() if look["markerfacecolor"] == "white"}
    assert {key for key in hollow if not key.startswith("paper ")} == {"openblas-1", "openblas-1-fp64", "torch-1"}
    assert {looks[key]["linestyle"] for key in hollow} == {"--"}
    colors = [looks[key]["color"] for key in ("openblas-1", "openblas-all", "torch-1", "gpu", "gpu-bf16")]
    assert colors == [COLORS[place] for place in (0, 0, 1, 2, 2)]
    # Whatever else is there.
    assert color_packages(outcome.cells[::-1])["PyTorch", False] == COLORS[2]


def test_of_very_many_published_rows_the_fastest_of_each_year_are_drawn() -> None:
    write_machine(DOUBLE, paper="check-blas", rounds=2)
    found, _ = chosen("single-2000", "check-blas")
    assert "Of the paper's 37 rows the fastest of each year." in found.note
    assert {row.label for row in found.rows} >= {"GTX 480, 2010", "GTX Titan Black, 2014"}
    assert sum(row.key.startswith("paper ") for row in found.rows) == 6


@pytest.mark.parametrize("counts", [(1,), (1, 2, 3, 4, 8, 16, 32, 64, 128, 192)])
def test_a_ladder_has_every_number_of_threads_and_one_core_has_no_curve_and_says_so(counts: tuple[int, ...]) -> None:
    for blas, speed in (("mkl", 1.0), ("openblas", 1.1)):  # of two libraries, the faster on so many threads
        for count in counts:
            profile = replace(PROFILES[f"{blas}-all"], name=f"{blas}-all-t{count}", threads=count, ladder=True)
            write_row(profile, 1e11 * speed * count * (0.9 if count > 1 else 1.0), paper="machine", rounds=2)
    outcome = chosen("scaling", "machine")[1]
    chart = chart_ladder(outcome)
    figure = draw_chart(chart, "")
    assert_legible(figure)
    curve = {"threads", "ideal", "576x1024", "1024x4096", *map(str, counts)}
    assert (curve if len(counts) > 1 else {"one core: no curve"}) <= texts_of(figure)
    for (row, count), value in values(chart).items():
        assert value == pytest.approx(int(count) * (0.9 if row != "ideal" and count != "1" else 1.0))
