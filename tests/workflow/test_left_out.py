"""A wrong file keeps no other from the report; a run that would measure with it stops with one line."""

from tests.conftest import Project

SMOKE = ("--config", "preset=smoke", "profiles=torch-1")


def test_what_is_wrong_is_left_out(project: Project) -> None:
    """What is wrong is left out with a line and ends a run that asks for it."""
    paper, gpu = project.folder / "workflow/papers/draft", project.folder / "workflow/hardware/second-gpu.yaml"
    paper.mkdir()
    (paper / "paper.yaml").write_text("title: A draft\nexperiments: {}\n")
    gpu.write_bytes((project.folder / "workflow/hardware/gpu.yaml").read_bytes() + b"price_per_hour: 2.5\n")
    project.edit("workflow/papers/bergstra2010/paper.yaml", "year: 2010", "year: MMX")
    told = project.snakemake("-n", "report", *SMOKE, "papers=[bergstra2010,raina2009]").stdout
    year = "workflow/papers/bergstra2010/paper.yaml: year: must be a whole number, not 'MMX'"
    assert f"respeed: the paper bergstra2010 is left out: {year}" in told
    file = "workflow/hardware/second-gpu.yaml"
    assert f"respeed: the hardware profile second-gpu is left out: {file}: price_per_hour: " in told
    for settings, last in (
        (["profiles=all"], f"{file}: price_per_hour: unknown key"),
        (["papers=[raina2009,draft]"], "workflow/papers/draft/paper.yaml"),
    ):
        done = project.snakemake(*SMOKE, *settings, check=False)
        assert done.returncode == 2
        assert last in done.stdout.splitlines()[-1]
        assert "left out" not in done.stdout.splitlines()[-1]
    assert not (project.folder / "results").exists()
