"""Speedups taken apart: factors that multiply to them, each over the right peak."""

from math import prod
from typing import Any

import pytest

from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.tables import Factors
from respeed.analysis.why import make_why
from tests.derived import ALL, GPU, GPU_BF16, OPENBLAS, PAPERS, STEPS, Records, case_of, frames_of, seven
from tests.made import make_record


def why_of(records: Records) -> list[Any]:
    made = frames_of(records)
    return list(rows_of(make_frame(make_why(made.cells, made.samples, PAPERS), Factors), Factors))


def one(rows: list[Any], comparison: str, case: str = "576x1024") -> Any:
    place = comparison, case, "paper" if comparison == "theirs" else "box"
    (found,) = (row for row in rows if (row.comparison, row.case, row.machine) == place)
    return found


def factors_of(row: Any) -> list[float]:
    return [factor for factor in (row.peaks, row.algorithm, row.shares, row.rest) if factor is not None]


def sparse(workload: str, seconds: float, peak: float = 3e11, **facts: Any) -> Records:
    case = case_of("sparse-coding", "3-percent", workload)
    return seven(seconds, case=case, peak=peak, flops=None, **facts)


TWO_ALGORITHMS = [*sparse("sparse_descent", 0.1, **OPENBLAS), *sparse("sparse_parallel", 0.01, 6e12, **GPU)]
ALL_ALGORITHMS = [
    *sparse("sparse_feature_sign", 0.8, profile="openblas-1", backend="numpy"),
    *sparse("sparse_feature_sign", 0.4, **OPENBLAS),
    *sparse("sparse_parallel", 0.5, **OPENBLAS),
    *TWO_ALGORITHMS,
]
# A round with its true FLOP of a step.
LARGEST = [make_record([1.0], case="4096x11008", flops=10.0 * 192 * 4096 * 11008)]


@pytest.mark.parametrize(
    ("records", "where", "speedup", "factors"),
    [
        (LARGEST, ("theirs", "4096x11008"), 72.6, (12.3, None, 5.91, None)),
        ([], ("theirs",), 12.9, (12.3, None, 1.05, None)),
        (seven(0.1, ceilings={}), ("cpu over their gpu",), 38.6 / 520.8, (None,) * 4),
        # Of several algorithms theirs is hardware times all else; ours is each side's own, with the algorithm's factor,
        # or over the fastest row, where the device's algorithm ran on no CPU.
        (ALL_ALGORITHMS, ("theirs", "3-percent"), 5.16, (12.3, None, None, 0.420)),
        (ALL_ALGORITHMS, ("ours", "3-percent"), 40.0, (20.0, 0.8, 2.5, None)),
        (TWO_ALGORITHMS, ("ours", "3-percent"), 10.0, (20.0, None, None, 0.5)),
    ],
)  # fmt: skip
def test_a_speedup_has_factors_or_what_is_unknown(
    records: Records, where: tuple[str, ...], speedup: float, factors: tuple[float | None, ...]
) -> None:
    found = one(why_of(records), *where)
    assert found.speedup == pytest.approx(speedup, rel=5e-3)
    for factor, wanted in zip((found.peaks, found.algorithm, found.shares, found.rest), factors, strict=True):
        assert factor == (wanted and pytest.approx(wanted, rel=5e-3))


def test_the_fastest_rows_stand_over_their_base() -> None:
    """The fastest row of each side stands over its base each by the peak of its own profile."""
    records = [
        *seven(0.1, peak=2e11),
        *seven(0.05, peak=3e11, **ALL),
        *seven(0.002, peak=5e13, **GPU),
        *seven(0.0001, peak=9e14, **GPU_BF16),  # low precision explains nothing
    ]
    rows = why_of(records)
    for comparison, row, base, speedup, peaks in (
        ("theirs", "GPU", "Dual-core CPU", 497 / 38.6, 622 / 50.6),
        ("ours", "PyTorch, GPU", "label of torch-all", 25, 5e13 / 3e11),
        ("gpu over their gpu", "PyTorch, GPU", "GPU", 38.6 / (0.002 * STEPS), 5e4 / 622),
    ):
        found = one(rows, comparison)
        assert (found.row, found.base) == (row, base)
        assert (found.speedup, found.peaks) == pytest.approx((speedup, peaks))
        assert found.shares == pytest.approx(found.share / found.base_share)
    cells = frames_of(records).cells
    shares = {cell.profile: cell.peak_share for cell in cells if cell.experiment == "rbm" and cell.seconds}
    ours = one(rows, "ours")
    assert (ours.share, ours.base_share) == pytest.approx((shares["gpu"], shares["torch-all"]))


def test_another_algorithm_is_compared_on_our_row() -> None:
    """Over another algorithm of the paper ours is taken apart on our own row."""
    rows = why_of(ALL_ALGORITHMS)
    assert one(rows, "ours", "3-percent").base.endswith("feature-sign search")
    assert one(rows, "gpu over their gpu", "3-percent").algorithm is None
    on_cpu = why_of([record for record in ALL_ALGORITHMS if record.start.profile.is_cpu])
    row = one(on_cpu, "cpu over their gpu", "3-percent")
    assert row.row.endswith("compiled descent")
    assert (row.algorithm, row.shares) == (pytest.approx(0.5 / 0.1), None)
    assert prod(factors_of(row)) == pytest.approx(row.speedup)


def test_beside_ours_stands_only_what_says_most() -> None:
    """An accelerator over the paper's; a CPU over the paper's CPU only where the paper has no accelerator."""
    both, cpu = ({row.comparison for row in why_of(records)} for records in (ALL_ALGORITHMS, seven(0.1)))
    assert both == {"theirs", "ours", "gpu over their gpu"}
    assert cpu == {"theirs", "cpu over their gpu"}
