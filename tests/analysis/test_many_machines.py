"""Tables of more machines than anybody reads one by one."""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from respeed.output import build_tables
from respeed.paths import description_path, results_folder
from respeed.records.store import write_json
from tests.conftest import MakeRecord, write_machines
from tests.derived import STEPS


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_of(name: str) -> list[dict[str, str]]:
    with (results_folder(smoke=False) / "tables" / name).open() as file:
        return list(csv.DictReader(file))


def lines_run(action: Callable[[], object]) -> int:
    """How many lines of our own, turns of a comprehension among them, an action runs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if "respeed" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.slow
def test_the_work_for_a_machine_does_not_grow_with_their_number(make_record: MakeRecord) -> None:
    counts = []
    for machines in (5, 10, 20):
        write_machines(make_record, machines, rounds=1)
        build_tables(smoke=False, machine="box-00")  # what is kept from one call to the next is kept by now
        counts.append(lines_run(lambda: build_tables(smoke=False, machine="box-00")))
    five_more, ten_more = counts[1] - counts[0], counts[2] - counts[1]
    assert ten_more == pytest.approx(2 * five_more, rel=0.05)


@pytest.fixture
def twelve(make_record: MakeRecord) -> None:
    """Tables of machines whose steps take 0.1 s, 0.2 s, ...; box-07 is shown in full."""
    write_machines(make_record, 12)
    build_tables(smoke=False, machine="box-07")


@pytest.mark.usefixtures("twelve")
def test_machines_are_compared_with_the_fastest_and_not_with_one_another() -> None:
    rows = {row["machine"]: row for row in rows_of("machines.csv")}
    assert {row["base_machine"] for row in rows.values()} == {"box-00"}
    assert [row["verdict"] for row in rows.values()] == ["base"] + 11 * ["slower"]
    second = [float(rows["box-01"][name]) for name in ("speedup_low", "speedup", "speedup_high")]
    assert second == sorted(second)
    assert second[1] == pytest.approx(0.5)
    standings = [(row["machine"], row["rank"], float(row["share"])) for row in rows_of("standings.csv")]
    # Beyond these, one takes at most 1.25 times as long as the one before: days of so many machines may differ by that.
    assert standings[:4] == [(f"box-{n:02}", str(n + 1), pytest.approx(1 / (n + 1))) for n in range(4)]
    (row,) = rows_of("spread.csv")
    assert (row["case"], row["quantity"], row["machines"]) == ("576x1024", "seconds", "12")
    found = [float(row[name]) / STEPS for name in ("lowest", "lower_quartile", "median", "upper_quartile", "highest")]
    assert found == pytest.approx([0.1, 0.375, 0.65, 0.925, 1.2])


@pytest.mark.usefixtures("twelve")
def test_tables_for_people_leave_out_what_tables_for_tools_have() -> None:
    assert {row["source"] for row in rows_of("raina2009/rbm.csv")} == {"paper", *(f"box-{n:02}" for n in range(12))}
    tables = results_folder(smoke=False) / "tables"
    for name in ("raina2009/rbm.md", "raina2009/rbm.tex", "raina2009/rbm.html", "cells.html", "speedups.html"):
        text = (tables / name).read_text()
        assert ("box-08" in text, "of 11 other machines are in" in text) == (False, True), name
    for name in ("claims.html", "cost.html", "front.html", "../README.md"):
        text = (tables / name).read_text()
        assert ("box-07" in text, "box-08" in text) == (True, False), name


def test_a_machine_without_every_case_has_a_share_and_no_rank(make_record: MakeRecord) -> None:
    write_machines(make_record, 3, cases=("576x1024", "1024x4096"))
    write_machines(make_record, 1, first=3)
    build_tables(smoke=False)
    last = rows_of("standings.csv")[-1]
    assert (last["machine"], last["rank"], last["machines"], last["cases"]) == ("box-03", "", "3", "1")


def test_a_machine_with_a_sheet_and_no_record_is_among_the_hardware(make_record: MakeRecord) -> None:
    write_machines(make_record, 1)
    hardware = make_record([0.1])["provenance"]["machine"] | {"cpu": "Another CPU"}
    write_json(description_path("planned", smoke=False), {"hardware": hardware, "not_measurable": {}})
    build_tables(smoke=False)
    assert [(row["machine"], row["cpu"], row["rounds"]) for row in rows_of("hardware.csv")] == [
        ("box-00", "A CPU", "7"),
        ("planned", "Another CPU", "0"),
    ]
    assert rows_of("machines.csv") == []
