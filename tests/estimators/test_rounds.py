"""From records to rounds: what is judged by what, and what may be put together."""

from collections.abc import Callable
from typing import Any

import pytest

from respeed.estimators.cell import judge_cell
from respeed.estimators.rounds import CellRounds, collect_rounds
from respeed.estimators.sessions import number_sessions
from respeed.estimators.speedup import compare_rounds

MakeRecord = Callable[..., dict[str, Any]]
ALL = {"profile": "torch-all", "architecture": "multi-cpu"}
DAYS = ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00")


def cells(records: list[dict[str, Any]]) -> dict[str, CellRounds]:
    """By profile: the records have one case."""
    return {key.profile: cell for key, cell in collect_rounds(records).items()}


def rounds(make_record: MakeRecord, times: list[float], **facts: Any) -> list[dict[str, Any]]:
    first = facts.pop("first", 1)
    return [make_record([time, time], index=index, **facts) for index, time in enumerate(times, start=first)]


def test_a_probe_is_slow_beside_those_of_its_own_profile(make_record: MakeRecord) -> None:
    """A product takes twice as long on one core: nothing of that row is disturbed."""
    found = cells([*rounds(make_record, [0.1] * 6, probe=2.0), *rounds(make_record, [0.05] * 6, **ALL)])
    assert {name: len(cell.times) for name, cell in found.items()} == {"torch-1": 6, "torch-all": 6}


def test_what_is_quiet_is_known_from_all_cases_of_a_session(make_record: MakeRecord) -> None:
    """The first case was disturbed throughout: only beside the others does it show."""
    records = rounds(make_record, [0.1] * 6)
    for record in records:
        slow, quiet = record["cases"][0], make_record([0.1], case="1024x4096")["cases"][0]
        slow["blocks"][0]["probe_seconds"] = [0.008, 0.008]
        record["cases"] = [slow, quiet]
    found = {key.case: cell for key, cell in collect_rounds(records).items()}
    assert not found["576x1024"].times
    assert found["576x1024"].causes["slow reference probe"] == 6
    assert len(found["1024x4096"].times) == 6


def test_the_ceiling_of_a_row_is_its_own_and_the_highest_of_its_session(make_record: MakeRecord) -> None:
    """1e9 FLOP in 0.1 s: a tenth of a ceiling that one round alone saw, the first, the last or another."""
    for place in (0, 3, 5):
        peaks = [5e10] * 6
        peaks[place] = 1e11
        slow = [make_record([0.1] * 2, index=n, peak=peak) for n, peak in enumerate(peaks, start=1)]
        fast = rounds(make_record, [0.01] * 6, peak=4e11, **ALL)
        found = cells([*slow, *fast])
        assert judge_cell(found["torch-1"]).peak_share == pytest.approx(0.1)
        assert judge_cell(found["torch-all"]).peak_share == pytest.approx(0.25)


def test_the_clean_blocks_of_a_round_count_by_their_steps(make_record: MakeRecord) -> None:
    """Three steps of 0.1 s and one of 0.2 s: the mean is 0.125 s and the median 0.1 s, whatever block they were in."""
    record = make_record([0.1, 0.1, 0.1])
    first = record["cases"][0]["blocks"][0]
    disturbed = first | {"sample_seconds": [0.9], "run_delay_seconds": 0.9}
    record["cases"][0]["blocks"] = [first, disturbed, first | {"sample_seconds": [0.2]}]
    (time,) = cells([record])["torch-1"].times.values()
    assert (time.mean, time.median) == (pytest.approx(0.125), pytest.approx(0.1))


def test_a_pause_ends_a_session_and_a_restart_does_not(make_record: MakeRecord) -> None:
    starts = ("00:00:00", "00:01:00", "00:25:00", "01:10:00")
    records = [make_record([0.1], index=n, started=f"2026-01-01T{at}+00:00") for n, at in enumerate(starts, start=1)]
    assert [session for session, _ in number_sessions(reversed(records))] == [0, 0, 0, 1]
    # What a record began is over when it ended: a whole run of two hours is no pause.
    records[2]["wall_seconds"] = 2400.0
    assert {session for session, _ in number_sessions(records)} == {0}


def test_only_rounds_of_the_same_session_are_compared(make_record: MakeRecord) -> None:
    """The base was measured on two days, of which the second was 1.2 times as slow, the row on the second alone."""
    noise = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998]
    base = [
        *rounds(make_record, [0.1 * one for one in noise], started=DAYS[0]),
        *rounds(make_record, [0.12 * one for one in noise], started=DAYS[1], first=11),
    ]
    row = rounds(make_record, [0.06 * one for one in noise], started=DAYS[1], **ALL)
    found = cells([*base, *row])
    ratio = compare_rounds(found["torch-1"], found["torch-all"])
    assert ratio.value == pytest.approx(2.0, rel=0.01)
    assert ratio.margin is not None
    assert ratio.margin < 0.02


def test_one_round_on_another_day_does_not_take_the_interval_away(make_record: MakeRecord) -> None:
    noise = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998]
    base = rounds(make_record, [0.1 * one for one in noise], started=DAYS[0])
    once = rounds(make_record, [0.1], started=DAYS[1], first=11)
    row = rounds(make_record, [0.05 * one for one in noise], started=DAYS[1], **ALL)
    found = cells([*base, *once, *row])
    assert compare_rounds(found["torch-1"], found["torch-all"]).has_interval
    few = cells([*rounds(make_record, [0.1] * 2), *rounds(make_record, [0.05] * 2, **ALL)])
    assert not compare_rounds(few["torch-1"], few["torch-all"]).has_interval


def test_the_first_rounds_of_a_cell_are_those_that_a_look_saw(make_record: MakeRecord) -> None:
    records = [make_record([0.1 * n], index=n, started=f"2026-01-01T00:{n:02}:00+00:00") for n in range(1, 10)]
    (cell,) = collect_rounds(reversed(records), first=6).values()
    assert sorted(cell.times) == [1, 2, 3, 4, 5, 6]
    assert cell.attempts == 6
