"""Machines with all that a bundle may hold, as they lie under results/records."""

from pathlib import Path
from typing import Any

from respeed.paths import RoundId, description_path, learning_path, next_session, round_path
from respeed.records.store import write_json
from tests.conftest import MakeRecord
from tests.sheets import hardware_sheet, no_gpu


def write_box(
    make_record: MakeRecord,
    machine: str = "box",
    *,
    profiles: tuple[str, ...] = ("openblas-1", "torch-1"),
    rounds: int = 2,
    hour: int = 0,
    memory: int = 2**34,
    smoke: bool = False,
    **facts: Any,
) -> None:
    """Write the records of a machine in the working directory: rounds begun in that hour, a description, a session and
    what a program learned."""
    for profile in profiles:
        for index in range(1, rounds + 1):
            started = f"2026-01-01T{hour:02}:{index:02}:00+00:00"
            record = make_record(
                [0.1 + 0.001 * index + 0.01 * hour] * 2, index=index, profile=profile, machine=machine, started=started,
                smoke=smoke, **facts,
            )  # fmt: skip
            record["provenance"]["machine"]["memory_bytes"] = memory
            write_json(round_path(RoundId(machine, "raina2009", "rbm", profile, index, smoke=smoke)), record)
    hardware = make_record([0.1])["provenance"]["machine"] | {"memory_bytes": memory}
    description = {"machine": machine, "hardware": hardware, "not_measurable": {"gpu": "no CUDA device"}}
    write_json(description_path(machine, smoke), description)
    session = {"schema": 1, "machine": machine, "started": f"2026-01-01T{hour:02}:00:00+00:00", "ended": "all is done"}
    write_json(next_session(smoke, machine), session)
    write_json(learning_path(machine, "raina2009", "rbm", smoke), learned(machine, smoke, hour))


def learned(machine: str, smoke: bool = False, hour: int = 0) -> dict[str, Any]:
    """What a program learned: one picture of two by two."""
    return {
        "schema": 1, "machine": machine, "paper": "raina2009", "experiment": "rbm", "smoke": smoke,
        "started": f"2026-01-01T{hour:02}:59:00+00:00",
        "programs": [{
            "workload": "rbm", "parameters": {"visible": 4}, "steps": 2, "curve": [[0.1, 0.9], [0.2, 0.5]],
            "pictures": [[[0, 255], [128, 7]]],
        }],
    }  # fmt: skip


DEVICE = [{"sm_mhz": 1110, "highest_sm_mhz": 1590, "watts": 69.8, "celsius": 74, "reasons": 4}, {}]


def good_files(make_record: MakeRecord) -> dict[str, Any]:
    """The files of a bundle of one machine that nothing is wrong with, each with all facts that it may have."""
    record = make_record([0.1, 0.2])
    record["provenance"] |= {
        "energy": {"reason": None, "update_seconds": {"package-0": 0.001}},
        "accelerator": {
            "name": "Tesla T4",
            "power_limit_watts": 70.0,
            "ecc": True,
            "processes": 0,
            "untold": {"mig": "Not Supported"},
        },
        "versions": {"torch": "2.9"},
        "own_python": ["torch"],
        "libraries": [{"internal_api": "openblas", "version": "0.3", "architecture": "SkylakeX"}],
        "environment": {"OMP_NUM_THREADS": "1"},
    }
    record["provenance"]["machine"] |= {"host": "a" * 16, "sockets": 1, "physical_cores": 2, "frequency_governor": None}
    record["clock"] = {"boot": "0" * 8, "seconds": 7.5}
    record["cases"][0] |= {"errors": {"weights": 1e-6}, "attempts": 1}
    record["cases"][0]["energy_run"] = {"steps": 9, "seconds": 1.1, "joules": {"package-0": 3.5}}
    record["cases"][0]["blocks"][0] |= {"joules": {"package-0": 3.5}, "slept_seconds": 0.0, "device": DEVICE}
    hardware = record["provenance"]["machine"] | {
        "cores": [{"socket": 0, "kind": None, "cores": "0,2 1,3"}],
        "core_kinds": {"performance": 2},
        "devices": {"cuda": 1, "mps": None},
        "blas": "openblas",
    }
    asked = {"asked": "0" * 16}
    profiles = {"torch-1": asked | {"threads": 1}, "gpu": asked | {"reason": "no CUDA device"}}
    table, box = "records/box/raina2009/rbm", "records/box"
    return {
        f"{table}/torch-1/round-01.json": record,
        f"{table}/torch-1/round-02.json": make_record([0.1, 0.3], index=2, started="2026-01-01T00:01:00+00:00"),
        f"{table}/learning.json": learned("box"),
        f"{box}/machine.json": {
            "machine": "box", "hardware": hardware, "not_measurable": {"gpu": "no CUDA device"}, "profiles": profiles,
        },
        f"{box}/hardware.json": hardware_sheet(make_record, passes=1, gpu=True, absent=[no_gpu()]),
        f"{box}/session-001.json": {"schema": 1, "machine": "box", "started": "2026-01-01T00:00:00+00:00"},
    }  # fmt: skip


def write_price(folder: Path, machine: str, per_hour: float = 1.5, more: str = "") -> None:
    """Tell a price of the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    price = f"price: {{per_hour: {per_hour}, currency: EUR, source: 'a bill, äö', date: 2026-01-31}}\n"
    (folder / f"{machine}.yaml").write_text(f"# what it costs\n{price}{more}", encoding="utf-8")


def files(folder: str = "results") -> dict[str, bytes]:
    """All files there are, but for locks."""
    found = (path for path in Path(folder).rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): path.read_bytes() for path in sorted(found)}
