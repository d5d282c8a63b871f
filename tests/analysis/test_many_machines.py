"""Tables of more machines than anybody reads one by one."""

import contextlib
import re
from pathlib import Path

import pytest

from respeed.analysis.build import make_tables
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
    table = (tables / "raina2009/rbm.md").read_text("utf-8")
    assert re.findall(r"^\| \*\*(.*?):", table, re.MULTILINE) == ["As published", "On box-01"]
    names = ("cells.csv", "raina2009/rbm.md", "raina2009/rbm.tex", "../tables.html", "../README.md")
    for name in names:
        text = (tables / name).read_text("utf-8")
        assert ("box-01" in text, "box-02" in text) == (True, False), name


def test_a_machine_only_described_is_among_the_hardware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(1)
    write_description("planned", False, description(cpu="Another CPU"))
    made = make_tables(False, PAPERS, PROFILES)
    facts = made["facts"].set_index(["machine", "part", "fact"])["value"]
    assert facts["box-00", "summary", ""] == "A CPU, 2 cores"
    assert facts["planned", "summary", ""] == "Another CPU, 2 cores"
