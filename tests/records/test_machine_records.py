"""Records under one machine's name are of one machine, or they are left out with a line for each reason."""

import contextlib
import json
import tempfile
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
from tests.conftest import MakeRecord
from tests.sheets import HARDWARE, hardware_sheet

GIB = 2**30
A_HOST, ANOTHER_HOST = "a" * 16, "f00d" * 4


def write(record: dict[str, Any], machine: str = "box", profile: str = "torch-1", **made_on: Any) -> Path:
    record["provenance"]["machine"] |= made_on
    path = round_path(RoundId(machine, "raina2009", "rbm", profile, record["id"]["index"]))
    write_json(path, record)
    return path


def describe(machine: str = "box", **hardware: Any) -> None:
    write_json(description_path(machine, False), {"machine": machine, "hardware": hardware, "not_measurable": {}})


@pytest.mark.parametrize(
    ("made_on", "described", "meant"),
    [
        # Most records; of as many, the latest; the description even against most.
        ([{"memory_bytes": 16 * GIB}, {"memory_bytes": 16 * GIB}, {"memory_bytes": 32 * GIB}], None, [1, 2]),
        ([{"cpu": "CPU 1"}, {"cpu": "CPU 2"}], None, [2]),
        ([{"memory_bytes": 16 * GIB}, {"memory_bytes": 16 * GIB}, {"memory_bytes": 32 * GIB}],
         {"memory_bytes": 32 * GIB}, [3]),
        # What a boot leaves of the memory is seldom the same: such are most together.
        ([*({"memory_bytes": 16 * GIB + 4096 * boot, "host": A_HOST} for boot in range(5)),
          *({"memory_bytes": 16 * GIB, "host": ANOTHER_HOST} for _ in range(2))], None, [1, 2, 3, 4, 5]),
    ],
)  # fmt: skip
def test_the_description_or_most_records_or_the_latest_say_which_machine_is_meant(
    made_on: list[dict[str, Any]], described: dict[str, Any] | None, meant: list[int], make_record: MakeRecord
) -> None:
    for index, facts in enumerate(made_on, start=1):
        write(make_record([0.1], index=index, started=f"2026-01-{index:02}T00:00:00+00:00"), **facts)
    if described:
        describe(**described)
    found = read_machine(False, "box")
    assert [record["id"]["index"] for record in found.records.values()] == meant
    assert found.fingerprint | made_on[meant[-1] - 1] == found.fingerprint


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hardware": {"memory_bytes": "much"}}', '{"hardware": {}, "not_measurable": {"gpu": 7}}']
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


def test_a_folder_that_was_copied_by_hand_is_one_line_and_no_machine_and_a_description_of_another_says_nothing(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    for machine, says in (("box", "lab"), ("copy", "box")):
        for index in (1, 2):
            write(make_record([0.1], index=index), machine)
        hardware = {"cpu": "Another CPU"}
        write_json(description_path(machine, False), {"machine": says, "hardware": hardware, "not_measurable": {}})
    assert (len(read_records(False, "box")), read_records(False, "copy")) == (2, [])
    described, copied = capsys.readouterr().err.splitlines()
    assert "results/records/box: its description is left out: of the machine lab" in described
    assert described.endswith("./run respeed rename box box")
    assert "results/records/copy: 2 records are left out: of the machine box" in copied
    assert copied.endswith("./run respeed rename copy copy")
    assert recorded_machines(False) == {"box": 2}


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
    for only in (None, recorded_machines(False)):
        with pytest.raises(UserError, match="the one record file cannot be used"):
            list(read_machines(False, only))


def test_one_machine_that_can_be_used_is_enough_whichever_it_is(make_record: MakeRecord) -> None:
    assert list(read_machines(False)) == []
    for copied in ("a-copy", "z-copy"):
        write(make_record([0.1]), "box")
        write(make_record([0.1]), copied)
    found = {machine: len(records) for machine, records in read_machines(False)}
    assert found == {"a-copy": 0, "box": 1, "z-copy": 0}


OTHERS = {
    "cpu": "Another CPU", "sockets": 4, "physical_cores": 64, "usable_cores": 64, "cpu_flags": ["avx2"],
    "memory_bytes": 64 * GIB, "accelerators": ["H100"], "host": ANOTHER_HOST,
}  # fmt: skip
HERE = {
    "cpu": "A CPU", "sockets": 1, "physical_cores": 2, "usable_cores": 2, "cpu_flags": [], "memory_bytes": 16 * GIB,
    "accelerators": [], "host": A_HOST,
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_fingerprint_tells_machines_apart(field: str) -> None:
    assert (difference(HERE, HERE | {field: OTHERS[field]}) or "").startswith(f"{FIELDS[field]}, ")


@pytest.mark.parametrize(
    "other",
    [{"system": "Linux 6.2", "accelerator_driver": "570"}, {"memory_bytes": int(15.5 * GIB)}, {"host": None}],
    ids=["a new kernel or driver", "what a kernel leaves of the memory", "what older records do not tell"],
)
def test_what_changes_without_a_new_machine_is_not_compared(other: dict[str, Any]) -> None:
    assert difference(HERE | other, HERE) is difference(HERE, HERE | other) is None


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
