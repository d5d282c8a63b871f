"""A configuration, resolved: which machine measures what, what is asked of Slurm, the file that measuring leaves, and
the last lines of a run."""

import logging
import os
import re
import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed import paths, workflow
from respeed.cli import main
from respeed.errors import UserError
from respeed.inputs import config
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import MACHINE_FILES, Notes
from respeed.inputs.reader import from_here, mistakes_of
from respeed.machine import describe_machine
from respeed.outcome import announce, count_cells, say_farewell, say_limits
from respeed.paths import ROOT, hold_folder
from respeed.schedule import rows, work
from respeed.schedule import run as runs
from respeed.schedule.run import Run, resolve_run
from respeed.workflow import FailedJobs, begin, check_executor, fail, failure, start, succeed
from tests.known import assert_known
from tests.made import make_lines, write_lines, write_machines
from tests.schedule.measured import PAPERS, PROFILES, record_of_turn, write

RBM = {"experiments": "rbm", "machine": "box", "papers": "raina2009"}
NODES = {"a": {"runtime": 60}, "b": {"slurm_partition": "gpu", "gres": "gpu:1", "runtime": 9}}


def on_nodes(**settings: Any) -> Run:
    config = load_config(overrides={"papers": "raina2009", "profiles": "openblas-1"} | settings)
    return Run(config, settings, PAPERS, PROFILES, "a", NODES)


def test_a_run_names_some_of_a_machines_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine's file says which rows it has and a run names some of them."""
    told = {"far": Notes("far", profiles=("gpu", "gpu-fp64")), "near": None}
    monkeypatch.setattr(runs, "notes_of", told.get)

    def profiles(**settings: str) -> Config:
        return resolve_run(settings).config

    assert profiles(machine="far").profiles == ("gpu", "gpu-fp64")
    assert not profiles(machine="far").all_profiles
    assert profiles(machine="far", profiles="torch-1,gpu").profiles == ("gpu",)
    assert profiles(machine="near").profiles == load_config().profiles


def test_a_cluster_measures_machines_with_slurm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cluster measures all machines that have Slurm or the one that is named."""
    with pytest.raises(UserError, match="new machine NAME"):
        resolve_run({"cluster": True})
    told = {"a": Notes("a", slurm={"runtime": 60}), "b": Notes("b", slurm={"runtime": 9}), "c": Notes("c")}
    monkeypatch.setattr(runs, "MACHINE_FILES", SimpleNamespace(load_all=lambda: told))
    assert [*resolve_run({"cluster": True}).nodes] == ["a", "b"]
    assert [*resolve_run({"cluster": True, "machine": "b"}).nodes] == ["b"]
    with pytest.raises(UserError, match="'c' has no slurm"):
        resolve_run({"cluster": True, "machine": "c"})


@pytest.mark.known
def test_what_rules_take_of_a_run_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws of stamps and of the last lines follow; here is every word of three runs."""
    write_machines(6, rounds=1)
    write_machines(1, rounds=1, smoke=True)
    lines = []
    for known in (
        resolve_run(RBM | {"profiles": "openblas-1", "machine": "box-03"}),
        resolve_run(RBM | {"profiles": "openblas-1,openblas-1", "preset": "smoke", "seed": 3}),
        on_nodes(seed=3),
    ):
        lines.append(f"{known.machine}: {known.results} {known.document}\n{announce(known)}")
        lines += [f"settings {known.settings}", f"shown {known.shown}", f"measure {known.how_to_measure('b')}"]
        lines += [one for one in known.sources if "/hardware/" not in one]
    text = re.sub("-([a-z]{4}.jsonl|[0-9a-f]{12})$", "-....", "\n".join(lines), flags=re.MULTILINE)
    assert_known(Path(__file__).with_name("runs.txt"), text.replace(os.path.relpath(ROOT), "ROOT"))


