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
from respeed.records import transfer
from respeed.records.bundle import MIB
from respeed.records.models import CHECKSUM, Kind
from respeed.records.store import hold_folder, write_json
from respeed.records.transfer import Imported, export_bundle, import_bundle
from tests.conftest import MakeRecord
from tests.records.carried import files, learned, write_box, write_price

Edit = Callable[[dict[str, Any]], Any]
BUNDLE, TOLD, RECORDS = Path("bundle.zip"), Path("machines"), Path("results/records")
DESCRIPTION = description_path("box", False)


@pytest.fixture
def box(make_record: MakeRecord) -> Callable[..., None]:
    """Writes the files of a machine."""
    return lambda *name, **facts: write_box(make_record, *name, **facts)


def edit(path: Path, change: Edit) -> None:
    """What is in the file by hand, as before there were checksums."""
    data = {key: value for key, value in json.loads(path.read_text()).items() if key != CHECKSUM}
    change(data)
    write_json(path, data)


def send(**options: Any) -> dict[str, bytes]:
    """Export what is here and take it away; what it was."""
    export_bundle(BUNDLE, told=TOLD, **options)
    sent = files()
    shutil.rmtree("results")
    return sent


def take(path: Path = BUNDLE, **options: Any) -> Imported:
    """What came of the one machine of a bundle."""
    (done,) = import_bundle(path, told=TOLD, **options).machines.values()
    return done


def started() -> list[str]:
    """When each record of the box began, in the order of their numbers."""
    return [json.loads(path.read_text())["started"][11:16] for path in record_paths(False, "box")]


def test_export_after_import_makes_the_same_bytes_and_carries_the_price_alone(box: Callable[..., None]) -> None:
    for number, machine in enumerate(("box", "box-2")):
        box(machine, memory=2 ** (34 + number))
    write_price(TOLD, "box", more="slurm: {partition: secret}\nprofiles: [torch-1]\n")
    sent = send()
    shutil.rmtree(TOLD)
    import_bundle(BUNDLE, told=TOLD)
    assert files() == sent
    export_bundle(Path("again.zip"), told=TOLD)
    assert Path("again.zip").read_bytes() == BUNDLE.read_bytes()
    assert [path.name for path in TOLD.iterdir()] == ["box.yaml"]
    price = (TOLD / "box.yaml").read_text()
    assert ("1.5" in price, "äö" in price, "secret" in price) == (True, True, False)


ROUNDS = st.lists(
    st.tuples(
        st.sampled_from(["torch-1", "openblas-1"]), st.integers(1, 99), st.booleans(), st.floats(1e-9, 1e5),
        st.integers(0, 59),
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20),
    ),
    min_size=1, max_size=4, unique_by=lambda one: one[:3],
)  # fmt: skip


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds=ROUNDS)
def test_whatever_was_measured_is_carried_as_it_is(rounds: list[Any], make_record: MakeRecord) -> None:
    shutil.rmtree("results", ignore_errors=True)
    for profile, index, whole, seconds, minute, label in rounds:
        began = f"2026-01-01T00:{minute:02}:00+00:00"
        record = make_record([seconds], index=index, profile=profile, whole=whole, started=began)
        record["profile"]["label"] = label
        write_json(round_path(RoundId("box", "raina2009", "rbm", profile, index, whole)), record)
    sent = send()
    take()
    assert files() == sent
    assert not take().new
    # Under another name and back is the same as well.
    first = BUNDLE.read_bytes()
    shutil.rmtree("results")
    take(name="other")
    send()
    take(name="box")
    assert files() == sent
    send()
    assert BUNDLE.read_bytes() == first


def test_a_second_import_adds_only_what_is_new(box: Callable[..., None]) -> None:
    box(rounds=3)
    shutil.rmtree(RECORDS / "box/raina2009/rbm/openblas-1")
    send()
    box(rounds=2)
    done = take()
    assert (done.new, done.known[Kind.RECORD]) == ({Kind.RECORD: 1}, 2)
    assert len(record_paths(False, "box")) == 5
    assert not take().new


