"""A configuration, resolved: what is planned for machines that only their own jobs can look at, what is asked of Slurm,
and the files that the rules make."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import SlurmNode, Told
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.paths import RoundId, description_path, round_path
from respeed.records.store import write_json, write_record
from respeed.schedule import workflow
from respeed.schedule.availability import checksum, make_description, read_answers, resolve_described
from respeed.schedule.messages import announcement, failure
from respeed.schedule.next_turn import Plan
from respeed.schedule.workflow import Target, Workflow, resolve_workflow
from tests.conftest import description

PROFILES = load_profiles()
NODE = SlurmNode(partition="gpu", minutes=60)


def target(*profiles: str, **node: Any) -> Target:
    config = replace(load_config(), profiles=profiles or ("openblas-1", "gpu"))
    return Target(config, load_papers(["raina2009"]), PROFILES, "far", replace(NODE, **node))


def describe(**answers: dict[str, object]) -> None:
    known = {name: {"asked": checksum(PROFILES[name])} | answer for name, answer in answers.items()}
    write_json(target().description, description(profiles=known))


def test_what_applies_on_a_node_is_its_own_answer_which_its_first_job_gives() -> None:
    assert target().asks_node
    assert target().sessions == [Path("results/logs/far/session-001.done")]
    describe(**{"openblas-1": {"reason": "no BLAS"}, "gpu": {"threads": 64}})
    there = target()
    assert not there.asks_node
    assert {cell.profile for cell in there.work.cells} == {"gpu"}
    assert there.why_not(PROFILES["openblas-1"]) == "no BLAS"
    # A profile that changed is asked about again.
    for changes, asked in ({"precision": "fp16"}, True), ({"label": "Another label"}, False):
        changed = PROFILES | {"gpu": replace(PROFILES["gpu"], **changes)}
        assert replace(target(), profiles=changed).asks_node == asked


def test_the_answers_of_this_machine_are_what_it_resolves() -> None:
    described = make_description("far", PROFILES)
    write_record(target().description, described)
    assert not target(*PROFILES).asks_node
    answers = read_answers("far", smoke=False)
    assert resolve_described(answers, PROFILES["openblas-1"])[0] == 1
    assert "mkl-1" in answers
    assert "mkl-1" not in described["not_measurable"]  # no row of this machine's tables
    with pytest.raises(NotMeasurable, match="no good"):
        resolve_described({"gpu": answers["gpu"] | {"reason": "no good"}}, PROFILES["gpu"])


def test_a_description_without_answers_is_asked_again_and_the_run_says_so() -> None:
    assert not target().asks_again
    write_json(target().description, description())
    write_json(Path("results/records/far/raina2009/rbm/gpu/round-01.json"), {})
    assert target().asks_again
    run = Workflow(target().config, {}, target().papers, PROFILES, "far", {"far": NODE})
    assert announcement(run).splitlines()[1].startswith("  its first job finds out what is left, and which of these ")
    describe(**{"openblas-1": {"threads": 1}, "gpu": {"threads": 64}})
    assert not target().asks_again


def test_a_job_that_is_too_short_for_its_next_turn_is_refused_with_the_minutes_to_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    describe(**{"openblas-1": {"threads": 1}})
    monkeypatch.setattr("respeed.schedule.next_turn.START_SECONDS", 600.0)
    with pytest.raises(UserError, match=r"workflow/machines/far.yaml: slurm.minutes: 5 is too short: .* write 1\d"):
        target("openblas-1", minutes=5).check()
    target("openblas-1", minutes=600).check()
    monkeypatch.setattr(Plan, "seconds_left", lambda plan: 7200.0)
    assert [target("openblas-1", minutes=minutes).jobs_needed for minutes in (5, 63, 600)] == [60, 2, 1]


def test_a_whole_node_is_asked_for_and_of_the_rest_only_what_was_told() -> None:
    nodes = {"a": SlurmNode(), "b": SlurmNode("gpu", gres="gpu:1", nodelist="n7", cpus=8, memory_gb=2, minutes=9)}
    run = Workflow(
        load_config(overrides={"profiles": "openblas-1"}),
        {"machine": "a"},
        load_papers(["raina2009"]),
        PROFILES,
        "a",
        nodes,
    )

    def asked(machine: str, short: bool = False) -> Mapping[str, object]:
        return {key: of(SimpleNamespace(machine=machine)) for key, of in run.resources(short).items()}

    plain, told = asked("a"), asked("b")
    left = {"slurm_partition", "slurm_account", "constraint", "gres"}
    assert {key for key, value in plain.items() if value is None} == left
    assert (plain["slurm_extra"], plain["cpus_per_task"], plain["mem_mb"]) == ("--exclusive", -1, 0)
    assert told["slurm_extra"] == "--exclusive --nodelist=n7"
    assert (told["slurm_partition"], told["gres"], told["cpus_per_task"], told["mem_mb"]) == ("gpu", "gpu:1", 8, 2048)
    assert (plain["runtime"], asked("a", short=True)["runtime"], asked("b", short=True)["runtime"]) == (60, 15, 9)
    # There it is told to measure, as long as its job lasts, what that machine is asked for.
    words = ["--budget", "360s", "--config", 'machine="b"', "cluster=false"]
    assert run.how_to_measure(SimpleNamespace(machine="b")) == words
    assert replace(run, nodes={}).resources() == {}


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
    (line,) = failure(refused, ["results/smoke/logs/box/session-001.done"], [str(log)])
    said = "respeed: box: Slurm refuses its jobs: invalid partition; look at slurm: in workflow/machines/box.yaml"
    assert line == said


def test_what_does_not_measure_shows_the_machines_that_there_are() -> None:
    run = replace(resolve_workflow({"machine": "box"}), measures=False)
    described = make_description("lab", {})
    write_record(description_path("lab", smoke=False), described)
    write_json(round_path(RoundId("lab", "raina2009", "rbm", "torch-1", 1)), {})
    assert run.front_page["figure"] == "results/figures/raina2009/rbm/lab-speedup.svg"
