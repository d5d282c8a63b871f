"""Records under one machine's name are of one machine, or they are left out with a line for each reason."""

import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respeed.analysis.rounds import CELL, read_rounds
from respeed.errors import UserError
from respeed.paths import RoundId, description_path, hardware_path, round_path
from respeed.records.fingerprint import FIELDS, difference
from respeed.records.store import (
    read_description,
    read_machine,
    read_machines,
    read_machines_hardware,
    read_records,
    recorded_machines,
    why_no_description,
    write_json,
)
from tests.sheets import HARDWARE, hardware_sheet

MakeRecord = Callable[..., dict[str, Any]]
GIB = 2**30
A_HOST, ANOTHER_HOST = "a" * 16, "f00d" * 4


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(record: dict[str, Any], machine: str = "box", profile: str = "torch-1", **made_on: Any) -> Path:
    record["provenance"]["machine"] |= made_on
    path = round_path(RoundId(machine, "raina2009", "rbm", profile, record["id"]["index"]))
    write_json(path, record)
    return path


def describe(machine: str = "box", **hardware: Any) -> None:
    write_json(description_path(machine, False), {"machine": machine, "hardware": hardware, "not_measurable": {}})


def test_most_records_say_which_machine_is_meant(make_record: MakeRecord) -> None:
    for index in (1, 2, 3):
        write(make_record([0.1], index=index), memory_bytes=(16 if index < 3 else 32) * GIB)
    found = read_machine(False, "box")
    assert [record["id"]["index"] for record in found.records.values()] == [1, 2]
    assert found.fingerprint["memory_bytes"] == 16 * GIB


def test_of_as_many_records_the_latest_say_it(make_record: MakeRecord) -> None:
    for index, day in ((1, "2026-01-02"), (2, "2026-01-01")):
        write(make_record([0.1], index=index, started=f"{day}T00:00:00+00:00"), cpu=f"CPU {index}")
    assert read_machine(False, "box").fingerprint["cpu"] == "CPU 1"


