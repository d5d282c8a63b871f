"""What is planned for a machine that only its own job can look at."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import SlurmNode, Told
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.records.store import write_json
from respeed.schedule import workflow
from respeed.schedule.availability import checksum, make_description, read_answers, resolve_described
from respeed.schedule.messages import announcement, failure
from respeed.schedule.next_turn import Plan
from respeed.schedule.workflow import Target, Workflow, resolve_workflow

PROFILES = load_profiles()
NODE = SlurmNode(partition="gpu", minutes=60)


def target(node: SlurmNode = NODE, *profiles: str) -> Target:
    config = replace(load_config(), profiles=profiles or ("openblas-1", "gpu"))
    return Target(config, load_papers(["raina2009"]), PROFILES, "far", node)


def describe(there: Target, **answers: dict[str, object]) -> None:
    known = {name: {"asked": checksum(PROFILES[name])} | answer for name, answer in answers.items()}
    write_json(there.description, {"machine": "far", "hardware": {}, "not_measurable": {}, "profiles": known})


def test_without_a_description_a_session_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert target().asks_node
    assert target().sessions == [Path("results/records/far/session-001.json")]


def test_what_applies_there_is_its_own_answer_and_not_this_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    describe(target(), **{"openblas-1": {"reason": "no BLAS"}, "gpu": {"threads": 64}})
    there = target()
    assert not there.asks_node
    assert {cell.profile for cell in there.work.cells} == {"gpu"}
    assert there.why_not(PROFILES["openblas-1"]) == "no BLAS"


def test_a_profile_that_changed_is_asked_about_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    describe(target(), **{"openblas-1": {"threads": 1}, "gpu": {"threads": 64}})
    there = target()
    changed = {**PROFILES, "gpu": replace(PROFILES["gpu"], precision="fp16")}
    renamed = {**PROFILES, "gpu": replace(PROFILES["gpu"], label="Another label")}
    assert replace(there, profiles=changed).asks_node
    assert not replace(there, profiles=renamed).asks_node


def test_a_nodes_hardware_sheet_is_measured_anew_where_its_description_is_of_other_hardware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cpu = {"cpu": "A CPU", "memory_bytes": 2**34, "accelerators": []}
    sheet = {
        "schema": 1, "machine": "far", "smoke": False, "digest": "0" * 16, "started": "2026-01-01T00:00:00+00:00",
        "wall_seconds": 1.0, "provenance": {"machine": cpu}, "memory": {"caches": {}, "accelerators": {}},
        "rounds": [], "absent": [],
    }  # fmt: skip
    write_json(target().hardware_sheet, sheet)
    assert target().gauge_due is None
    write_json(target().description, {"machine": "far", "hardware": {"cpu": "Another CPU"}})
    assert "on other hardware: CPU, A CPU, not Another CPU" in (target().gauge_due or "")


def test_a_description_without_answers_is_asked_again_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not target().asks_again
    write_json(target().description, {"machine": "far", "hardware": {}, "not_measurable": {}})
    write_json(Path("results/records/far/raina2009/rbm/gpu/round-01.json"), {})
    assert target().asks_again
    run = Workflow(target().config, {}, target().papers, PROFILES, "far", {"far": NODE})
    first, *others = announcement(run).splitlines()[1:]
    assert first.startswith("  1 record; its profiles are asked again: its first job")
    assert any("hardware sheet" in line for line in others)
    describe(target(), **{"openblas-1": {"threads": 1}, "gpu": {"threads": 64}})
    assert not target().asks_again


def test_the_answers_of_this_machine_are_what_it_resolves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    described = make_description("far", PROFILES)
    write_json(target().description, described)
    every = target(NODE, *PROFILES)
    assert not every.asks_node
    answers = read_answers("far", smoke=False)
    assert resolve_described(answers, PROFILES["openblas-1"])[0] == 1
    assert "mkl-1" in answers
    assert "mkl-1" not in described["not_measurable"]  # no row of this machine's tables
    with pytest.raises(NotMeasurable, match="no good"):
        resolve_described({"gpu": answers["gpu"] | {"reason": "no good"}}, PROFILES["gpu"])


def test_a_job_that_is_too_short_for_its_next_turn_is_refused_with_the_minutes_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = target(replace(NODE, minutes=5), "openblas-1")
    describe(short, **{"openblas-1": {"threads": 1}})
    monkeypatch.setattr("respeed.schedule.next_turn.START_SECONDS", 600.0)
    with pytest.raises(UserError, match=r"workflow/machines/far.yaml: slurm.minutes: 5 is too short: .* write 1\d"):
        short.check()
    replace(short, node=replace(NODE, minutes=600)).check()
    monkeypatch.setattr(Plan, "seconds_left", lambda plan: 7200.0)
    assert [replace(short, node=replace(NODE, minutes=minutes)).jobs_needed for minutes in (5, 63, 600)] == [60, 2, 1]


def test_a_whole_node_is_asked_for_and_of_the_rest_only_what_was_told() -> None:
    nodes = {"a": SlurmNode(), "b": SlurmNode("gpu", gres="gpu:1", nodelist="n7", cpus=8, memory_gb=2, minutes=9)}

    def asked(machine: str, short: bool = False) -> dict[str, object]:
        wildcards = SimpleNamespace(machine=machine)
        run = Workflow(load_config(), {}, {}, PROFILES, machine, nodes)
        return {key: of(wildcards) for key, of in run.resources(short).items()}

    plain, told = asked("a"), asked("b")
    assert {key for key, value in plain.items() if value is None} == {
        "slurm_partition",
        "slurm_account",
        "constraint",
        "gres",
    }
    assert plain["slurm_extra"] == "--exclusive"
    assert told["slurm_extra"] == "--exclusive --nodelist=n7"
    assert (told["slurm_partition"], told["gres"], told["cpus_per_task"], told["mem_mb"]) == ("gpu", "gpu:1", 8, 2048)
    assert (plain["runtime"], asked("a", short=True)["runtime"], asked("b", short=True)["runtime"]) == (60, 15, 9)


def test_a_machines_file_says_which_profiles_it_has_and_a_run_names_some_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {"far": Told("far", profiles=("gpu", "gpu-fp64")), "near": None}
    monkeypatch.setattr(workflow, "told_of", told.get)
    every = replace(load_config(), all_profiles=True)
    some = replace(every, all_profiles=False, profiles=("torch-1", "gpu"))

    def profiles(config: Config, machine: str) -> tuple[str, ...]:
        return Workflow(config, {}, {}, PROFILES, machine).targets[0].config.profiles

    assert profiles(every, "far") == ("gpu", "gpu-fp64")
    assert profiles(some, "far") == ("gpu",)
    assert profiles(every, "near") == every.profiles


def test_a_cluster_without_machines_is_a_mistake_that_says_how_to_write_one() -> None:
    with pytest.raises(UserError, match="new machine NAME"):
        resolve_workflow({"cluster": True})


def test_a_job_that_fails_is_told_in_a_line_with_what_it_said_last(tmp_path: Path) -> None:
    log = tmp_path / "session.log"
    log.write_text("respeed: turn 1\nrespeed: box: its records were made on another machine\n")
    reason = "SLURM-job '3' failed, SLURM status is: 'FAILED'. Detailed failure reason unavailable (...)."
    assert failure(reason, ["machine.json"], [str(log)]) == [
        "respeed: no machine.json: SLURM-job '3' failed, SLURM status is: 'FAILED'.",
        f"  the job said last: box: its records were made on another machine ({log})",
    ]
    refused = "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition\nsbatch: error: more'.\n"
    (line,) = failure(refused, ["a"], [str(log)])
    assert line == "respeed: no a: Slurm refused the job: sbatch: error: invalid partition"
