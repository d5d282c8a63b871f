"""The texts of a record come from strangers: they are shown as far as they can be printed, and stop nothing."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.paths import description_path
from respeed.records import store
from respeed.records.models import MOST_LETTERS, printable_texts
from respeed.records.store import read_description, read_learning, read_record, write_json
from respeed.text import is_unprintable

NASTY = "=1+1\x1b[31m\0\r\n\u202e\ud800\ufffe$x_{^}%&#~\\<b>`|\"'"
MakeRecord = Callable[..., dict[str, Any]]


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


@pytest.mark.parametrize("started", ["2026-01-01", "2026-W01-1T00:00:00+00:00", "2026-01-01T00:00:00", "now", ""])
def test_a_record_without_a_time_is_left_out(make_record: MakeRecord, tmp_path: Path, started: str) -> None:
    write_json(tmp_path / "round-01.json", make_record([0.1] * 3, started=started))
    with pytest.raises(UserError, match="started is missing, or not what a record says there"):
        read_record(tmp_path / "round-01.json")


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(st.characters(), max_size=20)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(st.characters()), inner, max_size=3)),
    max_leaves=8,
)


@given(JSON)
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


def test_what_is_learned_is_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = {"curve": [[1, 2]], "pictures": [[[1]]], "workload": "rbm", "parameters": {"a\x1b": 1}, "steps": 1}
    record = {"schema": 1, "smoke": False, "machine": "box", "paper": "raina2009", "experiment": "rbm"}
    record["started"] = "2026-01-01T00:00:00+00:00"
    write_json(Path("results/records/box/raina2009/rbm/learning.json"), {**record, "programs": [program]})
    (found,) = read_learning(smoke=False)
    assert list(found["programs"][0]["parameters"]) == ["a"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"hardware": 1}', '{"hardware": {}, "x": NaN}', "[" * 5000])
def test_a_description_that_cannot_be_used_is_left_out_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store._leave_out.cache_clear()
    path = description_path("box", smoke=False)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert read_description("box", smoke=False) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"respeed: left out: {path}: ")
