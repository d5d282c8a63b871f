"""What each machine is, and all that its rounds were made with."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.columns import TABLES, make_frame, write_table
from respeed.estimators.rounds import collect_rounds
from respeed.report.machine_facts import machine_facts
from respeed.tables.origins import Origin, describe_origin

MakeRecord = Callable[..., dict[str, Any]]
GIB = 2**30


@pytest.fixture
def origin(make_record: MakeRecord) -> Origin:
    """Of three rounds; the last one's path is not that of the one that was measured last."""
    records = []
    for index, day, system, driver in (
        (1, 3, "Linux 6.3", "570"),
        (2, 1, "Linux 6.1", "550"),
        (3, 2, "Linux 6.2", "550"),
    ):
        record = make_record([0.1], index=index, started=f"2026-01-0{day}T00:00:00+00:00")
        record["provenance"]["machine"] |= {
            "system": system, "accelerator_driver": driver, "frequency_governor": None if day == 1 else "performance",
            "memory_bytes": 16 * GIB + index, "sockets": 2, "host": "7f3a" * 4,
        }  # fmt: skip
        record["provenance"] |= {
            "versions": {"numpy": f"2.{day}"},
            "libraries": [{"internal_api": "openblas", "version": f"0.3.{30 + (day > 2)}", "architecture": "Zen"}],
        }
        record["provenance"]["backend"] |= {"version": f"0.3.{30 + (day > 2)}", "kernel": "Zen"}
        records.append(record)
    return describe_origin("box", records, collect_rounds(records), None)


def test_all_that_rounds_were_made_with_is_shown_in_the_order_of_time(origin: Origin) -> None:
    facts = machine_facts(origin)
    shown = dict(facts["rounds"] + facts["software"] + facts["hardware"])
    assert shown["system"] == "Linux 6.1; Linux 6.2; Linux 6.3"
    assert shown["accelerator's driver"] == "550; 570"
    assert shown["CPU governor"] == "none; performance"
    assert shown["numpy"] == "2.1, 2.2, 2.3"
    assert shown["libraries"] == "openblas 0.3.30 (Zen), openblas 0.3.31 (Zen)"
    assert shown["host"] == "7f3a" * 4
    assert facts["backends"][0][1] == "MKL 0.3.30 or MKL 0.3.31"


def test_some_bytes_of_memory_more_after_a_boot_are_no_second_value(origin: Origin) -> None:
    assert origin.memory_bytes == 16 * GIB + 2
    assert dict(machine_facts(origin)["hardware"])["memory"] == "16.0 GiB"


def test_hardware_csv_has_the_fingerprint_and_every_value(origin: Origin, tmp_path: Path) -> None:
    row = {name: getattr(origin, name) for name in TABLES["hardware"].columns}
    write_table(make_frame([row], "hardware"), "hardware", tmp_path)
    (row,) = csv.DictReader((tmp_path / "hardware.csv").read_text().splitlines())
    assert (row["sockets"], row["physical_cores"], row["host"]) == ("2", "", "7f3a" * 4)
    assert row["system"] == "Linux 6.1; Linux 6.2; Linux 6.3"
    assert row["software"] == "numpy 2.1, 2.2, 2.3"


def test_rows_whose_steps_could_not_be_captured_are_named_with_the_reason(make_record: MakeRecord) -> None:
    records = [make_record([0.1], index=index) for index in (1, 2)]
    for record in records:
        record["cases"][0]["graphs"] = "no: RuntimeError: a copy waited"
    origin = describe_origin("box", records, collect_rounds(records), None)
    label = records[0]["profile"]["label"]
    assert origin.without_graphs == f"{label}, rbm 576x1024: no: RuntimeError: a copy waited"
    assert dict(machine_facts(origin)["rounds"])["steps without graphs"] == origin.without_graphs
    assert "steps without graphs" not in dict(
        machine_facts(describe_origin("box", [make_record([0.1])], {}, None))["rounds"]
    )


def test_rounds_that_did_otherwise_between_products_are_told_apart(make_record: MakeRecord) -> None:
    records = [make_record([0.1], index=index) for index in (1, 2, 3)]
    told = ("triton 3.9.0", "torch: CompilationError: no", "torch")
    for record, elementwise in zip(records, told, strict=True):
        record["provenance"]["backend"] = {"elementwise": elementwise}
    origin, label = describe_origin("box", records, {}, None), records[0]["profile"]["label"]
    assert origin.elementwise == f"{label}: triton 3.9.0; {label}: torch: CompilationError: no"
    assert dict(machine_facts(origin)["rounds"])["between products"] == origin.elementwise
    assert describe_origin("box", [make_record([0.1])], {}, None).elementwise == ""


def test_what_nothing_tells_is_unknown(make_record: MakeRecord) -> None:
    records = [make_record([0.1])]
    facts = machine_facts(describe_origin("box", records, collect_rounds(records), None))
    shown = dict(facts["rounds"] + facts["hardware"])
    assert shown["sockets"] == shown["host"] == shown["CPU governor"] == "unknown"
    assert shown["vector extensions"] == "none"
