"""What each machine is, and all that its rounds were made with."""

from typing import Any

import pytest

from respeed.analysis.hardware import describe_machine
from respeed.records import Record
from tests.made import make_record

LABEL = "label of torch-1"


def facts_of(*records: Record) -> dict[str, str]:
    """Those of facts.csv by name; what multiplied on a profile, by its label."""
    return {row.fact: row.value for row in describe_machine("box", records, None)}


def test_hardware_shows_all_versions_in_their_order() -> None:
    """All that rounds were made with is shown in the order of time."""
    records = []
    for day, driver, governor in ((1, "550", None), (2, "550", "performance"), (3, "570", "performance")):
        hardware = {"accelerator_driver": driver, "frequency_governor": governor, "memory_bytes": 2**34 + day}
        libraries = [{"internal_api": "openblas", "version": f"0.3.3{day // 3}", "architecture": "Zen"}]
        software = {"versions": {"numpy": f"2.{day}"}, "libraries": libraries, "version": f"1.{day // 3}"}
        records.append(make_record(started=f"2026-01-0{day}T00:00:00+00:00", hardware=hardware, **software))
    shown = facts_of(*records)
    assert (shown["accelerator's driver"], shown["CPU governor"]) == ("550; 570", "none; performance")
    assert (shown["numpy"], shown["libraries"]) == ("2.1; 2.2; 2.3", "openblas 0.3.30 (Zen); openblas 0.3.31 (Zen)")
    assert shown["days"] == "2026-01-01; 2026-01-02; 2026-01-03"
    assert shown[LABEL] == "MKL 1.0; MKL 1.1"
    # Some bytes of memory more after a boot are no second value.
    assert (shown["memory"], shown["physical cores"], shown["host"]) == ("16.0 GiB", "2", "unknown")


T4 = {"name": "Tesla T4", "power_limit_watts": 60.0, "default_power_limit_watts": 70.0, "driver": "580.1"}


@pytest.mark.parametrize(
    ("fact", "told", "text"),
    [
        ("steps without graphs", [{"graphs": "no: RuntimeError: a copy waited"}] * 2,
         f"{LABEL}, rbm: no: RuntimeError: a copy waited"),
        ("power limit", [{"accelerator": T4 | changed} for changed in ({}, {}, {"power_limit_watts": 70.0})],
         "Tesla T4: 60 W; Tesla T4: 70 W"),
    ],
)  # fmt: skip
def test_what_a_device_told_has_all_its_values(fact: str, told: list[dict[str, Any]], text: str) -> None:
    assert fact not in facts_of(make_record())
    assert facts_of(*(make_record(number=number, **one) for number, one in enumerate(told, start=1)))[fact] == text


def test_what_fused_the_work_between_products_is_software() -> None:
    records = [make_record(elementwise=fused, multiprocessors=40) for fused in ("triton 3.9.0", "torch: no", "torch")]
    text = "MKL, 40 multiprocessors"
    assert facts_of(*records)[LABEL] == f"{text}, triton 3.9.0; {text}, torch: no; {text}"
