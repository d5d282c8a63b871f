"""Speedups taken apart: factors that multiply to them, each over the right peak."""

from collections.abc import Mapping
from dataclasses import replace
from math import isclose, prod
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.columns import rows_of
from respeed.analysis.decomposition import break_down, compare, explain, make_factors, make_iterations, make_why
from respeed.analysis.estimates import Estimate
from respeed.model.paper import Paper
from tests.derived import ALL, GPU, GPU_BF16, NOISE, PAPER, PAPERS, STEPS, MakeRecord, changed, frames_of, seven

Records = list[dict[str, Any]]
OPENBLAS = {"profile": "openblas-all", "architecture": "multi-cpu"}
BARE = replace(PAPER, rows=tuple(changed(row, hardware=None) for row in PAPER.rows))
positive = st.floats(1e-6, 1e15)


def why_of(records: Records, papers: Mapping[str, Paper] = PAPERS, *, smoke: bool = False) -> list[Any]:
    made = frames_of(records, papers)
    factors = make_factors(made.cells, made.samples, papers)
    return list(rows_of(make_why(made.cells, made.speedups, factors, papers, smoke)))


def one(rows: list[Any], comparison: str, case: str = "576x1024") -> Any:
    (found,) = (
        row
        for row in rows
        if (row.comparison, row.case, row.machine) == (comparison, case, "paper" if comparison == "theirs" else "box")
    )
    return found


def factors_of(row: Any) -> list[float]:
    return [factor for factor in (row.peaks, row.algorithm, row.shares, row.rest) if factor is not None]


@given(*[positive] * 4, st.none() | positive, st.booleans(), st.none() | positive)
def test_factors_multiply_to_the_speedup_are_ratios_of_peaks_and_shares_and_turn_round(
    seconds: float, over: float, peak: float, base_peak: float, algorithm: float | None, same: bool, work: float | None
) -> None:
    def broken_down(row: Any, base: Any, factor: float | None) -> Any:
        ratio = Estimate(base.seconds / row.seconds)
        compared = compare("box", "ours", row, base, ratio, factor, same_work=same)
        where = {"paper": "paper", "experiment": "table", "case": "case", "work": work}
        (found,) = rows_of(break_down([where | compared]))
        return found

    row, base = (
        SimpleNamespace(label="side", seconds=one, peak_gflops=most, precision="fp32")
        for one, most in ((seconds, peak), (over, base_peak))
    )
    found, back = broken_down(row, base, algorithm), broken_down(base, row, algorithm and 1 / algorithm)
    assert isclose(prod(factors_of(found)), over / seconds, rel_tol=1e-12)
    assert found.peaks == pytest.approx(peak / base_peak)
    assert (found.shares is None, found.rest is None) == (not same, same)
    for there, here in zip(factors_of(found), factors_of(back), strict=True):
        assert isclose(there * here, 1, rel_tol=1e-12)
    if work:
        assert (found.share, found.base_share) == pytest.approx(
            (work / seconds / 1e9 / peak, work / over / 1e9 / base_peak)
        )
        if same and not algorithm:
            assert isclose(found.shares, found.share / found.base_share, rel_tol=1e-9)


def of_the_largest_case(make_record: MakeRecord) -> Records:
    """A round with its true FLOP of a step."""
    record = make_record([1.0, 1.0], case="4096x11008", changed={"visible": 4096, "hidden": 11008})
    record["cases"][0]["flops"] = 10.0 * 192 * 4096 * 11008
    return [record]


def without_ceilings(make_record: MakeRecord) -> Records:
    return [record | {"ceilings": None} for record in seven(make_record, 0.1)]


def sparse(make_record: MakeRecord, workload: str, seconds: float, peak: float = 3e11, **facts: Any) -> Records:
    cases = PAPER.experiments["sparse-coding"].cases
    case = next(case for case in cases if (case.name, case.workload) == ("3-percent", workload))
    records = seven(make_record, seconds, case=case.name, peak=peak, **facts)
    for record in records:
        record["id"]["experiment"] = "sparse-coding"
        record["cases"][0] |= {"workload": workload, "parameters": dict(case.parameters), "flops": None}
        record["profile"]["backend"] = "torch" if facts == GPU else "openblas"
    return records


def two_algorithms(make_record: MakeRecord) -> Records:
    return [
        *sparse(make_record, "sparse_descent", 0.1, **OPENBLAS),
        *sparse(make_record, "sparse_parallel", 0.01, 6e12, **GPU),
    ]


def all_algorithms(make_record: MakeRecord) -> Records:
    return [
        *sparse(make_record, "sparse_feature_sign", 0.8, profile="openblas-1"),
        *sparse(make_record, "sparse_feature_sign", 0.4, **OPENBLAS),
        *sparse(make_record, "sparse_parallel", 0.5, **OPENBLAS),
        *two_algorithms(make_record),
    ]


THEIRS = "12.3 of hardware (622 over 50.6 GFLOP/s)"
OURS = "20.0 of hardware (6,000 over 300 GFLOP/s)"


