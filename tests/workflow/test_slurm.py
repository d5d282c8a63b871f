"""One run over a cluster of two kinds of nodes: the real Snakemake and the real Slurm, at smoke sizes."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.conftest import Project
from tests.workflow import cluster

PLUGIN = "snakemake_executor_plugin_slurm"
REASON = cluster.missing() or (None if importlib.util.find_spec(PLUGIN) else f"no {PLUGIN} (extra: slurm)")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

ASK = ("--profile", "profiles/slurm", "--config", "preset=smoke", "papers=raina2009", "experiments=matmul")
WHOLE = "cpus_per_task: 2, runtime: 10, slurm_extra: --exclusive"
OLD = f"profiles: [openblas-1, openblas-all]\nslurm: {{slurm_partition: cpu, constraint: old, {WHOLE}}}\n"
GPU = f'profiles: [torch-1, gpu]\nslurm: {{slurm_partition: gpu, gres: "gpu:h200:1", {WHOLE}}}\n'


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with cluster.running(tmp_path_factory.mktemp("slurm") / "cluster") as environment:
        yield environment


@pytest.fixture
def head(project: Project, slurm: dict[str, str]) -> Project:
    """A project that tells of two machines, and looks after its jobs every second."""
    machines = project.folder / "workflow/machines"
    (machines / "old-node.yaml").write_text(OLD)
    (machines / "gpu-node.yaml").write_text(GPU)
    project.edit("profiles/slurm/config.yaml", "checks: 20", "checks: 1\nseconds-between-status-checks: 1")
    return project


def environment_of(project: Project, slurm: dict[str, str]) -> dict[str, str]:
    """Of a head that has the plugin wherever this Python has it, and no accelerator."""
    path = [str(project.folder / "workflow"), *filter(None, [os.environ.get("PYTHONPATH")])]
    bins = f"{Path(sys.executable).parent}{os.pathsep}{slurm['PATH']}"
    return {**slurm, "PATH": bins, "PYTHONPATH": os.pathsep.join(path), "CUDA_VISIBLE_DEVICES": ""}


def where_records_are(project: Project) -> set[str]:
    return {"/".join(Path(path).parts[3:-1]) for path in project.records()}


@pytest.mark.slow
def test_one_run_measures_each_machine_on_its_own_node_and_reports_them_side_by_side(
    head: Project, slurm: dict[str, str]
) -> None:
    environment = environment_of(head, slurm)
    told = head.snakemake(*ASK, "--", "all", **environment).stdout
    assert "respeed: gpu-node, preset smoke" in told
    assert told.count("its job finds out what is left") == 2
    # What each was told to measure, as far as its node can; nothing of the head.
    assert where_records_are(head) == {
        "old-node/openblas-1",
        "old-node/openblas-all",
        "gpu-node/torch-1",
    }
    records = head.folder / "results/smoke/records"
    jobs = subprocess.run(
        ["squeue", "--states=all", "-h", "-o", "%k %P %N %T"], env={**os.environ, **slurm}, text=True,
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    for machine, node in (("old-node", "cpu cpu1"), ("gpu-node", "gpu gpu1")):
        assert re.search(f"{machine}.* {node} COMPLETED", jobs), jobs
    described = {name: json.loads((records / name / "machine.json").read_text()) for name in ("old-node", "gpu-node")}
    assert described["gpu-node"]["not_measurable"]["gpu"] == "no CUDA device"
    pages = PdfReader(head.folder / "report/smoke.pdf").pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert "On gpu-node" in text
    assert "On old-node" in text

    before = head.records()
    told = head.snakemake(*ASK, **environment).stdout
    assert "Nothing to be done" in told
    assert "submitted" not in told
    assert head.records() == before
