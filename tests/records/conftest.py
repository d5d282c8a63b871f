"""Every test of records works in a folder of its own."""

from pathlib import Path
from typing import Any

import pytest

from respeed.records import Result, append_line, record_paths, write_description
from tests.made import description, make_lines, write_lines


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_box(machine: str = "box", *, rounds: int = 2, hour: int = 0, smoke: bool = False, **facts: Any) -> None:
    """Write a machine whose hardware has these facts: rounds begun in that hour, and a description."""
    for number in range(1, rounds + 1):
        started, seconds = f"2026-01-01T{hour:02}:00:00+00:00", [0.1 + 0.001 * number] * 2
        lines = make_lines(seconds, number=number, started=started, smoke=smoke, hardware=facts)
        write_lines(*lines, machine=machine)
    write_description(machine, smoke, description(**facts))


@pytest.fixture
def whole_box() -> dict[str, Path]:
    """A machine with both kinds of files, each with all facts that it may have."""
    write_box(rounds=6)
    device = [{"sm_mhz": 1110, "highest_sm_mhz": 1590, "watts": 69.8, "celsius": 74, "reasons": 4}, {}]
    block = {"joules": {"package-0": 3.5}, "device": device, "part_seconds": [[0.1, 0.2]]}
    start, result = make_lines(
        [0.1, 0.2], errors={"weights": 1e-6}, parts={"whole": 1.0},
        graphs="no: it waits", items="all at once", blocks=[block, block], cpus="0-1", versions={"torch": "2.9"},
        kernel="k", multiprocessors=40, elementwise="e",
        accelerator={"name": "Tesla T4", "power_limit_watts": 70.0, "default_power_limit_watts": 72.0, "driver": "5"},
        libraries=[{"internal_api": "openblas", "version": "0.3", "architecture": "SkylakeX"}],
        environment={"OMP_NUM_THREADS": "1"}, started="2026-01-01T00:30:00+00:00",
    )  # fmt: skip
    start["backend"] |= {"version": "1", "accelerator": "T4"}
    write_lines(start, result)
    path = record_paths(False, "box")[-1]
    append_line(path, Result, make_lines(status="failed", reason="out of memory", number=2)[1])
    machine = path.parents[1] / "machine.json"
    write_description("box", False, description(not_measurable={"gpu": "no CUDA device"}))
    return {"record": path, "description": machine}


def files(folder: str = "results") -> dict[str, bytes]:
    """All files there are, but for locks."""
    found = (path for path in Path(folder).rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): path.read_bytes() for path in sorted(found)}
