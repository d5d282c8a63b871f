"""What more threads bring, and what a machine reaches: from hardware sheets to rows."""

import csv
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.hardware import INTERVAL, PRODUCT, RANGE, STEP, disturbed_profiles, spread_of, spread_of_ratio
from respeed.analysis.hardware_sheet import (
    beside_machines,
    differing_peaks,
    list_sizes,
    missing_rates,
    missing_scaling,
    tabulate_rates,
    tabulate_scaling,
)
from respeed.output.build import build_tables
from respeed.paths import hardware_path
from respeed.records.store import write_json
from tests.conftest import write_machines
from tests.sheets import ACCELERATOR, HARDWARE, hardware_sheet, no_gpu, rates_of, scaling_of, write_sheet

MakeRecord = Callable[..., dict[str, Any]]
times = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=8)


@given(times, times)
def test_a_ratio_lies_within_its_ends_and_turned_round_is_its_inverse(above: list[float], below: list[float]) -> None:
    ratio, inverse = spread_of_ratio(above, below), spread_of_ratio(below, above)
    assert ratio.value == pytest.approx(1 / inverse.value)
    if ratio.low is not None and ratio.high is not None:
        assert ratio.low <= ratio.value * (1 + 1e-9)
        assert ratio.value <= ratio.high * (1 + 1e-9)


@given(times, st.floats(1e-3, 1e3))
def test_a_machine_that_is_slower_all_along_has_the_same_ratios(seconds: list[float], factor: float) -> None:
    slower = [factor * one for one in seconds]
    assert spread_of_ratio(slower, seconds).value == pytest.approx(factor)
    assert spread_of(slower).value == pytest.approx(factor * spread_of(seconds).value)


@given(times)
def test_few_passes_have_a_range_and_six_an_interval(seconds: list[float]) -> None:
    found = spread_of(seconds)
    assert found.ends == ("" if len(seconds) == 1 else RANGE if len(seconds) < 6 else INTERVAL)
    assert (found.low is None) == (len(seconds) == 1)


@given(st.floats(0.05, 1.2), st.sampled_from([(1, 2), (1, 2, 3, 4, 8, 12)]))
def test_efficiency_is_the_speedup_over_the_threads(efficiency: float, counts: tuple[int, ...]) -> None:
    rows = scaling_of(hardware_sheet(plain_record, counts, efficiency=efficiency))
    assert [row.threads for row in rows if (row.what, row.size) == (STEP, "576x1024")] == list(counts)
    for row in rows:
        assert row.efficiency == pytest.approx(1.0 if row.threads == 1 else efficiency)
        assert row.speedup == pytest.approx(row.threads * row.efficiency)


def plain_record(seconds: list[float], **facts: Any) -> dict[str, Any]:
    """As the fixture `make_record`, which hypothesis cannot have."""
    from tests.conftest import make_record

    made: dict[str, Any] = make_record.__wrapped__()(seconds, **facts)  # type: ignore[attr-defined]
    return made


def test_every_row_has_a_number_or_a_reason(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record, absent=[no_gpu()])
    broken = sheet["rounds"][0]["cases"][4]
    broken |= {"status": "failed", "reason": "MemoryError: out of memory", "blocks": [], "warmup": None}
    for record in sheet["rounds"][1:]:
        record["cases"] = [case for case in record["cases"] if case["workload"] != "matmul"]
    rows = rates_of(sheet)
    assert all((row.value is None) == bool(row.reason) for row in rows)
    assert {row.reason for row in rows if row.what == PRODUCT} == {"MemoryError: out of memory", "no CUDA device"}


def test_a_disturbed_block_does_not_count_and_a_case_of_none_else_says_by_what(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record, passes=1)
    for case in sheet["rounds"][1]["cases"]:
        case["blocks"][0]["run_delay_seconds"] = 1e3
    slow = [row for row in scaling_of(sheet) if row.threads == 2]
    assert all(row.seconds is None and "waited for a core" in row.reason for row in slow)


