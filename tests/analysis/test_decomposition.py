"""Speedups taken apart: factors that multiply to them, each over the right peak."""

from collections.abc import Callable
from dataclasses import replace
from math import isclose, prod
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.decomposition import break_down, compare, explain, make_factors, make_why
from respeed.analysis.estimates import Estimate
from respeed.model.paper import Paper
from tests.derived import PAPER, PAPERS, STEPS, changed, frames_of

MakeRecord = Callable[..., dict[str, Any]]
WHERE = {"paper": "paper", "experiment": "table", "case": "case"}
ALL = {"profile": "torch-all", "architecture": "multi-cpu"}
OPENBLAS = {"profile": "openblas-all", "architecture": "multi-cpu"}
GPU = {"profile": "gpu", "architecture": "gpu", "device": "cuda"}
BF16 = GPU | {"profile": "gpu-bf16", "precision": "bf16"}

positive = st.floats(1e-6, 1e15)


def derive(
    records: list[dict[str, Any]], papers: dict[str, Paper] = PAPERS, *, smoke: bool = False
) -> tuple[list[Any], list[Any]]:
    made = frames_of(records, papers)
    why = make_why(made.cells, made.speedups, make_factors(made.cells, made.samples, papers), papers, smoke)
    return list(rows_of(made.cells)), list(rows_of(why))


def seven(make_record: MakeRecord, seconds: float, **facts: Any) -> list[dict[str, Any]]:
    return [make_record([seconds, seconds], index=index, **facts) for index in range(1, 8)]


def of_size(record: dict[str, Any], visible: int, hidden: int) -> dict[str, Any]:
    """A record of that RBM: its true FLOP of a step."""
    record["cases"][0]["parameters"] |= {"visible": visible, "hidden": hidden}
    record["cases"][0]["flops"] = 10.0 * 192 * visible * hidden
    return record


def one(rows: list[Any], comparison: str, case: str = "576x1024", machine: str = "box") -> Any:
    (found,) = [
        row
        for row in rows
        if (row.comparison, row.case) == (comparison, case)
        and row.machine == ("paper" if comparison == "theirs" else machine)
    ]
    return found


def side(label: str, seconds: float, peak: float) -> Any:
    """A cell of ours, or a published row."""
    return SimpleNamespace(label=label, seconds=seconds, peak_gflops=peak, precision="fp32")


def broken_down(row: Any, base: Any, work: float | None = None, **ratio: Any) -> Any:
    """A row of the table of factors."""
    compared = compare("box", "ours", row, base, Estimate(base.seconds / row.seconds), **ratio)
    (found,) = rows_of(break_down([WHERE | {"work": work} | compared]))
    return found


def factors_of(row: Any) -> list[float]:
    return [factor for factor in (row.peaks, row.algorithm, row.shares, row.rest) if factor is not None]


def three_rows(make_record: MakeRecord) -> list[dict[str, Any]]:
    """One core, all cores and a GPU, each with a peak of its own, and the GPU in low precision, which explains nothing;
    1 GFLOP a step."""
    return [
        *seven(make_record, 0.1, peak=2e11),
        *seven(make_record, 0.05, peak=3e11, **ALL),
        *seven(make_record, 0.002, peak=5e13, **GPU),
        *seven(make_record, 0.0001, peak=9e14, **BF16),
    ]


@given(positive, positive, positive, st.none() | positive, st.booleans(), st.none() | positive)
def test_the_factors_multiply_to_the_speedup(
    speedup: float, peak: float, base_peak: float, algorithm: float | None, same_work: bool, work: float | None
) -> None:
    row, base = side("row", 1.0, peak), side("base", speedup, base_peak)
    found = broken_down(row, base, work, algorithm=algorithm, same_work=same_work)
    assert isclose(prod(factors_of(found)), speedup, rel_tol=1e-12)
    assert (found.shares is None) != (found.rest is None)


@given(positive, positive, positive, positive, positive)
def test_of_the_same_work_the_factors_are_the_ratios_of_peaks_and_of_shares(
    work: float, seconds: float, base_seconds: float, peak: float, base_peak: float
) -> None:
    found = broken_down(side("row", seconds, peak), side("base", base_seconds, base_peak), work)
    assert found.peaks == pytest.approx(peak / base_peak)
    assert found.share
    assert found.base_share
    assert found.shares
    assert isclose(found.share, work / seconds / 1e9 / peak, rel_tol=1e-12)
    assert isclose(found.base_share, work / base_seconds / 1e9 / base_peak, rel_tol=1e-12)
    assert isclose(found.shares, found.share / found.base_share, rel_tol=1e-9)


