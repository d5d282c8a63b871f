"""One run over a cluster of two kinds of nodes: the real Snakemake and the real Slurm, at smoke sizes."""

import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.conftest import Project
from tests.workflow import cluster

PLUGIN = "snakemake_executor_plugin_slurm"
REASON = cluster.missing() or (None if importlib.util.find_spec(PLUGIN) else f"no {PLUGIN} (extra: slurm)")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

ASK = (
    "--profile",
    "profiles/slurm",
    "--cores",
    "1",
    "--config",
    "preset=smoke",
    "papers=raina2009",
    "experiments=matmul",
)
WHOLE = "runtime: 10, slurm_extra: --exclusive"
OLD = f"profiles: [openblas-all]\nslurm: {{slurm_partition: cpu, constraint: old, {WHOLE}}}\n"
GPU = f'profiles: [torch-1, gpu]\nslurm: {{slurm_partition: gpu, gres: "gpu:h200:1", {WHOLE}}}\n'


@pytest.fixture
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with cluster.running(tmp_path_factory.mktemp("slurm") / "it") as environment:  # sockets' paths must be short
        yield environment


@pytest.mark.slow
def test_each_machine_is_measured_on_its_node(project: Project, slurm: dict[str, str]) -> None:
    """One run measures each machine on its own node and reports them side by side."""
    for name, said in (("old-node", OLD), ("gpu-node", GPU)):
        (project.folder / f"workflow/machines/{name}.yaml").write_text(said)
    project.edit("profiles/slurm/config.yaml", "checks: 20", "checks: 1\nseconds-between-status-checks: 1")
    # The plugin is wherever this Python has it.
    path = [str(project.folder / "workflow"), *filter(None, [os.environ.get("PYTHONPATH")])]
    bins = f"{Path(sys.executable).parent}{os.pathsep}{slurm['PATH']}"
    environment = {**slurm, "PATH": bins, "PYTHONPATH": os.pathsep.join(path)}
    told = project.snakemake(*ASK, "--", "all", **environment).stdout
    assert "respeed: gpu-node, old-node, preset smoke" in told
    assert told.count("each job finds out what is left") == 1
    # What each was told to measure, as far as its node can; nothing of the head.
    assert {"/".join(Path(path).parts[3:-1]) for path in project.records()} == {
        "old-node/openblas-all",
        "gpu-node/torch-1",
    }
    records = project.folder / "results/smoke/records"
    # A job has the CPUs of its node, however few the head has, and its memory, however little is usual.
    starts = [json.loads(path.read_text().splitlines()[0]) for path in records.glob("old-node/*/*.jsonl")]
    assert {start["threads"] for start in starts} == {2}
    jobs = project.run("squeue", "--states=all", "-h", "-o", "%k %m %P %N %T", **environment).stdout
    for machine, node in (("old-node", "cpu cpu1"), ("gpu-node", "gpu gpu1")):
        assert re.search(f"{machine}.* (0|500M) {node} COMPLETED", jobs), jobs
    described = {name: json.loads((records / name / "machine.json").read_text()) for name in ("old-node", "gpu-node")}
    assert described["gpu-node"]["not_measurable"]["gpu"] == "no CUDA device"
    text = " ".join(page.extract_text() for page in PdfReader(project.folder / "report/smoke.pdf").pages).split()
    assert {"On gpu-node:", "On old-node:"} <= {" ".join(pair) for pair in pairwise(text)}

    before = project.records()
    told = project.snakemake(*ASK, **environment).stdout
    assert "Nothing to be done" in told
    assert "submitted" not in told
    assert project.records() == before
