"""From records to rounds: what is judged by what, and what may be put together."""

import itertools
from typing import Any

import numpy as np
import pytest

from respeed.analysis.cells import judge_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import Estimate
from respeed.analysis.rounds import first_rounds, read_rounds
from tests.derived import ALL, NOISE, MakeRecord, frames_of

DAYS = ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00")


def compare(records: list[dict[str, Any]]) -> tuple[Estimate, bool]:
    """torch-1 over torch-all; the records have one case."""
    made = frames_of(records)
    cells = {cell.profile: cell for cell in rows_of(made.cells[made.cells["rounds"] > 0])}
    return made.samples.ratio(cells["torch-1"], cells["torch-all"])


def rounds(make_record: MakeRecord, times: list[float], **facts: Any) -> list[dict[str, Any]]:
    first = facts.pop("first", 1)
    return [make_record([time, time], index=index, **facts) for index, time in enumerate(times, start=first)]


def test_a_round_and_case_is_a_row_with_its_facts(make_record: MakeRecord) -> None:
    (row,) = read_rounds([make_record([0.1, 0.2, 0.3], index=3)]).itertuples()
    assert (row.machine, row.experiment, row.case, row.algorithm) == ("box", "rbm", "576x1024", "rbm")
    assert (row.profile, row.round, row.session, row.library, row.commit) == ("torch-1", 3, 0, "torch 2", "unknown")
    assert (row.step_seconds, row.step_seconds_median) == pytest.approx((0.2, 0.2))
    assert (row.status, row.blocks, row.discarded, row.causes) == ("measured", 1, 0, "")
    assert (row.peak_gflops, row.bandwidth_gbytes) == (1e4, 10)
    assert read_rounds([]).empty


def test_a_probe_is_slow_beside_those_of_its_own_profile(make_record: MakeRecord) -> None:
    """A product takes twice as long on one core: nothing of that row is disturbed."""
    found = read_rounds([*rounds(make_record, [0.1] * 6, probe=2.0), *rounds(make_record, [0.05] * 6, **ALL)])
    assert dict(found.groupby("profile")["step_seconds"].count()) == {"torch-1": 6, "torch-all": 6}


def test_what_is_quiet_is_known_from_all_cases_of_a_session(make_record: MakeRecord) -> None:
    """The first case was disturbed throughout: only beside the others does it show."""
    records = rounds(make_record, [0.1] * 6)
    for record in records:
        slow, quiet = record["cases"][0], make_record([0.1], case="1024x4096")["cases"][0]
        slow["blocks"][0]["probe_seconds"] = [0.008, 0.008]
        record["cases"] = [slow, quiet]
    found = read_rounds(records)
    assert dict(found.groupby("case")["step_seconds"].count()) == {"576x1024": 0, "1024x4096": 6}
    assert set(found["causes"]) == {"slow reference probe in 1", ""}


def test_the_ceiling_of_a_row_is_its_own_and_what_its_session_reached_in_most_rounds(make_record: MakeRecord) -> None:
    """1e9 FLOP in 0.1 s: a fifth of the ceiling, whichever round alone saw a higher one, or a lower."""
    for place, odd in itertools.product((0, 3, 5), (1e10, 1e11)):
        peaks = [5e10] * 6
        peaks[place] = odd
        slow = [make_record([0.1] * 2, index=n, peak=peak) for n, peak in enumerate(peaks, start=1)]
        for number, record in enumerate(slow):
            record["ceilings"]["bytes_per_second"] = 3e10 if number == place else 1e10
        fast = rounds(make_record, [0.01] * 6, peak=4e11, **ALL)
        found = read_rounds([*slow, *fast])
        assert set(found["bandwidth_gbytes"]) == {10.0}
        assert dict(judge_cells(found).set_index("profile")["peak_share"]) == pytest.approx(
            {"torch-1": 0.2, "torch-all": 0.25}
        )


