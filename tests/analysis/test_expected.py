"""What a cell should take by the rates of its row, and which cells are named because they are far from it."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.cells import make_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.expected import Counts, bound_seconds
from respeed.analysis.predicted import predict_claims, published_bound, rates_of
from respeed.analysis.rounds import read_rounds
from respeed.inputs.machines import load_datasheets
from respeed.inputs.papers import load_papers
from respeed.model import Case
from respeed.output.layout import lay_out_published
from respeed.output.table import to_html
from respeed.records import Record, case_key
from tests.derived import ALL, GPU, NO_GPU, PAPER, PAPERS, PROFILES, STEPS, case_of, derive, noisy, one, seven, shown_of

WORK = st.floats(0, 1e18)
RATE = st.floats(1e-3, 1e9)


@given(WORK, WORK, RATE, RATE, st.floats(1.0, 1e6))
def test_a_bound_is_never_negative_grows_with_the_work_and_shrinks_with_the_rates(
    flops: float, moved: float, gflops: float, gbytes: float, times: float
) -> None:
    bound = bound_seconds(flops, moved, gflops, gbytes)
    assert bound >= max(flops / gflops, moved / gbytes) / 1.001e9
    assert bound_seconds(times * flops, times * moved, gflops, gbytes) == pytest.approx(times * bound)
    assert bound_seconds(flops, moved, times * gflops, times * gbytes) == pytest.approx(bound / times)
    for more in (
        bound_seconds(times * flops, moved, gflops, gbytes),
        bound_seconds(flops, times * moved, gflops, gbytes),
    ):
        assert more >= bound
    # Work that nobody knows counts as none; a rate that nobody knows leaves no bound.
    assert bound_seconds(math.nan, moved, gflops, gbytes) == bound_seconds(0.0, moved, gflops, gbytes)
    assert math.isnan(bound_seconds(flops, moved, math.nan, gbytes))


def only(records: Sequence[Record], profile: str = "torch-1") -> Any:
    return one(derive(records)[0], profile)


@pytest.mark.parametrize(
    ("flops", "moved", "step"),
    # At 10,000 GFLOP/s and 10 GB/s.
    [(1e11, 1e7, 0.01), (1e9, 1e9, 0.1), (0.0, 1e9, None)],
)
def test_a_cell_is_expected_to_take_the_longer_of_its_arithmetic_and_its_bytes(
    flops: float, moved: float, step: float | None
) -> None:
    """Of products that nobody counts, the bytes alone say nothing."""
    cell = only(noisy(0.2, flops=flops or None, traffic_bytes=moved))
    assert cell.expected_seconds == (step and pytest.approx(STEPS * step))


def test_a_cell_that_is_not_measured_yet_is_expected_by_its_own_counts_and_its_rows_rates() -> None:
    """The row has shown 10 TFLOP/s and 10 GB/s with another case; a row without a record has shown nothing."""
    key = case_key("rbm", case_of("rbm", "1024x4096").parameters)
    asked: list[Case] = []

    def count(cases: Sequence[Case]) -> Counts:
        asked.extend(cases)
        return {key: (3e10, 2e8)}

    cells = make_cells(read_rounds(noisy(0.1), PAPERS), PAPERS, PROFILES, NO_GPU, count=count)
    rows = list(rows_of(cells))
    due = one(rows, "torch-1", "1024x4096")
    assert (due.seconds, due.expected_seconds) == (None, pytest.approx(STEPS * 0.02))
    assert one(rows, "torch-all", "1024x4096").expected_seconds is None
    assert {cell.expected_seconds for cell in rows if cell.profile == "torch-1" and cell.case == "2304x16000"} == {None}
    assert case_of("rbm", "576x1024") not in asked


SLOW_CLOCK = {"sm_mhz": 900.0, "highest_sm_mhz": 1800.0, "reasons": 0x04}


@pytest.mark.parametrize(
    ("records", "profile", "why"),
    [
        # The bound is 0.1 s, of 1 GB at 10 GB/s, or of 1 TFLOP at 10 TFLOP/s.
        (noisy(0.102, flops=1e12), "torch-1", ""),
        (noisy(0.29, flops=1e12), "torch-1", ""),
        (seven([0.3, 0.5, 0.2, 0.4, 0.3, 0.6, 0.25], flops=1e12), "torch-1", ""),
        (noisy(0.31, flops=1e12), "torch-1", "no record tells why"),
        (noisy(0.31, traffic_bytes=1e9), "torch-1", "memory: it moves its bytes at 32 % of a copy's rate"),
        (noisy(0.09, traffic_bytes=1e9), "torch-1", "memory: it reads more than it writes"),
        (noisy(0.009, traffic_bytes=1e8), "torch-1", "caches: a step moves 100 MB"),
        (noisy(0.097, traffic_bytes=1e9), "torch-1", ""),
        (noisy(0.001, flops=1e8, traffic_bytes=1e5), "torch-1", "short steps: the work of one needs 10.0 µs"),
        ([*noisy(0.31, flops=1e12, package="PyTorch", **ALL), *noisy(0.3, flops=1e12)], "torch-all",
         "threads: one core takes no longer"),
        (noisy(0.31, flops=1e12, blocks=[{}, {"device": [{}, SLOW_CLOCK]}], **GPU), "gpu",
         "clock: 50% of its highest, power cap"),
        (noisy(0.31, flops=1e12, blocks=[{}, {"run_delay_seconds": 9.0}]), "torch-1",
         "disturbance: 7 of 14 blocks were discarded (waited for a core in 7)"),
    ],
)  # fmt: skip
def test_a_cell_is_named_below_its_bound_or_above_three_of_it_with_the_likeliest_reason(
    records: list[Record], profile: str, why: str
) -> None:
    found = only(records, profile).unexpected
    assert found.startswith(why)
    assert bool(found) == bool(why)


def test_a_convolution_may_do_less_than_is_counted() -> None:
    papers = load_papers(["cnn-benchmarks"])
    fast = noisy(0.05, case=case_of("nets", "vgg-16", paper=papers["cnn-benchmarks"]), traffic_bytes=1e9)
    cells = rows_of(make_cells(read_rounds(fast, papers), papers, PROFILES, {}))
    (cell,) = (cell for cell in cells if cell.seconds)
    assert cell.seconds < cell.expected_seconds / 1.9
    assert cell.unexpected == ""


def test_the_report_says_what_a_number_should_be_beside_it_and_names_a_cell_below_its_bound() -> None:
    planted = [*noisy(0.09, traffic_bytes=1e9), *noisy(0.35, flops=1e12, **ALL)]
    table = lay_out_published(shown_of(planted), PAPER, PAPER.experiments["rbm"])
    notes = " ".join(note.text for note in table.notes)
    assert "Less than the least that FLOP and bytes need: PyTorch, one core at 576x1024 (0.90x); memory: it" in notes
    assert "More than 3 times the least that FLOP and bytes need: label of torch-all at 576x1024 (3.5x); no" in notes
    assert "<pre>0.90 times the 521 s that FLOP and bytes need here\n./run respeed trace" in to_html(table)


# Elsewhere


def test_the_bound_of_a_published_number_is_what_a_person_works_out() -> None:
    """Ten products' halves of 4096 by 11008 for a million examples, at the 622 GFLOP/s of a GTX 280."""
    sheet, case = load_datasheets("gpu")["GTX 280"], case_of("rbm", "4096x11008")
    counts = {case_key("rbm", case.parameters): (10 * 192 * 4096 * 11008.0, 1e9)}
    rates = {"gpu": (sheet.gflops, sheet.gbytes)}
    assert published_bound(PAPER, "rbm", "4096x11008", "gpu", rates, counts) == pytest.approx(
        1e7 * 4096 * 11008 / 622e9
    )
    assert math.isnan(published_bound(PAPER, "rbm", "4096x11008", "single-cpu", rates, counts))


