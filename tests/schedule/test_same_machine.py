"""A run under a name that is another machine's is refused, in one line that gives a name to use."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.measure.gauge import measure_gauge
from respeed.measure.learning import learn
from respeed.paths import RoundId, description_path, round_path
from respeed.records.fingerprint import FIELDS
from respeed.records.store import read_machine, write_json
from respeed.schedule.availability import check_same_machine, describe_as, write_description
from respeed.schedule.messages import announcement
from respeed.schedule.next_turn import read_plan
from respeed.schedule.selection import make_work
from respeed.schedule.workflow import Workflow

MakeRecord = Callable[..., dict[str, Any]]
HERE = {"cpu": "A CPU", "memory_bytes": 2**34, "host": "7f3a" * 4}
OTHER_HOST = "0123" * 4


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(record: dict[str, Any], **made_on: Any) -> Path:
    record["provenance"]["machine"] |= made_on
    path = round_path(RoundId(record["id"]["machine"], "raina2009", "rbm", "torch-1", record["id"]["index"]))
    write_json(path, record)
    return path


def refusal(machine: str = "box", here: dict[str, Any] = HERE) -> str:
    with pytest.raises(UserError) as refused:
        check_same_machine(machine, read_machine(False, machine), here)
    return str(refused.value)


def test_the_same_machine_is_let_through(make_record: MakeRecord) -> None:
    write(make_record([0.1]), host=HERE["host"])
    check_same_machine("box", read_machine(False, "box"), HERE)
    check_same_machine("new", read_machine(False, "new"), HERE)


def test_another_one_is_refused_with_a_name_made_of_its_host(make_record: MakeRecord) -> None:
    write(make_record([0.1]), host=OTHER_HOST)
    told = refusal()
    assert f"host, {HERE['host']}, not {OTHER_HOST}; give this machine a name of its own: " in told
    assert "--config machine=box-7f3a " in told


def test_a_name_that_is_taken_too_is_not_proposed(make_record: MakeRecord) -> None:
    for machine in ("box", "box-7f3a", "box-2"):
        write(make_record([0.1], machine=machine), host=OTHER_HOST)
    assert "--config machine=box-3 " in refusal()


def test_without_a_mark_of_the_host_the_name_has_a_number(make_record: MakeRecord) -> None:
    name = "intel-xeon-box-1" * 4  # the longest that may be
    write(make_record([0.1], machine=name), memory_bytes=2**35)
    found = re.search(r"--config machine=(\S+) ", refusal(name, {"memory_bytes": 2**34}))
    assert found is not None
    assert found[1] == name[:62] + "-2"


def test_the_name_that_this_host_had_before_is_proposed(make_record: MakeRecord) -> None:
    write(make_record([0.1]), host=OTHER_HOST)
    write_json(description_path("mine", False), {"machine": "mine", "hardware": HERE, "not_measurable": {}})
    assert "this machine has records as mine: --config machine=mine " in refusal()


def test_where_some_records_are_this_ones_the_line_says_how_to_part_them(make_record: MakeRecord) -> None:
    for index in (1, 2, 3):
        write(make_record([0.1], index=index), host=OTHER_HOST if index < 3 else HERE["host"])
    assert "./run respeed rename box box-7f3a --left-out, and then --config machine=box-7f3a " in refusal()


def test_records_of_another_machine_count_as_not_measured_and_are_left_where_they_are(make_record: MakeRecord) -> None:
    config = replace(load_config(), profiles=("torch-1",), experiments=("rbm",))
    work = make_work(config, load_papers(["raina2009"]), load_profiles(), "box")
    for index in (1, 2, 3):
        write(make_record([0.1], index=index), host=HERE["host"] if index < 3 else OTHER_HOST)
    write(make_record([0.1], index=4, machine="copied")).rename(
        round_path(RoundId("box", "raina2009", "rbm", "torch-1", 4))
    )
    plan = read_plan(work, lambda *_: "0" * 16)
    assert sum(map(plan.attempts, work.cells)) == 2
    assert plan.unusable == {}
    assert len(plan.made_on.identity_lines) == 2
    assert plan.next_round("raina2009", "rbm", "torch-1").index == 5


def test_a_whole_run_never_takes_the_place_of_another_machines(make_record: MakeRecord) -> None:
    config = replace(load_config(), profiles=("torch-1",), experiments=("rbm",))
    work = make_work(config, load_papers(["raina2009"]), load_profiles(), "box")
    theirs = make_record([0.1], whole=True)
    theirs["provenance"]["machine"] |= {"host": OTHER_HOST}
    write_json(round_path(RoundId("box", "raina2009", "rbm", "torch-1", 1, whole=True)), theirs)
    write_json(description_path("box", False), {"machine": "box", "hardware": HERE, "not_measurable": {}})
    plan = read_plan(work, lambda *_: "0" * 16)
    assert not plan.records
    assert plan.next_round("raina2009", "rbm", "torch-1", whole=True).index == 2


def test_a_dry_run_says_what_it_leaves_out(make_record: MakeRecord) -> None:
    for index in (1, 2, 3):
        write(make_record([0.1], index=index), host=HERE["host"] if index < 3 else OTHER_HOST)
    workflow = Workflow(load_config(), {}, load_papers(["raina2009"]), load_profiles(), "box")
    told = announcement(workflow).splitlines()
    assert [line for line in told if "left out" in line] == [
        "  results/records/box: 1 record is left out: made on other hardware than box's: "
        f"host, {OTHER_HOST}, not {HERE['host']}; to give that machine a name of its own: "
        "./run respeed rename box box-0123 --left-out"
    ]


def test_nothing_is_described_gauged_or_learned_under_the_name_of_another_machine(make_record: MakeRecord) -> None:
    write(make_record([0.1]), host=OTHER_HOST)
    box = Path("results/records/box")
    for measure, path in (
        (partial(write_description, profiles={}), box / "machine.json"),
        (measure_gauge, box / "hardware.json"),
        (learn, box / "raina2009/rbm/learning.json"),
    ):
        with pytest.raises(UserError, match="box: its records were made on another machine; here: "):
            measure(path)
        assert not path.exists()


def test_a_description_is_written_where_it_belongs_alone() -> None:
    write_description(description_path("box", True), {})
    assert read_machine(True, "box").fingerprint == {
        name: value for name, value in describe_as("box").items() if name in FIELDS and value is not None
    }
    with pytest.raises(UserError, match="must look like results/records/"):
        write_description(Path("elsewhere.json"), {})
