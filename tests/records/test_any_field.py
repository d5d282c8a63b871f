"""Whatever stands in a field of a file: it is refused in one line, or tables, plan and report can be made of it."""

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.output import build_tables, load_shown
from respeed.records.store import read_file, read_records
from respeed.report.context import make_context
from respeed.schedule.next_turn import Plan, read_plan
from respeed.schedule.selection import make_work
from tests.odd import INSTEAD, added, change, text_of, ways


def plan() -> Plan:
    """What a run would measure next."""
    config = replace(load_config(), profiles=("torch-1",), experiments=("rbm",))
    work = make_work(config, load_papers(["raina2009"]), load_profiles(), "box", lambda profile: None)
    return read_plan(work, lambda *place: "0" * 16)


def show() -> None:
    """Plan, tables, and the report's facts, which are made of the tables."""
    found = plan()
    found.next_turn()
    found.probes("torch-1", "2026-01-01T00:00:00+00:00")
    build_tables(False)
    json.dumps(make_context(load_shown(False)), allow_nan=False)


@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        *(("record", 20), ("description", 20), ("sheet", 20)),
        *(pytest.param(kind, 1000, marks=pytest.mark.slow) for kind in ("record", "description", "sheet")),
    ],
)
def test_a_file_with_any_field_wrong_is_refused_in_one_line_or_can_be_used(
    kind: str, examples: int, whole_box: dict[str, Path]
) -> None:
    path = whole_box[kind]
    good = json.loads(path.read_text())
    changes = [(way, value) for way in ways(good) for value in INSTEAD] + list(added(good))

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.sampled_from(changes))
    def check(changed: Any) -> None:
        path.write_text(text_of(change(good, *changed)))
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                read_file(path, False)
            except UserError as error:
                assert str(error).startswith(f"{path}: ")  # noqa: PT017
                assert str(error).isprintable()  # noqa: PT017
                assert len(str(error)) < 1000  # noqa: PT017
            else:
                show()

    check()


@pytest.mark.parametrize(("key", "value"), [("flops", 1e-300), ("flops", 0.5), ("traffic_bytes", 1e25)])
def test_work_is_refused_where_no_axis_would_hold_it(key: str, value: float, whole_box: dict[str, Path]) -> None:
    path = whole_box["record"]
    path.write_text(text_of(change(json.loads(path.read_text()), ("cases", 0, key), value)))
    with pytest.raises(UserError, match=rf"round-01.json: cases.0.{key}: "):
        read_file(path, False)


def test_what_cannot_be_used_is_skipped_once_with_a_line_and_measured_under_the_next_free_number(
    whole_box: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = whole_box["record"]
    path.write_text(text_of(change(json.loads(path.read_text()), ("smoke",), True)))
    before = path.read_bytes()
    for _ in range(2):
        found = plan()
        assert len(found.records) == len(read_records(False, "box")) == 5
    assert capsys.readouterr().err == (
        f"respeed: skipped: {path}: is of the smoke kind, and lies among the real ones\n"
    )
    assert found.next_round("raina2009", "rbm", "torch-1").index == 7
    assert path.read_bytes() == before
