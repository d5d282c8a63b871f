"""Tables of more machines than anybody reads one by one."""

import contextlib
import csv
from pathlib import Path

import pytest

from respeed.analysis.build import make_tables
from respeed.inputs.machines import Notes, Price
from respeed.output import build_tables
from respeed.paths import results_folder
from respeed.records import write_description
from respeed.shown import Asked
from tests.derived import PAPERS, PROFILES
from tests.made import description, write_machines


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of one of several machines, box-01: steps take 0.1 s, 0.2 s, ..."""
    folder = tmp_path_factory.mktemp("machines")
    with contextlib.chdir(folder):
        write_machines(5, rounds=3)
        build_tables(Asked(smoke=False, machine="box-01", papers=["raina2009"]))
    return folder / results_folder(smoke=False) / "tables"


def test_what_is_built_is_about_this_machine_alone(tables: Path) -> None:
    lines = csv.DictReader((tables / "raina2009/rbm.csv").read_text("utf-8-sig").splitlines())
    assert {line["group"].split(":")[0] for line in lines} == {"As published", "On box-01"}
    names = ("cells.csv", "raina2009/rbm.md", "raina2009/rbm.tex", "../tables.html", "../README.md")
    for name in names:
        text = (tables / name).read_text("utf-8")
        assert ("box-01" in text, "box-02" in text) == (True, False), name


def test_described_and_priced_machines_are_among_the_hardware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine has its price and one that was only described is among the hardware."""
    monkeypatch.chdir(tmp_path)
    write_machines(1)
    write_description("planned", False, description(cpu="Another CPU"))
    told = {"box-00": Notes("box-00", price=Price(3.6, "EUR", "a bill", "2026-11-01"))}
    made = make_tables(False, PAPERS, PROFILES, told)
    facts = made["facts"].set_index(["machine", "part", "fact"])["value"]
    assert facts["box-00", "summary", ""] == "A CPU, 2 cores"
    assert facts["planned", "summary", ""] == "Another CPU, 2 cores"
    assert facts["box-00", "measured", "price"] == "3.6 EUR an hour (a bill, 2026-11-01)"
    timed = made["cells"].query("machine == 'box-00' and seconds > 0")
    assert (timed["cost"] / timed["seconds"]).to_list() == pytest.approx([0.001])
    assert made["machines"].empty
