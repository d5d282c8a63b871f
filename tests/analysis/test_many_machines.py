"""Tables of more machines than anybody reads one by one."""

import csv
from pathlib import Path

import pytest

from respeed.output import build_page, build_tables
from respeed.paths import results_folder
from respeed.records import write_description
from tests.made import description, write_machines


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_of(name: str) -> list[dict[str, str]]:
    with (results_folder(smoke=False) / "tables" / name).open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def twelve() -> None:
    """Tables of machines whose steps take 0.1 s, 0.2 s, ...; box-07 is shown in full."""
    write_machines(12)
    build_tables(smoke=False, machine="box-07")


@pytest.mark.usefixtures("twelve")
def test_machines_are_compared_with_the_fastest_and_not_with_one_another() -> None:
    rows = {row["machine"]: row for row in rows_of("machines.csv")}
    assert {row["base_machine"] for row in rows.values()} == {"box-00"}
    assert [row["verdict"] for row in rows.values()] == ["base"] + 11 * ["slower"]
    second = [float(rows["box-01"][name]) for name in ("speedup_low", "speedup", "speedup_high")]
    assert second == sorted(second)
    assert second[1] == pytest.approx(0.5)


@pytest.mark.usefixtures("twelve")
def test_tables_for_people_leave_out_what_tables_for_tools_have() -> None:
    groups = {row["group"].split(":")[0] for row in rows_of("raina2009/rbm.csv")}
    assert groups == {"As published", *(f"On box-{n:02}" for n in range(12))}
    build_page(smoke=False, machine="box-07")
    tables = results_folder(smoke=False) / "tables"
    for name in ("raina2009/rbm.md", "raina2009/rbm.tex", "../tables.html", "../front.html", "../README.md"):
        text = (tables / name).read_text()
        assert ("box-07" in text, "box-08" in text) == (True, False), name


def test_a_machine_that_was_only_described_is_among_the_hardware() -> None:
    write_machines(1)
    write_description("planned", False, description(cpu="Another CPU"))
    build_tables(smoke=False)
    summaries = {row["machine"]: row["value"] for row in rows_of("facts.csv") if row["part"] == "summary"}
    assert summaries == {"box-00": "A CPU, 2 cores", "planned": "Another CPU, 2 cores"}
    assert rows_of("machines.csv") == []
