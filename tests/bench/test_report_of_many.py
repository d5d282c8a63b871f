"""`bench/report.py`: synthetic machines made of a real one's records."""

import contextlib
import csv
import shutil
from pathlib import Path

import pytest

import report
from respeed.paths import RoundId, description_path, learning_path, records_folder, round_path
from respeed.records.store import read_json, write_record
from tests.conftest import MakeRecord
from tests.records.carried import learned

ROUNDS = 6


@pytest.fixture
def donor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> Path:
    """The records of a machine, checksummed as a run writes them; returns the folder of machines."""
    monkeypatch.chdir(tmp_path)
    # Nothing is timed for its own sake here, and a measurement beside it may take hours.
    monkeypatch.setattr(report, "machine_lock", contextlib.nullcontext)
    for profile, seconds in (("torch-1", 0.2), ("torch-all", 0.1)):
        for index in range(1, ROUNDS + 1):
            record = make_record([seconds, seconds + 1e-4 * index], profile=profile, index=index)
            write_record(round_path(RoundId("box", "raina2009", "rbm", profile, index)), record)
    hardware = make_record([1.0])["provenance"]["machine"]
    write_record(description_path("box", False), {"machine": "box", "hardware": hardware, "not_measurable": {}})
    write_record(learning_path("box", "raina2009", "rbm", False), learned("box"))
    return tmp_path / records_folder(False)


def test_of_synthetic_machines_no_record_is_left_out(donor: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    report.compare(built, donor, [2], ["tables"])
    with (built / "results/tables/cells.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["seconds"]]
    profiles = {"box-001": ("torch-1", "torch-all", "gpu"), "box-002": ("torch-1", "torch-all")}
    assert {(row["machine"], row["profile"], row["rounds"]) for row in rows} == {
        (machine, profile, str(ROUNDS)) for machine, names in profiles.items() for profile in names
    }
    learning = [read_json(path) for path in (built / records_folder(False)).glob("*/*/*/learning.json")]
    assert {one["machine"] for one in learning} == {"box-001", "box-002"}


def test_a_record_that_is_left_out_ends_the_comparison(donor: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    shutil.copytree(donor / "box", built / records_folder(False) / "another")
    with pytest.raises(SystemExit, match="left out"):
        report.compare(built, donor, [1], ["tables"])
