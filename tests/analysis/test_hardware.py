"""What each machine is, and all that its rounds were made with."""

from typing import Any

from respeed.analysis.hardware import describe_machine
from respeed.analysis.rounds import read_rounds
from tests.conftest import MakeRecord

GIB = 2**30


Described = list[dict[str, Any]]


def described(records: list[dict[str, Any]]) -> Described:
    return describe_machine("box", records, read_rounds(records), None)


def facts_of(rows: Described) -> dict[str, str]:
    """Those of facts.csv by name."""
    return {row["fact"]: row["value"] for row in rows if row["part"] != "measured"}


def of_three_days(make_record: MakeRecord) -> Described:
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
            "memory_bytes": 16 * GIB + index, "host": "7f3a" * 4,
        }  # fmt: skip
        record["provenance"] |= {
            "versions": {"numpy": f"2.{day}"},
            "libraries": [{"internal_api": "openblas", "version": f"0.3.{30 + (day > 2)}", "architecture": "Zen"}],
        }
        record["provenance"]["backend"] |= {"version": f"0.3.{30 + (day > 2)}", "kernel": "Zen"}
        records.append(record)
    return described(records)


def test_all_that_rounds_were_made_with_is_shown_in_the_order_of_time(make_record: MakeRecord) -> None:
    machine = of_three_days(make_record)
    shown = facts_of(machine)
    assert shown["system"] == "Linux 6.1; Linux 6.2; Linux 6.3"
    assert shown["accelerator's driver"] == "550; 570"
    assert shown["CPU governor"] == "none; performance"
    assert shown["numpy"] == "2.1, 2.2, 2.3"
    assert shown["libraries"] == "openblas 0.3.30 (Zen), openblas 0.3.31 (Zen)"
    assert shown["host"] == "7f3a" * 4
    assert next(row["value"] for row in machine if row["part"] == "profiles").startswith("MKL 0.3.30 or MKL 0.3.31, ")
    # Some bytes of memory more after a boot are no second value.
    assert (shown["memory"], shown["physical cores"]) == ("16.0 GiB", "2")


def test_rows_whose_steps_could_not_be_captured_are_named_with_the_reason(make_record: MakeRecord) -> None:
    records = [make_record([0.1], index=index) for index in (1, 2)]
    assert "steps without graphs" not in facts_of(described(records))
    for record in records:
        record["cases"][0]["graphs"] = "no: RuntimeError: a copy waited"
    found = described(records)
    text = f"{records[0]['profile']['label']}, rbm 576x1024: no: RuntimeError: a copy waited"
    assert facts_of(found)["steps without graphs"] == text


def test_rounds_that_did_otherwise_between_products_are_told_apart(make_record: MakeRecord) -> None:
    records = [make_record([0.1], index=index) for index in (1, 2, 3)]
    assert "between products" not in facts_of(described(records))
    told = ("triton 3.9.0", "torch: CompilationError: no", "torch")
    for record, elementwise in zip(records, told, strict=True):
        record["provenance"]["backend"] = {"elementwise": elementwise}
    found, label = described(records), records[0]["profile"]["label"]
    text = f"{label}: triton 3.9.0; {label}: torch: CompilationError: no"
    assert facts_of(found)["between products"] == text


def test_what_nothing_tells_is_unknown(make_record: MakeRecord) -> None:
    shown = facts_of(described([make_record([0.1])]))
    assert (shown["host"], shown["CPU governor"]) == ("unknown", "none")


def test_the_report_says_how_clean_the_rounds_were_and_what_ran(make_record: MakeRecord) -> None:
    records = [make_record([0.1], index=1, errors={"W": 1e-6}), make_record([0.1], index=2, run_delay=9.0)]
    found = described(records)
    measured = {row["fact"]: row["value"] for row in found if row["part"] == "measured"}
    assert measured["timed blocks"] == "2, of which 1 discarded (waited for a core: 1)"
    assert measured["rounds"] == "2"
    assert measured["measured"] == "2026-01-01 (UTC)"
    (profile,) = (row["value"] for row in found if row["part"] == "profiles")
    assert profile.endswith("threads: 1 asked, 1 ran, fp32, largest error 1e-06")


def test_the_multiprocessors_power_limit_and_driver_of_a_device_are_a_line_and_one_that_tells_none_has_none(
    make_record: MakeRecord,
) -> None:
    told = {"name": "Tesla T4", "power_limit_watts": 60.0, "default_power_limit_watts": 70.0, "driver": "580.1"}
    records = [make_record([0.1], index=index) for index in (1, 2, 3)]
    assert "devices" not in facts_of(described(records))
    for record, changed in zip(records, ({}, {}, {"power_limit_watts": 70.0}), strict=True):
        record["provenance"] |= {"accelerator": told | changed}
        record["provenance"]["backend"] |= {"multiprocessors": 40}
    assert facts_of(described(records))["devices"] == (
        "Tesla T4: 40 multiprocessors, power limit 60 W (70 W by default), driver 580.1; "
        "Tesla T4: 40 multiprocessors, power limit 70 W, driver 580.1"
    )