def test_of_several_squares_on_a_device_the_fastest_stands_in_the_table(make_record: MakeRecord) -> None:
    row = next(row for row in rates_of(hardware_sheet(make_record, gpu=True)) if row.device == "cuda")
    assert (row.what, row.size) == (PRODUCT, "8192x8192")


def test_people_see_cores_and_devices_side_by_side(make_record: MakeRecord) -> None:
    rates = rates_of(hardware_sheet(make_record, gpu=True))
    columns, groups = tabulate_rates(rates)
    assert columns == ["one core", "all 2 cores", ACCELERATOR]
    assert groups[0][0] == "Square product, GFLOP/s"
    assert any(label == "copy to the device, pinned" for _, lines in groups for label, _ in lines)
    assert "L2 4.00 MiB" in list_sizes(rates)


def test_a_device_that_is_not_there_is_one_line(make_record: MakeRecord) -> None:
    assert missing_rates(rates_of(hardware_sheet(make_record, absent=[no_gpu()]))) == [
        "Nothing was measured on cuda: no CUDA device."
    ]


def test_speedups_stand_with_their_efficiency_behind_the_seconds_on_one_thread(make_record: MakeRecord) -> None:
    counts, lines = tabulate_scaling(scaling_of(hardware_sheet(make_record, (1, 2, 4))))
    assert counts == [1, 2, 4]
    assert [value.text for value in dict(lines)["RBM step, 576x1024"]] == ["10.2 ms", "1.80x (90 %)", "3.60x (90 %)"]
    assert all(value.interval.startswith("±") for value in dict(lines)["RBM step, 576x1024"])


def test_machines_stand_beside_one_another_where_two_have_a_sheet(make_record: MakeRecord) -> None:
    sheets = [hardware_sheet(make_record, (1, cores), machine=f"box-{cores}") for cores in (2, 8)]
    reached, scaled = rates_of(*sheets), scaling_of(*sheets)
    rows = {row[0]: row[1:] for row in beside_machines(reached, scaled, ["box-2", "box-8"])}
    assert rows["Efficiency of the step 576x1024, all cores"] == ["90 %", "90 %"]
    assert not beside_machines(reached, scaled, ["box-2"])


def disturb(sheet: dict[str, Any], *threads: int) -> dict[str, Any]:
    """The sheet, its processes on so many threads disturbed in every pass."""
    for record in sheet["rounds"]:
        for case in record["cases"] if record["threads"] in threads else ():
            for block in case["blocks"]:
                block["run_delay_seconds"] = 1e3
    return sheet


def test_a_disturbed_machine_has_one_line_without_counts_and_no_table(make_record: MakeRecord) -> None:
    rates = rates_of(disturb(hardware_sheet(make_record), 1, 2))
    assert tabulate_rates(rates)[1] == []
    assert missing_rates(rates) == [
        "No pass was clean on one core and all 2 cores: OpenBLAS fp32 and memory copy; on one core: small step "
        "on one thread; on all 2 cores: small step spread over threads (why: rates.csv)."
    ]


def test_points_that_a_curve_lacks_are_named(make_record: MakeRecord) -> None:
    rows = scaling_of(disturb(hardware_sheet(make_record, (1, 2, 4)), 2))
    (line,) = missing_scaling(rows)
    assert line.startswith("No pass was clean on 2 threads: RBM step 576x1024, ")


def test_threads_that_found_no_core_of_their_own_were_disturbed(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record)
    slow = [record for record in sheet["rounds"] if record["threads"] == 2]
    for record in slow:
        record["provenance"]["threads_proof"] = {"threads_ran": 1}
        for case in record["cases"]:
            case |= {"status": "not-run", "reason": "1 thread ran, 2 asked", "blocks": [], "warmup": None}
    assert all(row.is_disturbed for row in scaling_of(sheet) if row.threads == 2)
    assert disturbed_profiles(sheet["rounds"]) == {slow[0]["id"]["profile"]}


