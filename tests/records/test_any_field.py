"""Whatever stands in one field of one file: it is left out with a line, or plan, tables, figures and report can be made
with it. Nothing else ever happens, and the other records stay."""

import contextlib
import io
import json
import operator
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.figures import build_figures
from respeed.figures.results import load_results
from respeed.figures.style import PAGES
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.output import build_tables, read_tables
from respeed.paths import record_paths
from respeed.records.models import place_in_folders
from respeed.records.store import (
    _leave_out,
    read_description,
    read_learning,
    read_machine,
    read_machines_hardware,
    write_json,
)
from respeed.records.transfer import check_item, verify
from respeed.report.context import make_context
from respeed.schedule.next_turn import read_plan
from respeed.schedule.selection import make_work
from tests.conftest import MakeRecord
from tests.odd import INSTEAD, added, change, text_of, ways
from tests.records.carried import good_files, write_box
from tests.records.hostile import DESCRIPTION, FIRST, LEARNING, SHEET

ROUNDS = 6


@pytest.fixture
def box(make_record: MakeRecord) -> dict[str, Path]:
    """A machine with some rounds and all other files there can be; every fact that one may have is there."""
    write_box(make_record, profiles=("torch-1",), rounds=ROUNDS)
    for path, value in good_files(make_record).items():
        write_json(Path("results", path), value)
    paths = {"record": FIRST, "description": DESCRIPTION, "sheet": SHEET, "learning": LEARNING}
    record = json.loads(Path("results", FIRST).read_text())
    case = record["cases"][0]
    case["parts"], case["iterations"] = {"whole": 1.0}, {"whole": 12.5}
    case["blocks"][0]["part_seconds"] = [case["blocks"][0]["sample_seconds"]]
    write_json(Path("results", FIRST), record)
    return {kind: Path("results", path) for kind, path in paths.items()}


def is_usable(kind: str, path: Path) -> bool:
    """Whether it is read; where not, a line says so. What checks files comes to an end as well."""
    said = io.StringIO()
    verify(path)
    place = place_in_folders(path)
    assert place is not None
    with contextlib.suppress(UserError):
        check_item(place, path.read_bytes(), False, "file")
    with contextlib.redirect_stderr(said):
        match kind:
            case "record":
                found = read_machine(False, "box")
                usable = path in found.records
                said.write("".join(found.lines))
                assert len(found.records) >= ROUNDS - 1
            case "description":
                _leave_out.cache_clear()
                usable = read_description("box", False) is not None
                said.write("".join(read_machine(False, "box").lines))
            case "sheet":
                usable = read_machines_hardware("box", False, {}) is not None
            case _:
                _leave_out.cache_clear()
                usable = bool(read_learning(False, "box"))
    assert usable or "left out" in said.getvalue()
    return usable


def plan() -> None:
    """What a run would measure next."""
    config = replace(load_config(), profiles=("torch-1",), experiments=("rbm",))
    work = make_work(config, load_papers(["raina2009"]), load_profiles(), "box", lambda profile: None)
    plan = read_plan(work, lambda *place: "0" * 16)
    plan.next_turn()
    plan.known("torch-1", "2026-01-01T00:00:00+00:00")


def show(shown: set[tuple[bytes, ...]], *, drawn: bool) -> None:
    """Plan, tables and report's facts, and if it is `drawn` the figures, in one of the forms that they have. All that
    is shown is made of the tidy tables and of what was learned: where these are as they were once, so is the rest."""
    pages = [replace(page, endings=("svg",)) for page in PAGES[:1]]
    with contextlib.redirect_stderr(io.StringIO()), pytest.MonkeyPatch.context() as patch:
        patch.setattr("respeed.figures.PAGES", pages)
        plan()
        try:
            read_tables(False).write(Path("tidy"))
            learned = Path("results/records").rglob("learning.json")
            tidy = tuple(path.read_bytes() for path in sorted([*Path("tidy").iterdir(), *learned]))
            if tidy in shown:
                return
            shown.add(tidy)
            build_tables(False)
        except UserError as error:  # a description of another machine than all the records are of
            assert "can be used" in str(error)  # noqa: PT017
            return
        json.dumps(make_context(load_results(False)), allow_nan=False)
        if drawn:
            build_figures(False)


@pytest.fixture
def only_round(make_record: MakeRecord) -> Path:
    """The record of a machine that has no other: what it says is not lost in a median."""
    write_box(make_record, profiles=("torch-1",), rounds=1)
    return record_paths(False)[0]


def test_work_is_left_out_where_no_axis_would_hold_it(only_round: Path) -> None:
    good = json.loads(only_round.read_text())
    for value in (1e-300, 0.5, 1e25):
        for key in ("flops", "traffic_bytes"):
            only_round.write_text(text_of(change(good, ("cases", 0, key), value)))
            assert not read_machine(False, "box").records
    good["cases"][0] |= {"flops": 1, "traffic_bytes": 1e24}
    only_round.write_text(text_of(good))
    assert read_machine(False, "box").records
    show(set(), drawn=True)


@pytest.mark.slow
@pytest.mark.parametrize("value", [1e-12, 1e24])
def test_the_only_round_of_a_machine_is_left_out_or_drawn_whatever_its_numbers(only_round: Path, value: float) -> None:
    good, tables = json.loads(only_round.read_text()), set[tuple[bytes, ...]]()
    for way in ways(good):
        if type(reduce(operator.getitem, way, good)) in (int, float):
            only_round.write_text(text_of(change(good, way, value)))
            if read_machine(False, "box").records:
                show(tables, drawn=True)


# Of a sheet's fields most are its rounds', which are records: all of these are tried, too.
EACH = {"record": 1, "description": 1, "sheet": 4, "learning": 1}


@pytest.mark.parametrize(
    ("kind", "stride", "shown", "drawn"),
    [
        *(
            ("record", 61, 4, 10**9),
            ("description", 23, 4, 10**9),
            ("sheet", 197, 4, 10**9),
            ("learning", 61, 4, 10**9),
        ),
        *(pytest.param(kind, stride, 25, 100, marks=pytest.mark.slow) for kind, stride in EACH.items()),
    ],
)
def test_a_file_with_any_field_wrong_is_left_out_or_can_be_used(
    kind: str, stride: int, shown: int, drawn: int, box: dict[str, Path]
) -> None:
    """Put one wrong value in so many into the file; of those with which it is used, show and draw one in so many."""
    path = box[kind]
    good, tables, used = json.loads(path.read_text()), set[tuple[bytes, ...]](), 0
    assert is_usable(kind, path)
    tried = [(way, value) for way in ways(good) for value in INSTEAD][::stride]
    for way, value in [*tried, *list(added(good))[:: max(1, stride // 10)]]:
        path.write_text(text_of(change(good, way, value)))
        if is_usable(kind, path):
            used += 1
            if used % shown == 0:
                show(tables, drawn=used % drawn == 0)


def test_what_is_left_out_is_measured_again(box: dict[str, Path]) -> None:
    box["record"].write_text(text_of(change(json.loads(box["record"].read_text()), ("id", "smoke"), True)))
    config = replace(load_config(), profiles=("torch-1",), experiments=("rbm",))
    work = make_work(config, load_papers(["raina2009"]), load_profiles(), "box", lambda profile: None)
    plan = read_plan(work, lambda *place: "0" * 16)
    assert len(plan.records) == ROUNDS - 1
    assert list(plan.unusable) == [box["record"]]
    assert "is of the smoke kind, and lies among the real ones" in plan.unusable[box["record"]]
