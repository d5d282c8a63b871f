"""A mistake in one hardware profile, beside others that are right."""

from tests.conftest import Project


def test_a_wrong_profile_stops_the_runs_that_would_measure_it_and_no_other(project: Project) -> None:
    wrong = project.folder / "workflow/hardware/second-gpu.yaml"
    wrong.write_text((project.folder / "workflow/hardware/gpu.yaml").read_text() + "price_per_hour: 2.5\n")
    where = "workflow/hardware/second-gpu.yaml: price_per_hour: a price is a machine's"
    named = project.snakemake("-n", "--config", "preset=smoke", "profiles=openblas-1", CUDA_VISIBLE_DEVICES="")
    assert "respeed: the profile second-gpu is left out: " in named.stdout
    assert where in named.stdout
    stopped = project.snakemake("-n", "--config", "preset=smoke", check=False, CUDA_VISIBLE_DEVICES="")
    assert stopped.returncode == 2
    assert where in stopped.stdout
    assert "left out" not in stopped.stdout
