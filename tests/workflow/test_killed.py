"""kill -9 at many moments of one run: each time the same command goes on, and the set is whole in the end."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from respeed.records.store import read_record
from tests.conftest import Project

COMMAND = ["--config", "preset=smoke", "experiments=rbm", "profiles=[openblas-1, openblas-all]", "--", "tables"]
MOMENTS, LONGEST_SECONDS = 20, 12.0


@pytest.mark.slow
def test_a_run_that_is_killed_at_twenty_moments_ends_with_the_complete_set(project: Project) -> None:
    environment = {"PYTHONPATH": str(project.folder / "workflow"), "CUDA_VISIBLE_DEVICES": ""}
    chosen = random.Random(20)
    again = 0
    for _ in range(MOMENTS):
        before = project.records()
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "snakemake"), *COMMAND], cwd=project.folder,
            env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        time.sleep(chosen.uniform(0.0, LONGEST_SECONDS))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        after = project.records()
        assert before.keys() <= after.keys()
        again += sum(after[path] != before[path] for path in before)
        for path in after:
            read_record(project.folder / path)
    project.snakemake(*COMMAND, CUDA_VISIBLE_DEVICES="")
    assert again == 0
    assert len(project.records()) == 2
    assert (project.folder / "results/smoke/tables/raina2009/rbm.csv").stat().st_size > 0
    assert not list((project.folder / "results").rglob("*.set-aside*"))
