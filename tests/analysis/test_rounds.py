"""From records to rounds: what is judged by what, and what may be put together."""

import itertools
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from respeed.analysis.cells import judge_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import Estimate
from respeed.analysis.rounds import number_sessions, read_rounds
from respeed.model import Case
from respeed.records import in_order
from tests.derived import ALL, GPU, NOISE, PAPER, Records, case_of, frames_of, rounds_of, seven
from tests.made import make_record

NEXT_DAY = "2026-01-02T00:00:00+00:00"


def compare(records: Records) -> tuple[Estimate, bool]:
    """torch-1 over torch-all; the records have one case."""
    made = frames_of(records)
    cells = {cell.profile: cell for cell in rows_of(made.cells[made.cells["rounds"] > 0])}
    return made.samples.ratio(cells["torch-1"], cells["torch-all"])


def test_a_round_and_case_is_a_row_with_its_facts() -> None:
    _, row = rows_of(rounds_of(make_record([0.1]), make_record([0.1, 0.2, 0.3], number=2)))
    assert (row.machine, row.experiment, row.case, row.algorithm) == ("box", "rbm", "576x1024", "rbm")
    assert (row.profile, row.round, row.session, row.library, row.commit) == ("torch-1", 2, 0, "torch 2", "unknown")
    assert (row.step_seconds, row.step_seconds_median) == pytest.approx((0.2, 0.2))
    assert (row.status, row.blocks, row.discarded, row.causes) == ("measured", 1, 0, "")
    assert (row.peak_gflops, row.bandwidth_gbytes) == (1e4, 10)
    assert rounds_of().empty


def test_a_session_ends_where_nothing_is_measured_for_half_an_hour_whatever_the_order_of_the_files() -> None:
    """Each record takes a minute."""
    records = [
        make_record([0.1], number=minute + 1, wall_seconds=59.0, profile=f"at-{minute}") for minute in (83, 51, 20, 0)
    ][::-1]
    shuffled = Random(1).sample(records, len(records))
    assert in_order(shuffled) == records
    assert [session for session, _ in number_sessions(shuffled)] == [0, 0, 0, 1]


def test_a_probe_is_slow_beside_those_of_its_own_profile() -> None:
    """A product takes twice as long on one core: nothing of that row is disturbed."""
    found = rounds_of(*seven(0.1, probe=2.0), *seven(0.05, **ALL))
    assert dict(found.groupby("profile")["step_seconds"].count()) == {"torch-1": 7, "torch-all": 7}


@pytest.mark.parametrize(("row", "clean"), [({}, 0), (GPU, 7)], ids=["cpu", "device"])
def test_what_is_quiet_is_known_from_all_cases_of_a_session_and_on_a_device_from_the_same_case_alone(
    row: dict[str, str], clean: int
) -> None:
    """The first case was disturbed throughout: only beside the others does it show. What a device just did decides its
    clock: there all probes of the case may be slow."""
    found = rounds_of(*seven(0.1, probe=2.0, **row), *seven(0.1, case="1024x4096", **row))
    assert dict(found.groupby("case")["step_seconds"].count()) == {"576x1024": clean, "1024x4096": 7}
    assert set(found["causes"]) == {"", *(["slow reference probe in 1"] * (not clean))}


PROGRAM = Case("program", "program", {"program": {"command": ["true"]}})


@pytest.mark.parametrize(
    ("case", "facts", "counted"),
    [
        ("576x1024", {"threads": 2}, 1), ("576x1024", {"cpus": "socket 1"}, 1), ("576x1024", {"backend": "numpy"}, 1),
        ("576x1024", {"device": "cuda"}, 1), ("576x1024", {"precision": "bf16"}, 1),
        ("576x1024", {"library": "torch 3"}, 1), ("576x1024", {"elementwise": "triton"}, 1),
        ("576x1024", {"elementwise": "torch: no C compiler"}, 8),
        # An edit of a workload's file makes no other program of it, but another build of somebody else's program does.
        ("576x1024", {"source": "new"}, 8), (PROGRAM, {"source": "new"}, 1),
    ],
)  # fmt: skip
def test_of_a_case_that_was_measured_in_two_ways_the_later_counts(
    case: str | Case, facts: dict[str, Any], counted: int
) -> None:
    table = replace(PAPER.experiments["rbm"], cases=(*PAPER.experiments["rbm"].cases, PROGRAM))
    papers = {"raina2009": replace(PAPER, experiments={"rbm": table})}
    records = [make_record(case=case, number=8, **facts), *seven(0.2, case=case)]
    assert len(read_rounds(records, papers)) == counted