def test_the_description_says_it_even_against_most_records(make_record: MakeRecord) -> None:
    for index in (1, 2, 3):
        write(make_record([0.1], index=index), memory_bytes=(16 if index < 3 else 32) * GIB)
    describe(memory_bytes=32 * GIB)
    assert [record["id"]["index"] for record in read_machine(False, "box").records.values()] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"hardware": []}',
        '{"hardware": {"memory_bytes": "much"}}',
        '{"hardware": {}, "not_measurable": 7}',
        '{"hardware": {}, "not_measurable": {"gpu": 7}}',
    ],
)
def test_a_description_that_nothing_can_be_read_from_is_one_line_and_none(
    text: str, make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    write(make_record([0.1]))
    description_path("box", False).write_text(text)
    assert len(read_machine(False, "box").records) == 1
    assert read_description("box", False) is None
    assert why_no_description(description_path("box", False))
    assert len(capsys.readouterr().err.splitlines()) <= 1


def test_records_that_differ_by_what_a_boot_leaves_of_the_memory_are_most_together(make_record: MakeRecord) -> None:
    for index in range(1, 6):
        write(make_record([0.1], index=index), memory_bytes=16 * GIB + 4096 * index, host=A_HOST)
    for index in (6, 7):
        write(make_record([0.1], index=index), host=ANOTHER_HOST)
    assert read_machine(False, "box").fingerprint["host"] == A_HOST


def test_another_machines_description_says_nothing(make_record: MakeRecord) -> None:
    write(make_record([0.1]))
    write_json(description_path("box", False), {"machine": "other", "hardware": {"cpu": "Another CPU"}})
    assert len(read_machine(False, "box").records) == 1


def test_each_group_that_is_left_out_is_one_line_with_the_command_that_names_it(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    for index in range(1, 10):
        write(make_record([0.1], index=index), memory_bytes=(16 if index < 6 else 24) * GIB, host=A_HOST)
    write(make_record([0.1], index=10), cpu="Another CPU", host=ANOTHER_HOST, memory_bytes=16 * GIB)
    assert len(read_records(False, "box")) == 5
    first, second = sorted(capsys.readouterr().err.splitlines(), reverse=True)
    assert first.startswith("respeed: results/records/box: 4 records are left out: ")
    assert ": memory, 24.0 GiB, not 16.0 GiB; " in first
    assert first.endswith("./run respeed rename box box-aaaa --left-out")
    assert "1 record is left out" in second
    assert ": CPU, Another CPU, not A CPU; " in second


def test_a_folder_that_was_copied_by_hand_is_one_line_and_no_machine(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    for index in (1, 2):
        write(make_record([0.1], index=index), "box")
        write(make_record([0.1], index=index), "copy")
    write_json(description_path("copy", False), {"machine": "box", "hardware": {}, "not_measurable": {}})
    assert read_records(False, "copy") == []
    (line,) = capsys.readouterr().err.splitlines()
    assert "results/records/copy: 2 records are left out: of the machine box" in line
    assert line.endswith("./run respeed rename copy copy")
    assert recorded_machines(False) == {"box": 2}


def test_a_description_of_another_machine_is_a_line(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    write(make_record([0.1]), "box")
    write_json(description_path("box", False), {"machine": "lab", "hardware": {}, "not_measurable": {}})
    assert len(read_records(False, "box")) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "results/records/box: its description is left out: of the machine lab" in line
    assert line.endswith("./run respeed rename box box")


def test_a_hardware_sheet_of_another_kind_of_run_is_a_line(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(hardware_path("box", False), hardware_sheet(make_record, smoke=True))
    assert read_machines_hardware("box", False, HARDWARE) is None
    assert "another kind of run" in capsys.readouterr().err


def test_records_that_cannot_be_read_are_one_line_a_reason(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    for index in (1, 2, 3):
        path = write(make_record([0.1], index=index))
        path.write_text(path.read_text().replace('"schema": 3', '"schema": 4'))
    assert read_records(False, "box") == []
    (line,) = capsys.readouterr().err.splitlines()
    assert "3 records are left out, such as" in line
    assert "record schema 4" in line


def test_where_no_record_can_be_used_one_line_ends_it(make_record: MakeRecord) -> None:
    write(make_record([0.1]), "copy")
    with pytest.raises(UserError, match="the one record file cannot be used"):
        list(read_machines(False))
    with pytest.raises(UserError, match="the one record file cannot be used"):
        list(read_machines(False, recorded_machines(False)))


def test_one_machine_that_can_be_used_is_enough_whichever_it_is(make_record: MakeRecord) -> None:
    for copied in ("a-copy", "z-copy"):
        write(make_record([0.1]), "box")
        write(make_record([0.1]), copied)
    found = {machine: len(records) for machine, records in read_machines(False)}
    assert found == {"a-copy": 0, "box": 1, "z-copy": 0}


def test_where_there_is_no_record_at_all_nothing_is_wrong() -> None:
    assert list(read_machines(False)) == []


OTHERS = {
    "cpu": "Another CPU", "sockets": 4, "physical_cores": 64, "usable_cores": 64, "cpu_flags": ["avx2"],
    "memory_bytes": 64 * GIB, "accelerators": ["H100"], "host": ANOTHER_HOST,
}  # fmt: skip
HERE = {
    "cpu": "A CPU", "sockets": 1, "physical_cores": 2, "usable_cores": 2, "cpu_flags": [], "memory_bytes": 16 * GIB,
    "accelerators": [], "host": A_HOST,
}  # fmt: skip


@given(
    differing=st.sets(st.sampled_from(sorted(FIELDS)), min_size=1),
    untold=st.sets(st.sampled_from(sorted(FIELDS))),
    made_on=st.lists(st.booleans(), min_size=2, max_size=9),
    older=st.lists(st.booleans(), min_size=9, max_size=9),
    described=st.sampled_from([None, "this", "other", "nothing"]),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_cell_ever_has_rounds_of_two_machines(
    make_record: MakeRecord,
    differing: set[str],
    untold: set[str],
    made_on: list[bool],
    older: list[bool],
    described: str | None,
) -> None:
    """Of two machines that differ in any fields, in any order and number. Some records are older and tell some fields
    of these not: such a one may count, but two that tell that they differ never do together."""
    other = HERE | {field: OTHERS[field] for field in differing}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for index, (is_other, is_older) in enumerate(zip(made_on, older, strict=False), start=1):
            facts = other if is_other else HERE
            told = {field: value for field, value in facts.items() if not (is_older and field in untold)}
            record = make_record([2.0 if is_other else 1.0] * 2, index=index)
            record["provenance"]["machine"] = told
            path = round_path(RoundId("box", "raina2009", "rbm", "torch-1", index))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record))
        if described:
            hardware = {"this": HERE, "other": other, "nothing": {}}[described]
            description_path("box", False).write_text(json.dumps({"machine": "box", "hardware": hardware}))
        found = read_machine(False, "box")
        kept = [record["provenance"]["machine"] for record in found.records.values()]
        assert all(difference(one, two) is None for one in kept for two in kept)
        assert kept or described == "this" or described == "other"
        assert len(kept) + len(found.left_out) == len(made_on)
        if not untold & differing:
            assert (read_rounds(found.records.values()).groupby(CELL)["seconds"].nunique() == 1).all()
