"""A file of a machine: whole or not there, read as it was written, and of what its place says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.machine.fingerprint import FIELDS, difference, hardware_digits
from respeed.paths import RoundId, record_folders, record_paths, round_path
from respeed.records.models import MOST_LETTERS, Kind, kind_of, parse, plain_texts
from respeed.records.store import read_file, read_machines, read_records, write_json, write_record, write_text
from tests.conftest import HARDWARE, MakeRecord, description
from tests.records.conftest import write_box

NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True)
IDS = st.builds(RoundId, NAMES, NAMES, NAMES, NAMES, st.integers(1, 999), st.booleans())
TABLE = Path("results/records/box/raina2009/rbm/torch-1")


@given(IDS)
def test_every_round_has_a_path_of_its_own(one: RoundId) -> None:
    path = round_path(one)
    home = Path("results/smoke/records" if one.smoke else "results/records")
    assert kind_of(path.relative_to(home)) is Kind.RECORD
    assert path.parts[-5:] == (one.machine, one.paper, one.experiment, one.profile, f"round-{one.index:02d}.json")


@pytest.mark.parametrize(
    "path",
    ["machine.json", "box/round-01.json", "box/a/b/c/round-00.json", "box/a/b/c/round-1.json", "box/a/b/c/machine.json",
     "box/a/b/c/d/round-01.json", "Box/machine.json", "../machine.json", "box/session-001.json", "box/told.yaml"],
)  # fmt: skip
def test_no_machine_has_a_file_of_another_name(path: str) -> None:
    assert kind_of(Path(path)) is None


def test_what_is_read_is_what_was_written_and_its_place(make_record: MakeRecord) -> None:
    record = make_record([0.1, 0.2])
    write_record(TABLE / "round-07.json", record)
    assert "box" not in (TABLE / "round-07.json").read_text()
    place = {"machine": "box", "paper": "raina2009", "experiment": "rbm", "profile": "torch-1"}
    assert read_file(TABLE / "round-07.json", False) == record | {"id": place | {"index": 7, "smoke": False}}


def test_a_machine_is_renamed_by_renaming_its_folder(make_record: MakeRecord) -> None:
    write_box(make_record)
    Path("results/records/box").rename("results/records/lab")
    assert list(record_folders(False)) == ["lab"]
    assert {record["id"]["machine"] for record in read_records(False, "lab")} == {"lab"}


def test_a_file_is_replaced_whole_or_stays_and_nothing_is_left_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("folder/file.json")
    write_text(path, "old")
    with monkeypatch.context() as patch:
        patch.setattr("respeed.records.store.os.fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write_text(path, "new")
    assert [(one.name, one.read_text()) for one in path.parent.iterdir()] == [("file.json", "old")]


def test_a_record_cut_anywhere_is_refused_in_one_line(make_record: MakeRecord) -> None:
    data = json.dumps(make_record([0.1, 0.2])).encode()
    for length in range(0, len(data), 7):
        with pytest.raises(UserError, match=r"^here: is damaged \([^\n]*\)$"):
            parse(Kind.RECORD, data[:length], "here")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "has record schema None, this version of respeed reads 4"),
        ('{"schema": 3}', "has record schema 3, this version of respeed reads 4"),
        ('{"schema": 4, "smoke": NaN}', "is damaged"),
        ('{"schema": 4, "smoke": 1e999}', "is damaged"),
        ('{"schema": 4, "more": ' + "[" * 20 + "]" * 20 + "}", r"is damaged \(nested too deeply\)"),
        ('{"schema": 4, "more": ' + "[" * 10**5 + "]" * 10**5 + "}", "is damaged"),
        ('{"schema": 4, "more": [' + "1," * 10**6 + "1]}", "has more than 500000 values"),
        ('{"schema": 4, "more": "\\u001b[2J"}', r"is damaged \(a text is too long, or holds what cannot be printed\)"),
        ('{"schema": 4, "more": "\\ud800"}', "is damaged"),
        ('{"schema": 4, "more": ' + "9" * 30 + "}", r"is damaged \(a number is too large, or none\)"),
    ],
)
def test_what_no_file_says_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(UserError, match=f"^here: {why}"):
        parse(Kind.RECORD, text.encode(), "here")


@pytest.mark.parametrize(
    ("way", "line"),
    [
        (("provenance", "machine", "memory_bytes"), "provenance.machine.memory_bytes: Field required"),
        (("provenance", "commit"), "provenance.commit: Field required"),
        (("provenance", "backend"), "provenance.backend is missing, and a case was measured"),
        (("cases", 0, "blocks", 0, "probe_seconds"), "cases.0.blocks.0.probe_seconds: Field required"),
    ],
)
def test_a_record_without_a_fact_that_it_means_nothing_without_is_not_written(
    way: tuple[Any, ...], line: str, make_record: MakeRecord
) -> None:
    record = inner = make_record([0.1])
    for key in way[:-1]:
        inner = inner[key]
    del inner[way[-1]]
    with pytest.raises(UserError, match=re.escape(line)):
        write_record(TABLE / "round-01.json", record)
    assert not record_paths(False)


def test_a_record_of_another_profile_than_its_folder_is_refused(make_record: MakeRecord) -> None:
    write_json(TABLE / "round-01.json", make_record([0.1], profile="gpu"))
    with pytest.raises(UserError, match="is of the profile gpu, and lies among those of torch-1"):
        read_file(TABLE / "round-01.json", False)


TEXTS = st.text() | st.sampled_from(["\x1b[2J", "a\nb", "x" * 1000, "\u202eabc", "\ud800"])
VALUES = st.recursive(TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_texts_are_written_as_they_can_be_shown_and_a_second_time_the_same(data: Any) -> None:
    plain = plain_texts(data)
    assert plain_texts(plain) == plain
    assert not isinstance(plain, str) or (plain.isprintable() and len(plain) <= MOST_LETTERS)


def test_where_no_record_can_be_used_one_line_ends_it(make_record: MakeRecord) -> None:
    write_json(TABLE / "round-01.json", make_record([0.1]) | {"schema": 3})
    with pytest.raises(UserError, match="results/records: the one record file cannot be used; the lines above say why"):
        list(read_machines(False))
    write_box(make_record, "other")
    assert [len(records) for _, records in read_machines(False)] == [0, 2]


OTHER = {
    "cpu": "Another CPU", "physical_cores": 4, "usable_cores": 4, "cpu_flags": ["avx2"],
    "memory_bytes": 2**35, "accelerators": ["a GPU"], "host": "b" * 16,
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_hardware_tells_machines_apart(field: str) -> None:
    here = HARDWARE | {"host": "a" * 16}
    assert difference(here, here) is None
    assert difference(here | {field: OTHER[field]}, here)
    assert difference({key: value for key, value in here.items() if key != field}, here) is None
    digits = hardware_digits(here)
    assert re.fullmatch("[0-9a-f]{4}", digits)
    # What a kernel leaves of the memory differs from boot to boot, and must change no name.
    assert (hardware_digits(here | {field: OTHER[field]}) == digits) == (field == "memory_bytes")


def test_a_little_memory_less_is_the_same_machine() -> None:
    assert difference(description()["hardware"], HARDWARE | {"memory_bytes": int(0.99 * 2**34)}) is None