@given(positive, positive, positive, positive)
def test_the_other_way_round_every_factor_is_inverted(
    seconds: float, base_seconds: float, peak: float, base_peak: float
) -> None:
    row, base = side("row", seconds, peak), side("base", base_seconds, base_peak)
    there, back = broken_down(row, base), broken_down(base, row)
    for first, second in zip(factors_of(there), factors_of(back), strict=True):
        assert isclose(first * second, 1, rel_tol=1e-12)


def test_the_papers_largest_speedup_is_twelve_of_hardware_times_six_of_use(make_record: MakeRecord) -> None:
    record = of_size(make_record([1.0, 1.0], case="4096x11008"), 4096, 11008)
    _, rows = derive([record])
    theirs = one(rows, "theirs", "4096x11008")
    assert explain(theirs) == (
        "72.6 = 12.3 of hardware (622 over 50.6 GFLOP/s) times 5.91 of use (42 % of its peak against 7 %)"
    )
    assert theirs.peaks == pytest.approx(622 / 50.6)
    assert theirs.shares
    assert theirs.peaks * theirs.shares == pytest.approx(125381 / 1726)
    assert theirs.gflops == pytest.approx(10 * 4096 * 11008 * 1e6 / 1726 / 1e9)
    assert theirs.base_gflops == pytest.approx(10 * 4096 * 11008 * 1e6 / 125381 / 1e9)
    assert (theirs.row, theirs.base, theirs.printed, theirs.reason) == ("GPU", "Dual-core CPU", "72.6", "")


def test_what_was_measured_on_no_machine_has_no_rates_and_says_so() -> None:
    _, rows = derive([])
    theirs = one(rows, "theirs")
    assert (theirs.gflops, theirs.base_gflops, theirs.share, theirs.base_share) == (None,) * 4
    assert theirs.reason == "no FLOP count, so no share of a peak is known"
    assert explain(theirs) == "12.9 = 12.3 of hardware (622 over 50.6 GFLOP/s) times 1.05 of use"
    assert {row.comparison for row in rows} == {"theirs"}


def test_one_machines_flop_count_serves_the_paper_and_every_other_machine(make_record: MakeRecord) -> None:
    records = seven(make_record, 0.1, machine="other")
    without = seven(make_record, 0.1)
    for record in without:
        record["cases"][0]["flops"] = None
    _, rows = derive([*without, *records])
    assert one(rows, "theirs").gflops == pytest.approx(STEPS / 38.6)
    assert one(rows, "cpu over their cpu").gflops == pytest.approx(10)
    assert sum(row.comparison == "theirs" and row.case == "576x1024" for row in rows) == 1


def test_ours_is_the_accelerator_over_the_fastest_cpu_row_each_by_the_peak_of_its_own_profile(
    make_record: MakeRecord,
) -> None:
    cells, rows = derive(three_rows(make_record))
    ours = one(rows, "ours")
    assert (ours.row, ours.base) == ("PyTorch, GPU", "label of torch-all")
    assert ours.speedup == pytest.approx(25)
    assert (ours.peak_gflops, ours.base_peak_gflops) == pytest.approx((5e4, 300))
    assert ours.peaks == pytest.approx(5e13 / 3e11)
    assert (ours.share, ours.base_share) == pytest.approx((1e9 / 0.002 / 5e13, 1e9 / 0.05 / 3e11))
    assert ours.shares == pytest.approx(0.01 / (1 / 15))
    shares = {cell.profile: cell.peak_share for cell in cells if cell.experiment == "rbm" and cell.seconds}
    assert (ours.share, ours.base_share) == pytest.approx((shares["gpu"], shares["torch-all"]))


def test_ours_has_the_number_and_the_interval_of_the_table_of_speedups(make_record: MakeRecord) -> None:
    noise = [0.97, 0.99, 1.0, 1.01, 1.02, 1.04, 1.08]
    records = [
        record
        for index, factor in enumerate(noise, start=1)
        for record in (
            make_record([0.05 * factor] * 2, index=index, **ALL),
            make_record([0.002 / factor, 0.0021 / factor, 0.004], index=index, **GPU),
        )
    ]
    cells, speedups, _ = frames_of(records)
    why = make_why(cells, speedups, make_frame([], "factors"), PAPERS, smoke=False)
    ours = one(list(rows_of(why)), "ours")
    (row,) = rows_of(
        speedups[(speedups["profile"] == "gpu") & (speedups["case"] == "576x1024") & (speedups["experiment"] == "rbm")]
    )
    assert (ours.speedup, ours.speedup_low, ours.speedup_high) == (row.speedup, row.speedup_low, row.speedup_high)
    assert prod(factors_of(ours)) == pytest.approx(ours.speedup)
    assert ours.shares == pytest.approx((ours.share or 0) / (ours.base_share or 1), rel=0.5)


