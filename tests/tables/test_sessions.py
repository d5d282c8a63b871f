"""Records of several days."""

import pytest

from tests.tables.derived import ALL, LATER, NOISE, MakeRecord, derive, one, seven


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
