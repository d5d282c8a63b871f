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
from tests.figures.machines import ALL, DOUBLE, PROFILES, assert_drawn, assert_legible, write_machine, write_row
from tests.known import known_results
from tests.made import make_lines, write_lines

pytestmark = pytest.mark.usefixtures("own_folder")


def chosen(experiment: str, name: str = "raina2009") -> tuple[Chart, Outcome]:
    tables = read_tables(smoke=False, papers=[name])
    results, paper = Shown(tables.papers, ["box"], False, tables.frames), tables.papers[name]
    outcome = Outcome(results, paper, paper.experiments[experiment], "box")
    return chart_speedup(outcome, color_packages(results.table("cells"))), outcome


@pytest.mark.parametrize("name", ["rbm desk", "sparse-coding server", "matmul desk", "controls server", "scaling desk"])
def test_figures_of_known_tables_are_drawn_as_they_were(name: str) -> None:
    shown, (experiment, machine) = known_results("desk", "server"), name.split()
    paper = next(paper for paper in shown.papers.values() if experiment in paper.experiments)
    outcome, colors = (
        Outcome(shown, paper, paper.experiments[experiment], machine),
        color_packages(shown.table("cells")),
    )
    chart = chart_ladder(outcome) if outcome.experiment.ladder else chart_speedup(outcome, colors)
    assert_drawn(draw_chart(chart, ""), name.replace(" ", "-"))


def test_without_a_cpu_the_papers_fastest_row_is_the_base_and_without_numbers_the_first_case_at_its_rate() -> None:
    cases = load_paper("tensorflow-benchmarks").experiments["vgg16"].cases
    for seconds, case in zip((0.1, 0.11), cases, strict=False):
        for number, noise in enumerate(NOISE, start=1):
            write_lines(*make_lines([seconds * noise], number=number, case=case, **GPU))
    found, outcome = chosen("vgg16", "tensorflow-benchmarks")
    assert_drawn(draw_chart(found, ""), "over-their-gpu")
    silent = replace(outcome, paper=replace(outcome.paper, published={}))
    alone = chart_speedup(silent, color_packages(outcome.cells))
    assert_drawn(draw_chart(alone, "a smoke run"), "over-own")  # a mini-batch grows with the GPUs


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
    assert_drawn(draw_chart(found, ""), "nets")
    looks = {row.key: row.look for row in found.rows}
    assert len({tuple(look.values()) for look in looks.values()}) == len(looks) >= 12
    assert color_packages(outcome.cells[::-1])["PyTorch", False] == COLORS[2]


def test_of_very_many_published_rows_the_fastest_of_each_year_are_drawn() -> None:
    write_machine(DOUBLE, paper="check-blas", rounds=2)
    found, _ = chosen("threads", "check-blas")
    assert_drawn(draw_chart(found, ""), "fastest-of-each-year")


@pytest.mark.parametrize("counts", [(1,), (1, 2, 3, 4, 8, 16, 32, 64, 128, 192)])
def test_a_ladder_has_every_number_of_threads_and_one_core_has_no_curve_and_says_so(counts: tuple[int, ...]) -> None:
    for blas, speed in (("mkl", 1.0), ("openblas", 1.1)):  # of two libraries, the faster on so many threads
        for count in counts:
            profile = replace(PROFILES[f"{blas}-all"], name=f"{blas}-all-t{count}", threads=count, ladder=True)
            write_row(profile, 1e11 * speed * count * (0.9 if count > 1 else 1.0), paper="machine", rounds=2)
    figure = draw_chart(chart_ladder(chosen("scaling", "machine")[1]), "")
    assert_legible(figure)
    assert_drawn(figure, f"ladder-{len(counts)}")