def test_over_the_papers_rows_stand_our_fastest_ones(make_record: MakeRecord) -> None:
    _, rows = derive(three_rows(make_record))
    cpu, slow, gpu = (one(rows, name) for name in ("cpu over their cpu", "cpu over their gpu", "gpu over their gpu"))
    assert [row.row for row in (cpu, slow, gpu)] == ["label of torch-all", "label of torch-all", "PyTorch, GPU"]
    assert [row.base for row in (cpu, slow, gpu)] == ["Dual-core CPU", "GPU", "GPU"]
    assert cpu.speedup == pytest.approx(497 / (0.05 * STEPS))
    assert slow.speedup == pytest.approx(38.6 / (0.05 * STEPS))
    assert gpu.speedup == pytest.approx(38.6 / (0.002 * STEPS))
    assert [row.peaks for row in (cpu, slow, gpu)] == pytest.approx([300 / 50.6, 300 / 622, 50000 / 622])
    for row in (cpu, slow, gpu):
        assert row.shares == pytest.approx((row.share or 0) / (row.base_share or 1))


def test_the_interval_over_a_printed_number_is_that_of_our_seconds(make_record: MakeRecord) -> None:
    records = [make_record([0.05 * (1 + index / 100)] * 2, index=index, **ALL) for index in range(1, 8)]
    cells, rows = derive(records)
    cell = next(cell for cell in cells if (cell.profile, cell.case) == ("torch-all", "576x1024"))
    assert cell.seconds_low
    assert cell.seconds_high
    found = one(rows, "cpu over their cpu")
    assert (found.speedup_low, found.speedup_high) == pytest.approx((497 / cell.seconds_high, 497 / cell.seconds_low))


def test_a_machine_without_an_accelerator_has_no_row_of_one(make_record: MakeRecord) -> None:
    _, rows = derive(seven(make_record, 0.1))
    assert {row.comparison for row in rows if row.machine == "box"} == {"cpu over their cpu", "cpu over their gpu"}


def test_without_a_ceiling_there_are_no_factors_and_a_reason(make_record: MakeRecord) -> None:
    records = seven(make_record, 0.1)
    for record in records:
        record["ceilings"] = None
    found = one(derive(records)[1], "cpu over their cpu")
    assert factors_of(found) == []
    assert found.reason == "no peak is known of PyTorch, one core"
    assert explain(found) == "0.954: no peak is known of PyTorch, one core"


def test_a_paper_without_hardware_has_speedups_without_factors(make_record: MakeRecord) -> None:
    bare = replace(PAPER, rows=tuple(changed(row, hardware=None) for row in PAPER.rows))
    _, rows = derive(seven(make_record, 0.1), {"raina2009": bare})
    theirs = one(rows, "theirs")
    assert (theirs.peaks, theirs.shares, theirs.printed) == (None, None, "12.9")
    assert theirs.reason == "no peak is known of GPU and Dual-core CPU"


def test_tables_without_printed_seconds_and_smoke_cases_have_nothing_of_the_paper(make_record: MakeRecord) -> None:
    _, rows = derive(seven(make_record, 0.1))
    assert {row.experiment for row in rows} == {"rbm", "patches", "sparse-coding"}
    assert derive([], smoke=True)[1] == []


def sparse(make_record: MakeRecord, workload: str, seconds: float, peak: float, **facts: Any) -> list[dict[str, Any]]:
    case = next(
        case
        for case in PAPER.experiments["sparse-coding"].cases
        if (case.name, case.workload) == ("3-percent", workload)
    )
    records = seven(make_record, seconds, case=case.name, peak=peak, **facts)
    for record in records:
        record["id"]["experiment"] = "sparse-coding"
        record["cases"][0] |= {"workload": workload, "parameters": dict(case.parameters), "flops": None}
        record["profile"]["backend"] = "torch" if facts == GPU else "openblas"
    return records


def sparse_rows(make_record: MakeRecord) -> list[Any]:
    return derive(sparse_records(make_record))[1]


def sparse_records(make_record: MakeRecord) -> list[dict[str, Any]]:
    return [
        *sparse(make_record, "sparse_feature_sign", 0.8, 3e11, profile="openblas-1"),
        *sparse(make_record, "sparse_feature_sign", 0.4, 3e11, **OPENBLAS),
        *sparse(make_record, "sparse_parallel", 0.5, 3e11, **OPENBLAS),
        *sparse(make_record, "sparse_descent", 0.1, 3e11, **OPENBLAS),
        *sparse(make_record, "sparse_parallel", 0.01, 6e12, **GPU),
    ]


