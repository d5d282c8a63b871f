"""The script for ten minutes of a GPU, on the pretended one: it ends in time, fits a screen, and brings all home."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import gpu
import pytest

from respeed.inputs.machines import load_profile
from respeed.inputs.registry import workloads
from tests.pretended_gpu.environment import CannotBuildError, build, environment

SCRIPT = Path(gpu.__file__)
LINES = 24
COLUMNS = 100
# Beyond its minutes: what runs is stopped, and then the speedups are made.
OVER_SECONDS = 60


def script(tmp_path: Path, minutes: float = 10.0) -> gpu.Script:
    return gpu.Script(minutes, tmp_path, True, {"gpu": ["gpu"], "other": [], "cpu": [], "fp64": []}, gpu.seconds_now())


def test_rows_are_told_by_what_they_are_for() -> None:
    names = (
        "gpu",
        "gpu-tf32",
        "gpu-bf16",
        "gpu-fp64",
        "torch-all",
        "openblas-all",
        "torch-1",
        "jax-all",
        "program-gpu",
    )
    assert [gpu._kind(load_profile(name)) for name in names] == [
        "gpu", "other", "other", "fp64", "cpu", "cpu", "", "", "",
    ]  # fmt: skip


def test_every_part_names_tables_that_exist() -> None:
    for part in gpu.PARTS:
        for word in part.only:
            paper, experiment, *_ = word.split("/")
            assert not experiment or experiment in gpu.load_paper(paper).experiments
    assert workloads().keys() >= {"copies", "sparse_parallel"}
    assert sum(part.minutes for part in gpu.PARTS) == 10


def test_a_part_without_rows_or_time_says_so(tmp_path: Path) -> None:
    lent = script(tmp_path)
    assert lent.take(gpu.Part("CPUs", 1.0, ("raina2009/rbm/",), ("cpu",)), 60.0) == "no row here"
    assert lent.take(gpu.PARTS[-1], 1.0) == "no time left"


def test_time_is_shared_among_the_parts_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a part leaves goes to those after it."""
    given: list[float] = []
    monkeypatch.setattr(gpu.Script, "take", lambda _, part, seconds: given.append(seconds) or "")
    monkeypatch.setattr(gpu.Script, "speedups", lambda _: [])
    script(tmp_path).run()
    assert [seconds / 60 for seconds in given] == pytest.approx(
        [
            10.0 * part.minutes / sum(later.minutes for later in gpu.PARTS[place:])
            for place, part in enumerate(gpu.PARTS)
        ],
        rel=0.05,
    )


def test_a_command_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lent = script(tmp_path, minutes=0.0)
    monkeypatch.setattr(gpu, "LEAST_SECONDS", 0.5)
    monkeypatch.setattr(gpu, "sys", SimpleNamespace(executable=tmp_path / "sleeps"))
    (tmp_path / "sleeps").write_text("#!/bin/sh\nexec sleep 600\n", "utf-8")
    (tmp_path / "sleeps").chmod(0o755)
    assert lent.command("measure", seconds=0.1) == "stopped at its end"


@pytest.mark.slow
def test_the_script_runs_on_the_pretended_gpu(tmp_path: Path) -> None:
    try:
        build()
    except CannotBuildError as reason:
        pytest.skip(f"no pretended GPU: {reason}")
    minutes = 3.0
    added = {**environment(), "XDG_CACHE_HOME": str(tmp_path / "cache"), "OUT": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, SCRIPT, "--smoke", "--minutes", str(minutes)], cwd=tmp_path, env={**os.environ, **added},
        text=True, stdout=subprocess.PIPE, timeout=60 * minutes + OVER_SECONDS, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines[:-1])) <= COLUMNS
    assert lines[-1] == str(tmp_path / "home")
    assert [part.name for part in gpu.PARTS if not any(line.startswith(part.name) for line in lines)] == []
    profiles = json.loads((tmp_path / "home/profiles.json").read_text("utf-8"))
    assert {facts["row"] for facts in profiles} >= {"gpu"}
    assert all(facts["kernels"] and facts["step_seconds"] > 0 for facts in profiles)
    assert [*tmp_path.glob("home/smoke/*/gpu/*.jsonl")]
    assert "respeed measure" in (tmp_path / "home/log.txt").read_text("utf-8")
