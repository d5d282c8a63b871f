"""A wrong file keeps no other from the report; a run that would measure with it stops with one line."""

import pytest

from tests.conftest import Project

DRAFT = "title: A draft\nexperiments: {}\n"


def add(project: Project, file: str, text: str) -> None:
    path = project.folder / "workflow" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_a_mistake_ends_a_run_with_one_line_before_anything_is_measured(project: Project) -> None:
    project.edit("workflow/papers/raina2009/paper.yaml", "visible: 576", "visble: 576")
    done = project.snakemake(check=False)
    (line,) = (line for line in done.stdout.splitlines() if not line.startswith("Using workflow specific profile"))
    assert done.returncode == 2
    assert "workflow/papers/raina2009/paper.yaml" in line
    assert "did you mean visible?" in line
    assert not (project.folder / "results").exists()


def test_a_dry_run_tells_of_what_is_wrong_beside_it_and_stops_at_what_it_names(project: Project) -> None:
    add(project, "papers/draft/paper.yaml", DRAFT)
    right = (project.folder / "workflow/hardware/gpu.yaml").read_text()
    add(project, "hardware/second-gpu.yaml", right + "price_per_hour: 2.5\n")
    told = project.snakemake("-n", "--config", "preset=smoke", "profiles=torch-1").stdout
    left_out = (
        "respeed: the hardware profile second-gpu is left out: workflow/hardware/second-gpu.yaml: price_per_hour: "
    )
    assert left_out in told
    assert "raina2009 rbm: 4 of 4" in told
    for settings, last in (
        (["profiles=all"], "workflow/hardware/second-gpu.yaml: price_per_hour: unknown key"),
        (["profiles=torch-1", "papers=[raina2009,draft]"], "workflow/papers/draft/paper.yaml"),
    ):
        done = project.snakemake("-n", "--config", "preset=smoke", *settings, check=False)
        assert done.returncode == 2
        assert last in done.stdout.splitlines()[-1]
        assert "left out" not in done.stdout.splitlines()[-1]


def test_the_target_pdf_is_built_whatever_is_wrong_with_one_paper(project: Project) -> None:
    project.edit("workflow/papers/bergstra2010/paper.yaml", "year: 2010", "year: MMX")
    done = project.snakemake("-n", "pdf", "--config", "papers=[bergstra2010,lectures]")
    left_out = "respeed: the paper bergstra2010 is left out: workflow/papers/bergstra2010/paper.yaml: "
    assert f"{left_out}year: must be a whole number, not 'MMX'" in done.stdout


def test_check_says_so_where_there_is_no_mistake(project: Project) -> None:
    assert project.run("respeed", "check").stdout.startswith("no mistake; looked at config.yaml, ")


@pytest.mark.slow
def test_a_run_of_one_paper_shows_that_one_alone(project: Project) -> None:
    project.snakemake("--config", "preset=smoke", "papers=bergstra2010", "profiles=openblas-1")
    tables = project.folder / "results/smoke/tables"
    assert [path.name for path in tables.iterdir() if path.is_dir()] == ["bergstra2010"]
    assert "examples a second" in (tables / "bergstra2010/mlp.md").read_text().lower()
    assert (project.folder / "report/smoke.html").exists()
