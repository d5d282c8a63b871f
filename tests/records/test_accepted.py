"""What a bundle may hold is shown by every table: what would break one is refused when it comes, in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis import build
from respeed.cli.main import main
from respeed.errors import UserError
from respeed.inputs.files import read_text
from respeed.output import build_tables, read_tables
from respeed.paths import description_path, hardware_path, record_paths
from respeed.records.models import checksum_of, sealed
from respeed.records.store import read_json, write_json, write_record
from respeed.records.transfer import export_bundle, import_bundle
from tests.conftest import MakeRecord, write_machines
from tests.records.carried import learned, write_box
from tests.records.forge import bundle_of, zip_of
from tests.records.hostile import DESCRIPTION, FIRST, LEARNING, SHEET, put
from tests.sheets import hardware_sheet, write_sheet

BUNDLE = Path("bundle.zip")
NOTHING = "\u200b"


HALF = [0.1, 0.2]
BLOCK = "cases.0.blocks.0"
# By what is odd in a file: what stands there instead.
SPREAD = {"name": "spread", "workload": "small_step", "parameters": {"count": 20, "how": "spread"}}
ODD = {
    "two keys that are one":
        (FIRST, {"cases.0.parts": {"layer": 1.0, f"layer{NOTHING}": 1.0}, f"{BLOCK}.part_seconds": [HALF, HALF]}),
    "no key": (FIRST, {"provenance.energy": {"reason": None, "update_seconds": {NOTHING: 0.001}}}),
    "no reason": (FIRST, {"cases.0.status": "failed", "cases.0.reason": NOTHING, "cases.0.blocks": []}),
    "no reason for no energy": (FIRST, {"provenance.energy": {"reason": NOTHING, "update_seconds": {}}}),
    "no reason in a description": (DESCRIPTION, {"not_measurable": {"gpu": NOTHING}}),
    "parts without time": (FIRST, {"cases.0.parts": {"layer": 1.0}, f"{BLOCK}.part_seconds": [[0.0, 0.0]]}),
    "parts that count for nothing": (FIRST, {"cases.0.parts": {"layer": 0}, f"{BLOCK}.part_seconds": [HALF]}),
    **{
        f"{why} iterations": (
            FIRST, {"cases.0.parts": {"layer": 1.0}, f"{BLOCK}.part_seconds": [HALF], "cases.0.iterations": told}
        ) for why, told in {
            "another part's": {"other": 2.0}, "less than one of": {"layer": 0.5}, "endless": {"layer": 1e300},
        }.items()
    },
    "a way of a device on a CPU": (SHEET, {"rounds.0.cases.6.parameters.how": "queued"}),
    "a way of a CPU on a device": (SHEET, {"absent.0.cases.0": SPREAD}),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_what_would_break_a_table_is_refused_when_it_comes(
    odd: str, good: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    BUNDLE.write_bytes(zip_of(bundle_of(good)))
    import_bundle(BUNDLE)
    read_tables(False)
    spoiled = put(good, *ODD[odd])
    BUNDLE.write_bytes(zip_of(bundle_of(spoiled)))
    with pytest.raises(UserError, match=r"^bundle.zip: records/box/[^\n]*$"):
        import_bundle(BUNDLE, name="other")
    assert main(["verify", str(BUNDLE)]) == 2
    # Where it lies in the folder already, it is left out.
    for path, value in spoiled.items():
        write_json(Path("results", path), value)
    capsys.readouterr()
    build_tables(False)
    assert "left out" in capsys.readouterr().err


def test_a_machine_whose_files_nobody_thought_of_is_named_and_the_others_are_shown(
    make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_machines(make_record, 3, rounds=2)
    real = build.read_rounds

    def collect(records: list[dict[str, Any]]) -> Any:
        if records and records[0]["id"]["machine"] == "box-01":
            raise KeyError("a\x1b[2J")
        return real(records)

    monkeypatch.setattr(build, "read_rounds", collect)
    build_tables(False)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("respeed: left out: results/records/box-01: no table can be made of its files (KeyError: ")
    assert line.isprintable()
    for table in ("cells", "hardware"):
        text = Path(f"results/tables/{table}.csv").read_text()
        assert [machine in text for machine in ("box-00", "box-01", "box-02")] == [True, False, True]


PROGRAM, PICTURE = "programs.0", [[0, 255], [128, 7]]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("programs", learned("box")["programs"] * 3000),
        (f"{PROGRAM}.pictures", [[[0] * 100_000]]),
        (f"{PROGRAM}.pictures", [[[0]] * 480_000]),
        (f"{PROGRAM}.pictures", [PICTURE] * 2000),
        (f"{PROGRAM}.curve", [[0.1, 0.9]] * 5000),
    ],
)
def test_what_was_learned_is_no_larger_than_a_page_has_room_for(place: str, value: Any, good: dict[str, Any]) -> None:
    changed = put(good, LEARNING, {place: value})
    BUNDLE.write_bytes(zip_of(bundle_of(changed)))
    way = place.removeprefix(f"{PROGRAM}.")
    with pytest.raises(UserError, match=rf"{way} is missing, or not what|unpacks to more than|has more than"):
        import_bundle(BUNDLE)
    path = Path("results", LEARNING)
    write_json(path, changed[LEARNING])
    assert main(["verify", str(path)]) == 2


def test_more_machines_than_an_import_takes_are_refused_at_once(good: dict[str, Any]) -> None:
    hardware = good[DESCRIPTION]["hardware"]
    files = {
        f"records/m{number}/machine.json": {"machine": f"m{number}", "hardware": hardware, "not_measurable": {}}
        for number in range(1000)
    }
    BUNDLE.write_bytes(zip_of(bundle_of(files)))
    with pytest.raises(UserError, match="has 1000 machines, more than the 500 that fit into one"):
        import_bundle(BUNDLE)
    assert not Path("results").exists()
    for path, value in files.items():
        write_json(Path("there", path), value)
    with pytest.raises(UserError, match="has 1000 machines"):
        import_bundle(Path("there/records"))


def test_an_import_looks_at_each_description_here_a_few_times_and_not_once_for_every_machine(
    make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        write_box(make_record, f"box-{number}", profiles=("torch-1",), rounds=1)
        path = description_path(f"box-{number}", False)
        description = read_json(path)
        write_json(path, description | {"hardware": description["hardware"] | {"host": f"{number:016x}"}})
    export_bundle(BUNDLE)
    read = list[Path]()

    def counted(path: Path, most: int) -> str:
        read.append(path)
        return read_text(path, most)

    monkeypatch.setattr("respeed.records.store.read_text", counted)
    import_bundle(BUNDLE)
    assert 20 <= sum(path.name == "machine.json" for path in read) <= 4 * 20


PRIVATE = {"NCCL_HOSTID": "anna-7", "NCCL_SOCKET_IFNAME": "anna0", "OMP_NUM_THREADS": "1"}
LIBRARY = {"file": "anna/libopenblas.so", "internal_api": "openblas"}


def test_what_earlier_versions_kept_of_hosts_and_folders_stays_here_and_is_carried_nowhere(
    make_record: MakeRecord,
) -> None:
    write_box(make_record, profiles=("torch-1",))
    write_sheet(hardware_sheet(make_record, passes=1))
    paths = [*record_paths(False), hardware_path("box", False)]
    for path in paths:
        data = read_json(path)
        for said in (data, *data.get("rounds", ())):
            said["provenance"] |= {"environment": PRIVATE, "libraries": [LIBRARY]}
        write_record(path, data)
    before = [path.read_bytes() for path in paths]
    assert main(["verify"]) == 0
    export_bundle(BUNDLE)
    assert [path.read_bytes() for path in paths] == before
    Path("away").mkdir()
    import_bundle(BUNDLE, name="other")
    for path in sorted(Path("results/records/other").rglob("*.json")):
        text = path.read_text()
        assert "anna" not in text
        assert "OMP_NUM_THREADS" in text or path.name[:5] != "round"
        data = json.loads(text)
        assert "checksum" not in data or data["checksum"] == checksum_of(data)
    # They are the same records here, whatever was left out of them on the way.
    assert not import_bundle(BUNDLE).machines["box"].new
    assert [path.read_bytes() for path in paths] == before


def test_what_somebody_else_sends_of_hosts_and_folders_is_not_kept(good: dict[str, Any]) -> None:
    good[FIRST]["provenance"] |= {"environment": PRIVATE, "libraries": [LIBRARY]}
    good[FIRST] = sealed(good[FIRST])
    BUNDLE.write_bytes(zip_of(bundle_of(good)))
    import_bundle(BUNDLE)
    assert "anna" not in Path("results", FIRST).read_text()
    assert main(["verify"]) == 0
