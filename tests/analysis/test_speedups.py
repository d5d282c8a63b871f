"""From cells to speedups over the fastest CPU row."""

from typing import Any

import pytest

from respeed.inputs.papers import load_papers
from tests.derived import ALL, BF16, FP64, GPU, GPU_BF16, cells_of, derive, frames_of, noisy, one, seven
from tests.made import LATER, make_record


@pytest.mark.parametrize(
    ("rows", "base", "speedups"),
    [
        # The fastest CPU row in fp32, and never the GPU, nor a row of another precision, however fast that is.
        ([(0.1, {}), (0.06, ALL), (0.002, GPU)], "torch-all", {"torch-1": (0.6, "slower"), "gpu": (30, "faster")}),
        ([(0.1, {}), (0.01, BF16), (0.002, GPU), (0.001, GPU_BF16)], "torch-1",
         {"cpu-bf16": (10, "faster"), "gpu": (50, "faster"), "gpu-bf16": (100, "faster")}),
        ([(0.1, {}), (0.05, FP64), (0.002, GPU)], "torch-1", {"openblas-1-fp64": (2, "faster"), "gpu": (50, "faster")}),
        ([(0.01, BF16)], "", {"cpu-bf16": (None, "none")}),
    ],
)  # fmt: skip
def test_the_base_is_the_fastest_fp32_cpu_row(
    rows: list[Any], base: str, speedups: dict[str, tuple[float, str]]
) -> None:
    records = [record for seconds, facts in rows for record in seven(seconds, **facts)]
    made, ratios = derive(records)
    timed = {row.profile: row for row, cell in zip(ratios, made, strict=True) if cell.seconds}
    assert {row.base_profile for row in timed.values()} == {base}
    for profile, (speedup, verdict) in speedups.items():
        assert (timed[profile].speedup, timed[profile].verdict) == (pytest.approx(speedup), verdict)
    if base:
        assert timed[base].verdict == "base"
    if "gpu" in timed:
        assert timed["gpu"].published == pytest.approx(497 / 38.6)


@pytest.mark.parametrize(
    ("noise", "row", "speedup", "verdict"),
    [
        # Drift that hits all profiles alike makes no speedup, and faster is not said of an interval that includes 1.
        ([1, 1, 1.02, 1.1, 1.15, 1.08, 1], GPU, 10, "faster"),
        ([0.97, 1.02, 0.99, 1.04, 1.01, 0.98, 1.03], FP64, 0.99, "indistinguishable"),
    ],
)
def test_a_verdict_is_of_neighbouring_rounds_interval(
    noise: list[float], row: dict[str, Any], speedup: float, verdict: str
) -> None:
    """A verdict is of the interval of rounds beside one another."""
    base, other = [0.1 * one for one in noise], [0.1 / speedup * one for one in noise]
    found = one(derive([*seven(base), *seven(other, **row)])[1], row["profile"])
    assert (found.speedup, found.verdict) == (pytest.approx(speedup), verdict)
    assert found.speedup_low < speedup < found.speedup_high


def test_quiet_is_per_session_and_peak_per_row() -> None:
    """A fast day does not make the rounds of a slow one vanish."""
    slow = [make_record(number=number, probe=1.3, peak=2e10 if number == 4 else 1.5e10) for number in range(1, 8)]
    cell = one(cells_of([*seven(0.08, started=LATER, peak=1e10), *slow]), "torch-1")
    assert (cell.rounds, cell.sessions) == (14, 2)
    assert cell.peak_gflops == pytest.approx(20)
    assert cell.peak_share == pytest.approx(cell.gflops / cell.peak_gflops)


def test_a_row_is_shown_beside_published_speedups() -> None:
    """Many rows on GPUs were published: 8495 ms over the Titan X's 128.62 ms is not the fastest of them."""
    papers = load_papers(["cnn-benchmarks"])
    records = noisy(0.1, case=papers["cnn-benchmarks"].experiments["nets"].case("vgg-16"), **GPU)
    (row,) = [row for row in frames_of(records, papers).speedups if (row.case, row.profile) == ("vgg-16", "gpu")]
    assert row.published == pytest.approx(8495.48 / 128.14)
