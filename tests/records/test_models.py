"""What a file of a machine says: its checksum, its texts, and what it must be to be used."""

import json
import operator
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.paths import RoundId, next_session, parse_learning_path, record_paths, round_path, session_paths
from respeed.records.models import CHECKSUM, MOST_LETTERS, checksum_of, printable_texts, sealed
from respeed.records.rename import adopt_strangers, rename_machine
from respeed.records.store import read_json, read_machine, read_record, set_aside, write_json, write_record
from respeed.records.transfer import export_bundle, import_bundle
from respeed.text import is_unprintable
from tests.conftest import MakeRecord
from tests.odd import INSTEAD, change, text_of, ways

NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)
RECORDS = Path("results/records")


# --- files


@given(st.builds(RoundId, NAMES, NAMES, NAMES, NAMES, st.integers(1, 99), st.booleans(), st.booleans()))
def test_every_round_has_a_path_of_its_own(one: RoundId) -> None:
    path = round_path(one)
    assert path.parts[-5:-1] == (one.machine, one.paper, one.experiment, one.profile)
    others = replace(one, index=one.index + 1), replace(one, whole=not one.whole), replace(one, smoke=not one.smoke)
    assert path not in map(round_path, others)


@pytest.mark.parametrize(
    "path", ["learning.json", "results/records/m/p/e/other.json", "results/records/m/p/x;touch y/learning.json"]
)
def test_what_is_no_path_of_a_learning_record_is_refused(path: str) -> None:
    with pytest.raises(UserError):
        parse_learning_path(Path(path))


def test_a_session_that_ends_leaves_the_next_free_number() -> None:
    for number in ("001", "002"):
        path = next_session(smoke=False, machine="box")
        assert path.name == f"session-{number}.json"
        write_json(path, {})
    assert session_paths(smoke=False, machine="box") == sorted(path.parent.iterdir())
    assert record_paths(smoke=False, machine="box") == []


def test_a_file_is_replaced_whole_or_stays_and_nothing_is_left_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = Path("deep/file.json")
    for number in (1, 2):
        write_json(path, {"a": number})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"a": float("nan")})
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(UserError, match="No space"):
        write_json(path, {"a": 3})
    assert json.loads(path.read_text()) == {"a": 2}
    assert list(path.parent.iterdir()) == [path]
    # As every file: for all whom the folder is for, not for its owner alone.
    Path("plain").touch()
    assert path.stat().st_mode == Path("plain").stat().st_mode


def test_what_is_set_aside_never_takes_the_place_of_what_was_set_aside_before() -> None:
    path = Path("round-01.json")
    for text in ("first", "second", "third"):
        path.write_text(text)
        set_aside(path)
    assert sorted(one.read_text() for one in Path().iterdir()) == ["first", "second", "third"]


def test_a_record_cut_anywhere_is_refused_in_one_line(make_record: MakeRecord) -> None:
    path, text = Path("round-01.json"), json.dumps(make_record([0.1, 0.2]))
    for length in range(0, len(text), 7):
        path.write_text(text[:length])
        with pytest.raises(UserError, match="is damaged"):
            read_record(path)


# --- checksums


def anything(*, nan: bool, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=nan)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=8,
    )


OBJECTS = st.dictionaries(
    st.text(max_size=5).filter(lambda key: key != CHECKSUM), anything(nan=False, texts=st.text(max_size=20)), max_size=4
)


def whole(number: str) -> float:
    """The number, without a point if it needs none."""
    return int(float(number)) if float(number).is_integer() else float(number)


@given(OBJECTS, st.integers(0, 4), st.booleans())
def test_no_layout_changes_the_checksum(data: dict[str, Any], indent: int, in_order: bool) -> None:
    told = sealed(data)
    again = json.loads(json.dumps(told, indent=indent or None, sort_keys=in_order, ensure_ascii=in_order))
    assert again[CHECKSUM] == checksum_of(again) == checksum_of(data)


@given(OBJECTS, OBJECTS)
def test_two_files_that_say_something_else_have_other_checksums(one: dict[str, Any], other: dict[str, Any]) -> None:
    def exact(data: Any) -> str:
        return json.dumps(json.loads(json.dumps(data), parse_float=whole), sort_keys=True)

    assert (checksum_of(one) == checksum_of(other)) == (exact(one) == exact(other))


def path_of(machine: str, index: int = 1) -> Path:
    return round_path(RoundId(machine, "raina2009", "rbm", "torch-1", index))


def written(make_record: MakeRecord, index: int = 1, machine: str = "box") -> Path:
    path = path_of(machine, index)
    write_record(path, make_record([0.1 + index, 1.0], index=index, machine=machine))
    return path


def edit(path: Path) -> None:
    """Half a time, and leave the checksum."""
    path.write_text(path.read_text().replace('"wall_seconds": 3.0', '"wall_seconds": 1.5'))