def test_other_rounds_of_a_cell_get_the_next_numbers_in_the_order_of_their_time(box: Callable[..., None]) -> None:
    box(profiles=("torch-1",), rounds=4, hour=3)
    edit(record_paths(False)[0], lambda record: record.update(started=record["started"].replace("T03:", "T04:")))
    send()
    box(profiles=("torch-1",), rounds=2, hour=5)
    before = files()
    done = take()
    assert done.new == {Kind.RECORD: 4, Kind.SESSION: 1}
    assert before.items() <= files().items()
    # Those of the bundle whose numbers were free kept them.
    assert started() == ["05:01", "05:02", "03:03", "03:04", "03:02", "04:01"]
    numbers = [json.loads(path.read_text())["id"]["index"] for path in record_paths(False, "box")]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert [path.name for path in sorted(RECORDS.glob("box/session-*"))] == ["session-001.json", "session-002.json"]
    assert any("learning record here is as new" in line for line in done.lines)


@pytest.mark.parametrize(("theirs", "replaced"), [(1, False), (2, True)])
def test_of_what_a_machine_has_one_of_the_newer_stays(theirs: int, replaced: bool, box: Callable[..., None]) -> None:
    box(hour=theirs)
    edit(DESCRIPTION, lambda described: described.update(not_measurable={"gpu": "of another driver"}))
    send()
    box(hour=1)
    lines = take().lines
    assert sum("was older, and is replaced" in line for line in lines) == 2 * replaced
    assert any("description here is as new, and stays" in line for line in lines) is not replaced
    assert ("another driver" in DESCRIPTION.read_text()) is replaced
    kept = json.loads(learning_path("box", "raina2009", "rbm", False).read_text())
    assert kept == learned("box", hour=theirs if replaced else 1)


def test_another_machine_of_that_name_is_refused_until_it_is_given_another(
    box: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    box(memory=2**35, hour=1)
    send()
    box()
    before = files()
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
    change: dict[str, Any], line: str, box: Callable[..., None]
) -> None:
    def differ(record: dict[str, Any]) -> None:
        record |= {key: record[key] | new if isinstance(new, dict) else new for key, new in change.items()}

    box(profiles=("torch-1",), hour=1, digest="1" * 16)
    for path in record_paths(False, "box"):
        edit(path, differ)
    send()
    box(profiles=("torch-1",))
    # Of those that are here the last one counts.
    edit(record_paths(False)[0], lambda record: record.update(seed=99))
    assert any(line in told for told in take().lines)


