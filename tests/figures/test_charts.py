"""What the figure of a table is about, by what a machine has."""

from dataclasses import replace

import pytest

from respeed.analysis.tables import Cell
from respeed.figures.charts import Chart, chart_table, draw_chart, order_cases
from respeed.figures.forest import draw_forest
from respeed.figures.style import COLORS, color_packages
from respeed.inputs.papers import load_paper
from respeed.model import TOTAL
from respeed.output import read_tables
from respeed.output.claims import answered_claims
from respeed.output.results import Results
from tests.derived import GPU, NOISE, PAPER
from tests.figures.machines import ALL, DOUBLE, assert_drawn, assert_legible, write_machine
from tests.known import known_results
from tests.made import make_lines, write_lines

pytestmark = pytest.mark.usefixtures("own_folder")


def chosen(experiment: str, name: str = "raina2009") -> Chart:
    tables = read_tables(smoke=False, papers=[name])
    shown, paper = Results(tables.papers, ["box"], False, tables.frames), tables.papers[name]
    return chart_table(shown, paper, paper.experiments[experiment], "box", color_packages(shown.rows(Cell)))


@pytest.mark.known
@pytest.mark.parametrize("name", ["rbm desk", "sparse-coding server"])
def test_figures_of_known_tables_are_unchanged(name: str) -> None:
    shown, (experiment, machine) = known_results("desk", "server"), name.split()
    paper = next(paper for paper in shown.papers.values() if experiment in paper.experiments)
    colors = color_packages(shown.rows(Cell))
    chart = chart_table(shown, paper, paper.experiments[experiment], machine, colors)
    assert_drawn(draw_chart(chart, ""), name.replace(" ", "-"))


@pytest.mark.known
def test_the_forest_has_every_case_and_machine() -> None:
    """The forest has each case of a claim on every machine with the paper's number."""
    shown = known_results("desk", "server")
    paper = next(iter(shown.papers.values()))
    figure = draw_forest(shown, paper, answered_claims(shown, paper))
    assert_drawn(figure, "forest")
    assert_legible(figure)


@pytest.mark.known
def test_without_a_cpu_the_papers_row_is_base() -> None:
    cases = load_paper("tensorflow-benchmarks").experiments["vgg16"].cases
    for seconds, case in zip((0.1, 0.11), cases, strict=False):
        for number, noise in enumerate(NOISE, start=1):
            write_lines(*make_lines([seconds * noise], number=number, case=case, **GPU))
    assert_drawn(draw_chart(chosen("vgg16", "tensorflow-benchmarks"), "a smoke run"), "over-their-gpu")


def test_cases_stand_in_the_order_of_work() -> None:
    """Cases stand by their work the total last and lines join sizes alone."""
    for name, total, flops, order, is_ordered in (
        ("rbm", None, [4.0, 1.0, 2.0, 8.0], [1, 2, 0, 3], True),
        ("rbm", None, [4.0, 1.0, 4.5, 8.0], [1, 0, 2, 3], False),
        ("rbm", None, [4.0, 1.0, None, 8.0], [0, 1, 2, 3], False),
        ("rbm", "of several parts", [1.0, 2.0, 4.0, 8.0], [0, 1, 2, 3], False),
        ("matmul", None, [1.0, 2.0], [0, 1], False),  # several programs
    ):
        experiment = replace(PAPER.experiments[name], total=total)
        names = experiment.case_names()[: len(flops)]
        work = dict(zip([TOTAL, *names], [0.5, *flops], strict=True))
        assert order_cases(experiment, work) == ([*(names[place] for place in order), TOTAL], is_ordered), flops


@pytest.mark.known
def test_no_two_rows_look_alike() -> None:
    """No two rows look alike one core is small and a package has its colour."""
    write_machine((*ALL, *DOUBLE), paper="bergstra2010", rounds=2)
    chart = chosen("nets", "bergstra2010")
    assert_drawn(draw_chart(chart, ""), "nets")
    looks = {row.label: row.look for row in chart.rows}
    assert len({tuple(look.values()) for look in looks.values()}) == len(looks) >= 12
    assert looks["PyTorch, GPU"]["color"] == COLORS[2]


@pytest.mark.known
def test_of_many_published_rows_each_years_fastest_stays() -> None:
    """Of very many published rows the fastest of each year are drawn."""
    write_machine(DOUBLE, paper="check-blas", rounds=2)
    assert_drawn(draw_chart(chosen("threads", "check-blas"), ""), "fastest-of-each-year")


def test_a_chart_of_unprinted_sizes_says_so() -> None:
    figure = draw_chart(Chart("Sparse coding on box", "", "case", "times", [], {}, []), "")
    assert "nothing to compare at these sizes" in [text.get_text() for text in figure.axes[0].texts]
