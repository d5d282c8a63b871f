"""What is carried arrives: export, import elsewhere and export again makes the same bytes; nothing is written over."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respeed.cli.main import main
from respeed.errors import UserError
from respeed.paths import RoundId, description_path, learning_path, record_paths, round_path
from respeed.records.bundle import MIB
from respeed.records.folder import hold_folder
from respeed.records.models import Kind
from respeed.records.store import write_json
from respeed.records.transfer import export_bundle, import_bundle
from tests.records.carried import files, learned, write_box, write_price

MakeRecord = Callable[..., dict[str, Any]]


BUNDLE = Path("../bundle.zip")


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a place the working directory, with results and told prices of its own."""

    def to(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        return folder

    return to


def carry(go: Callable[[str], Path], there: str, *, again: str = "../again.zip", **options: Any) -> bytes:
    """Export here, import there, and export again there; the bytes of the second bundle."""
    export_bundle(BUNDLE, told=Path("machines"))
    go(there)
    import_bundle(BUNDLE, told=Path("machines"), **options)
    export_bundle(Path(again), told=Path("machines"))
    return Path(again).read_bytes()


def test_export_after_import_makes_the_same_bytes(go: Callable[[str], Path], make_record: MakeRecord) -> None:
    go("here")
    for number, machine in enumerate(("box", "box-2")):
        write_box(make_record, machine, memory=2 ** (34 + number))
    write_price(Path("machines"), "box", more="slurm: {partition: secret}\nprofiles: [torch-1]\n")
    wanted = files()
    assert carry(go, "there") == BUNDLE.read_bytes()
    assert files() == wanted
    price = Path("machines/box.yaml").read_text()
    assert "1.5" in price
    assert "äö" in price
    assert "secret" not in price
    assert not Path("machines/box-2.yaml").exists()


ROUNDS = st.lists(
    st.tuples(
        st.sampled_from(["torch-1", "openblas-1"]),
        st.integers(1, 99),
        st.booleans(),
        st.floats(1e-9, 1e5),
        st.integers(0, 59),
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda one: one[:3],
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds=ROUNDS)
def test_whatever_was_measured_is_carried_as_it_is(
    rounds: list[Any], make_record: MakeRecord, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = Path.cwd()
    here, there = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("there")
    try:
        os.chdir(here)
        for profile, index, whole, seconds, minute, label in rounds:
            started = f"2026-01-01T00:{minute:02}:00+00:00"
            record = make_record([seconds], index=index, profile=profile, whole=whole, started=started)
            record["profile"]["label"] = label
            write_json(round_path(RoundId("box", "raina2009", "rbm", profile, index, whole)), record)
        wanted = files()
        export_bundle(there / "one.zip")
        os.chdir(there)
        import_bundle(Path("one.zip"))
        export_bundle(Path("two.zip"))
        assert files() == wanted
        assert Path("two.zip").read_bytes() == Path("one.zip").read_bytes()
        assert not import_bundle(Path("one.zip")).machines["box"].new
        # Under another name and back is the same as well.
        shutil.rmtree("results")
        import_bundle(Path("one.zip"), name="other")
        export_bundle(Path("other.zip"))
        shutil.rmtree("results")
        import_bundle(Path("other.zip"), name="box")
        assert files() == wanted
    finally:
        os.chdir(home)


def test_a_second_import_adds_only_what_is_new(go: Callable[[str], Path], make_record: MakeRecord) -> None:
    go("here")
    write_box(make_record, rounds=2)
    carry(go, "there")
    go("here")
    write_box(make_record, rounds=3)
    shutil.rmtree("results/records/box/raina2009/rbm/openblas-1")
    export_bundle(BUNDLE)
    go("there")
    done = import_bundle(BUNDLE).machines["box"]
    assert done.new == {Kind.RECORD: 1}
    assert done.known[Kind.RECORD] == 2
    assert len(record_paths(False, "box")) == 5
    assert not import_bundle(BUNDLE).machines["box"].new


def test_other_rounds_of_a_cell_get_the_next_numbers_in_the_order_of_their_time(
    go: Callable[[str], Path], make_record: MakeRecord
) -> None:
    go("there")
    write_box(make_record, profiles=("torch-1",), rounds=2, hour=5)
    before = files()
    go("here")
    write_box(make_record, profiles=("torch-1",), rounds=4, hour=3)
    export_bundle(BUNDLE)
    go("there")
    done = import_bundle(BUNDLE).machines["box"]
    assert done.new == {Kind.RECORD: 4, Kind.SESSION: 1}
    assert {path: data for path, data in files().items() if path in before} == before
    records = [json.loads(path.read_text()) for path in record_paths(False, "box")]
    assert [record["id"]["index"] for record in records] == [1, 2, 3, 4, 5, 6]
    started = [record["started"][11:16] for record in records]
    # Those of the bundle whose numbers were free kept them.
    assert started == ["05:01", "05:02", "03:03", "03:04", "03:01", "03:02"]
    assert any("learning record here is as new" in line for line in done.lines)
    sessions = sorted(path.name for path in Path("results/records/box").glob("session-*"))
    assert sessions == ["session-001.json", "session-002.json"]


def test_rounds_whose_numbers_are_taken_get_new_ones_by_their_time_and_not_by_their_numbers(
    go: Callable[[str], Path], make_record: MakeRecord
) -> None:
    go("there")
    write_box(make_record, profiles=("torch-1",), rounds=2, hour=5)
    go("here")
    write_box(make_record, profiles=("torch-1",), rounds=2, hour=3)
    first = record_paths(False, "box")[0]
    record = {key: value for key, value in json.loads(first.read_text()).items() if key != "checksum"}
    write_json(first, record | {"started": record["started"].replace("T03:", "T04:")})
    export_bundle(BUNDLE)
    go("there")
    import_bundle(BUNDLE)
    started = [json.loads(path.read_text())["started"][11:16] for path in record_paths(False, "box")]
    assert started == ["05:01", "05:02", "03:02", "04:01"]


def test_of_two_descriptions_of_one_moment_the_one_that_is_here_stays(
    go: Callable[[str], Path], make_record: MakeRecord
) -> None:
    go("there")
    write_box(make_record)
    go("here")
    write_box(make_record)
    description = json.loads(description_path("box", False).read_text())
    description = {key: value for key, value in description.items() if key != "checksum"}
    write_json(description_path("box", False), description | {"not_measurable": {"gpu": "of another driver"}})
    export_bundle(BUNDLE)
    go("there")
    before = files()
    lines = import_bundle(BUNDLE).machines["box"].lines
    assert files() == before
    assert any("description here is as new, and stays" in line for line in lines)


def test_of_what_a_machine_has_one_of_the_newer_stays(go: Callable[[str], Path], make_record: MakeRecord) -> None:
    go("there")
    write_box(make_record, hour=1)
    go("here")
    write_box(make_record, hour=2)
    description = json.loads(description_path("box", False).read_text())
    write_json(description_path("box", False), description | {"not_measurable": {"gpu": "of another driver"}})
    export_bundle(BUNDLE)
    go("there")
    lines = import_bundle(BUNDLE).machines["box"].lines
    assert sum("was older, and is replaced" in line for line in lines) == 2
    assert "another driver" in description_path("box", False).read_text()
    assert json.loads(learning_path("box", "raina2009", "rbm", False).read_text()) == learned("box", hour=2)


def test_another_machine_of_that_name_is_refused_until_it_is_given_another(
    go: Callable[[str], Path], make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    go("there")
    write_box(make_record)
    before = files()
    go("here")
    write_box(make_record, memory=2**35, hour=1)
    export_bundle(BUNDLE)
    go("there")
    assert main(["import", str(BUNDLE)]) == 2
    line = capsys.readouterr().err
    assert "memory, 32.0 GiB, not 16.0 GiB" in line
    assert "--as NAME" in line
    assert files() == before
    assert main(["import", str(BUNDLE), "--as", "box-2"]) == 0
    assert "box-2: new: 1 description, 1 learning record, 4 records, 1 session" in capsys.readouterr().out
    assert {path: data for path, data in files().items() if "box-2" not in path} == before
    assert {json.loads(path.read_text())["id"]["machine"] for path in record_paths(False, "box-2")} == {"box-2"}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"seed": 7}, "2 records are of another measurement (seed 7, not 1)"),
        ({"threads": 2}, "(threads 2, not 1)"),
        ({"profile": {"precision": "fp64"}}, "(precision fp64, not fp32)"),
        ({"timing": {"block_seconds": 0.5}}, "(timing.block_seconds 0.5, not 0.25)"),
        ({}, "(other cases in the table)"),
    ],
)
def test_records_of_another_measurement_are_kept_apart_and_the_line_names_the_field(
    change: dict[str, Any], line: str, go: Callable[[str], Path], make_record: MakeRecord
) -> None:
    go("there")
    write_box(make_record, profiles=("torch-1",))
    go("here")
    write_box(make_record, profiles=("torch-1",), hour=1, digest="1" * 16)
    for path in record_paths(False, "box"):
        record = json.loads(path.read_text())
        for key, value in change.items():
            record[key] = record[key] | value if isinstance(value, dict) else value
        write_json(path, record)
    export_bundle(BUNDLE)
    go("there")
    assert any(line in told for told in import_bundle(BUNDLE).machines["box"].lines)


