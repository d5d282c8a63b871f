"""What a file of a machine says: its checksum, its texts, and what it must be to be used."""

import copy
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.paths import (
    RoundId,
    next_session,
    parse_learning_path,
    record_paths,
    round_path,
    session_paths,
)
from respeed.records.models import CHECKSUM, MOST_LETTERS, checksum_of, printable_texts, sealed
from respeed.records.rename import adopt_strangers, rename_machine
from respeed.records.store import read_json, read_machine, read_record, set_aside, write_json, write_record
from respeed.records.transfer import export_bundle, import_bundle
from respeed.text import is_unprintable
from tests.odd import INSTEAD, change, text_of, ways

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


def test_what_is_set_aside_never_takes_the_place_of_what_was_set_aside_before(tmp_path: Path) -> None:
    path = tmp_path / "round-01.json"
    for text in ("first", "second", "third"):
        path.write_text(text)
        set_aside(path)
    assert sorted(one.read_text() for one in tmp_path.iterdir()) == ["first", "second", "third"]


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


NASTY = "=1+1\x1b[31m\0\r\n\u202e\ud800\ufffe$x_{^}%&#~\\<b>`|\"'"


def every_text(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    for value in [*data, *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else []:
        yield from every_text(value)


def places(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(data, str):
        yield place
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(value, (*place, key))


def whole_record(make_record: MakeRecord) -> dict[str, Any]:
    record = make_record([0.1] * 3)
    record["provenance"]["versions"] = {"torch": "2.9", "numpy": "2.3"}
    record["provenance"]["machine"]["accelerators"] = ["A GPU"]
    record["cases"][0]["reason"] = "why"
    return record


def test_each_text_of_a_record_is_made_printable_or_the_record_is_left_out(
    make_record: MakeRecord, tmp_path: Path
) -> None:
    original, path, refused = whole_record(make_record), tmp_path / "round-01.json", set()
    for place in places(original):
        record = copy.deepcopy(original)
        inner = record
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = NASTY
        path.write_text(json.dumps(record))
        try:
            found = read_record(path)
        except UserError as error:
            assert not any(map(is_unprintable, str(error)))  # noqa: PT017
            refused.add(place[-1])
            continue
        assert not any(is_unprintable(char) for text in every_text(found) for char in text)
    # What something is looked up by cannot be another.
    names = {"machine", "paper", "experiment", "profile", "name", "case", "workload", "backend"}
    assert refused == names | {"architecture", "started", "digest", "status"}


ANYTHING = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(st.characters(), max_size=20)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(st.characters()), inner, max_size=3)),
    max_leaves=8,
)


@given(ANYTHING)
def test_only_texts_change_and_a_second_time_nothing(data: Any) -> None:
    try:
        found = printable_texts(data)
    except ValueError as error:
        assert "keys are empty, or the same" in str(error)  # noqa: PT017
        return
    assert printable_texts(found) == found
    assert not any(is_unprintable(char) for text in every_text(found) for char in text)
    if not any(is_unprintable(char) or char.isspace() for text in every_text(data) for char in text):
        assert found == data


def test_a_text_of_a_record_has_an_end() -> None:
    assert len(printable_texts({"reason": "x" * 10**6})["reason"]) == MOST_LETTERS