def test_what_cannot_be_used_is_not_exported_and_said(
    box: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    box(profiles=("torch-1",), rounds=5)
    first, second, third, *_ = record_paths(False)
    first.rename(f"{first}.set-aside-1")
    second.write_text("{")
    edit(third, lambda record: record["provenance"]["machine"].update(memory_bytes=2**40))
    (third.parent / "notes.txt").write_text("mine")
    (third.parent / ".round-04.json.x.part").write_text("half")
    assert main(["export", str(BUNDLE)]) == 0
    said = capsys.readouterr().out
    assert "box: 2 records" in said
    for reason in ("set aside", "is damaged", "made on another machine than the others (memory", "no file of a bundle"):
        assert said.count(reason) == 1, said
    assert "next, where it is to go: ./run respeed import bundle.zip" in said


@pytest.mark.parametrize("form", ["machine", "machines", "renamed", "unpacked"])
def test_a_folder_is_imported_as_a_bundle_is(form: str, box: Callable[..., None]) -> None:
    box()
    shutil.copytree(RECORDS, "machines-of-theirs")
    shutil.copytree(RECORDS / "box", "A copy, mine")
    sent = send()
    shutil.unpack_archive(BUNDLE, "unpacked")
    forms = {"machine": "machines-of-theirs/box", "machines": "machines-of-theirs", "renamed": "A copy, mine"}
    take(Path(forms.get(form, form)))
    assert files() == sent


def test_several_machines_keep_their_names(box: Callable[..., None]) -> None:
    box("one")
    box("two", memory=2**36)
    export_bundle(BUNDLE)
    with pytest.raises(UserError, match=r"has 2 machines \(one, two\)"):
        import_bundle(BUNDLE, name="three")
    send(machine="two")
    take()
    assert [path.name for path in RECORDS.iterdir()] == ["two"]


def test_smoke_records_are_carried_apart(box: Callable[..., None]) -> None:
    box(smoke=True)
    with pytest.raises(UserError, match="nothing to export"):
        export_bundle(BUNDLE)
    send(smoke=True)
    with pytest.raises(UserError, match="import it with --smoke"):
        import_bundle(BUNDLE)
    take(smoke=True)
    assert len(record_paths(True, "box")) == 4


@pytest.mark.parametrize(
    ("here", "line"),
    [
        ("price: {per_hour: 1, currency: EUR, source: bill, date: 2026-01-31}\n", "its price is another in machines/"),
        (
            "slurm: {partition: gpu}\n",
            "it costs 2.5 EUR an hour by what was imported; if that is right, write it under",
        ),
        ("prices: 1\n", "its price is left out, as what is told of it here is not valid: machines/box.yaml"),
    ],
)
def test_what_is_told_of_a_machine_here_stays_and_a_line_says_so(
    here: str, line: str, box: Callable[..., None]
) -> None:
    box()
    write_price(TOLD, "box", 2.5)
    sent = send()
    (TOLD / "box.yaml").write_text(here)
    assert any(told.startswith(line) for told in take().lines)
    assert (TOLD / "box.yaml").read_text() == here
    assert files() == sent


def test_a_price_with_the_starters_source_was_sent_by_an_earlier_version_and_is_left_out_of_what_is_taken(
    box: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    box()
    write_price(TOLD, "box")
    sent = send()
    shutil.rmtree(TOLD)
    monkeypatch.setattr(transfer, "PLACEHOLDER", "a bill, äö")
    assert "its price is left out: its source is the text of the starter, and says nothing" in take().lines
    assert not (TOLD / "box.yaml").exists()
    assert files() == sent


@pytest.mark.parametrize("written", range(0, 8, 2))
def test_an_import_that_is_cut_off_leaves_whole_files_and_the_same_command_completes_it(
    written: int, box: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [written]

    def replace(source: str, target: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        os.rename(source, target)

    box()
    sent = send()
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            take()
    assert len(files()) == written
    assert files().items() <= sent.items()
    take()
    assert files() == sent


def test_a_bundle_is_written_whole_or_not_at_all(box: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    box()
    BUNDLE.write_bytes(older := b"PK\3\4 older")
    Path("README.md").write_text("a text")
    os.mkfifo("fifo.zip")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", no_space)
        with pytest.raises(UserError, match="No space left on device; make room there"):
            export_bundle(BUNDLE)
    assert BUNDLE.read_bytes() == older
    for bad in ("fifo.zip", ".", "none/mine.zip", "/dev/null", "x" * 300, "README.md"):
        with pytest.raises(UserError):
            export_bundle(Path(bad))
    assert Path("README.md").read_text() == "a text"
    export_bundle(BUNDLE)
    assert BUNDLE.read_bytes().startswith(b"PK")
    assert sorted(path.name for path in Path().iterdir()) == sorted(["README.md", BUNDLE.name, "fifo.zip", "results"])


def test_nothing_is_imported_while_a_run_is_at_work_in_the_folder(box: Callable[..., None]) -> None:
    box()
    send()
    lock = hold_folder(False)
    with pytest.raises(UserError, match="another run is at work"):
        take()
    os.close(lock)
    assert files() == {}
    take()


def test_nothing_is_imported_into_a_folder_that_was_copied_until_it_has_its_own_name(
    box: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    box()
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


def test_another_name_of_a_machine_that_has_records_here_is_said(box: Callable[..., None]) -> None:
    box()
    edit(DESCRIPTION, lambda described: described["hardware"].update(host="0123456789abcdef"))
    export_bundle(BUNDLE, told=TOLD)
    assert not any("two names" in line for line in take().lines)
    assert any("has records here as box" in line for line in take(name="mine").lines)


def test_what_an_import_would_refuse_for_its_size_is_not_exported(box: Callable[..., None]) -> None:
    box(profiles=("torch-1",))
    path = record_paths(False)[0]
    # Without line breaks it is below the limit, and above it as respeed writes it.
    path.write_text(json.dumps(json.loads(path.read_text()) | {"more": [[[[[1]]]]] * 60_000}, separators=(",", ":")))
    assert path.stat().st_size < 2 * MIB
    assert export_bundle(BUNDLE).left_out == {"has more than 2 MiB, which no such file needs": [path]}
    shutil.rmtree("results")
    assert take().new[Kind.RECORD] == 1


def test_a_bundle_that_was_packed_again_says_what_helps(box: Callable[..., None]) -> None:
    box()
    send()
    shutil.unpack_archive(BUNDLE, "unpacked")
    with zipfile.ZipFile("again.zip", "w", zipfile.ZIP_DEFLATED) as again:
        for path in sorted(Path("unpacked").rglob("*.json")):
            again.write(path, path.relative_to("unpacked"))
    with pytest.raises(UserError, match="unpack it and import the folder"):
        import_bundle(Path("again.zip"))
    assert take(Path("unpacked")).new[Kind.RECORD] == 4