def test_the_ends_of_a_time_and_of_a_speedup_are_said_each_for_itself(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record, passes=7)
    for record in [one for one in sheet["rounds"] if one["threads"] == 1][5:]:
        disturb({"rounds": [record]}, 1)
    ends = {row.threads: (row.ends, row.speedup_ends) for row in scaling_of(sheet)}
    assert ends == {1: (RANGE, ""), 2: (INTERVAL, RANGE)}


def test_an_efficiency_of_all_cores_is_of_no_fewer(make_record: MakeRecord) -> None:
    sheets = [hardware_sheet(make_record, (1, 2, 4), machine=name) for name in ("one", "two")]
    disturb(sheets[0], 4)
    reached, scaled = rates_of(*sheets), scaling_of(*sheets)
    rows = {row[0]: row[1:] for row in beside_machines(reached, scaled, ["one", "two"])}
    assert rows["Efficiency of the step 576x1024, all cores"] == ["–", "90 %"]


def test_what_does_not_multiply_is_not_called_by_a_blas(make_record: MakeRecord) -> None:
    rows = rates_of(hardware_sheet(make_record, gpu=True))
    named = {row.what: row.library for row in rows if row.device == "cpu" and row.unit in ("GB/s", "µs")}
    assert set(named.values()) == {"NumPy's copy", "compiled loop"}
    assert {row.what.partition(", ")[2] for row in rows if row.device == "cuda" and row.unit == "µs"} == {
        "round trip", "launches queued", "launches in a graph"
    }  # fmt: skip


def test_arrays_that_may_stay_in_a_cache_are_named(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record)
    sheet["memory"]["caches"]["L3"] = 480 * 2**20
    (line,) = missing_rates(rates_of(sheet))
    assert line == "The two arrays of the memory copy are 1.1 times all of cache L3: a part of them may stay in it."


def test_of_several_devices_it_is_said_that_one_was_measured(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record, gpu=True)
    sheet["provenance"] |= {"machine": HARDWARE | {"accelerators": [ACCELERATOR] * 4}}
    sheet["memory"]["accelerators"] = {ACCELERATOR: 80 * 2**30}
    assert missing_rates(rates_of(sheet)) == [f"Of 4 {ACCELERATOR} the first one alone was measured."]


@pytest.mark.parametrize(
    ("where", "lines"), [(("cpu", 2), 1), (("cpu", 1), 0), (("cpu", 4), 0), (("cuda:1", None), 0), (None, 0)]
)
def test_a_peak_of_the_rounds_is_compared_on_as_many_threads_alone(
    make_record: MakeRecord, where: tuple[str, int | None] | None, lines: int
) -> None:
    reached = rates_of(hardware_sheet(make_record, gpu=True))
    peak = 2 * next(row.value or 0 for row in reached if (row.what, row.threads) == (PRODUCT, 2))
    peak = peak if where != ("cpu", 1) else next(row.value or 0 for row in reached if row.threads == 1)
    device, threads = where or ("", None)
    point = SimpleNamespace(precision="fp32", package="OpenBLAS", peak_gflops=peak, device=device, threads=threads)
    assert len(differing_peaks(reached, [point])) == lines


def rows_of(name: str) -> list[dict[str, str]]:
    with Path(f"results/tables/{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_tables_have_the_sheets_of_all_machines_but_not_those_of_other_hardware_or_damaged_ones(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(make_record, 4, rounds=1)
    for place in range(4):
        write_sheet(hardware_sheet(make_record, machine=f"box-{place:02}"))
    other = hardware_sheet(make_record, machine="box-01")
    write_sheet(other | {"provenance": {"machine": HARDWARE | {"cpu": "Another CPU"}}})
    hardware_path("box-02", False).write_text("{")
    write_json(hardware_path("box-03", False), hardware_sheet(make_record, machine="box-00"))
    build_tables(smoke=False)
    assert {row["machine"] for row in (*rows_of("rates"), *rows_of("scaling"))} == {"box-00"}
    said = capsys.readouterr().err
    for wanted in ("CPU, Another CPU, not A CPU", "box-02/hardware.json: is damaged", "for another machine"):
        assert wanted in said
