"""The report of more machines than anybody reads one by one."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from respeed.figures.build import build_figures
from respeed.output.build import build_tables
from respeed.report.build import build_report
from respeed.report.facts import gather_facts
from respeed.tables.build import make_tables
from respeed.tables.others import read_others
from tests.conftest import ROOT, write_machines

MakeRecord = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    monkeypatch.chdir(tmp_path)


def facts_of(machine: str) -> dict[str, Any]:
    build_tables(smoke=False, machine=machine)
    return gather_facts(make_tables(smoke=False, only=[machine]), read_others(smoke=False, in_full=[machine]))


def test_the_report_of_twelve_machines_names_all_and_shows_the_cells_of_one(make_record: MakeRecord) -> None:
    write_machines(make_record, 12)
    for build in (build_tables, build_figures, build_report):
        build(smoke=False, machine="box-07")
    assert {path.name.rsplit("-", 1)[0] for path in Path("results/figures").rglob("*.svg")} == {"box-07"}
    text = " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())
    assert all(f"box-{number:02}" in text for number in range(12))
    assert "On box-07" in text
    assert "On box-08" not in text
    assert "Where it stands among 12 machines" in text
    assert "The rows of 11 other machines are in results/tables/raina2009/rbm.csv" in text
    assert "the range over 12 machines" in text
    assert "What it costs" not in text
    assert "stands here as soon as a price is told: ./run respeed new machine NAME" in text


def test_every_machine_has_one_row_and_the_one_in_full_comes_first(make_record: MakeRecord) -> None:
    write_machines(make_record, 12)
    rows = facts_of("box-07")["many"]["rows"]
    assert len(rows) == 12
    assert rows[0] == ["box-07", "A CPU, 2 cores", "12.5%"]


def test_another_machine_adds_a_row_and_nothing_else(make_record: MakeRecord) -> None:
    sizes = []
    for machines in (8, 9, 10):
        write_machines(make_record, machines)
        facts = facts_of("box-00")
        sizes.append(len(facts["many"].pop("rows")))
        assert [machine["name"] for machine in facts["machines"]] == ["box-00"]
        assert {run["machine"] for one in facts["papers"][0]["experiments"] for run in one["machines"]} == {"box-00"}
    assert sizes == [8, 9, 10]


def test_a_few_machines_are_all_in_the_report_in_full(make_record: MakeRecord) -> None:
    write_machines(make_record, 4)
    there = [f"box-{number:02}" for number in range(4)]
    build_tables(smoke=False, machine="box-00")
    facts = gather_facts(make_tables(smoke=False, only=there), read_others(smoke=False, in_full=there))
    assert facts["many"] is None
    assert [machine["name"] for machine in facts["machines"]] == there
    assert [one["machines"] for one in facts["across"]] == [there]
    assert not any(one["others"] or one["spread"] for one in facts["papers"][0]["experiments"])