def test_unread_files_are_told_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are not read and records of another name are told before a run."""
    monkeypatch.setattr(config, "MACHINE_FILES", replace(MACHINE_FILES, folder=tmp_path / "machines"))
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines/box.yml").write_text("")
    write_lines(*make_lines(hardware=describe_machine()), machine="renamed")
    said = announce(resolve_run(RBM | {"profiles": "openblas-1"})).splitlines()
    assert "  machines/box.yml: is not read; a machine's file here is named box.yaml" in said
    assert any(line.startswith("  results/records/renamed was measured on this machine; to go on") for line in said)


# The file that measuring leaves.


def measured(number: int = 0, came_out: Any = 1.0, **settings: str) -> Run:
    """A run of one row, of which so many turns were measured."""
    asked = {"profiles": "openblas-1", "preset": "smoke"} | RBM | settings
    for place in range(number):
        run = resolve_run(asked)
        turn = run.plan.next_turn()
        assert turn is not None
        write(record_of_turn(turn, run.work, lambda *_: came_out, place, smoke=True))
    return resolve_run(asked)


def test_an_unfinished_measurement_is_a_stamp() -> None:
    """What measuring leaves is another file where something is left or was measured by hand since."""

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
    "file", ["respeed/workloads/rbm.py", "hardware/gpu.yaml", "papers/raina2009/published.csv", "machines/a.yaml"]
)
def test_a_node_is_asked_again_after_changes(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node is asked again where what was said or a file of what people write is another."""
    copy = shutil.copytree(paths.WORKFLOW, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(paths, "WORKFLOW", copy)
    monkeypatch.setattr(paths, "PACKAGE", copy / "respeed")
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
    run = measured(1, came_out)
    said, *ends = count_cells(run, run.plan)
    assert ends == [is_failed, False]
    assert said[-1].startswith(line.format(case=run.work.wanted[0].case.name))
    assert said[-1].endswith("; and 1 more; ./run respeed status shows where") == is_failed
    assert main(["status", "--config", *run.settings]) == is_failed


@pytest.mark.parametrize(
    ("profiles", "missing", "answer", "line"),
    [
        ("openblas-1,gpu", None, {"reasons": {"fp32": "too old"}}, "gpu: not measured: too old"),
        ("openblas-1,gpu", "no CUDA device", {}, "gpu: not measured: no CUDA device"),
        ("gpu,gpu-bf16", None, {"reason": "stuck"}, "gpu, gpu-bf16: not measured: stuck"),
        ("gpu,gpu-bf16", None, {"reasons": {"bf16": "too old"}}, "gpu-bf16: not measured: too old"),
        ("all", "no CUDA device", {}, "gpu, gpu-bf16, gpu-fp16, gpu-tf32: not measured: no CUDA device"),
    ],
)
def test_a_row_that_cannot_run_says_why(
    profiles: str, missing: str | None, answer: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(rows, "missing_device", lambda device: missing if device != "cpu" else None)
    monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: answer)
    run = resolve_run(RBM | {"profiles": profiles})
    assert say_limits(run, run.plan) == [line]
    say_farewell(run)
    assert f"respeed: {line}\n" in capsys.readouterr().err


def test_a_run_names_the_measured_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run says which card was measured so far if another one is chosen."""
    monkeypatch.setattr(rows, "missing_device", lambda device: None)
    monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: {})
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert "measured so far" not in announce(measured(1, profiles="gpu"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    line = r"measured so far on .*CUDA_VISIBLE_DEVICES=0.*: that does not count for .*CUDA_VISIBLE_DEVICES=1"
    assert re.search(line, announce(measured(profiles="gpu")))


def test_minutes_too_few_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes that are not enough are told with what has more."""
    monkeypatch.setattr(rows, "missing_device", lambda device: None)
    monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: {})
    run = resolve_run({"machine": "box", "papers": "raina2009"})
    short = replace(run.config, preset=replace(run.config.preset, minutes=1))
    spare = len([one for one in run.work.wanted if one.tier > work.USUAL])
    line = f"1 minutes are not enough for {spare} cells: preset=paper has more"
    assert line in announce(replace(run, config=short))
    assert "not enough" not in announce(replace(run, config=replace(short, preset=replace(short.preset, minutes=600))))


@pytest.mark.parametrize(
    ("probe", "spread", "says"),
    [
        (2.0, 0.0, "2 cells known less well than ±10 %; beside these neighbours, more rounds settle few"),
        (
            1.0,
            0.1,
            "1 cell known less well than ±10 %; about 6 more rounds would settle half of them: --config preset=paper",
        ),
        (1.0, 0.5, "1 cell known less well than ±10 %; about 585 more rounds would settle half of them"),
    ],
)
def test_a_preset_that_settles_cells_is_named(probe: float, spread: float, says: str) -> None:
    """Beside the slow probes of one case, those of another show what is quiet."""
    for number, sign in enumerate((0, 1, -1, 0), start=1):
        seconds, facts = [0.1 * (1 + sign * spread)], {"number": number, "profile": "openblas-1"}
        write_lines(*make_lines(seconds, probe=probe, **facts))
        write_lines(*make_lines([0.1], case="1024x4096", **facts))
    run = resolve_run(RBM | {"profiles": "openblas-1"})
    assert [line for line in count_cells(run, run.plan).lines if "known less well" in line] == [says]


# What Snakemake calls.


# Snakemake's settings where no option limits anything.
OWN = {"_cores": 64, "_nodes": None}
LIMITS = {"max_threads": None, "overwrite_threads": {}, "overwrite_resources": {}, "resources": OWN}


