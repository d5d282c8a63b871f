"""What the report says of prices and of energy."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from respeed.inputs.machines import Price, Told
from respeed.output.build import build_tables
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json, write_text
from respeed.report.build import build_report
from respeed.report.facts import gather_facts
from respeed.tables import build
from respeed.tables.build import make_tables
from respeed.tables.others import read_others
from tests.conftest import ROOT, write_machines
from tests.figures.machines import read_energy

MakeRecord = Callable[..., dict[str, Any]]
BOXES = ["box-00", "box-01", "box-02"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Tells prices of an hour in USD, by the number of the box."""

    def tell(**prices: float) -> None:
        told = {
            f"box-{name[1:]}": Told(f"box-{name[1:]}", price=Price(per_hour, "USD", "a bill", "2026-11-01"))
            for name, per_hour in prices.items()
        }
        monkeypatch.setattr(build, "told_shown", lambda: told)

    return tell


def facts_of(machines: list[str]) -> dict[str, Any]:
    build_tables(smoke=False, machine=machines[0])
    found: dict[str, Any] = gather_facts(make_tables(smoke=False, only=machines), read_others(False, machines))["cost"]
    return found


def text_of_report() -> str:
    """Of the PDF, with an empty picture wherever a figure stands."""
    build_tables(smoke=False)
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    facts = json.dumps(gather_facts(make_tables(smoke=False), read_others(False, BOXES)))
    for path in re.findall(r'"path": "/([^"]+)"', facts):
        write_text(Path(path), empty)
    build_report(smoke=False)
    return " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())


def write_energy(make_record: MakeRecord, machine: str) -> None:
    for index in range(1, 8):
        record = make_record([0.1] * 2, index=index, machine=machine)
        read_energy(record, {"package-0": 80.0})
        write_json(round_path(RoundId(machine, "raina2009", "rbm", "torch-1", index)), record)


def test_the_report_says_what_the_work_costs_who_says_so_and_who_is_cheapest(
    make_record: MakeRecord, tell: Callable[..., None]
) -> None:
    write_machines(make_record, 3)
    write_energy(make_record, "box-00")
    tell(_00=4.0, _01=1.0)
    text = text_of_report()
    for wanted in (
        "What it costs",
        "4.00 USD an hour a bill 2026-11-01",
        "box-02: no price is told: ./run respeed new machine box-02",
        "box-01 is the cheapest. On box-00 the same work costs 2.00 times as much, which is certain.",
        "joules for 1 million examples",
        "41,667",
        "80.0 W",
        "Energy not measured: box-01 (the records were made before energy was read)",
    ):
        assert wanted in text, wanted


def test_without_prices_and_energy_there_is_nothing_to_show_but_how_to_tell_a_price(make_record: MakeRecord) -> None:
    write_machines(make_record, 2)
    found = facts_of(BOXES[:2])
    assert found["prices"] == found["tables"] == found["energy"] == []
    assert found["sheets"]["box-00"] == [
        ["price", "no price is told: ./run respeed new machine box-00"],
        ["energy", "not measured: the records were made before energy was read"],
    ]


def test_a_machine_alone_has_its_costs_and_is_compared_with_none(
    make_record: MakeRecord, tell: Callable[..., None]
) -> None:
    write_machines(make_record, 1)
    tell(_00=4.0)
    found = facts_of(["box-00"])
    ((_, (cell,)),) = found["tables"][0]["rows"]
    assert (cell["small"], cell["is_cheapest"]) == ("torch-1", False)
    assert found["tables"][0]["says"] == ""
    assert found["sheets"]["box-00"][0] == ["price", "4.00 USD an hour (a bill, 2026-11-01)"]


def test_of_many_machines_the_cheapest_of_all_stands_beside_the_one_in_full(
    make_record: MakeRecord, tell: Callable[..., None]
) -> None:
    write_machines(make_record, 12)
    tell(**{f"_{number:02}": 1.0 for number in range(11)}, _11=0.001)
    found = facts_of(["box-05"])
    assert found["machines"] == [["box-05", "USD"], ["box-11", "USD"]]
    assert "box-11 is the cheapest." in found["tables"][0]["says"]
    assert [name for name, _ in found["not_measured"]] == ["box-05"]


def test_what_a_machine_alone_costs_stands_in_a_line_and_a_row_after_the_tables(
    make_record: MakeRecord, tell: Callable[..., None]
) -> None:
    write_machines(make_record, 1)
    tell(_00=4.0)
    text = text_of_report()
    assert "An hour of the whole machine box-00 costs 4.00 USD (a bill, 2026-11-01), whichever row runs" in text
    assert text.index("What it costs") > text.index("Densely connected RBM")
    assert "Who says so" not in text
