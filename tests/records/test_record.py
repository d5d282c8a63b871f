"""Records are whole or not there, and lie where their names say."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.paths import (
    RoundId,
    learning_path,
    next_session,
    parse_learning_path,
    record_paths,
    round_path,
    session_paths,
)
from respeed.records.store import read_learning, read_record, read_records, write_json

NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)


@given(NAMES, NAMES, NAMES, NAMES, st.integers(1, 99), st.booleans(), st.booleans())
def test_every_round_has_a_path_of_its_own(
    machine: str, paper: str, experiment: str, profile: str, index: int, whole: bool, smoke: bool
) -> None:
    round_id = RoundId(machine, paper, experiment, profile, index, whole, smoke)
    path = round_path(round_id)
    assert path.parts[-5:-1] == (machine, paper, experiment, profile)
    others = (
        replace(round_id, index=index + 1),
        replace(round_id, whole=not whole),
        replace(round_id, smoke=not smoke),
    )
    assert path not in {round_path(other) for other in others}


@pytest.mark.parametrize(
    "path",
    ["learning.json", "results/records/m/p/e/other.json", "results/records/m/p/x;touch y/learning.json"],
)
def test_what_is_no_path_of_a_learning_record_is_refused(path: str) -> None:
    with pytest.raises(UserError):
        parse_learning_path(Path(path))


def test_a_session_that_ends_leaves_the_next_free_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert next_session(smoke=False, machine="box").name == "session-001.json"
    write_json(next_session(smoke=False, machine="box"), {})
    assert next_session(smoke=False, machine="box").name == "session-002.json"
    assert [path.name for path in session_paths(smoke=False, machine="box")] == ["session-001.json"]
    assert record_paths(smoke=False, machine="box") == []


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.json"
    write_json(path, {"a": 1})
    write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 2}
    assert [item.name for item in path.parent.iterdir()] == ["file.json"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"a": 1})

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(UserError, match="No space"):
        write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_number_that_json_has_not_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "file.json", {"a": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_a_record_cut_anywhere_is_refused_in_one_line(
    tmp_path: Path, make_record: Callable[..., dict[str, Any]]
) -> None:
    path = tmp_path / "round-01.json"
    text = json.dumps(make_record([0.1, 0.2]))
    for length in range(0, len(text), 7):
        path.write_text(text[:length])
        with pytest.raises(UserError, match="is damaged"):
            read_record(path)


@pytest.mark.parametrize("time", [0.0, -1.0, 1e400, float("nan"), "0.1", None, True])
def test_a_time_that_is_none_is_refused(tmp_path: Path, make_record: Callable[..., dict[str, Any]], time: Any) -> None:
    path = tmp_path / "round-01.json"
    path.write_text(json.dumps(make_record([0.1, time])))
    with pytest.raises(UserError, match=r"sample_seconds\.\d is missing, or not what|is damaged|holds NaN or infinity"):
        read_record(path)


def test_a_record_of_another_schema_is_refused(tmp_path: Path, make_record: Callable[..., dict[str, Any]]) -> None:
    path = tmp_path / "round-01.json"
    path.write_text(json.dumps({**make_record([0.1]), "schema": 99}))
    with pytest.raises(UserError, match="schema 99"):
        read_record(path)


def test_a_smoke_record_never_gets_among_the_real_ones(
    tmp_path: Path,
    make_record: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(round_path(RoundId("box", "raina2009", "rbm", "torch-1", 1)), make_record([0.1], smoke=True))
    assert read_records(smoke=False, machine="box") == []
    (line,) = capsys.readouterr().err.splitlines()
    assert "left out: results/records/box/raina2009/rbm/torch-1/round-01.json: is of the smoke kind" in line


@pytest.mark.parametrize(
    ("change", "usable"),
    [
        ({}, True),
        ({"schema": 99}, False),
        ({"smoke": True}, False),
        ({"machine": "other"}, False),
        ({"programs": []}, False),
        ({"programs": [{"workload": "rbm", "curve": []}]}, False),
    ],
)
def test_what_was_learned_is_read_only_if_it_is_what_its_place_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], usable: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    path = learning_path("box", "raina2009", "rbm", smoke=False)
    program = {"workload": "rbm", "curve": [[0.1, 0.9]], "pictures": [[[0]]], "steps": 1, "parameters": {}}
    record = {
        "schema": 1, "machine": "box", "paper": "raina2009", "experiment": "rbm", "smoke": False,
        "started": "2026-01-01T00:00:00+00:00", "programs": [program],
    }  # fmt: skip
    write_json(path, record | change)
    assert bool(read_learning(smoke=False)) == usable
    path.write_text("{")
    assert read_learning(smoke=False) == []


def test_a_path_that_is_no_learning_record_is_one_line() -> None:
    with pytest.raises(UserError, match=r"must look like results/records/<machine>"):
        parse_learning_path(Path("somewhere/learning.json"))
    assert parse_learning_path(learning_path("box", "raina2009", "rbm", smoke=True)) == (
        "box",
        "raina2009",
        "rbm",
        True,
    )


@pytest.mark.parametrize(
    ("joules", "told", "usable"),
    [
        ({"package-0": 1.5}, {"update_seconds": {"package-0": 0.001}, "reason": None}, True),
        ({}, {"update_seconds": {}, "reason": "no counter"}, True),
        ({"package-0": -1.0}, None, False),
        ({"package-0": "much"}, None, False),
        ([1.0], None, False),
        ({}, {"update_seconds": {"package-0": "often"}, "reason": None}, False),
        ({}, {"reason": None}, False),
    ],
)
def test_energy_in_a_record_is_checked_as_times_are(
    tmp_path: Path, make_record: Callable[..., dict[str, Any]], joules: Any, told: Any, usable: bool
) -> None:
    record = make_record([0.1])
    record["cases"][0]["blocks"][0]["joules"] = joules
    record["provenance"] |= {"energy": told} if told else {}
    path = tmp_path / "round-01.json"
    write_json(path, record)
    if usable:
        assert read_record(path) == record
    else:
        with pytest.raises(UserError, match=r"energy|whole record"):
            read_record(path)


@pytest.mark.parametrize(
    ("run", "usable"),
    [
        ({"steps": 9, "seconds": 1.1, "joules": {"GPU": 300.0}}, True),
        ({"steps": 0, "seconds": 1.1, "joules": {"GPU": 300.0}}, False),
        ({"steps": 9, "seconds": 0.0, "joules": {"GPU": 300.0}}, False),
        ({"steps": 9, "seconds": 1.1, "joules": {"GPU": "much"}}, False),
        ({"steps": 9, "joules": {"GPU": 300.0}}, False),
        (None, False),
    ],
)
def test_a_run_for_energy_is_checked_as_blocks_are(
    tmp_path: Path, make_record: Callable[..., dict[str, Any]], run: Any, usable: bool
) -> None:
    record = make_record([0.1])
    record["cases"][0]["energy_run"] = run
    path = tmp_path / "round-01.json"
    write_json(path, record)
    if usable:
        assert read_record(path) == record
    else:
        with pytest.raises(UserError, match=r"energy|whole record"):
            read_record(path)
