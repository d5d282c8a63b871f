"""An import where something is here already: copied folders, other names of this machine, what is told of it."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.cli.main import main
from respeed.errors import UserError
from respeed.paths import description_path, record_paths
from respeed.records.bundle import MIB
from respeed.records.models import Kind
from respeed.records.store import write_json
from respeed.records.transfer import export_bundle, import_bundle
from tests.records.carried import files, write_box, write_price

MakeRecord = Callable[..., dict[str, Any]]
TOLD = Path("machines")
BUNDLE = Path("bundle.zip")
RECORDS = Path("results/records")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_nothing_is_imported_into_a_folder_that_was_copied_until_it_has_its_own_name(
    make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    write_box(make_record)
    theirs = shutil.copytree(RECORDS / "box", "theirs")
    shutil.move(RECORDS / "box", RECORDS / "x1")
    before = files()
    assert main(["import", theirs, "--as", "x1"]) == 2
    line = capsys.readouterr().err
    assert "x1: is of the machine box" in line
    assert files() == before
    assert main(line.rpartition("./run respeed ")[2].split()) == 0
    assert main(["import", theirs, "--as", "x1"]) == 0
    assert "nothing new" in capsys.readouterr().out
    assert len(record_paths(False)) == 4


def test_a_price_for_a_machine_of_which_something_else_is_told_is_said_with_the_file_to_write_it_to(
    make_record: MakeRecord,
) -> None:
    write_box(make_record)
    write_price(TOLD, "box", 2.5)
    export_bundle(BUNDLE, told=TOLD)
    (TOLD / "box.yaml").write_text("slurm: {partition: gpu}\n")
    lines = import_bundle(BUNDLE, told=TOLD).machines["box"].lines
    assert any("it costs 2.5 EUR an hour" in line and "under price: in machines/box.yaml" in line for line in lines)
    assert (TOLD / "box.yaml").read_text() == "slurm: {partition: gpu}\n"


def test_an_import_is_whole_where_what_is_told_here_is_not_valid(make_record: MakeRecord) -> None:
    write_box(make_record)
    write_price(TOLD, "box", 2.5)
    export_bundle(BUNDLE, told=TOLD)
    wanted = files()
    shutil.rmtree("results")
    (TOLD / "box.yaml").write_text("prices: 1\n")
    done = import_bundle(BUNDLE, told=TOLD).machines["box"]
    assert any("its price is left out" in line and "machines/box.yaml" in line for line in done.lines)
    assert done.new[Kind.RECORD] == 4
    assert files() == wanted


def test_another_name_of_a_machine_that_has_records_here_is_said(make_record: MakeRecord) -> None:
    write_box(make_record)
    path = description_path("box", False)
    description = json.loads(path.read_text())
    write_json(path, description | {"hardware": description["hardware"] | {"host": "0123456789abcdef"}})
    export_bundle(BUNDLE, told=TOLD)
    assert not any("two names" in line for line in import_bundle(BUNDLE, told=TOLD).machines["box"].lines)
    lines = import_bundle(BUNDLE, name="mine", told=TOLD).machines["mine"].lines
    assert any("has records here as box" in line for line in lines)


def test_what_an_import_would_refuse_for_its_size_is_not_exported(make_record: MakeRecord) -> None:
    write_box(make_record, profiles=("torch-1",))
    path = record_paths(False)[0]
    record = json.loads(path.read_text())
    # Without line breaks it is below the limit, and above it as respeed writes it.
    record["more"] = [[[[[1]]]]] * 60_000
    path.write_text(json.dumps(record, separators=(",", ":")))
    assert path.stat().st_size < 2 * MIB
    left_out = export_bundle(BUNDLE, told=TOLD).left_out
    assert [str(one) for reason, there in left_out.items() if "more than 2 MiB" in reason for one in there] == [
        str(path)
    ]
    shutil.rmtree("results")
    assert import_bundle(BUNDLE, told=TOLD).machines["box"].new[Kind.RECORD] == 1


def test_a_bundle_that_was_packed_again_says_what_helps(make_record: MakeRecord) -> None:
    write_box(make_record)
    export_bundle(BUNDLE, told=TOLD)
    shutil.unpack_archive(BUNDLE, "unpacked")
    shutil.rmtree("results")
    with zipfile.ZipFile("again.zip", "w", zipfile.ZIP_DEFLATED) as again:
        for path in sorted(Path("unpacked").rglob("*.json")):
            again.write(path, path.relative_to("unpacked"))
    with pytest.raises(UserError, match="unpack it and import the folder"):
        import_bundle(Path("again.zip"), told=TOLD)
    assert import_bundle(Path("unpacked"), told=TOLD).machines["box"].new[Kind.RECORD] == 4
