"""What the report says: its first page, and many machines."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from respeed.output import build_tables, load_results
from respeed.output.table import to_typst
from respeed.report.context import make_context
from respeed.shown import Asked
from tests.made import make_lines, write_lines, write_machines

pytestmark = pytest.mark.usefixtures("own_folder")


def context_of(machine: str | None = None, show: Sequence[str] = ()) -> dict[str, Any]:
    shown: dict[str, Any] = {"smoke": False, "machine": machine, "papers": ["raina2009"], "show": show}
    build_tables(Asked(**shown))
    context: dict[str, Any] = json.loads(json.dumps(make_context(load_results(Asked(**shown))), default=to_typst))
    return context


def test_a_report_shows_the_named_machines() -> None:
    """The report of twelve machines shows this one or those that are named."""
    write_machines(12, cases=["576x1024", "1024x4096"])
    context = context_of("box-07")
    assert ("On box-07" in (text := json.dumps(context)), "box-08" in text) == (True, False)
    assert {figure["path"][-18:] for figure in context["papers"][0]["sections"][0]["figures"]} == {"box-07-speedup.svg"}
    described = context_of("box-07", ["this", "box-03"])["facts"]
    assert [table["title"][:6] for table in described] == ["box-07", "box-03"]
    write_machines(1, first=12, started="2026-02-03T00:00:00+00:00")
    assert context["date"] < context_of("box-07", ["all"])["date"] == "2026-02-03"


def test_one_case_has_no_figure() -> None:
    """A machine with one case has no figure and names made of the hardware are short but for the last page."""
    for name in ("amd-epyc-2c-c896", "intel-xeon-16c-h200-f9ab", "intel-xeon-16c-h200-0000"):
        write_lines(*make_lines([0.1] * 2), machine=name)
    context = context_of("amd-epyc-2c-c896")
    assert context["papers"][0]["drawn"] == []
    (facts,) = context.pop("facts")
    assert facts["title"].startswith("amd-epyc-2c-c896: ")
    text = json.dumps(context)
    assert ("On epyc-2c" in text, "On amd-epyc" in text) == (True, False)
    # Two would have the same short name.
    assert "On intel-xeon-16c-h200-f9ab" in json.dumps(context_of(show=["all"]))
