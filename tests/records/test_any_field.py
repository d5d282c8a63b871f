"""Whatever stands in a field: the line is skipped with one line, or plan, tables and report can be made of it."""

import contextlib
import copy
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respeed.analysis.build import make_tables
from respeed.inputs.config import load_config
from respeed.output.published import lay_out_published
from respeed.output.results import Results
from respeed.output.table import to_html, to_markdown, to_typst
from respeed.records import read_description, read_records
from respeed.report.context import make_context
from respeed.schedule.plan import Plan
from respeed.schedule.rows import Row
from respeed.schedule.work import list_work
from tests.derived import PAPER, PAPERS, PROFILES

RBM = PAPER.experiments["rbm"]
RBM_ALONE = replace(PAPER, experiments={"rbm": RBM}, claims={"rbm-speedup": PAPER.claims["rbm-speedup"]})
Way = tuple[str | int, ...]
MISSING = object()
# Texts that stand for what Python's json cannot write.
ENDLESS, DEEP = "@1e999@", "@deep@"
INSTEAD = (
    None, True, -1, 0, 1, 1e300, 1e308, -1e308, 1e-300, 2**63, 10**400, float("nan"), ENDLESS, DEEP, "", "x", "../../x",
    "nan", "x" * 2**20, "2026-13-01T00:00:00+00:00", "\x1b[2J", "\ud800", [], [1], ["x"], [[1, 1]], {}, {"x": "y"},
    MISSING,
)  # fmt: skip


def ways(value: Any, way: Way = ()) -> Iterator[Way]:
    """To every field, and to a key that none has; of a list to its first element."""
    keys = [*value, "more"] if isinstance(value, dict) else [*range(len(value))][:1] if isinstance(value, list) else []
    for key in keys:
        yield (*way, key)
        yield from ways(value[key] if key != "more" else None, (*way, key))


def changed(data: Any, way: Way, value: Any) -> str:
    """The line with this instead, there."""
    inner = data = copy.deepcopy(data)
    for key in way[:-1]:
        inner = inner[key]
    if value is not MISSING:
        inner[way[-1]] = value
    elif way[-1] != "more":
        del inner[way[-1]]
    return json.dumps(data).replace(f'"{ENDLESS}"', "1e999").replace(f'"{DEEP}"', "[" * 5000 + "]" * 5000)


def show() -> None:
    """Plan, tables, and the report's facts, which are made of the tables; of one table of the paper."""
    config = replace(load_config(), papers=("raina2009",), profiles=("torch-1",), experiments=("rbm",))
    rows = {"torch-1": Row(PROFILES["torch-1"], 1, ())}
    plan = Plan(list_work(config, PAPERS, rows, "box"), tuple(read_records(False, "box")))
    assert plan.next_turn()
    assert plan.seconds_left() > 0
    tables = make_tables(False, {"raina2009": RBM_ALONE}, PROFILES)
    tables.write(Path("tables"))
    shown = Results(tables.papers, ["box"], False, tables.frames)
    for write in (to_markdown, to_html):
        assert write(lay_out_published(shown, RBM_ALONE, RBM))
    json.dumps(make_context(shown), allow_nan=False, default=to_typst)


@pytest.mark.parametrize("examples", [6, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("kind", "place"), [("record", 0), ("record", 1), ("description", 0)])
def test_a_line_with_odd_fields_never_crashes(kind: str, place: int, examples: int, whole_box: dict[str, Path]) -> None:
    """A line with any field odd is skipped in one line or can be used."""
    path, lines = whole_box[kind], whole_box[kind].read_text("utf-8").split("\n" if kind == "record" else "\0")
    good = json.loads(lines[place])
    changes = [(way, value) for way in ways(good) for value in INSTEAD]
    shown = set[str]()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.sampled_from(changes))
    def check(change: Any) -> None:
        line = changed(good, *change)
        path.write_text("\n".join([*lines[:place], line, *lines[place + 1 :]]), "utf-8")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            found = {len(one.results) for one in read_records(False, "box") if path.match(f"{one.path}")}
            description = read_description("box", False)
        skipped = said.getvalue().splitlines()
        if kind == "record":
            assert found == ({2} if not skipped else {1} if place else set())
        else:
            assert bool(description) is not bool(skipped)
        assert len(skipped) <= 1
        for text in skipped:
            assert text.startswith(f"respeed: skipped: {path}:")
            assert text.isprintable()
        if not skipped or not shown:  # what is skipped is the same whatever stood there
            show()
            shown.update(skipped)

    check()
