"""What the figure of a table is about, by what a machine has."""

from dataclasses import replace

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from respeed.analysis.tables import Cell
from respeed.figures.charts import draw_table, is_growing
from respeed.figures.forest import draw_forest
from respeed.figures.style import COLORS, color_packages
from respeed.inputs.papers import load_paper
from respeed.output import read_tables
from respeed.output.claims import answered_claims
from respeed.output.results import Results
from tests.derived import GPU, NOISE, PAPER, shown_of, sparse_coding_on_a_cpu
from tests.figures.machines import ALL, DOUBLE, assert_drawn, assert_legible, write_machine
from tests.known import known_results
from tests.made import make_lines, write_lines

pytestmark = pytest.mark.usefixtures("own_folder")


def drawn(experiment: str, name: str = "raina2009", *, smoke: bool = False) -> Figure:
    tables = read_tables(smoke=False, papers=[name])
    shown, paper = Results(tables.papers, ["box"], smoke, tables.frames), tables.papers[name]
    return draw_table(shown, paper, paper.experiments[experiment], "box", color_packages(shown.rows(Cell)))


@pytest.mark.known
@pytest.mark.parametrize("name", ["rbm desk", "sparse-coding server"])
def test_figures_of_known_tables_are_unchanged(name: str) -> None:
    shown, (experiment, machine) = known_results("desk", "server"), name.split()
    paper = next(paper for paper in shown.papers.values() if experiment in paper.experiments)
    colors = color_packages(shown.rows(Cell))
    figure = draw_table(shown, paper, paper.experiments[experiment], machine, colors)
    assert_drawn(figure, name.replace(" ", "-"))


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
    assert_drawn(drawn("vgg16", "tensorflow-benchmarks", smoke=True), "over-their-gpu")


@pytest.mark.parametrize(
    ("name", "total", "flops", "may_join"),
    [
        ("rbm", None, [1.0, 2.0, 4.0, 8.0], True),
        ("rbm", None, [1.0, 4.0, 2.0, 8.0], False),
        ("rbm", None, [1.0, 4.0, 4.5, 8.0], False),
        ("rbm", None, [1.0, 4.0, 0.0, 8.0], False),
        ("rbm", "of several parts", [1.0, 2.0, 4.0, 8.0], False),
        ("matmul", None, [1.0, 2.0], False),  # several programs
    ],
)
def test_lines_join_growing_sizes_of_one_program_alone(
    name: str, total: str | None, flops: list[float], may_join: bool
) -> None:
    experiment = replace(PAPER.experiments[name], total=total)
    work = dict(zip(experiment.case_names(), flops, strict=False))
    assert is_growing(experiment, work) == may_join


@pytest.mark.known
def test_no_two_rows_look_alike() -> None:
    """No two rows look alike one core is small and a package has its colour."""
    write_machine((*ALL, *DOUBLE), paper="bergstra2010", rounds=2)
    figure = drawn("nets", "bergstra2010")
    assert_drawn(figure, "nets")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    lines = [line for line in handles if isinstance(line, Line2D)]
    looks = {(line.get_color(), line.get_marker(), line.get_markersize()) for line in lines}
    assert len(looks) == len(labels) >= 12
    assert lines[labels.index("PyTorch, GPU")].get_color() == COLORS[2]


@pytest.mark.known
def test_of_many_published_rows_each_years_fastest_stays() -> None:
    """Of very many published rows the fastest of each year are drawn."""
    write_machine(DOUBLE, paper="check-blas", rounds=2)
    assert_drawn(drawn("threads", "check-blas"), "fastest-of-each-year")


def test_algorithms_at_tiny_sizes_have_no_figure_since_nothing_is_printed() -> None:
    results = shown_of(sparse_coding_on_a_cpu())
    for smoke in (False, True):
        shown = replace(results, smoke=smoke)
        assert shown.has_figure(PAPER, PAPER.experiments["sparse-coding"], "box") == (not smoke)