def test_what_cannot_be_used_is_not_exported_and_said(
    go: Callable[[str], Path], make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    go("here")
    write_box(make_record, profiles=("torch-1",), rounds=5)
    folder = Path("results/records/box/raina2009/rbm/torch-1")
    (folder / "round-01.json").rename(folder / "round-01.json.set-aside-1")
    (folder / "round-02.json").write_text("{")
    other = json.loads((folder / "round-03.json").read_text())
    other["provenance"]["machine"]["memory_bytes"] = 2**40
    write_json(folder / "round-03.json", other)
    (folder / "notes.txt").write_text("mine")
    (folder / ".round-04.json.x.part").write_text("half")
    assert main(["export", str(BUNDLE)]) == 0
    said = capsys.readouterr().out
    assert "box: 2 records" in said
    for reason in ("set aside", "is damaged", "made on another machine than the others (memory", "no file of a bundle"):
        assert said.count(reason) == 1, said
    assert "next, where it is to go: ./run respeed import bundle.zip" in said


@pytest.mark.parametrize("form", ["machine", "machines", "renamed", "unpacked"])
def test_a_folder_is_imported_as_a_bundle_is(form: str, go: Callable[[str], Path], make_record: MakeRecord) -> None:
    go("here")
    write_box(make_record)
    wanted = files()
    export_bundle(BUNDLE)
    where = Path("../here/results/records")
    if form == "renamed":
        where = Path(shutil.copytree("results/records/box", "../A copy, mine"))
    elif form == "unpacked":
        where = Path("../unpacked")
        shutil.unpack_archive(BUNDLE, where)
    go("there")
    import_bundle(where / "box" if form == "machine" else where)
    assert files() == wanted


def test_several_machines_keep_their_names(go: Callable[[str], Path], make_record: MakeRecord) -> None:
    go("here")
    write_box(make_record, "one")
    write_box(make_record, "two", memory=2**36)
    export_bundle(BUNDLE)
    with pytest.raises(UserError, match=r"has 2 machines \(one, two\)"):
        import_bundle(BUNDLE, name="three")
    export_bundle(BUNDLE, machine="two")
    go("there")
    import_bundle(BUNDLE)
    assert [path.name for path in Path("results/records").iterdir()] == ["two"]


def test_smoke_records_are_carried_apart(go: Callable[[str], Path], make_record: MakeRecord) -> None:
    go("here")
    write_box(make_record, smoke=True)
    with pytest.raises(UserError, match="nothing to export"):
        export_bundle(BUNDLE)
    export_bundle(BUNDLE, smoke=True)
    go("there")
    with pytest.raises(UserError, match="import it with --smoke"):
        import_bundle(BUNDLE)
    import_bundle(BUNDLE, smoke=True)
    assert len(record_paths(True, "box")) == 4


def test_a_price_that_is_told_here_stays(go: Callable[[str], Path], make_record: MakeRecord) -> None:
    go("here")
    write_box(make_record)
    write_price(Path("machines"), "box", 2.5)
    go("there")
    write_price(Path("machines"), "box", 1.0)
    before = Path("machines/box.yaml").read_text()
    go("here")
    carry(go, "there")
    assert Path("machines/box.yaml").read_text() == before


@pytest.mark.parametrize("written", range(0, 8, 2))
def test_an_import_that_is_cut_off_leaves_whole_files_and_the_same_command_completes_it(
    written: int, go: Callable[[str], Path], make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    go("here")
    write_box(make_record)
    wanted = files()
    export_bundle(BUNDLE)
    go("there")
    left = [written]

    def replace(source: str, target: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        os.rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            import_bundle(BUNDLE)
    assert len(files()) == written
    assert files().items() <= wanted.items()
    import_bundle(BUNDLE)
    assert files() == wanted


def test_a_bundle_is_written_whole_or_not_at_all(
    go: Callable[[str], Path], make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = go("here")
    write_box(make_record)
    Path("mine.zip").write_text("older")
    os.mkfifo("fifo.zip")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", no_space)
        with pytest.raises(UserError, match="No space left"):
            export_bundle(Path("mine.zip"))
    assert Path("mine.zip").read_text() == "older"
    for bad in ("fifo.zip", ".", "none/mine.zip", "/dev/null", "x" * 300):
        with pytest.raises(UserError):
            export_bundle(Path(bad))
    export_bundle(Path("mine.zip"))
    assert Path("mine.zip").read_bytes().startswith(b"PK")
    assert sorted(path.name for path in folder.iterdir()) == ["fifo.zip", "mine.zip", "results"]


def test_nothing_is_imported_while_a_run_is_at_work_in_the_folder(
    go: Callable[[str], Path], make_record: MakeRecord
) -> None:
    go("here")
    write_box(make_record)
    export_bundle(BUNDLE)
    go("there")
    lock = hold_folder(False)
    try:
        with pytest.raises(UserError, match="another run is at work"):
            import_bundle(BUNDLE)
    finally:
        os.close(lock)
    assert files() == {}
    import_bundle(BUNDLE)


TOLD = Path("machines")


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
