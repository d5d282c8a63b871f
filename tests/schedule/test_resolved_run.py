"""A configuration, resolved: which machine measures what, what is asked of Slurm, the file that measuring leaves, and
the last lines of a run."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.errors import UserError
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import Notes
from respeed.schedule import rows, work
from respeed.schedule import run as runs
from respeed.schedule.run import Run, announce, resolve_run, say_what_came_out
from respeed.schedule.workflow import failure, may_measure
from tests.made import write_machines
from tests.schedule.measured import PAPERS, PROFILES, record_of_turn, write

RBM = {"experiments": "rbm", "machine": "box", "papers": "raina2009"}
NODES = {"a": {"runtime": 60}, "b": {"slurm_partition": "gpu", "gres": "gpu:1", "runtime": 9}}


def on_nodes(**settings: Any) -> Run:
    config = load_config(overrides={"papers": "raina2009", "profiles": "openblas-1"} | settings)
    return Run(config, settings, PAPERS, PROFILES, "a", NODES)


def test_a_machines_file_says_which_rows_it_has_and_a_run_names_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"far": Notes("far", profiles=("gpu", "gpu-fp64")), "near": None}
    monkeypatch.setattr(runs, "notes_of", told.get)

    def profiles(**settings: str) -> Config:
        return resolve_run(settings).config

    assert profiles(machine="far").profiles == ("gpu", "gpu-fp64")
    assert not profiles(machine="far").all_profiles
    assert profiles(machine="far", profiles="torch-1,gpu").profiles == ("gpu",)
    assert profiles(machine="near").profiles == load_config().profiles


def test_a_cluster_measures_all_machines_that_have_slurm_or_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UserError, match="new machine NAME"):
        resolve_run({"cluster": True})
    told = {"a": Notes("a", slurm={"runtime": 60}), "b": Notes("b", slurm={"runtime": 9}), "c": Notes("c")}
    monkeypatch.setattr(runs, "MACHINE_FILES", SimpleNamespace(load_all=lambda: told))
    assert [*resolve_run({"cluster": True}).nodes] == ["a", "b"]
    assert [*resolve_run({"cluster": True, "machine": "b"}).nodes] == ["b"]
    with pytest.raises(UserError, match="'c' has no slurm"):
        resolve_run({"cluster": True, "machine": "c"})


def test_on_its_node_a_machine_is_told_its_name_and_to_measure_as_long_as_its_job_lasts() -> None:
    run = on_nodes(seed=3)
    assert run.how_to_measure("b") == ["--budget", "6min", "--config", "seed=3", 'machine="b"', "cluster=false"]
    assert [*run.stamps] == ["a", "b"]
    assert "its job finds out what is left" in announce(run)


def test_a_run_for_a_report_alone_measures_nothing() -> None:
    assert may_measure(["snakemake", "all", "-n"])
    for words in (("pdf",), ("report", "--cores", "all"), ("--report", "mine.html")):
        assert not may_measure(["snakemake", *words])


# The file that measuring leaves.


def measured(number: int = 0, **settings: str) -> Run:
    """A run of one row, of which so many turns were measured."""
    asked = {"profiles": "openblas-1", "preset": "smoke"} | RBM | settings
    for place in range(number):
        run = resolve_run(asked)
        turn = run.plan().next_turn()
        assert turn is not None
        write(record_of_turn(turn, run.work, lambda *_: 1.0, place, smoke=True))
    return resolve_run(asked)


def test_what_measuring_leaves_is_another_file_where_something_is_left_or_was_measured_by_hand_since() -> None:
    def leave(later: int = 0, **settings: str) -> str:
        """Write the file of a run, as measuring does when nothing is left."""
        stamp = Path(measured(**settings).stamps["box"])
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
        os.utime(stamp, ns=(written + later,) * 2)
        return stamp.name

    measured(1)
    (record,) = Path("results").rglob("*.jsonl")
    written = record.stat().st_mtime_ns
    assert [leave() for _ in range(2)] == ["measured-1"] * 2
    os.utime(record, ns=(written + 1,) * 2)
    assert [leave(1) for _ in range(2)] == ["measured-2"] * 2
    # What cannot start is left each time.
    assert [leave(1, profiles="openblas-1,torch-1") for _ in range(2)] == ["measured-3", "measured-4"]
    record.unlink()
    assert leave(1) == "measured-5"


@pytest.mark.parametrize(
    ("folder", "file"),
    [("WORKLOADS", "rbm.py"), ("HARDWARE", "gpu.yaml"), ("PAPERS", "raina2009/published.csv"), ("MACHINES", "a.yaml")],
)
def test_a_node_is_asked_again_where_what_was_said_or_a_file_of_what_people_write_is_another(
    folder: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(getattr(runs, folder), tmp_path / "copy")
    monkeypatch.setattr(runs, folder, copy)
    stamps = on_nodes().stamps
    assert on_nodes().stamps == stamps
    assert on_nodes(seed=3).stamps["a"] != stamps["a"] != stamps["b"]
    with (copy / file).open("a") as changed:
        changed.write("#")
    assert on_nodes().stamps["a"] != stamps["a"]


# The last lines.


@pytest.mark.parametrize(
    ("came_out", "line", "is_failed"),
    [
        (1.0, "box: 4 cells measured", False),
        ("not-run", "box: 0 cells measured, 4 not measured: it was so", False),
        ("wrong", "box: 0 cells measured, 4 failed: rbm {case} on openblas-1: it was so; ", True),
    ],
)
def test_the_last_line_counts_what_was_measured_and_names_what_failed(
    came_out: float | str, line: str, is_failed: bool
) -> None:
    run = resolve_run(RBM | {"profiles": "openblas-1", "preset": "smoke"})
    turn = run.plan().next_turn()
    assert turn is not None
    write(record_of_turn(turn, run.work, lambda *_: came_out, 0, smoke=True))
    said: list[str] = []
    assert say_what_came_out(run, said.append) == is_failed
    assert said[-1].startswith(line.format(case=run.work.wanted[0].case.name))
    assert said[-1].endswith("; and 1 more; ./run respeed status shows where") == is_failed


@pytest.mark.parametrize(
    ("profiles", "missing", "answer", "line"),
    [
        ("openblas-1,gpu", None, {"reasons": {"fp32": "too old"}}, "gpu: not measured: too old"),
        ("openblas-1,gpu", "no CUDA device", {}, "gpu: not measured: no CUDA device"),
        ("gpu,gpu-bf16", None, {"reason": "stuck"}, "gpu, gpu-bf16: not measured: stuck"),
        ("gpu,gpu-bf16", None, {"reasons": {"bf16": "too old"}}, None),
        ("all", "no CUDA device", {}, None),
    ],
)
def test_why_no_row_of_a_device_can_run_is_said_of_devices_that_are_there_or_asked_for(
    profiles: str, missing: str | None, answer: dict[str, Any], line: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "missing_device", lambda device: missing if device != "cpu" else None)
    monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: answer)
    said: list[str] = []
    say_what_came_out(resolve_run(RBM | {"profiles": profiles}), said.append)
    assert said[:-1] == ([line] if line else [])


def test_minutes_that_are_not_enough_are_told_with_what_has_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "missing_device", lambda device: None)
    monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: {})
    run = resolve_run({"machine": "box", "papers": "raina2009"})
    short = replace(run.config, preset=replace(run.config.preset, minutes=1))
    spare = len([one for one in run.work.wanted if one.tier > work.USUAL])
    line = f"1 minutes are not enough for {spare} cells: preset=paper has more"
    assert line in announce(replace(run, config=short))
    assert "not enough" not in announce(replace(run, config=replace(short, preset=replace(short.preset, minutes=600))))


def test_a_dry_run_says_what_the_times_of_a_table_should_add_up_to_by_what_its_rows_have_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 10 GB/s: 1 MB of the case that was measured, and 20 GB of each of the three others."""
    run = resolve_run(RBM | {"machine": "box-00", "profiles": "torch-1,openblas-1"})
    counts = {one.key: (1e9, 2e10) for one in run.work.wanted}
    monkeypatch.setattr(runs, "count_cases", lambda cases: counts)
    assert "should add up" not in announce(run)
    write_machines(1)
    seconds = 1e6 / 192 * (1e6 + 3 * 2e10) / 1e10
    assert f"its times should add up to at least {seconds / 3600:.2f} h (torch-1)\n" in announce(run)


def test_a_job_that_fails_is_told_in_a_line_with_what_it_said_last(tmp_path: Path) -> None:
    log = tmp_path / "measured.log"
    log.write_text("respeed: turn 1\nrespeed: box: its records were made on another machine\n")
    reason = "SLURM-job '3' failed, SLURM status is: 'FAILED'. Detailed failure reason unavailable (...)."
    assert failure(reason, ["results/logs/box/asked-0"], [str(log)]).splitlines() == [
        "respeed: no results/logs/box/asked-0: SLURM-job '3' failed, SLURM status is: 'FAILED'.",
        f"  the job said last: box: its records were made on another machine ({log})",
    ]
    refused = "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition\nsbatch: error: more'.\n"
    line = failure(refused, ["results/smoke/logs/box/asked-0"], [str(log)])
    said = "respeed: box: Slurm refuses its jobs: invalid partition; look at slurm: in workflow/machines/box.yaml"
    assert line == said