def test_the_ceiling_of_a_row_is_its_own_and_what_its_session_reached_in_most_rounds() -> None:
    """1e9 FLOP in 0.1 s: a fifth of the ceiling, whichever round alone saw a higher one, or a lower."""
    for place, odd in itertools.product((0, 3, 5), (1e10, 1e11)):
        slow = []
        for number in range(6):
            product, copy = (odd, 3e10) if number == place else (5e10, 1e10)
            ceilings = {"flops_per_second": product, "bytes_per_second": copy}
            slow.append(make_record([0.1], number=number + 1, ceilings=ceilings))
        found = rounds_of(*slow, *seven(0.01, peak=4e11, **ALL))
        assert set(found["bandwidth_gbytes"]) == {10.0}
        assert dict(judge_cells(found).set_index("profile")["peak_share"]) == pytest.approx(
            {"torch-1": 0.2, "torch-all": 0.25}
        )


def test_the_best_product_of_a_ladder_is_a_ceiling_too_by_all_of_its_steps() -> None:
    """Of each square the median over rounds, and of squares the highest: 20 products of 1 GFLOP in 1 s."""
    times = {"square-512": (2.0, 2.5, 3.0), "square-1024": (1.0, 0.5, 1.5)}
    records = [
        make_record([seconds, 4.0], number=number, case=case_of("matmul", name), peak=1e9, sample_steps=20)
        for name, every in times.items()
        for number, seconds in enumerate(every, start=1)
    ]
    assert set(rounds_of(*records)["peak_gflops"]) == {20.0}


def test_the_clean_blocks_of_a_round_count_by_their_steps_and_the_others_are_counted() -> None:
    """Three steps of 0.1 s and one of 0.2 s: the mean is 0.125 s and the median 0.1 s, whatever block they were in."""
    disturbed = [{"sample_seconds": [0.9], "run_delay_seconds": 0.9}, {"clock_throttles": 3}]
    record = make_record([0.1, 0.1, 0.1], blocks=[{}, *disturbed, {"sample_seconds": [0.2]}])
    (row,) = rows_of(rounds_of(record))
    assert (row.step_seconds, row.step_seconds_median) == (pytest.approx(0.125), pytest.approx(0.1))
    assert (row.blocks, row.discarded) == (4, 2)
    assert row.causes == "waited for a core in 1, clocks throttled in 1"


def test_only_rounds_of_the_same_session_are_compared() -> None:
    """The base was measured on two days, of which the second was 1.2 times as slow, the row on the second alone."""
    base = [*seven([0.1 * one for one in NOISE]), *seven([0.12 * one for one in NOISE], started=NEXT_DAY)]
    ratio, together = compare([*base, *seven([0.06 * one for one in NOISE], started=NEXT_DAY, **ALL)])
    assert together
    assert ratio.value == pytest.approx(2.0, rel=0.01)
    assert ratio.margin < 0.02


def test_one_round_on_another_day_does_not_take_the_interval_away() -> None:
    once = make_record([0.1], started=NEXT_DAY)
    row = seven([0.05 * one for one in NOISE], started=NEXT_DAY, **ALL)
    ratio, together = compare([*seven([0.1 * one for one in NOISE]), once, *row])
    assert (ratio.low is not None, together) == (True, False)
    ratio, together = compare([*seven([0.1] * 2), *seven([0.05] * 2, **ALL)])
    assert (ratio.low, together) == (None, True)