@pytest.mark.parametrize(
    ("make", "papers", "where", "words", "reason"),
    [
        (of_the_largest_case, PAPERS, ("theirs", "4096x11008"),
         f"72.6 = {THEIRS} times 5.91 of use (42 % of its peak against 7 %)", ""),
        (lambda make: [], PAPERS, ("theirs",), f"12.9 = {THEIRS} times 1.05 of use",
         "no FLOP count, so no share of a peak is known"),
        (lambda make: [], {PAPER.name: BARE}, ("theirs",), "12.9: no peak is known of GPU and Dual-core CPU", None),
        (without_ceilings, PAPERS, ("cpu over their cpu",), "0.954: no peak is known of PyTorch, one core", None),
        # Of several algorithms theirs is hardware times all else; ours is each side's own, with the algorithm's factor,
        # or over the fastest row, where the device's algorithm ran on no CPU.
        (all_algorithms, PAPERS, ("theirs", "3-percent"), f"5.2 = {THEIRS} times 0.420 of all else", None),
        (all_algorithms, PAPERS, ("ours", "3-percent"), f"40.0 = {OURS} times 0.800 of the algorithm times 2.50 of use",
         None),
        (two_algorithms, PAPERS, ("ours", "3-percent"), f"10.0 = {OURS} times 0.500 of all else", None),
    ],
)  # fmt: skip
def test_a_speedup_is_explained_by_factors_or_by_what_is_not_known(
    make_record: MakeRecord, make: Any, papers: Any, where: tuple[str, ...], words: str, reason: str | None
) -> None:
    found = one(why_of(make(make_record), papers), *where)
    assert explain(found) == words
    assert reason is None or found.reason == reason


def test_one_machines_flop_count_serves_the_paper_and_every_other_machine(make_record: MakeRecord) -> None:
    without = seven(make_record, 0.1)
    for record in without:
        record["cases"][0]["flops"] = None
    rows = why_of([*without, *seven(make_record, 0.1, machine="other")])
    assert one(rows, "theirs").gflops == pytest.approx(STEPS / 38.6)
    assert one(rows, "cpu over their cpu").gflops == pytest.approx(10)
    assert sum(row.comparison == "theirs" and row.case == "576x1024" for row in rows) == 1


def test_the_fastest_row_of_each_side_stands_over_its_base_each_by_the_peak_of_its_own_profile(
    make_record: MakeRecord,
) -> None:
    records = [
        *seven(make_record, 0.1, peak=2e11),
        *seven(make_record, 0.05, peak=3e11, **ALL),
        *seven(make_record, 0.002, peak=5e13, **GPU),
        *seven(make_record, 0.0001, peak=9e14, **GPU_BF16),  # low precision explains nothing
    ]
    rows = why_of(records)
    for comparison, row, base, speedup, peaks in (
        ("theirs", "GPU", "Dual-core CPU", 497 / 38.6, 622 / 50.6),
        ("ours", "PyTorch, GPU", "label of torch-all", 25, 5e13 / 3e11),
        ("cpu over their cpu", "label of torch-all", "Dual-core CPU", 497 / (0.05 * STEPS), 300 / 50.6),
        ("cpu over their gpu", "label of torch-all", "GPU", 38.6 / (0.05 * STEPS), 300 / 622),
        ("gpu over their gpu", "PyTorch, GPU", "GPU", 38.6 / (0.002 * STEPS), 5e4 / 622),
    ):
        found = one(rows, comparison)
        assert (found.row, found.base) == (row, base)
        assert (found.speedup, found.peaks) == pytest.approx((speedup, peaks))
        assert found.shares == pytest.approx(found.share / found.base_share)
    cells = rows_of(frames_of(records).cells)
    shares = {cell.profile: cell.peak_share for cell in cells if cell.experiment == "rbm" and cell.seconds}
    ours = one(rows, "ours")
    assert (ours.share, ours.base_share) == pytest.approx((shares["gpu"], shares["torch-all"]))


def test_ours_has_the_number_and_interval_of_the_table_of_speedups_and_over_a_printed_number_that_of_our_seconds(
    make_record: MakeRecord,
) -> None:
    records = [
        record
        for index, noise in enumerate(NOISE, start=1)
        for record in (
            make_record([0.05 * noise] * 2, index=index, **ALL),
            make_record([0.002 / noise, 0.0021 / noise, 0.004], index=index, **GPU),
        )
    ]
    made, rows = frames_of(records), why_of(records)
    ours, over = one(rows, "ours"), one(rows, "cpu over their cpu")
    (row,) = (
        row for row in rows_of(made.speedups) if (row.profile, row.experiment, row.case) == ("gpu", "rbm", ours.case)
    )
    assert (ours.speedup, ours.speedup_low, ours.speedup_high) == (row.speedup, row.speedup_low, row.speedup_high)
    cell = next(cell for cell in rows_of(made.cells) if (cell.profile, cell.case) == ("torch-all", ours.case))
    assert (over.speedup_low, over.speedup_high) == pytest.approx((497 / cell.seconds_high, 497 / cell.seconds_low))