def test_claims_are_predicted_for_a_gpu_over_a_cpu() -> None:
    """By products alone: 67,000 GFLOP/s over 50.6; by bytes alone, which all cores share, 3,350 GB/s over 10.7."""
    gpu, cpu = (load_datasheets()[name] for name in ("H100 SXM", "Core 2 Duo E8500"))
    rates = {**rates_of(cpu), "gpu": (gpu.gflops, gpu.gbytes)}
    for counts, speedup in (((1e12, 1.0), 1324), ((1.0, 1e12), 313)):
        found = {one["says"]: one for one in predict_claims(PAPER, rates, lambda cases, one=counts: dict.fromkeys(
            (case_key(case.workload, case.parameters) for case in cases if case.workload == "rbm"), one))}  # fmt: skip
        assert len(found) == len(PAPER.claims)
        growth = found["The larger the RBM, the larger the speedup."]
        assert growth["lowest"] == growth["highest"] == pytest.approx(speedup, rel=1e-3)
        assert (growth["cases"], growth["all_cases"], growth["published"]) == (4, 4, "12.9x to 72.6x")
        assert found[PAPER.claims["second-core"].says]["lowest"] is None
        assert found[PAPER.claims["sparse-coding-speedup"].says]["cases"] == 0


def test_every_data_sheet_has_a_source_and_rates_that_grow_as_precision_falls() -> None:
    for name, sheet in load_datasheets().items():
        assert sheet.source
        rates = [sheet.gflops[one] for one in ("fp64", "fp32", "tf32", "bf16") if one in sheet.gflops]
        assert rates == sorted(rates), name
        assert 1 <= max(rates) / sheet.gbytes < 1000, name
