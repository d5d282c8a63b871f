"""A configuration, resolved: which machine measures what, what is asked of Slurm, the file that measuring leaves, and
the last lines of a run."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.errors import UserError
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import Told
from respeed.model import Paper
from respeed.records import write_description
from respeed.schedule import rows, work
from respeed.schedule import run as runs
from respeed.schedule.messages import announce, what_came_out, without_devices
from respeed.schedule.run import Run, resolve_run
from respeed.schedule.workflow import failure
from tests.made import description, make_lines, write_lines
from tests.schedule.measured import PAPERS, PROFILES, record_of_turn, write

RBM = {"experiments": "rbm", "machine": "box", "papers": "raina2009"}
NODES = {"a": {"runtime": 60}, "b": {"slurm_partition": "gpu", "gres": "gpu:1", "runtime": 9}}


def on_nodes(papers: dict[str, Paper] = PAPERS, **settings: Any) -> Run:
    config = load_config(overrides={"papers": "raina2009", "profiles": "openblas-1"} | settings)
    return Run(config, settings, papers, PROFILES, "a", NODES)


def test_a_machines_file_says_which_rows_it_has_and_a_run_names_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"far": Told("far", profiles=("gpu", "gpu-fp64")), "near": None}
    monkeypatch.setattr(runs, "told_of", told.get)

    def profiles(**settings: str) -> Config:
        return resolve_run(settings).config

    assert profiles(machine="far").profiles == ("gpu", "gpu-fp64")
    assert not profiles(machine="far").all_profiles
    assert profiles(machine="far", profiles="torch-1,gpu").profiles == ("gpu",)
    assert profiles(machine="near").profiles == load_config().profiles


def test_a_cluster_without_machines_is_a_mistake_that_says_how_to_write_one() -> None:
    with pytest.raises(UserError, match="new machine NAME"):
        resolve_run({"cluster": True})


def test_of_slurm_is_asked_what_a_machines_file_says_and_there_it_measures_as_long_as_its_job_lasts() -> None:
    run = on_nodes(seed=3)

    def asked(machine: str) -> dict[str, object]:
        return {key: of(SimpleNamespace(machine=machine)) for key, of in run.resources.items()}

    assert asked("a") == {"runtime": 60, "slurm_partition": None, "gres": None}
    assert asked("b") == NODES["b"]
    words = ["--budget", "6min", "--config", "seed=3", 'machine="b"', "cluster=false"]
    assert run.how_to_measure(SimpleNamespace(machine="b")) == words
    assert run.measured == ["a", "b"]
    assert "its job finds out what is left" in announce(run)
    assert resolve_run(RBM).resources == {}


def test_what_does_not_measure_leaves_out_what_is_wrong_and_shows_the_machines_that_there_are() -> None:
    run = resolve_run({"machine": "box"}, measures=False)
    write_description("lab", False, description())
    write_lines(*make_lines(), machine="lab")
    assert run.front_page["figure"] == "results/figures/raina2009/rbm/lab-speedup.svg"


# The file that measuring leaves.


def leave(run: Run) -> str:
    """Write the file of a run, as measuring does when nothing is left."""
    stamp = Path(run.stamp(run.machine))
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
    return str(stamp)


def measured(number: int = 0, **settings: str) -> Run:
    """A run of one row, of which so many turns were measured."""
    asked = {"profiles": "openblas-1", "preset": "smoke"} | RBM | settings
    for place in range(number):
        run = resolve_run(asked)
        turn = run.plan().next_turn()
        assert turn is not None
        write(record_of_turn(turn, run.work, lambda *_: 1.0, place, smoke=True))
    return resolve_run(asked)


def test_it_stays_the_same_until_something_else_is_asked_for() -> None:
    stamp = leave(measured(1))
    assert measured().stamp("box") == stamp
    assert measured(profiles="openblas-1,torch-1").stamp("box") != stamp
    assert measured(experiments="matmul").stamp("box") != stamp


def test_it_is_another_where_something_is_left_all_the_same_or_was_measured_by_hand_since() -> None:
    stamp = leave(measured(1))
    (record,) = Path("results").rglob("*.jsonl")
    later = os.stat(stamp).st_mtime_ns + 1
    os.utime(record, ns=(later, later))
    by_hand = leave(measured())
    os.utime(by_hand, ns=(later, later))
    assert measured().stamp("box") == by_hand != stamp
    record.unlink()
    left = leave(measured())
    assert left not in {stamp, by_hand}
    # What cannot start is left each time.
    assert leave(measured()) != left


def test_on_a_cluster_it_is_another_where_a_size_a_machines_file_or_a_program_of_ours_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stamp = on_nodes().stamp("a")
    assert on_nodes().stamp("a") == stamp != on_nodes().stamp("b")
    table = PAPERS["raina2009"].experiments["rbm"]
    less = replace(PAPERS["raina2009"], experiments={"rbm": replace(table, cases=table.cases[1:])})
    assert on_nodes({"raina2009": less}).stamp("a") != stamp
    assert on_nodes(seed=3).stamp("a") != stamp
    with monkeypatch.context() as patched:
        patched.setattr(runs, "told_of", lambda machine: Told(machine, profiles=("gpu",)))
        assert on_nodes().stamp("a") != stamp
    monkeypatch.setattr(work, "_file_digest", lambda workload: f"another {workload}")
    assert on_nodes().stamp("a") != stamp


# The last lines.


@pytest.mark.parametrize(
    ("came_out", "line", "is_failed"),
    [
        (1.0, "box: 4 cells measured", False),
        ("not-run", "box: 0 cells measured, 4 not measured: it was so", False),
        ("failed", "box: 0 cells measured, 4 failed: rbm {case} on openblas-1: it was so; ", True),
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
    (*_, last), has_failed = what_came_out(run)
    first = run.work.wanted[0].case.name
    assert has_failed == is_failed
    assert last.startswith(line.format(case=first))
    if is_failed:
        assert last.endswith("; and 1 more; ./run respeed status shows where")


def test_why_no_row_of_a_device_was_measured_is_told_of_devices_that_are_there_or_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told(answer: dict[str, Any], profiles: str = "openblas-1,gpu", missing: str | None = None) -> str | None:
        monkeypatch.setattr(rows, "missing_device", lambda device: missing)
        monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: answer)
        run = resolve_run(RBM | {"profiles": profiles})
        return without_devices(run, run.plan())

    none, reason = "no row of a GPU or TPU was measured", "driver 550.54 (CUDA 12.4) is too old"
    assert told({}) == f"{none}: gpu: not yet"
    assert told({"reasons": {"fp32": reason}}) == f"{none}: gpu: {reason}"
    low = {"reasons": {"fp32": reason, "bf16": "bf16 needs an NVIDIA GPU of 2020 or later"}}
    assert told(low, "gpu-bf16,gpu") == f"{none}: gpu: {reason}"
    assert told({}, "openblas-1") is None
    assert told({}, missing="no CUDA device") == f"{none}: gpu: no CUDA device"
    assert told({}, "all", "no CUDA device") is None


def test_minutes_that_are_not_enough_are_told_with_what_has_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "missing_device", lambda device: None)
    monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: {})
    run = resolve_run({"machine": "box", "papers": "raina2009"})
    short = replace(run.config, preset=replace(run.config.preset, minutes=1))
    spare = len([one for one in run.work.wanted if one.tier > work.USUAL])
    line = f"1 minutes are not enough for {spare} cells: preset=paper has more"
    assert line in announce(replace(run, config=short))
    assert "not enough" not in announce(replace(run, config=replace(short, preset=replace(short.preset, minutes=600))))


def test_a_job_that_fails_is_told_in_a_line_with_what_it_said_last(tmp_path: Path) -> None:
    log = tmp_path / "measured.log"
    log.write_text("respeed: turn 1\nrespeed: box: its records were made on another machine\n")
    reason = "SLURM-job '3' failed, SLURM status is: 'FAILED'. Detailed failure reason unavailable (...)."
    assert failure(reason, ["results/logs/box/measured-0"], [str(log)]) == [
        "respeed: no results/logs/box/measured-0: SLURM-job '3' failed, SLURM status is: 'FAILED'.",
        f"  the job said last: box: its records were made on another machine ({log})",
    ]
    refused = "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition\nsbatch: error: more'.\n"
    (line,) = failure(refused, ["results/smoke/logs/box/measured-0"], [str(log)])
    said = "respeed: box: Slurm refuses its jobs: invalid partition; look at slurm: in workflow/machines/box.yaml"
    assert line == said