def as_another_program_writes_it(path: Path) -> None:
    """The same values, whole ones without a point."""
    path.write_text(json.dumps(json.loads(path.read_text(), parse_float=whole)))


def test_each_edit_of_a_record_is_noticed(make_record: MakeRecord) -> None:
    path = written(make_record)
    good = read_json(path)
    for way in ways(good):
        was = reduce(operator.getitem, way, good)
        for value in INSTEAD[::9] if way != (CHECKSUM,) else ():
            path.write_text(text_of(changed := change(good, way, value)))
            is_same = {type(was), type(value)} <= {int, float} and was == value
            if json.dumps(changed) != json.dumps(good) and not is_same:
                with pytest.raises(UserError):
                    read_record(path)


def test_an_edited_record_is_left_out_with_a_line_and_the_others_stay(make_record: MakeRecord) -> None:
    first, second = written(make_record, 1), written(make_record, 2)
    edit(first)
    found = read_machine(False, "box")
    assert list(found.records) == [second]
    (line,) = found.lines
    assert line.startswith(f"left out: {first}: its checksum does not hold: it was changed after it was written")


def rename(old: str, new: str) -> None:
    rename_machine(old, new, False, Path("told"))


def adopt(old: str, new: str) -> None:
    (RECORDS / old).rename(RECORDS / new)
    adopt_strangers(new, False)


@pytest.mark.parametrize("call", [rename, adopt])
def test_a_new_name_gets_a_new_checksum_and_makes_no_edited_record_right(
    call: Callable[[str, str], None], make_record: MakeRecord
) -> None:
    edit(written(make_record, 1))
    written(make_record, 2)
    write_json(path_of("box", 3), make_record([0.1], index=3))
    before = read_json(path_of("box", 2))[CHECKSUM]
    for old, new in (("box", "new"), ("new", "box")):
        call(old, new)
        found = read_machine(False, new)
        assert list(found.damaged) == [path_of(new, 1)]
        assert list(found.records) == [path_of(new, 2), path_of(new, 3)]
        assert CHECKSUM not in read_json(path_of(new, 3))
        assert (read_json(path_of(new, 2))[CHECKSUM] == before) is (new == "box")


@pytest.mark.parametrize("form", ["bundle", "folder"])
def test_an_edited_record_is_never_carried_and_the_others_get_checksums_of_their_new_name(
    form: str, make_record: MakeRecord
) -> None:
    edit(written(make_record, 1))
    written(make_record, 2)
    if form == "bundle":
        (reason,) = export_bundle(Path("box")).left_out
    else:
        (RECORDS / "box").rename("box")
        (reason,) = import_bundle(Path("box"), name="lab").left_out
    assert reason.startswith("its checksum does not hold")
    import_bundle(Path("box"), name="lab")
    assert list(read_machine(False, "lab").records) == [path_of("lab", 2)]


def test_a_record_in_another_layout_is_the_same_for_an_import_and_under_both_names(make_record: MakeRecord) -> None:
    path = written(make_record)
    record = read_json(path)
    export_bundle(Path("box.zip"))
    as_another_program_writes_it(path)
    assert import_bundle(Path("box.zip")).machines["box"].new.total() == 0
    write_record(path_of("box", 2), record | {"id": record["id"] | {"machine": "old", "index": 2}})
    adopt_strangers("box", False)
    assert list(read_machine(False, "box").records) == [path]


# --- texts


NASTY = "=1+1\x1b[31m\0\r\n\u202e\ud800\ufffe$x_{^}%&#~\\<b>`|\"'"


def every_text(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    for value in [*data, *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else []:
        yield from every_text(value)


def test_each_text_of_a_record_is_made_printable_or_the_record_is_left_out(make_record: MakeRecord) -> None:
    original, path, refused = make_record([0.1] * 3), Path("round-01.json"), set()
    original["provenance"]["versions"] = {"torch": "2.9", "numpy": "2.3"}
    original["provenance"]["machine"]["accelerators"] = ["A GPU"]
    original["cases"][0]["reason"] = "why"
    for way in ways(original):
        if not isinstance(reduce(operator.getitem, way, original), str):
            continue
        path.write_text(json.dumps(change(original, way, NASTY)))
        try:
            found = read_record(path)
        except UserError as error:
            assert not any(map(is_unprintable, str(error)))  # noqa: PT017
            refused.add(way[-1])
            continue
        assert not any(is_unprintable(char) for text in every_text(found) for char in text)
    # What something is looked up by cannot be another.
    names = {"machine", "paper", "experiment", "profile", "name", "case", "workload", "backend"}
    assert refused == names | {"architecture", "started", "digest", "status"}


@given(anything(nan=True, texts=st.text(st.characters(), max_size=20)))
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
