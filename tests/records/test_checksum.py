"""A record carries a checksum of what it says: what is changed after it was written is noticed, and no layout is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.paths import RoundId, round_path
from respeed.records.models import CHECKSUM, checksum_of, resealed, sealed
from respeed.records.rename import adopt_strangers, rename_machine
from respeed.records.store import read_json, read_machine, read_record, write_json, write_record
from respeed.records.transfer import export_bundle, import_bundle
from tests.odd import INSTEAD, change, text_of, ways

MakeRecord = Callable[..., dict[str, Any]]
NUMBERS = st.one_of(st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(st.characters(), max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5).filter(lambda key: key != CHECKSUM), JSON, max_size=4)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def path_of(machine: str, index: int = 1) -> Path:
    return round_path(RoundId(machine, "raina2009", "rbm", "torch-1", index))


def written(make_record: MakeRecord, index: int = 1, machine: str = "box") -> Path:
    path = path_of(machine, index)
    write_record(path, make_record([0.1 + index, 1.0], index=index, machine=machine))
    return path


def edit(path: Path) -> None:
    """Half a time, and leave the checksum."""
    path.write_text(path.read_text().replace('"wall_seconds": 3.0', '"wall_seconds": 1.5'))


@given(OBJECTS, st.integers(0, 4), st.booleans())
def test_no_layout_changes_the_checksum(data: dict[str, Any], indent: int, in_order: bool) -> None:
    told = sealed(data)
    again = json.loads(json.dumps(told, indent=indent or None, sort_keys=in_order, ensure_ascii=in_order))
    assert again[CHECKSUM] == checksum_of(again) == checksum_of(data)


@given(OBJECTS, OBJECTS)
def test_two_files_that_say_something_else_have_other_checksums(one: dict[str, Any], other: dict[str, Any]) -> None:
    def exact(data: Any) -> str:
        return json.dumps(json.loads(json.dumps(data), parse_float=lambda text: _whole(float(text))), sort_keys=True)

    assert (checksum_of(one) == checksum_of(other)) == (exact(one) == exact(other))


def _whole(number: float) -> float:
    return int(number) if number.is_integer() else number


def test_what_another_program_writes_for_the_same_numbers_is_the_same(make_record: MakeRecord) -> None:
    path = written(make_record)
    text = path.read_text()
    assert '"seconds": 1.0' in text
    path.write_text(text.replace("1.0", "1").replace("10000000000000.0", "1e13").replace("\n", "\r\n"))
    assert read_record(path)["id"]["machine"] == "box"


def test_each_edit_of_a_record_is_noticed(make_record: MakeRecord) -> None:
    path = written(make_record)
    good = read_json(path)
    for way in ways(good):
        if way == (CHECKSUM,):
            continue
        for value in INSTEAD[::9]:
            path.write_text(text_of(changed := change(good, way, value)))
            if json.dumps(changed) != json.dumps(good) and not is_same(good, way, value):
                with pytest.raises(UserError):
                    read_record(path)


def is_same(good: Any, way: tuple[Any, ...], value: Any) -> bool:
    for key in way:
        good = good[key]
    return type(good) in {int, float} and type(value) in {int, float} and good == value


def test_an_edited_record_is_left_out_with_a_line_and_the_others_stay(make_record: MakeRecord) -> None:
    first, second = written(make_record, 1), written(make_record, 2)
    edit(first)
    found = read_machine(False, "box")
    assert list(found.records) == [second]
    (line,) = found.lines
    assert line.startswith(f"left out: {first}: its checksum does not hold: it was changed after it was written")


def test_a_record_from_before_there_were_checksums_is_used(make_record: MakeRecord) -> None:
    write_json(path_of("box"), make_record([0.1]))
    assert len(read_machine(False, "box").records) == 1


def test_a_new_name_gets_a_new_checksum_and_makes_no_edited_record_right(make_record: MakeRecord) -> None:
    edit(written(make_record, 1))
    written(make_record, 2)
    write_json(path_of("box", 3), make_record([0.1], index=3))
    rename_machine("box", "new", False, Path("told"))
    found = read_machine(False, "new")
    assert list(found.damaged) == [path_of("new", 1)]
    assert list(found.records) == [path_of("new", 2), path_of("new", 3)]
    assert CHECKSUM not in read_json(path_of("new", 3))
    rename_machine("new", "box", False, Path("told"))
    assert list(read_machine(False, "box").damaged) == [path_of("box", 1)]


def test_a_folder_that_was_copied_by_hand_gets_checksums_of_its_name(make_record: MakeRecord) -> None:
    edit(written(make_record, 1))
    written(make_record, 2)
    Path("results/records/box").rename("results/records/copy")
    adopt_strangers("copy", False)
    found = read_machine(False, "copy")
    assert (list(found.damaged), list(found.records)) == ([path_of("copy", 1)], [path_of("copy", 2)])


def test_what_lies_there_under_both_names_counts_once_whatever_its_checksum(make_record: MakeRecord) -> None:
    written(make_record, 1, "box")
    record = read_json(path_of("box"))
    other = sealed(
        {key: one for key, one in record.items() if key != CHECKSUM} | {"id": record["id"] | {"machine": "old"}}
    )
    write_json(path_of("box", 2), other)
    adopt_strangers("box", False)
    assert list(read_machine(False, "box").records) == [path_of("box", 1)]


def test_an_import_under_another_name_has_checksums_that_hold(make_record: MakeRecord) -> None:
    written(make_record, 1)
    edit(written(make_record, 2))
    (reason,) = export_bundle(Path("box.zip")).left_out
    assert reason.startswith("its checksum does not hold")
    import_bundle(Path("box.zip"), name="lab")
    assert list(read_machine(False, "lab").records) == [path_of("lab", 1)]
    assert read_json(path_of("lab", 1))[CHECKSUM] != read_json(path_of("box", 1))[CHECKSUM]
    import_bundle(Path("box.zip"))
    assert len(read_machine(False, "lab").records) == 1


def as_another_program_writes_it(path: Path) -> None:
    """The same values, whole ones without a point."""
    text = path.read_text()
    assert '"wall_seconds": 3.0' in text
    path.write_text(json.dumps(json.loads(text, parse_float=lambda number: _whole(float(number)))))


def test_a_record_in_another_layout_is_here_already(make_record: MakeRecord) -> None:
    path = written(make_record)
    export_bundle(Path("box.zip"))
    as_another_program_writes_it(path)
    assert import_bundle(Path("box.zip")).machines["box"].new.total() == 0
    assert list(read_machine(False, "box").records) == [path]


def test_what_lies_there_under_both_names_counts_once_whatever_its_layout(make_record: MakeRecord) -> None:
    path = written(make_record)
    record = read_json(path)
    other = {key: one for key, one in record.items() if key != CHECKSUM} | {"id": record["id"] | {"machine": "old"}}
    write_record(path_of("box", 2), other)
    as_another_program_writes_it(path)
    adopt_strangers("box", False)
    assert list(read_machine(False, "box").records) == [path]


def test_an_edited_record_is_never_imported(make_record: MakeRecord, tmp_path: Path) -> None:
    edit(written(make_record, 1))
    written(make_record, 2)
    Path("results/records/box").rename("box")
    (reason,) = import_bundle(Path("box"), name="lab").left_out
    assert reason.startswith("its checksum does not hold")
    assert list(read_machine(False, "lab").records) == [path_of("lab", 2)]


def test_a_wrong_checksum_stays_wrong(make_record: MakeRecord) -> None:
    wrong = make_record([0.1]) | {CHECKSUM: "0" * 64}
    assert resealed(wrong, wrong | {"seed": 2})[CHECKSUM] == "0" * 64
    assert CHECKSUM not in resealed({}, {"seed": 2})
