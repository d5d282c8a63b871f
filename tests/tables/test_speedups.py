"""From cells to speedups over the fastest CPU row."""

from itertools import chain

import pytest

from respeed.analysis.machines import fastest_rows
from respeed.estimators.speedup import confidence_among
from respeed.tables.speedups import published_speedup
from tests.tables.derived import (
    ALL,
    BF16,
    FP64,
    GPU,
    GPU_BF16,
    PAPER,
    MakeRecord,
    derive,
    frames_of,
    one,
    seven,
)


def test_a_row_of_low_precision_has_a_speedup_and_is_never_the_base(make_record: MakeRecord) -> None:
    records = [
        *seven(make_record, [0.1] * 7),
        *seven(make_record, [0.01] * 7, **BF16),
        *seven(make_record, [0.002] * 7, **GPU),
        *seven(make_record, [0.001] * 7, **GPU_BF16),
    ]
    _, ratios = derive(records)
    assert {row.base_profile for row in ratios if row.speedup} == {"torch-1"}
    assert one(ratios, "cpu-bf16").speedup == pytest.approx(10)
    assert (one(ratios, "gpu-bf16").precision, one(ratios, "gpu-bf16").speedup) == ("bf16", pytest.approx(100))
    assert list(fastest_rows(frames_of(records)[0])["profile"]) == ["gpu"]


def test_a_row_of_low_precision_alone_has_no_base(make_record: MakeRecord) -> None:
    _, ratios = derive(seven(make_record, [0.01] * 7, **BF16))
    assert (one(ratios, "cpu-bf16").verdict, one(ratios, "cpu-bf16").base_profile) == ("none", "")


def test_a_row_in_fp64_has_a_speedup_and_is_no_base_however_fast_it_is(make_record: MakeRecord) -> None:
    records = [*seven(make_record, [0.1] * 7), *seven(make_record, [0.05] * 7, **FP64)]
    records += seven(make_record, [0.002] * 7, **GPU)
    _, ratios = derive(records)
    assert {row.base_profile for row in ratios if row.speedup} == {"torch-1"}
    assert (one(ratios, "openblas-1-fp64").precision, one(ratios, "openblas-1-fp64").speedup) == (
        "fp64",
        pytest.approx(2),
    )
    assert one(ratios, "gpu").speedup == pytest.approx(50)
    assert list(fastest_rows(frames_of(records)[0])["profile"]) == ["gpu"]


def test_the_base_is_the_fastest_cpu_row_and_never_the_gpu(make_record: MakeRecord) -> None:
    records = chain(
        seven(make_record, [0.1] * 7), seven(make_record, [0.06] * 7, **ALL), seven(make_record, [0.002] * 7, **GPU)
    )
    _, ratios = derive(records)
    assert {row.base_profile for row in ratios if row.speedup} == {"torch-all"}
    assert one(ratios, "torch-all").verdict == "base"
    assert one(ratios, "gpu").speedup == pytest.approx(30)
    assert one(ratios, "gpu").verdict == "faster"
    assert one(ratios, "gpu").published == pytest.approx(497 / 38.6)
    assert one(ratios, "torch-1").verdict == "slower"


def test_faster_is_not_said_of_an_interval_that_includes_one(make_record: MakeRecord) -> None:
    noisy = [0.06 * factor for factor in (0.97, 1.02, 0.99, 1.04, 1.01, 0.98, 1.03)]
    _, ratios = derive(chain(seven(make_record, [0.06] * 7, **ALL), seven(make_record, noisy)))
    row = one(ratios, "torch-1")
    assert row.speedup_low < 1 < row.speedup_high
    assert row.verdict in {"indistinguishable", "base"}


def test_drift_that_hits_all_profiles_alike_makes_no_speedup(make_record: MakeRecord) -> None:
    drift = [1, 1, 1.02, 1.1, 1.15, 1.08, 1]
    _, ratios = derive(
        chain(seven(make_record, [0.1 * d for d in drift], **ALL), seven(make_record, [0.01 * d for d in drift], **GPU))
    )
    row = one(ratios, "gpu")
    assert row.speedup == pytest.approx(10)
    assert row.speedup_low < 10 < row.speedup_high
    assert row.verdict == "faster"


def test_the_published_speedups_recompute_from_the_published_seconds() -> None:
    printed = {"576x1024": 12.9, "1024x4096": 16.2, "2304x16000": 68.0, "4096x11008": 72.6}
    for case, speedup in printed.items():
        assert published_speedup(PAPER, "rbm", case, "gpu") == pytest.approx(speedup, abs=0.05)


def test_the_more_rivals_the_surer_must_one_be_to_be_called_slower() -> None:
    levels = [confidence_among(rivals) for rivals in (1, 2, 3, 4, 8, 20)]
    assert levels[0] == levels[2] == pytest.approx(0.97, abs=0.001)
    assert levels == sorted(levels)
    # Of 20 rows that are equally fast, each of the other 19 beats one by luck in (1 - level) / 2.
    assert 19 * (1 - levels[-1]) / 2 <= 0.03
