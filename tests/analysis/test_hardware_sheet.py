"""What a machine reaches, and what more threads bring it: from hardware sheets to rows, and to a page of the report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.columns import load_table, rows_of
from respeed.analysis.hardware_sheet import (
    INTERVAL,
    PRODUCT,
    RANGE,
    STEP,
    beside_machines,
    describe_sheet,
    disturbed_profiles,
    spread_of,
    spread_of_ratio,
)
from respeed.output import build_tables
from respeed.paths import hardware_path
from tests.conftest import MakeRecord, write_machines
from tests.conftest import make_record as make_record_fixture
from tests.sheets import ACCELERATOR, HARDWARE, hardware_sheet, no_gpu, rates_of, scaling_of, write_sheet

times = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=8)


@given(times, times, st.floats(1e-3, 1e3))
def test_ratios_lie_within_their_ends_turn_round_and_scale(above: list[float], below: list[float], k: float) -> None:
    ratio, inverse = spread_of_ratio(above, below), spread_of_ratio(below, above)
    assert ratio.value == pytest.approx(1 / inverse.value)
    if ratio.low is not None and ratio.high is not None:
        assert ratio.low <= ratio.value * (1 + 1e-9)
        assert ratio.value <= ratio.high * (1 + 1e-9)
    slower = [k * one for one in above]
    assert spread_of_ratio(slower, above).value == pytest.approx(k)
    assert spread_of(slower).value == pytest.approx(k * spread_of(above).value)


@given(times)
def test_two_passes_have_a_range_and_three_an_interval(seconds: list[float]) -> None:
    found = spread_of(seconds)
    assert found.ends == ("" if len(seconds) == 1 else RANGE if len(seconds) < 3 else INTERVAL)
    assert (found.low is None) == (len(seconds) == 1)


@given(st.floats(0.05, 1.2), st.sampled_from([(1, 2), (1, 2, 3, 4, 8, 12)]))
def test_efficiency_is_the_speedup_over_the_threads(efficiency: float, counts: tuple[int, ...]) -> None:
    make_record = make_record_fixture.__wrapped__()  # type: ignore[attr-defined]  # hypothesis has no fixtures
    rows = list(rows_of(scaling_of(hardware_sheet(make_record, counts, efficiency=efficiency))))
    assert [row.threads for row in rows if (row.what, row.size) == (STEP, "576x1024")] == list(counts)
    for row in rows:
        assert row.efficiency == pytest.approx(1.0 if row.threads == 1 else efficiency)
        assert row.speedup == pytest.approx(row.threads * row.efficiency)
        assert [float(one) for one in row.speedups.split()] == pytest.approx([row.speedup] * 3)


def disturb(sheet: dict[str, Any], *threads: int, passes: range = range(1, 100)) -> dict[str, Any]:
    """The sheet, its processes on so many threads disturbed in these passes."""
    for record in sheet["rounds"]:
        if record["threads"] in threads and record["id"]["index"] in passes:
            for block in (block for case in record["cases"] for block in case["blocks"]):
                block["run_delay_seconds"] = 1e3
    return sheet


def test_every_row_has_a_number_or_a_reason(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record, absent=[no_gpu()])
    broken = sheet["rounds"][0]["cases"][4]
    broken |= {"status": "failed", "reason": "MemoryError: out of memory", "blocks": [], "warmup": None}
    for record in sheet["rounds"][1:]:
        record["cases"] = [case for case in record["cases"] if case["workload"] != "matmul"]
    rates, slow = rates_of(sheet), scaling_of(disturb(sheet, 2)).query("threads == 2")
    assert (rates["value"].isna() == (rates["reason"] != "")).all()
    assert set(rates["reason"][rates["what"] == PRODUCT]) == {"MemoryError: out of memory", "no CUDA device"}
    # A disturbed block does not count, and a case of none else says by what.
    assert slow["seconds"].isna().all()
    assert slow["reason"].str.contains("waited for a core").all()


def test_threads_that_found_no_core_of_their_own_were_disturbed(make_record: MakeRecord) -> None:
    sheet = hardware_sheet(make_record)
    slow = [record for record in sheet["rounds"] if record["threads"] == 2]
    for record in slow:
        record["provenance"]["threads_proof"] = {"threads_ran": 1}
        for case in record["cases"]:
            case |= {"status": "not-run", "reason": "1 thread ran, 2 asked", "blocks": [], "warmup": None}
    assert scaling_of(sheet).query("threads == 2")["is_disturbed"].all()
    assert disturbed_profiles(sheet["rounds"]) == {slow[0]["id"]["profile"]}


def test_the_ends_of_a_time_and_of_a_speedup_are_said_each_for_itself(make_record: MakeRecord) -> None:
    sheet = disturb(hardware_sheet(make_record, passes=4), 1, passes=range(3, 5))
    ends = {row.threads: (row.ends, row.speedup_ends) for row in rows_of(scaling_of(sheet))}
    assert ends == {1: (RANGE, ""), 2: (INTERVAL, RANGE)}


def test_what_does_not_multiply_is_not_called_by_a_blas_and_of_several_squares_the_fastest_stands_in_the_table(
    make_record: MakeRecord,
) -> None:
    rates = rates_of(hardware_sheet(make_record, gpu=True))
    others = rates[rates["unit"].isin(["GB/s", "µs"])]
    assert set(others["library"][others["device"] == "cpu"]) == {"compiled copy", "compiled loop"}
    assert list(rates["size"][(rates["what"] == PRODUCT) & (rates["device"] == "cuda")]) == ["8192x8192"]


def page(sheet: dict[str, Any]) -> dict[str, Any]:
    return describe_sheet(rates_of(sheet), scaling_of(sheet))


def test_people_see_cores_and_devices_side_by_side(make_record: MakeRecord) -> None:
    shown = page(hardware_sheet(make_record, (1, 2, 4), gpu=True))
    assert shown["columns"] == ["one core", "all 4 cores", ACCELERATOR]
    labels = {group["heading"]: [line["label"] for line in group["lines"]] for group in shown["groups"]}
    assert labels == {
        "Square product, GFLOP/s": ["OpenBLAS, fp32", "PyTorch, fp32"],
        "Copy within the memory, GB/s, read and written": [
            "compiled copy, arrays of 256 MiB", "PyTorch, arrays of 1,024 MiB",
        ],
        "Copy to and from the device, GB/s": [
            f"copy {way} the device, {memory}" for way in ("to", "from") for memory in ("pinned", "pageable")
        ],
        "A step of next to nothing, µs": [
            "compiled loop, on one thread", "compiled loop, spread over threads", "PyTorch, round trip",
            "PyTorch, launches queued", "PyTorch, launches in a graph",
        ],
    }  # fmt: skip
    assert shown["sizes"] == "memory 16.0 GiB, cache L1 96.0 KiB, cache L2 4.00 MiB"
    assert (shown["missing"], shown["missing_points"], shown["no_curve"]) == ([], [], "")
    # Speedups stand with their efficiency behind the seconds on one thread.
    assert shown["counts"] == ["1 thread", "2 threads", "4 threads"]
    step = next(line["values"] for line in shown["scaling"] if line["label"] == "RBM step, 576x1024")
    assert [value["text"] for value in step] == ["10.2 ms", "1.80x (90 %)", "3.60x (90 %)"]
    assert all(value["interval"].startswith("±") for value in step)
    # One pass says nothing of how far passes lie apart.
    (product,) = page(hardware_sheet(make_record, (1,), passes=1))["groups"][0]["lines"]
    assert [value["interval"] for value in product["values"]] == [""]


DISTURBED = (
    "No pass was clean on one core and all 2 cores: OpenBLAS fp32 and memory copy; on one core: small step on one "
    "thread; on all 2 cores: small step spread over threads (why: rates.csv)."
)
FOUR = {
    "provenance": {"machine": HARDWARE | {"accelerators": [ACCELERATOR] * 4}},
    "memory": {"caches": {}, "accelerators": {ACCELERATOR: 80 * 2**30}},
}
IN_CACHE = "The two arrays of the memory copy are 1.1 times all of cache L3: a part of them may stay in it."


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (lambda sheet: sheet | {"absent": [no_gpu()]}, ["Nothing was measured on cuda: no CUDA device."]),
        (lambda sheet: disturb(sheet, 1, 2), [DISTURBED]),
        (lambda sheet: sheet | {"memory": sheet["memory"] | {"caches": {"L1": 98304, "L3": 480 * 2**20}}}, [IN_CACHE]),
        (lambda sheet: sheet | FOUR, [f"Of 4 {ACCELERATOR} the first one alone was measured."]),
    ],
)
def test_what_a_sheet_lacks_is_said_in_one_line(
    change: Callable[[dict[str, Any]], dict[str, Any]], lines: list[str], make_record: MakeRecord
) -> None:
    shown = page(change(hardware_sheet(make_record)))
    assert shown["missing"] == lines
    # Where there is no curve, it lacks no point.
    assert (shown["missing_points"], shown["no_curve"]) == ([], "disturbed in every pass" if DISTURBED in lines else "")


def test_a_device_that_was_disturbed_throughout_is_there_all_the_same_and_points_that_a_curve_lacks_are_named(
    make_record: MakeRecord,
) -> None:
    sheet = hardware_sheet(make_record, (1, 2, 4), gpu=True)
    sheet["rounds"][-1]["threads"] = 64
    shown = page(disturb(sheet, 2, 64))
    ((device,), (points,)) = shown["missing"], shown["missing_points"]
    assert device.startswith(f"No pass was clean on {ACCELERATOR}: PyTorch fp32, memory copy, ")
    assert points.startswith("No pass was clean on 2 threads: RBM step 576x1024, ")


def test_machines_stand_beside_one_another_where_two_have_a_sheet(make_record: MakeRecord) -> None:
    sheets = [hardware_sheet(make_record, (1, 2, cores), machine=f"box-{cores}") for cores in (4, 8)]
    rates, scaling = rates_of(*sheets), scaling_of(*sheets)
    rows = {row[0]: row[1:] for row in beside_machines(rates, scaling, ["box-4", "box-8"])}
    assert rows["Efficiency of the step 576x1024, all cores"] == ["90 %", "90 %"]
    assert rows["Product, fp32, all cores, GFLOP/s"] == ["353", "706"]
    assert len(set(rows["Memory copy, one core, GB/s"])) == 1
    assert rows["Memory copy, one core, GB/s"] != rows["Product, fp32, one core, GFLOP/s"]
    assert not beside_machines(rates, scaling, ["box-4"])
    # An efficiency of all cores is of no fewer, and not of one.
    sheets = [disturb(sheets[0], 4), sheets[1], hardware_sheet(make_record, (1,), machine="box-1")]
    names = ["box-4", "box-8", "box-1"]
    rows = {row[0]: row[1:] for row in beside_machines(rates_of(*sheets), scaling_of(*sheets), names)}
    assert rows["Efficiency of the step 576x1024, all cores"] == ["–", "90 %", "–"]


def test_tables_have_the_sheets_of_all_machines_but_not_damaged_ones(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(make_record, 4, rounds=1)
    for place in range(4):
        write_sheet(hardware_sheet(make_record, machine=f"box-{place:02}"))
    hardware_path("box-02", False).write_text("{")
    hardware_path("box-03", False).write_text('{"schema": 4}')
    build_tables(smoke=False)
    assert {
        name for table in ("rates", "scaling") for name in load_table(table, Path("results/tables"))["machine"]
    } == {"box-00", "box-01"}
    said = capsys.readouterr().err
    for wanted in ("box-02/hardware.json", "box-03/hardware.json"):
        assert wanted in said
