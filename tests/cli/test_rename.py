"""respeed rename, and commands where no record can be used."""

import fcntl
import json
import shutil
from pathlib import Path

import pytest

from respeed.cli.main import main
from respeed.paths import ROOT, record_paths
from tests.conftest import MakeRecord, write_machines

Capture = pytest.CaptureFixture[str]
HOME = Path("results/records")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_a_line_proposes_does_what_it_says(make_record: MakeRecord, capsys: Capture) -> None:
    write_machines(make_record, 1)
    for path in record_paths(False)[5:]:
        record = json.loads(path.read_text())
        record["provenance"]["machine"] |= {"cpu": "Another CPU"}
        path.write_text(json.dumps(record))
    assert main(["tables"]) == 0
    line = next(line for line in capsys.readouterr().err.splitlines() if "left out" in line)
    proposed = line.rpartition("./run respeed ")[2].split()
    assert proposed == ["rename", "box-00", "box-00-2", "--left-out"]
    assert main(proposed) == 0
    assert capsys.readouterr().out == "2 files are of box-00-2 now, in results/records/box-00-2\n"
    assert main(["tables"]) == 0
    assert "left out" not in capsys.readouterr().err
    hardware = Path("results/tables/hardware.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in hardware[1:]] == [["box-00", "A CPU"], ["box-00-2", "Another CPU"]]


def test_where_no_record_can_be_used_nothing_is_built(make_record: MakeRecord, capsys: Capture) -> None:
    write_machines(make_record, 1)
    (HOME / "box-00").rename(HOME / "by-hand")
    shutil.copytree(ROOT / "report", "report", ignore=shutil.ignore_patterns("*.pdf", "*.html", "facts"))
    for command in ("figures", "report"):
        assert main([command]) == 2
        assert capsys.readouterr().err.endswith(
            ": not found; build the tables first: respeed tables (all: ./run snakemake report)\n"
        )
    assert main(["tables"]) == 2
    why, end = capsys.readouterr().err.splitlines()
    assert why.endswith("./run respeed rename by-hand by-hand")
    assert "none of the 7 record files can be used" in end
    assert not list(Path().rglob("*.pdf"))
    assert main(why.rpartition("./run respeed ")[2].split()) == 0
    assert main(["tables"]) == 0


def test_a_clone_without_any_record_still_has_its_tables() -> None:
    assert main(["tables"]) == 0
    assert "A CPU" not in Path("results/tables/hardware.csv").read_text()


def test_a_folder_where_a_run_is_at_work_is_left_alone(make_record: MakeRecord, capsys: Capture) -> None:
    write_machines(make_record, 1)
    with Path("results/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["rename", "box-00", "new"]) == 2
    assert "another run is at work" in capsys.readouterr().err
    assert not (HOME / "new").exists()