def snakemake(tasks: int = 0, **facts: Any) -> Any:
    """Snakemake's workflow object, of a run with so much to do."""
    dag = type("Dag", (), {"targetjobs": [True], "__len__": lambda _: tasks})()
    common = SimpleNamespace(common_settings=SimpleNamespace(non_local_exec=facts.pop("elsewhere", False)))
    said = {
        "executor_plugin": common, "is_main_process": True, "dryrun": False, "dag": dag, "cores": 64,
        "main_snakefile": str(ROOT / "Snakefile"),
        "dag_settings": SimpleNamespace(forceall=facts.pop("forced", False)),
        "resource_settings": SimpleNamespace(**LIMITS | facts.pop("limits", {})),
    } | facts  # fmt: skip
    return SimpleNamespace(**said)


def test_a_cluster_is_measured_by_jobs() -> None:
    """A cluster is measured by its jobs and a machine by none."""
    here, there = resolve_run(RBM), on_nodes()
    assert mistakes_of(lambda: check_executor(here, snakemake())) == []
    assert mistakes_of(lambda: check_executor(there, snakemake(elsewhere=True))) == []
    (line,) = mistakes_of(lambda: check_executor(there, snakemake()))
    assert line == "cluster: true measures through Slurm: add --profile profiles/slurm, or say cluster: false"
    (line,) = mistakes_of(lambda: check_executor(here, snakemake(elsewhere=True)))
    assert line == "jobs on a cluster need to know which machine they measure; use --profile profiles/slurm"


def test_what_measures_nothing_asks_for_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["snakemake", "report"])
    monkeypatch.setattr(workflow, "interrupt_when_stopped", lambda: None)
    start(resolve_run(RBM), snakemake(elsewhere=True))


def test_limits_and_options_without_effect_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What limits nothing and options that a variable adds are named."""
    monkeypatch.setattr(sys, "argv", ["snakemake"])
    monkeypatch.setattr(workflow.atexit, "register", lambda *_: None)
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "profiles/mine")
    limits = {"overwrite_threads": {"measure_box": 1}, "resources": OWN | {"mem_mb": 1}}
    begin(snakemake(cores=0, limits=limits), RBM | {"profiles": "openblas-1", "preset": "smoke"})
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first == "respeed: SNAKEMAKE_PROFILE is set, so that the options of profiles/mine hold here"
    assert last.startswith(
        "respeed: --cores 0, --set-threads, --resources: limits no measurement, whose rows run on up to 1;"
    )
    begin(snakemake(), RBM | {"profiles": "openblas-1", "preset": "smoke"})
    assert "limits no measurement" not in capsys.readouterr().err


def test_settings_that_are_given_twice_add_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snakemake hands on those of the last --config alone."""
    command = ["snakemake", "--config", "preset=smoke", "machine=box", "-n", "-C", "experiments=rbm", "--config"]
    last = ["papers=raina2009", "profiles=[openblas-1]"]
    monkeypatch.setattr(sys, "argv", [*command, *last])
    monkeypatch.setattr(workflow.atexit, "register", lambda *_: None)
    run = begin(snakemake(), {"papers": "raina2009", "profiles": ["openblas-1"]})
    assert capsys.readouterr().err.startswith("respeed: box, preset smoke:")
    assert run.settings == [
        'preset="smoke"', 'machine="box"', 'experiments="rbm"', 'papers="raina2009"', 'profiles=["openblas-1"]',
    ]  # fmt: skip


def test_a_run_begins_with_what_it_measures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run begins with what it will measure or with the one line of a mistake."""
    monkeypatch.setattr(sys, "argv", ["snakemake", "--cores", "all"])
    monkeypatch.setattr(workflow.atexit, "register", lambda *_: None)
    asked: dict[str, Any] = RBM | {"profiles": "openblas-1", "preset": "smoke"}
    begin(snakemake(), config := dict(asked))
    assert capsys.readouterr().err.startswith(
        "respeed: box, preset smoke: 1 round of everything\n  raina2009 rbm: 4 of 4"
    )
    assert (config["page"], capsys.readouterr().err) == ("results/smoke/tables.html", "")
    monkeypatch.setattr(workflow, "interrupt_when_stopped", lambda: None)
    start(begin(snakemake(is_main_process=False), dict(asked)), snakemake())
    assert "another run is at work" in mistakes_of(lambda: hold_folder(True))[0]
    assert capsys.readouterr().err == ""
    write_lines(*make_lines(smoke=True))
    for wrong, line in (({"seed": -1}, "--config: seed: must be"), ({}, "results/smoke/records/box was measured on")):
        with pytest.raises(SystemExit, match="2"):
            begin(snakemake(), asked | wrong)
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith(f"respeed: {line}")


@pytest.mark.parametrize(
    ("came_out", "command", "facts", "code"),
    [
        ("wrong", "all", {}, 1), (1.0, "all", {}, 0), ("wrong", "all", {"tasks": 1}, 0),
        ("wrong", "pdf", {}, 1), ("wrong", "report", {}, 1), ("wrong", "--report=mine.html", {}, 1),
        *(("wrong", "all", facts, 0) for facts in ({"dryrun": True}, {"executor_plugin": None}, {"dag": None})),
    ],
)  # fmt: skip
def test_anything_wrong_ends_with_exit_code_1(
    came_out: Any, command: str, facts: dict[str, Any], code: int, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A run that had nothing to do or is done ends with 1 if anything was wrong."""
    run = measured(1, came_out=came_out)
    monkeypatch.setattr(sys, "argv", ["snakemake", command])
    codes = [0]
    monkeypatch.setattr(os, "_exit", codes.append)
    workflow._end_idle(run, snakemake(**facts))
    assert codes[-1] == code
    with pytest.raises(SystemExit, match="1") if (came_out, command) == ("wrong", "all") else nullcontext():
        succeed(run)


