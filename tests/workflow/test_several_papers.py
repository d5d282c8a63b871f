"""Several papers in one folder: who asks for which, and what is shown."""

import pytest

from tests.conftest import Project

PAPER = "workflow/papers/draft/paper.yaml"


def with_draft(project: Project, text: str) -> None:
    folder = project.folder / "workflow/papers/draft"
    folder.mkdir()
    (folder / "paper.yaml").write_text(text)


def test_a_draft_with_mistakes_stops_only_a_run_that_names_it(project: Project) -> None:
    with_draft(project, "title: A draft\nexperiments: {}\n")
    assert "raina2009 rbm: 16 of 16" in project.snakemake("-n").stdout
    named = project.snakemake("-n", "--config", "papers=[raina2009,draft]", check=False)
    (line,) = (line for line in named.stdout.splitlines() if line.startswith("respeed: "))
    assert named.returncode == 2
    assert PAPER in line
    assert "respeed check lists them" in line


def test_check_lists_every_mistake_of_every_file_and_fails(project: Project) -> None:
    assert "no mistake" in project.run("respeed", "check").stdout
    with_draft(project, "title: A draft\nexperiments: {}\n")
    project.edit("workflow/hardware/torch-1.yaml", "precision: fp32", "precision: fp23")
    project.edit("config.yaml", "preset: quick", "preset: quik")
    found = project.run("respeed", "check", check=False)
    assert found.returncode == 1
    for part in ("did you mean quick?", "did you mean fp32?", "'authors' is missing", "'rows' is missing"):
        assert part in found.stdout


@pytest.mark.slow
def test_a_run_of_one_paper_shows_that_one_alone(project: Project) -> None:
    project.snakemake("--config", "preset=smoke", "papers=bergstra2010", "profiles=openblas-1")
    tables = project.folder / "results/smoke/tables"
    assert [path.name for path in tables.iterdir() if path.is_dir()] == ["bergstra2010"]
    assert "examples a second" in (tables / "bergstra2010/mlp.md").read_text().lower()
    assert (project.folder / "report/smoke.html").exists()
