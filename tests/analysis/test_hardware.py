"""What each machine is, and all that its rounds were made with."""

from dataclasses import replace
from typing import Any

import pytest

from respeed.analysis.hardware import describe_machine
from respeed.records import Record
from tests.derived import rounds_of
from tests.made import make_record

LABEL = "label of torch-1"


def facts_of(*records: Record) -> dict[str, str]:
    """Those of facts.csv by name; what multiplied on a profile, by its label."""
    return {row.fact: row.value for row in describe_machine("box", records, rounds_of(*records), None)}


def test_hardware_shows_all_versions_in_their_order() -> None:
    """All that rounds were made with is shown in the order of time."""
    records = []
    for day, driver, governor in ((1, "550", None), (2, "550", "performance"), (3, "570", "performance")):
        hardware = {"accelerator_driver": driver, "frequency_governor": governor, "memory_bytes": 2**34 + day}
        libraries = [{"internal_api": "openblas", "version": f"0.3.3{day // 3}", "architecture": "Zen"}]
        software = {"versions": {"numpy": f"2.{day}"}, "libraries": libraries, "version": f"1.{day // 3}"}
        software |= {"label": f"{LABEL} {day}", "precision": ("fp64", "bf16", "fp32")[day - 1]}
        records.append(make_record(started=f"2026-01-0{day}T00:00:00+00:00", hardware=hardware, **software))
    shown = facts_of(*records)
    assert (shown["accelerator's driver"], shown["CPU governor"]) == ("550; 570", "none; performance")
    assert (shown["numpy"], shown["libraries"]) == ("2.1, 2.2, 2.3", "openblas 0.3.30 (Zen), openblas 0.3.31 (Zen)")
    assert shown["measured"] == "2026-01-01 to 2026-01-03 (UTC)"
    assert shown[f"{LABEL} 3"] == "MKL 1.0 or MKL 1.1, threads: 1 asked, 1 ran, fp32"
    # Some bytes of memory more after a boot are no second value.
    assert (shown["memory"], shown["physical cores"], shown["host"]) == ("16.0 GiB", "2", "unknown")


def clock(mhz: float) -> dict[str, Any]:
    after = {"sm_mhz": mhz, "highest_sm_mhz": max(1900.0, mhz + 380.0), "watts": 70.0, "reasons": 0x04}
    return {"blocks": [{"device": [{"sm_mhz": 300.0}, after]}]}


T4 = {"name": "Tesla T4", "power_limit_watts": 60.0, "default_power_limit_watts": 70.0, "driver": "580.1"}


@pytest.mark.parametrize(
    ("fact", "told", "text"),
    [
        ("steps without graphs", [{"graphs": "no: RuntimeError: a copy waited"}] * 2,
         f"{LABEL}, rbm 192 x 576 x 1024: no: RuntimeError: a copy waited"),
        ("between products", [{"elementwise": "triton 3.9.0"}, {"elementwise": "torch: no"}, {"elementwise": "torch"}],
         f"{LABEL}: triton 3.9.0; {LABEL}: torch: no"),
        ("devices",
         [{"multiprocessors": 40, "accelerator": T4 | changed} for changed in ({}, {}, {"power_limit_watts": 70.0})],
         "Tesla T4: 40 multiprocessors, power limit 60 W (70 W by default), driver 580.1; "
         "Tesla T4: 40 multiprocessors, power limit 70 W, driver 580.1"),
        ("clocks under load", [clock(1000), clock(1500), clock(1600)],
         f"{LABEL} ran at 1,500 of 1,980 MHz (lowest 1,000), at most 70 W: power cap after 3 of 3 blocks"),
    ],
)  # fmt: skip
def test_each_differing_device_has_its_own_line(fact: str, told: list[dict[str, Any]], text: str) -> None:
    """What a device told is a line of each that differs and none where it told nothing."""
    assert fact not in facts_of(make_record())
    assert facts_of(*(make_record(number=number, **one) for number, one in enumerate(told, start=1)))[fact] == text


def test_a_device_without_facts_has_torchs_name() -> None:
    start = make_record(multiprocessors=40).start
    backend = start.backend.model_copy(update={"accelerator": "A card"})
    record = replace(make_record(), start=start.model_copy(update={"backend": backend}))
    assert facts_of(record)["devices"] == "A card: 40 multiprocessors"
