"""A change and its undoing: no measurement is lost, and tables show what this checkout would measure."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.paths import RoundId, description_path, round_path
from respeed.records.store import write_json
from respeed.schedule.availability import make_description
from respeed.schedule.next_turn import read_plan
from respeed.schedule.selection import make_work
from respeed.schedule.spec import choose_current, current_digests

MakeRecord = Callable[..., dict[str, Any]]
PAPERS, PROFILES = load_papers(["raina2009"]), load_profiles()
NOW = current_digests(load_config().seed, PAPERS)("raina2009", "rbm", "openblas-1", False, False)


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> list[dict[str, Any]]:
    """One as it would be measured now, and a later one of another measurement."""
    monkeypatch.chdir(tmp_path)
    found = []
    for index, digest in ((1, NOW), (2, "0" * 16)):
        record = make_record(
            [0.1], index=index, profile="openblas-1", digest=digest, started=f"2026-01-0{index}T00:00:00+00:00"
        )
        write_json(round_path(RoundId("box", "raina2009", "rbm", "openblas-1", index)), record)
        found.append(record)
    return found


def test_records_of_another_measurement_are_neither_used_nor_set_aside(records: list[dict[str, Any]]) -> None:
    work = make_work(replace(load_config(), profiles=("openblas-1",)), PAPERS, PROFILES, "box")
    plan = read_plan(work)
    assert [record["id"]["index"] for record in plan.records.values()] == [1]
    assert (plan.otherwise, plan.unusable) == (1, {})
    assert plan.next_round("raina2009", "rbm", "openblas-1").index == 3


def test_a_round_counts_if_any_of_its_cases_has_a_time(records: list[dict[str, Any]]) -> None:
    path = round_path(RoundId("box", "raina2009", "rbm", "openblas-1", 1))
    failed = {"case": "1024x4096", "status": "failed", "reason": "no memory", "warmup": None, "blocks": []}
    for cases, used in ((records[0]["cases"], 1), ([], 0)):
        write_json(path, records[0] | {"cases": [*cases, records[0]["cases"][0] | failed]})
        work = make_work(replace(load_config(), profiles=("openblas-1",)), PAPERS, PROFILES, "box")
        plan = read_plan(work)
        assert (len(plan.records), len(plan.unusable)) == (used, 1 - used)


def test_tables_show_what_would_be_measured_now_though_another_is_later(records: list[dict[str, Any]]) -> None:
    write_json(description_path("box", False), make_description("box", PROFILES))
    assert choose_current("box", False, records, PAPERS) == records[:1]
    assert choose_current("box", False, records[1:], PAPERS) == records[1:]


def test_where_nobody_can_tell_what_would_be_measured_all_stay(records: list[dict[str, Any]]) -> None:
    assert choose_current("box", False, records, PAPERS) == records
    assert choose_current("box", False, records, {}) == records