def test_the_last_lines_name_a_current_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The last lines name the report and its page unless the page is an earlier one."""
    run = measured(1)
    for name, second in (("report/smoke.pdf", 1), ("results/smoke/tables/cells.csv", 2), ("report/smoke.html", 2)):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
        os.utime(name, (second, second))
    for page in (", for a browser report/smoke.html", ""):
        assert say_farewell(run)[1:] == (False, False)
        said = f"the report is report/smoke.pdf{page}; tables are in results/smoke/tables"
        assert capsys.readouterr().err.splitlines() == [f"respeed: {said}", "respeed: box: 4 cells measured"]
        os.utime("report/smoke.html", (1, 1))


def test_a_failed_cluster_names_the_remaining_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """A run that fails on a cluster names the machines that are left."""
    for machine, left in (("a", "a, b"), ("b", "b")):
        fail(on_nodes())
        said = f"not all was measured on {left}; nothing is lost, and the same command resumes the run once jobs run"
        assert capsys.readouterr().err == f"respeed: {said}\n"
        stamp = Path(on_nodes().stamps[machine])
        stamp.parent.mkdir(parents=True)
        stamp.touch()
    for run in (on_nodes(), resolve_run(RBM)):
        fail(run)
    assert say_farewell(on_nodes())[1:] == (False, False)
    assert capsys.readouterr().err == ""


def test_a_failed_job_has_its_last_words(tmp_path: Path) -> None:
    """A job that fails is told in a line with what it said last."""
    log = tmp_path / "measured.log"
    log.write_text("respeed: turn 1\nrespeed: box: its records were made on another machine\n")
    file = str(from_here(MACHINE_FILES.path("box")))
    reason = "SLURM-job '3' failed, SLURM status is: 'FAILED'. Detailed failure reason unavailable (...)."
    assert failure(reason, ["results/logs/box/asked-0"], [str(log)]).splitlines() == [
        f"box: {reason} (slurm: in {file})",
        f"  its log ends with: respeed: box: its records were made on another machine ({log})",
    ]
    refused = "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition\nsbatch: error: more'.\n"
    words = "'sbatch: error: invalid partition sbatch: error: more'."
    assert failure(refused, ["results/smoke/logs/box/asked-0"], []) == (
        f"box: SLURM sbatch failed. The error message was {words} (slurm: in {file})"
    )


def test_common_failures_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """What several jobs that fail have in common is said once."""
    jobs, event = FailedJobs(snakemake()), SimpleNamespace(value="job_error")
    for facts in (
        {"event": event, "rule_msg": "it ended"}, {"event": event, "rule_msg": "it ended"}, {"event": event},
        {"event": event, "rule_msg": "it broke"}, {"rule_msg": "no job's"},
    ):  # fmt: skip
        jobs.emit(logging.makeLogRecord({"output": ["logs/box/asked"], "log": []} | facts))
    file = f"(slurm: in {from_here(MACHINE_FILES.path('box'))})"
    assert capsys.readouterr().err == f"respeed: box: it ended {file}\nrespeed: box: it broke {file}\n"


@pytest.mark.parametrize(
    ("words", "times"),
    [("invalid partition", 0), ("Socket timed out on send/recv", 5), ("Unable to contact slurm controller", 5)],
)
def test_a_refused_job_is_submitted_once(words: str, times: int) -> None:
    """What Slurm refuses is submitted once and again if Slurm was out of reach."""
    rule = SimpleNamespace(restart_times=5)
    facts = {"event": SimpleNamespace(value="job_error"), "output": ["logs/box/asked"], "log": [], "rule_name": "it"}
    facts["rule_msg"] = f"SLURM sbatch failed. The error message was 'sbatch: error:\n{words}'.\n"
    FailedJobs(snakemake(get_rule={"it": rule}.get)).emit(logging.makeLogRecord(facts))
    assert rule.restart_times == times
