"""A wrong file keeps no other from the report; a run that would measure with it stops with one line."""

from tests.conftest import Project

LOAD = """
from respeed.schedule.snakemake_api import giving_up
from respeed.schedule.workflow import resolve_workflow
with giving_up():
    print(*resolve_workflow({}, measures={}).papers)
"""


def load(project: Project, overrides: dict[str, str], *, measures: bool) -> tuple[int, list[str]]:
    done = project.run("python", "-c", LOAD.format(overrides, measures), check=False)
    return done.returncode, done.stdout.splitlines()


def test_a_wrong_paper_or_profile_stops_a_run_that_measures_with_it_and_no_other(project: Project) -> None:
    project.edit("workflow/papers/bergstra2010/paper.yaml", "year: 2010", "year: MMX")
    project.edit("workflow/hardware/torch-1.yaml", "threads: 1", "threads: none")
    both = {"papers": "all", "profiles": "all"}
    code, lines = load(project, both | {"papers": "bergstra2010"}, measures=True)
    assert code == 2
    assert len(lines) == 1
    assert lines[0].startswith("respeed: workflow/")
    code, lines = load(project, {"profiles": "openblas-1"}, measures=True)
    assert (code, lines[-1]) == (0, "raina2009")
    assert lines[0].startswith("respeed: the profile torch-1 is left out: workflow/hardware/torch-1.yaml: threads: ")
    code, lines = load(project, both, measures=False)
    assert (code, lines[-1]) == (0, "cnn-benchmarks lectures raina2009 theano-tutorials")
    assert any(line.startswith("respeed: bergstra2010 is left out: workflow/papers/bergstra2010") for line in lines)


def test_the_target_pdf_is_built_whatever_is_wrong_with_one_paper(project: Project) -> None:
    project.edit("workflow/papers/bergstra2010/paper.yaml", "year: 2010", "year: MMX")
    (project.folder / "workflow/papers/draft").mkdir()
    (project.folder / "workflow/papers/draft/paper.yml").write_text("")
    done = project.snakemake("-n", "pdf", "--config", "papers=[bergstra2010,lectures]")
    assert "respeed: bergstra2010 is left out: workflow/papers/bergstra2010/paper.yaml: year: 'MMX'" in done.stdout


def test_a_dry_run_tells_of_files_of_other_names_and_of_a_setting_that_stands_twice(project: Project) -> None:
    (project.folder / "workflow/hardware/mine.yml").write_text("")
    done = project.snakemake("-n", "--config", "preset=smoke", "profiles=torch-1")
    assert "workflow/hardware/mine.yml: is not read, because of its name; rename it to mine.yaml" in done.stdout
    done = project.snakemake("-n", "--config", "preset=smoke", "preset=quick", check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (2, "respeed: --config: preset stands twice; say it once")
