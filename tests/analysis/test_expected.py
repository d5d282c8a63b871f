"""What a cell should take by the rates of its row, and which cells are named because they are far from it."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from respeed.analysis.cells import make_cells
from respeed.analysis.expected import TENSOR_CORES, Counts, say_tensor_cores
from respeed.analysis.predicted import BYTES, predict_claims, published_bound, rates_of
from respeed.analysis.rounds import read_rounds
from respeed.inputs.machines import load_datasheets
from respeed.inputs.papers import load_papers
from respeed.model import PRECISIONS, Case
from respeed.records import Record, case_key
from tests.derived import ALL, GPU, NO_GPU, PAPER, PAPERS, PROFILES, STEPS, case_of, cells_of, noisy, one, seven


@pytest.mark.parametrize(
    ("flops", "moved", "step"),
    # At 10,000 GFLOP/s and 10 GB/s.
    [(1e11, 1e7, 0.01), (1e11, None, 0.01), (1e9, 1e9, 0.1), (None, 1e9, None)],
)
def test_a_cells_bound_is_arithmetic_or_bytes(flops: float | None, moved: float | None, step: float | None) -> None:
    """Of products that nobody counts, the bytes alone say nothing."""
    cell = one(cells_of(noisy(0.2, flops=flops, traffic_bytes=moved)), "torch-1")
    assert cell.expected_seconds == (step and pytest.approx(STEPS * step))


def test_an_unmeasured_cell_is_expected_by_its_row() -> None:
    """The row has shown 10 TFLOP/s and 10 GB/s with another case; a row without a record has shown nothing."""
    key = case_key("rbm", case_of("rbm", "1024x4096").parameters)
    asked: list[Case] = []

    def count(cases: Sequence[Case]) -> Counts:
        asked.extend(cases)
        return {key: (3e10, 2e8)}

    rows = make_cells(read_rounds(noisy(0.1), PAPERS), PAPERS, PROFILES, NO_GPU, count=count)
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
        (noisy(0.29, flops=1e12), "torch-1", ""),
        (seven([0.3, 0.5, 0.2, 0.4, 0.3, 0.6, 0.25], flops=1e12), "torch-1", ""),
        (noisy(0.31, flops=1e12, blocks=[{}, {}, {}, {"run_delay_seconds": 9.0}]), "torch-1", "no record tells why"),
        (noisy(0.09, traffic_bytes=1e9), "torch-1", "memory: it reads more than it writes"),
        (noisy(0.009, traffic_bytes=1e8), "torch-1", "caches: a step moves 100 MB"),
        (noisy(0.097, traffic_bytes=1e9), "torch-1", ""),
        (seven([0.06, 0.13, 0.05, 0.12, 0.07, 0.09, 0.08], traffic_bytes=1e9), "torch-1", ""),
        # A dozen calls may take 50 µs, and not a millisecond.
        (noisy(0.0001, flops=1e8, traffic_bytes=1e5), "torch-1", "short steps: the work of one needs 10.0 µs"),
        (noisy(0.001, flops=1e8, traffic_bytes=1e5), "torch-1", "no record tells why"),
        # Two threads of four explain twice the time, and not three times.
        (noisy(0.5, flops=1e12, threads=4, threads_ran=2, **ALL), "torch-all", "threads: 2 of 4 ran"),
        (noisy(0.9, flops=1e12, threads=4, threads_ran=2, **ALL), "torch-all", "no record tells why"),
        (noisy(0.31, flops=1e12, blocks=[{}, {"device": [{}, SLOW_CLOCK]}], **GPU), "gpu",
         "clock: 50% of its highest, power cap"),
        (noisy(0.61, flops=1e12, blocks=[{}, {"device": [{}, SLOW_CLOCK]}], threads_ran=None, **GPU), "gpu",
         "no record tells why"),
    ],
)  # fmt: skip
def test_a_time_off_its_bound_names_a_reason(records: list[Record], profile: str, why: str) -> None:
    """A cell is named below its bound or above three of it with the likeliest reason."""
    found = one(cells_of(records), profile).unexpected
    assert found.startswith(why)
    assert bool(found) == bool(why)


def test_a_convolution_may_do_less_than_is_counted() -> None:
    papers = load_papers(["cnn-benchmarks"])
    fast = noisy(0.05, case=case_of("nets", "vgg-16", paper=papers["cnn-benchmarks"]), traffic_bytes=1e9)
    cells = make_cells(read_rounds(fast, papers), papers, PROFILES, {})
    (cell,) = (cell for cell in cells if cell.seconds)
    assert cell.seconds < cell.expected_seconds / 1.9
    assert cell.unexpected == ""


def test_a_published_numbers_bound_is_worked_by_hand() -> None:
    """Ten products' halves of 4096 by 11008 for a million examples, at the 622 GFLOP/s of a GTX 280."""
    sheet, case = load_datasheets("gpu")["GTX 280"], case_of("rbm", "4096x11008")
    counts = {case_key("rbm", case.parameters): (10 * 192 * 4096 * 11008.0, 1e9)}
    rates = {"gpu": (sheet.gflops, sheet.gbytes)}
    assert published_bound(PAPER, "rbm", "4096x11008", "gpu", rates, counts) == pytest.approx(
        1e7 * 4096 * 11008 / 622e9
    )
    assert math.isnan(published_bound(PAPER, "rbm", "4096x11008", "single-cpu", rates, counts))
    lee, name = load_papers(["lee2010"])["lee2010"], "1048576x1048576"
    counts = {case_key("spmv", case_of("spmv", name, paper=lee).parameters): (1.0, 1e9)}  # at 4 bytes a number
    assert published_bound(lee, "spmv", name, "gpu-fp64", {"gpu": ({"fp64": 1e3}, 100.0)}, counts) == 0.02
    assert {name: 4 if name == "tf32" else int(name[-2:]) // 8 for name in PRECISIONS} == BYTES


def test_claims_are_predicted_for_gpu_over_cpu() -> None:
    """By products alone: 67,000 GFLOP/s over 50.6; by bytes alone, which all cores share, 3,350 GB/s over 10.7."""
    gpu, cpu = (load_datasheets()[name] for name in ("H100 SXM", "Core 2 Duo E8500"))
    assert rates_of(cpu)["single-cpu"][0]["fp32"] == cpu.gflops["fp32"] / 2
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


def test_a_gpu_faster_in_fp64_is_remarked() -> None:
    """A remark says when a GPU is faster in fp64 than in fp32."""
    gpu = one(cells_of(seven(0.1, **GPU)), "gpu")
    for seconds, remark in ((0.5 * gpu.seconds, TENSOR_CORES), (2.0 * gpu.seconds, "")):
        assert say_tensor_cores([gpu, replace(gpu, precision="fp64", seconds=seconds)]) == remark
    assert not say_tensor_cores([replace(gpu, precision="fp64")])
