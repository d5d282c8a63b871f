"""What a stranger may send: refused whole, in one line, and nothing of it is written."""

import contextlib
import json
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from respeed.cli.main import main
from respeed.cli.records import import_records
from respeed.errors import UserError
from respeed.paths import MACHINES
from respeed.records.models import place_of
from respeed.records.transfer import check_item, import_bundle
from tests.conftest import MakeRecord
from tests.odd import change, ways
from tests.records.carried import files, write_box
from tests.records.forge import bundle_of, zip_of
from tests.records.hostile import FIRST, tricks

TRICKS = tricks()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, in which there is nothing."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def refuse(path: Path, capsys: pytest.CaptureFixture[str], name: str) -> str:
    """Import it; the one line that refuses it. Nothing else is said, and nothing is written."""
    told, line = sorted(MACHINES.iterdir()), ""
    try:
        import_records(path, False, None)
    except UserError as error:
        line = str(error)
    assert line, f"{name} was not refused"
    assert line.isprintable(), name
    assert len(line.replace(str(path), "")) < 250, name
    assert capsys.readouterr() == ("", ""), name
    assert list(Path().iterdir()) == [], name
    assert sorted(MACHINES.iterdir()) == told, name
    return line


def test_what_all_hostile_bundles_are_made_of_is_a_good_one(tmp_path: Path, here: Path, good: dict[str, Any]) -> None:
    path = tmp_path / "good.zip"
    path.write_bytes(zip_of(bundle_of(good)))
    import_bundle(path)
    assert json.loads(Path("results", FIRST).read_text()) == good[FIRST]
    assert len(TRICKS) >= 400


def test_every_hostile_bundle_is_refused_in_one_line_and_leaves_nothing(
    tmp_path: Path, here: Path, good: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path, lines, reasons = tmp_path / "hostile.zip", list[str](), dict[str, str]()
    for name, trick in TRICKS.items():
        path.write_bytes(trick(good))
        began = time.perf_counter()
        reasons[name] = refuse(path, capsys, name).replace(str(tmp_path), "")
        lines.append(f"{time.perf_counter() - began:.3f} s  {name}: {reasons[name]}")
    # Before they are unpacked.
    assert "has more than 2 MiB" in reasons["40 MiB of zeros"]
    assert "has more than 50000 members" in reasons["60,000 members"]
    assert "unpacks to more than 512 MiB" in reasons["1 GiB together"]
    # Seen with -rP: what each was refused for, and how long that took.
    print("\n".join([*lines, f"{len(lines)} hostile bundles refused; the slowest: {max(lines)}"]))


def test_what_is_of_another_type_is_refused_wherever_a_fact_is_known(good: dict[str, Any]) -> None:
    accepted = set[str]()
    for path, value in good.items():
        place = place_of(path)
        assert place is not None
        for way in ways(value):
            with contextlib.suppress(UserError):
                check_item(place, json.dumps(change(value, way, {"x": [["y"]]})).encode(), False, path)
                accepted.add(".".join(key for key in way if isinstance(key, str)))
    # What a workload is told, and what nothing reads; that a round of a sheet need not say where it comes from.
    ends = {place.removeprefix("absent.").removeprefix("rounds.").removeprefix("cases.") for place in accepted}
    parameters = {one for one in ends if one.startswith("parameters")}
    unread = {"memory_bytes", "tolerance", "warmup.seconds", "warmup.steps", "provenance.commit", "provenance.versions"}
    assert ends == parameters | unread | {"provenance"}


def test_a_byte_that_changes_is_refused_or_says_nothing(tmp_path: Path, here: Path, good: dict[str, Any]) -> None:
    """Every byte of what is not packed, and some of what is."""
    path, entries, chance = tmp_path / "changed.zip", bundle_of(good), random.Random(1)
    whole, places, begin = zip_of(entries), list[int](), 0
    path.write_bytes(whole)
    import_bundle(path)
    wanted = files()
    shutil.rmtree("results")
    for one in entries:
        body = begin + 30 + len(one.name)
        places += [*range(begin, body), *(chance.randrange(body, body + len(one.body())) for _ in range(15))]
        begin = body + len(one.body())
    for place in [*places, *range(begin, len(whole))]:
        changed = bytearray(whole)
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        try:
            import_bundle(path)
        except UserError:
            assert not Path("results").exists()
        else:
            # What pads a packed member to whole bytes says nothing.
            assert place in places
            assert files() == wanted
            shutil.rmtree("results")


def test_what_is_no_file_of_ones_own_is_refused(
    tmp_path: Path,
    here: Path,
    make_record: MakeRecord,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    write_box(make_record)
    record = next(Path("results/records/box/raina2009/rbm/torch-1").iterdir()).resolve()
    monkeypatch.chdir(here)
    os.mkfifo(tmp_path / "fifo.zip")
    for name in ("link", "fifo", "empty", "damaged", "deep", "mixed"):
        (tmp_path / name / "box").mkdir(parents=True)
    (tmp_path / "link/box/raina2009").symlink_to(record.parents[2])
    os.mkfifo(tmp_path / "fifo/box/machine.json")
    (tmp_path / "damaged/box/machine.json").write_text("{")
    (tmp_path / "mixed/machine.json").write_text("{}")
    (tmp_path / "mixed/box/machine.json").write_text("{}")
    os.makedirs(tmp_path / "deep/box" / "/".join(["deeper"] * 500))
    (tmp_path / "fifo/box/a\nb\x1b[2J").write_text("")
    (tmp_path / "link/box/a\nb\x1b[2J").symlink_to("nothing")
    (tmp_path / "damaged/box/a\nb\x1b[2J").write_text("")
    (tmp_path / "link.zip").symlink_to("/dev/zero")
    (tmp_path / "nowhere.zip").symlink_to("nothing")
    paths = [tmp_path / "fifo.zip", *map(Path, ("/dev/zero", "/dev/null", "/dev/full", "/proc/self/mem"))]
    names = ("link", "fifo", "empty", "damaged", "deep", "mixed", "link.zip", "nowhere.zip", "none.zip", "x" * 300)
    for path in [*paths, *(tmp_path / name for name in names)]:
        refuse(path, capsys, str(path))
    assert main(["import", "/dev/zero"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