def test_the_papers_kind_of_speedup_is_the_algorithms_factor_times_the_hardwares(make_record: MakeRecord) -> None:
    made = frames_of(sparse_records(make_record))
    rows = {row.profile: row for row in rows_of(make_factors(made.cells, made.samples, PAPERS))}
    gpu = rows.pop("gpu")
    assert (gpu.speedup, gpu.algorithm_factor, gpu.hardware_factor) == pytest.approx((40, 0.8, 50))
    assert (gpu.base_profile, gpu.published) == ("openblas-all", pytest.approx(191 / 37.0))
    assert {row.published for row in rows.values()} == {None}
    # The base of every other speedup is the fastest CPU result of any algorithm.
    over = next(row for row in rows_of(made.speedups) if (row.profile, row.case) == ("gpu", "3-percent"))
    assert (over.base_profile, over.base_algorithm, over.speedup) == (
        "openblas-all",
        "sparse_descent",
        pytest.approx(10),
    )


def test_a_table_of_algorithms_has_a_row_for_each_where_it_runs_beside_what_was_printed_for_it(
    make_record: MakeRecord,
) -> None:
    cells = [cell for cell in rows_of(frames_of(sparse_records(make_record)).cells) if cell.case == "3-percent"]
    published = {(cell.profile, cell.algorithm): cell.published_seconds for cell in cells}
    assert published["openblas-1", "sparse_feature_sign"] == 215
    assert published["openblas-all", "sparse_parallel"] is None
    assert ("openblas-1", "sparse_parallel") not in published
    assert published["gpu", "sparse_parallel"] == 37.0
    labels = {cell.label for cell in cells if cell.precision == "fp32"}
    assert sum("feature-sign" in label for label in labels) == 2
    # The paper file says on which rows the GPU's algorithm is measured: not on one core.
    assert {label for label in labels if "parallel" in label} == {
        "label of openblas-all, parallel coordinates", "PyTorch, all cores, parallel coordinates",
        "PyTorch, GPU, parallel coordinates",
    }  # fmt: skip
    assert not any("PyTorch" in label and "descent" in label for label in labels)


def test_where_algorithms_differ_theirs_is_hardware_times_all_else(make_record: MakeRecord) -> None:
    theirs = one(sparse_rows(make_record), "theirs", "3-percent")
    assert (theirs.algorithm, theirs.shares) == (None, None)
    assert theirs.rest == pytest.approx(191 / 37.0 / (622 / 50.6))
    assert explain(theirs) == "5.2 = 12.3 of hardware (622 over 50.6 GFLOP/s) times 0.420 of all else"


def test_where_algorithms_differ_ours_is_each_sides_own_and_has_the_algorithms_factor(make_record: MakeRecord) -> None:
    ours = one(sparse_rows(make_record), "ours", "3-percent")
    assert ours.base.endswith("feature-sign search")
    assert ours.speedup == pytest.approx(0.4 / 0.01)
    assert (ours.algorithm, ours.peaks, ours.rest) == (pytest.approx(0.4 / 0.5), pytest.approx(20), None)
    assert ours.shares == pytest.approx(0.5 / 0.01 / 20)
    assert "times 0.800 of the algorithm times 2.50 of use" in explain(ours)


def test_over_another_algorithm_of_the_paper_ours_is_taken_apart_on_our_own_row(make_record: MakeRecord) -> None:
    rows = sparse_rows(make_record)
    cpu, gpu = one(rows, "cpu over their cpu", "3-percent"), one(rows, "cpu over their gpu", "3-percent")
    assert cpu.row.endswith("compiled descent")
    assert (cpu.algorithm, gpu.algorithm) == pytest.approx((0.4 / 0.1, 0.5 / 0.1))
    assert one(rows, "gpu over their gpu", "3-percent").algorithm is None
    for row in (cpu, gpu):
        assert row.shares is None
        assert prod(factors_of(row)) == pytest.approx(row.speedup)


def test_without_the_devices_algorithm_on_a_cpu_the_base_is_the_fastest_cpu_row(make_record: MakeRecord) -> None:
    records = [
        *sparse(make_record, "sparse_descent", 0.1, 3e11, **OPENBLAS),
        *sparse(make_record, "sparse_parallel", 0.01, 6e12, **GPU),
    ]
    ours = one(derive(records)[1], "ours", "3-percent")
    assert ours.base.endswith("compiled descent")
    assert (ours.algorithm, ours.shares, ours.rest) == (None, None, pytest.approx(10 / 20))
