"""What decides a measurement, and what becomes of records when it changes and when the change is undone."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from respeed.cli.measure import parse_duration
from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profile, load_profiles
from respeed.machine.cpu import usable_cores
from respeed.paths import RoundId, description_path, round_path
from respeed.records.store import write_json, write_record
from respeed.schedule.availability import make_description
from respeed.schedule.next_turn import Plan, read_plan
from respeed.schedule.selection import make_work
from respeed.schedule.spec import RoundSpec, choose_current, current_digests, make_spec, order_from_json
from respeed.text import in_words
from tests.conftest import MakeRecord

ROUND = RoundId("box", "raina2009", "rbm", "torch-1", 1)
PAPERS = load_papers(["raina2009"])

# The specification of the round, with a profile of these keys.
With = Callable[..., RoundSpec]


@pytest.fixture
def spec_with(monkeypatch: pytest.MonkeyPatch) -> With:
    def make(round_id: RoundId = ROUND, seed: int = 3, **keys: Any) -> RoundSpec:
        changed = replace(load_profile(ROUND.profile), **keys)
        monkeypatch.setattr("respeed.schedule.spec.load_profile", lambda name: changed)
        return make_spec(round_id, seed)

    return make


def test_a_specification_survives_json(spec_with: With) -> None:
    for spec in (make_spec(ROUND, seed=3), spec_with(cpus=str(min(usable_cores())))):
        order = json.dumps({"specs": [asdict(spec)], "probes": {"": [0.1]}})
        assert order_from_json(order) == ([spec], {"": [0.1]})


def test_a_seed_a_size_a_thread_or_a_choice_of_cpus_decides_what_is_measured_and_a_label_does_not(
    spec_with: With, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, plain = min(usable_cores()), make_spec(ROUND, seed=3)
    for same in (
        make_spec(replace(ROUND, index=2, machine="other"), seed=3),
        spec_with(label="other", architecture="multi-cpu"),
        spec_with(requires={"memory_gb": 0.1}),
    ):
        assert same.digest == plain.digest
    bound = spec_with(cpus=str(first))
    assert bound.cpus == (first,)
    for other in (bound, spec_with(seed=4), spec_with(replace(ROUND, smoke=True))):
        assert other.digest != plain.digest
    monkeypatch.setattr("respeed.schedule.spec.resolve_threads", lambda profile: (2, (0, 1)))
    assert spec_with().digest != plain.digest


def test_a_round_of_some_of_the_cases_is_of_the_same_measurement() -> None:
    spec = make_spec(ROUND, seed=3)
    part = make_spec(ROUND, 3, spec.cases[1:2])
    assert part.cases == spec.cases[1:2]
    assert part.digest == spec.digest
    assert current_digests(3, PAPERS)("raina2009", "rbm", "torch-1", False) == spec.digest


def test_an_experiment_that_does_not_exist_is_named_with_its_nearest() -> None:
    with pytest.raises(UserError, match=r"did you mean rbm\?"):
        make_spec(replace(ROUND, experiment="rbn"), seed=1)


# A change and its undoing: no measurement is lost, and tables show what this checkout would measure.


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> list[dict[str, Any]]:
    """One as it would be measured now, and a later one of another measurement."""
    monkeypatch.chdir(tmp_path)
    found = []
    for index, digest in ((1, make_spec(ROUND, load_config().seed).digest), (2, "0" * 16)):
        started = f"2026-01-0{index}T00:00:00+00:00"
        found.append(make_record([0.1], index=index, profile="torch-1", digest=digest, started=started))
        write_json(round_path(replace(ROUND, index=index)), found[-1])
    return found


def plan() -> Plan:
    return read_plan(make_work(replace(load_config(), profiles=("torch-1",)), PAPERS, load_profiles(), "box"))


def test_records_of_another_measurement_are_not_used(records: list[dict[str, Any]]) -> None:
    assert [record["id"]["index"] for record in plan().records.values()] == [1]
    assert (plan().otherwise, plan().untimed) == (1, {})
    assert plan().next_round("raina2009", "rbm", "torch-1").index == 3


def test_a_round_counts_if_any_of_its_cases_has_a_time(records: list[dict[str, Any]]) -> None:
    (timed,) = records[0]["cases"]
    failed = timed | {
        "case": "1024x4096", "status": "failed", "reason": "no memory", "warmup": None, "blocks": [],
    }  # fmt: skip
    for cases, used in (([timed, failed], 1), ([failed], 0)):
        write_json(round_path(ROUND), records[0] | {"cases": cases, "more": 1})
        assert (len(plan().records), len(plan().untimed)) == (used, 1 - used)


def test_tables_show_what_would_be_measured_now_though_another_is_later(records: list[dict[str, Any]]) -> None:
    # Where nobody can tell what would be measured, all stay.
    assert choose_current("box", False, records, PAPERS) == records
    write_record(description_path("box", False), make_description("box", load_profiles()))
    assert choose_current("box", False, records, {}) == records
    assert choose_current("box", False, records, PAPERS) == records[:1]
    assert choose_current("box", False, records[1:], PAPERS) == records[1:]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15min", 900), ("15 min", 900), ("1.5h", 5400)])
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["", "15", "15m", "0s", "-3s", "nan h", "1e3s", "min"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(UserError, match="--budget"):
        parse_duration(text, "--budget")


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_an_estimate_is_said_coarsely(seconds: float, text: str) -> None:
    assert in_words(seconds) == text
