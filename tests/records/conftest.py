"""Every test of records works in a folder of its own, as if nothing had been said before."""

from pathlib import Path
from typing import Any

import pytest

from respeed.paths import RoundId, description_path, hardware_path, round_path
from respeed.records.store import _skip, write_json, write_record
from tests.conftest import MakeRecord, description
from tests.sheets import hardware_sheet, no_gpu


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _skip.cache_clear()


def write_box(
    make_record: MakeRecord, machine: str = "box", *, rounds: int = 2, hour: int = 0, smoke: bool = False, **facts: Any
) -> None:
    """Write a machine whose hardware has these facts: rounds begun in that hour, and a description."""
    for index in range(1, rounds + 1):
        started = f"2026-01-01T{hour:02}:{index:02}:00+00:00"
        record = make_record([0.1 + 0.001 * index + 0.01 * hour] * 2, started=started, smoke=smoke)
        record["provenance"]["machine"] |= facts
        write_json(round_path(RoundId(machine, "raina2009", "rbm", "torch-1", index, smoke=smoke)), record)
    write_json(description_path(machine, smoke), description(**facts))


@pytest.fixture
def whole_box(make_record: MakeRecord) -> dict[str, Path]:
    """A machine with all kinds of files, each with all facts that it may have."""
    write_box(make_record, rounds=6)
    record = make_record([0.1, 0.2])
    record["provenance"] |= {
        "energy": {"reason": None},
        "accelerator": {"name": "Tesla T4", "power_limit_watts": 70.0, "processes": 0},
        "versions": {"torch": "2.9"},
        "libraries": [{"internal_api": "openblas", "version": "0.3", "architecture": "SkylakeX"}],
        "environment": {"OMP_NUM_THREADS": "1"},
    }
    case = record["cases"][0]
    case |= {"errors": {"weights": 1e-6}, "attempts": 1, "parts": {"whole": 1.0}, "iterations": {"whole": 12.5}}
    device = [{"sm_mhz": 1110, "highest_sm_mhz": 1590, "watts": 69.8, "celsius": 74, "reasons": 4}, {}]
    case["blocks"][0] |= {"joules": {"package-0": 3.5}, "device": device, "part_seconds": [[0.1, 0.2]]}
    asked = {"asked": "0" * 16}
    profiles = {"torch-1": asked | {"threads": 1}, "gpu": asked | {"reason": "no CUDA device"}}
    paths = {
        "record": round_path(RoundId("box", "raina2009", "rbm", "torch-1", 1)),
        "description": description_path("box", False),
        "sheet": hardware_path("box", False),
    }
    write_record(paths["record"], record)
    write_json(paths["description"], description(not_measurable={"gpu": "no CUDA device"}, profiles=profiles))
    write_record(paths["sheet"], hardware_sheet(make_record, passes=1, gpu=True, absent=[no_gpu()]))
    return paths


def files(folder: str = "results") -> dict[str, bytes]:
    """All files there are, but for locks."""
    found = (path for path in Path(folder).rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): path.read_bytes() for path in sorted(found)}
