"""From cells to speedups over the fastest CPU row."""

from itertools import chain

import pytest

from respeed.analysis.estimates import TWO_LOOKS, confidence_among
from respeed.analysis.speedups import fastest_rows, published_speedup
from tests.derived import (
    ALL,
    BF16,
    FP64,
    GPU,
    GPU_BF16,
    LATER,
    NOISE,
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


def test_only_rows_that_could_be_the_base_make_its_rivals_need_more_confidence(make_record: MakeRecord) -> None:
    """The luckiest of several is called the fastest; of rows that are never called so, there is no luck."""
    noisy = [0.1 * noise for noise in NOISE]
    others = [*seven(make_record, noisy, **GPU), *seven(make_record, noisy, **FP64)]
    few = [*seven(make_record, noisy), *seven(make_record, noisy[::-1], **ALL)]
    many = [one for name in ("openblas-1", "openblas-all") for one in seven(make_record, noisy, profile=name)]
    alone, among = one(derive([*few, *others])[1], "torch-all"), one(derive([*few, *others, *many])[1], "torch-all")
    assert (alone.confidence, among.confidence) == (TWO_LOOKS, confidence_among(4))
    assert among.speedup_high - among.speedup_low > alone.speedup_high - alone.speedup_low


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


def test_a_day_that_was_slow_for_all_makes_no_speedup(make_record: MakeRecord) -> None:
    """Two days, three rounds of the base on the first and seven on the second, the row the other way round: rounds of
    two days beside one another would say that the row is faster."""
    records = []
    for profile, counts in ((ALL, (4, 7)), ({}, (7, 4))):
        for day, count, slow in ((None, counts[0], 1.0), (LATER, counts[1], 1.2)):
            started = {"started": day} if day else {}
            for number, noise in enumerate(NOISE[:count]):
                index = 1 + number + 10 * bool(day)
                records.append(make_record([0.1 * slow * noise] * 2, index=index, **profile, **started))
    _, ratios = derive(records)
    row = next(row for row in ratios if row.speedup and row.verdict != "base")
    assert row.verdict == "indistinguishable"
    assert row.speedup == pytest.approx(1, abs=0.01)
    assert row.speedup_high - row.speedup_low < 0.05


def test_rows_of_two_sessions_that_share_none_say_so(make_record: MakeRecord) -> None:
    base = seven(make_record, [0.1 * noise for noise in NOISE], **ALL)
    row = seven(make_record, [0.2 * noise for noise in NOISE], started=LATER)
    _, ratios = derive([*base, *row])
    assert one(ratios, "torch-1").reason == "compared with rounds of another session"
    assert one(ratios, "torch-1").verdict == "slower"


def test_a_fast_day_does_not_make_the_rounds_of_a_slow_one_vanish(make_record: MakeRecord) -> None:
    """What is quiet is known within a session alone."""
    slow = seven(make_record, [0.1] * 7, probe=1.3)
    fast = [make_record([0.08] * 2, index=10 + n, started=LATER) for n in range(7)]
    for records in ([*slow, *fast], [*fast, *slow]):
        cell = one(derive(records)[0], "torch-1")
        assert (cell.rounds, cell.discarded, cell.sessions) == (14, 0, 2)


def test_the_share_of_the_peak_is_over_the_peak_of_its_own_session(make_record: MakeRecord) -> None:
    """A day on which the whole machine was half as fast: as near to its peak as the other."""
    fast = seven(make_record, [0.1] * 7, peak=2e10)
    slow = [make_record([0.2] * 2, index=10 + n, started=LATER, peak=1e10) for n in range(7)]
    assert one(derive([*fast, *slow])[0], "torch-1").peak_share == pytest.approx(0.5)