def test_the_share_of_the_peak_does_not_change_with_the_number_of_rounds(make_record: MakeRecord) -> None:
    """Products and steps of the same noise: the highest of so many products would rise with them."""
    noise = np.exp(np.random.default_rng(1).normal(0, 0.05, (2, 2000)))

    def mean_share(number: int) -> float:
        parts = [noise[:, start : start + number].T for start in range(0, 800, number)]
        sessions = [[make_record([0.1 * a] * 2, index=n, peak=2e10 / b) for n, (a, b) in enumerate(part, start=1)]
                    for part in parts]  # fmt: skip
        return float(np.mean([judge_cells(read_rounds(one))["peak_share"].item() for one in sessions]))

    assert mean_share(40) == pytest.approx(mean_share(8), rel=0.01) == pytest.approx(0.5, rel=0.01)


def test_the_best_product_of_a_ladder_is_a_ceiling_too(make_record: MakeRecord) -> None:
    """Of each square the median over rounds, and of squares the highest."""
    records = [make_record([seconds] * 2, index=n, case=case, peak=1e9)
               for case, seconds in (("512", 0.1), ("1024", 0.05)) for n in (1, 2, 3)]  # fmt: skip
    for record in records:
        record["cases"][0]["workload"] = "matmul"
    assert set(read_rounds(records)["peak_gflops"]) == {20.0}


def test_the_clean_blocks_of_a_round_count_by_their_steps(make_record: MakeRecord) -> None:
    """Three steps of 0.1 s and one of 0.2 s: the mean is 0.125 s and the median 0.1 s, whatever block they were in."""
    record = make_record([0.1, 0.1, 0.1])
    first = record["cases"][0]["blocks"][0]
    disturbed = first | {"sample_seconds": [0.9], "run_delay_seconds": 0.9}
    record["cases"][0]["blocks"] = [first, disturbed, first | {"sample_seconds": [0.2]}]
    (row,) = read_rounds([record]).itertuples()
    assert (row.step_seconds, row.step_seconds_median) == (pytest.approx(0.125), pytest.approx(0.1))
    assert (row.blocks, row.discarded, row.causes) == (3, 1, "waited for a core in 1")


def test_only_rounds_of_the_same_session_are_compared(make_record: MakeRecord) -> None:
    """The base was measured on two days, of which the second was 1.2 times as slow, the row on the second alone."""
    base = [
        *rounds(make_record, [0.1 * one for one in NOISE], started=DAYS[0]),
        *rounds(make_record, [0.12 * one for one in NOISE], started=DAYS[1], first=11),
    ]
    row = rounds(make_record, [0.06 * one for one in NOISE], started=DAYS[1], **ALL)
    ratio, together = compare([*base, *row])
    assert together
    assert ratio.value == pytest.approx(2.0, rel=0.01)
    assert ratio.margin < 0.02


def test_one_round_on_another_day_does_not_take_the_interval_away(make_record: MakeRecord) -> None:
    base = rounds(make_record, [0.1 * one for one in NOISE], started=DAYS[0])
    once = rounds(make_record, [0.1], started=DAYS[1], first=11)
    row = rounds(make_record, [0.05 * one for one in NOISE], started=DAYS[1], **ALL)
    ratio, together = compare([*base, *once, *row])
    assert (ratio.low is not None, together) == (True, False)
    ratio, together = compare([*rounds(make_record, [0.1] * 2), *rounds(make_record, [0.05] * 2, **ALL)])
    assert (ratio.low, together) == (None, True)


def test_the_first_rounds_of_a_cell_are_those_that_a_look_saw(make_record: MakeRecord) -> None:
    records = [make_record([0.1 * n], index=n, started=f"2026-01-01T00:{n:02}:00+00:00") for n in range(1, 10)]
    assert list(first_rounds(read_rounds(reversed(records)), 6)["round"]) == [1, 2, 3, 4, 5, 6]
