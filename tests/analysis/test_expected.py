"""What a cell should take by the rates of its row, and which cells are named because they are far from it."""

import pytest

from respeed.analysis.cells import make_cells
from respeed.analysis.rounds import read_rounds
from respeed.inputs.papers import load_papers
from respeed.records import Record
from tests.derived import ALL, GPU, PROFILES, STEPS, case_of, cells_of, noisy, one, seven


@pytest.mark.parametrize(
    ("flops", "moved", "step"),
    # At 10,000 GFLOP/s and 10 GB/s.
    [(1e11, 1e7, 0.01), (1e11, None, 0.01), (1e9, 1e9, 0.1), (None, 1e9, None)],
)
def test_a_cells_bound_is_arithmetic_or_bytes(flops: float | None, moved: float | None, step: float | None) -> None:
    """Of products that nobody counts, the bytes alone say nothing."""
    cell = one(cells_of(noisy(0.2, flops=flops, traffic_bytes=moved)), "torch-1")
    assert cell.expected_seconds == (step and pytest.approx(STEPS * step))


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