def test_there_are_rows_of_what_was_measured_and_printed_alone(make_record: MakeRecord) -> None:
    rows = why_of(seven(make_record, 0.1))
    assert {row.comparison for row in rows if row.machine == "box"} == {"cpu over their cpu", "cpu over their gpu"}
    assert {row.experiment for row in rows} == {"rbm", "patches", "sparse-coding"}
    assert {row.comparison for row in why_of([])} == {"theirs"}
    assert why_of([], smoke=True) == []


def test_the_papers_kind_of_speedup_is_the_algorithms_factor_times_the_hardwares(make_record: MakeRecord) -> None:
    made = frames_of(all_algorithms(make_record))
    rows = {row.profile: row for row in rows_of(make_factors(made.cells, made.samples, PAPERS))}
    gpu = rows.pop("gpu")
    assert (gpu.speedup, gpu.algorithm_factor, gpu.hardware_factor) == pytest.approx((40, 0.8, 50))
    assert (gpu.base_profile, gpu.published) == ("openblas-all", pytest.approx(191 / 37.0))
    assert {row.published for row in rows.values()} == {None}
    # The base of every other speedup is the fastest CPU result of any algorithm.
    over = next(row for row in rows_of(made.speedups) if (row.profile, row.case) == ("gpu", "3-percent"))
    assert (over.base_profile, over.base_algorithm) == ("openblas-all", "sparse_descent")
    assert over.speedup == pytest.approx(10)


def iterating(records: Records, parts: dict[str, float], **iterations: float) -> Records:
    """The same, a step in these parts, of which each batch counts its share, twice, as half of it is timed."""
    for record in records:
        (case,) = record["cases"]
        case["parts"] = dict.fromkeys(parts, 4 / len(parts))
        case["iterations"] = iterations
        for block in case["blocks"]:
            samples = len(block["sample_seconds"])
            block["part_seconds"] = [[seconds / 2] * samples for seconds in parts.values()]
            block["sample_seconds"] = [sum(parts.values()) / 2] * samples
    return records


def two_that_iterate(make_record: MakeRecord) -> Records:
    """The authors' algorithm takes 0.7 s, ours 0.4 s, on two rows; on a third there is ours alone."""
    found: Records = []
    for row in (ALL, GPU, OPENBLAS):
        ours = sparse(make_record, "sparse_parallel", 1.0, **row)
        found += iterating(ours, {"coefficients": 0.3, "bases": 0.1}, coefficients=40.0)
        if row != OPENBLAS:
            theirs = {"c1": 0.1, "b1": 0.2, "c2": 0.9, "b2": 0.2}
            found += iterating(sparse(make_record, "sparse_published", 1.0, **row), theirs, c1=10.0, c2=50.0)
    for record in found:
        record["profile"]["backend"] = "openblas" if record["id"]["profile"] == OPENBLAS["profile"] else "torch"
    return found


def test_the_ratio_of_two_algorithms_that_iterate_is_that_of_iterations_of_their_time_and_of_all_else(
    make_record: MakeRecord,
) -> None:
    records = two_that_iterate(make_record)
    made = frames_of(records)
    rows = list(rows_of(make_iterations(made.cells, made.samples, PAPERS)))
    assert {(row.profile, row.algorithm, row.base_algorithm) for row in rows} == {
        (profile, "sparse_published", "sparse_parallel") for profile in ("torch-all", "gpu")
    }
    for row in rows:
        assert (row.iterations, row.base_iterations, row.iterations_factor) == pytest.approx((30, 40, 0.75))
        assert (row.ratio, row.iteration_factor, row.others_factor) == pytest.approx((0.7 / 0.4, 0.5 / 0.3 / 0.75, 2))
        iterated = row.iterating_share * row.iterations_factor * row.iteration_factor
        assert row.ratio == pytest.approx(iterated + (1 - row.iterating_share) * row.others_factor)
    # Earlier records do not tell.
    for record in records[: len(records) // 2]:
        del record["cases"][0]["iterations"]
    made = frames_of(records[: len(records) // 2])
    assert make_iterations(made.cells, made.samples, PAPERS).empty


def test_a_table_of_algorithms_has_a_row_for_each_where_it_runs_beside_what_was_printed_for_it(
    make_record: MakeRecord,
) -> None:
    cells = [cell for cell in rows_of(frames_of(all_algorithms(make_record)).cells) if cell.case == "3-percent"]
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


def test_over_another_algorithm_of_the_paper_ours_is_taken_apart_on_our_own_row(make_record: MakeRecord) -> None:
    rows = why_of(all_algorithms(make_record))
    assert one(rows, "ours", "3-percent").base.endswith("feature-sign search")
    assert one(rows, "gpu over their gpu", "3-percent").algorithm is None
    for comparison, algorithm in (("cpu over their cpu", 0.4 / 0.1), ("cpu over their gpu", 0.5 / 0.1)):
        row = one(rows, comparison, "3-percent")
        assert row.row.endswith("compiled descent")
        assert (row.algorithm, row.shares) == (pytest.approx(algorithm), None)
        assert prod(factors_of(row)) == pytest.approx(row.speedup)
