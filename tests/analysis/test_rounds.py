"""From records to rounds: what is judged by what, and what may be put together."""

import math
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from respeed.analysis.cells import doubt_of, judge_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.neighbours import TOGETHER, UNRELATED, Quiet
from respeed.analysis.rounds import read_rounds, step_times
from respeed.analysis.tables import Round
from respeed.model import Case
from respeed.protocol import Block
from respeed.records import in_order
from respeed.sessions import number_sessions
from tests.derived import ALL, GPU, NOISE, PAPER, PAPERS, case_of, frames_of, rounds_of, seven
from tests.made import make_record

NEXT_DAY = "2026-01-02T00:00:00+00:00"


def test_a_session_ends_after_half_an_idle_hour() -> None:
    """Each record takes a minute."""
    minutes = (83, 51, 20, 0)
    records = [make_record([0.1], number=one + 1, wall_seconds=59.0, profile=f"at-{one}") for one in minutes][::-1]
    shuffled = Random(1).sample(records, len(records))
    assert in_order(shuffled) == records
    assert [session for session, _ in number_sessions(shuffled)] == [0, 0, 0, 1]


def test_probes_are_compared_within_their_profile() -> None:
    """A product takes twice as long on one core: nothing of that row is disturbed."""
    found = rounds_of(*seven(0.1, probe=2.0), *seven(0.05, **ALL))
    assert dict(found.groupby("profile")["step_seconds"].count()) == {"torch-1": 7, "torch-all": 7}


def test_the_quiet_cpu_is_known_from_all_cases() -> None:
    """Neighbours slowed the first case throughout."""
    found = rounds_of(*seven(0.1, probe=2.0), *seven(0.1, case="1024x4096"))
    seconds = {"576x1024": 0.1 / 2**TOGETHER.b, "1024x4096": 0.1}
    assert dict(found.groupby("case")["step_seconds"].mean()) == pytest.approx(seconds)
    assert dict(found.groupby("case")["slowness"].mean()) == pytest.approx({"576x1024": 2.0, "1024x4096": 1.0})


@pytest.mark.parametrize(
    ("facts", "shorter"),
    [
        ({"together": True, "threads": 2}, 2.0**0.75), ({"threads": 2}, 2.0**0.5), ({}, 2.0**0.75),
        ({"threads": 16}, 1.0), ({"backend": "jax"}, 1.0), ({"smoke": True}, 1.0),
    ],
)  # fmt: skip
def test_steps_feel_neighbours_by_their_kind(facts: dict[str, Any], shorter: float) -> None:
    """Beside probes that take twice as long: of products, of items on several threads, of many, and of others."""
    found = rounds_of(*seven(0.1, probe=2.0, **facts), *seven(0.1, case="1024x4096", **facts))
    slow = found[found["case"] == "576x1024"]
    assert list(slow["step_seconds"]) == pytest.approx([0.1 / shorter] * 7)
    assert set(slow["step_seconds_measured"]) == {0.1}


def test_a_round_has_slope_and_quiet_errors() -> None:
    """A process whose probes were slowed throughout shows that the next one may be quieter still."""
    found = rounds_of(*seven(0.1, probe=1.5), *seven(0.1, case="1024x4096"))
    slow = found[found["case"] == "576x1024"]
    assert list(slow["slope_error"]) == pytest.approx([TOGETHER.error * math.log(1.5)] * 7)
    # Two rounds of each case lie in the session's first minute, and tell nothing.
    apart = np.std([math.log(1.5)] * 5 + [0.0] * 5, ddof=1)
    assert list(slow["quiet_error"]) == pytest.approx([TOGETHER.b * apart / math.sqrt(10)] * 7)


def test_quiet_errors_of_sessions_are_independent() -> None:
    """Each session counts by its rounds; what a slope is off is the same in all of them."""
    rounds = rows_of(rounds_of(*seven(0.1)), Round)
    rounds = [replace(row, session=int(row.round > 4), slope_error=0.02) for row in rounds]
    doubt = doubt_of([replace(row, quiet_error=0.07 if row.session else 0.14) for row in rounds])
    assert doubt.slope == pytest.approx(0.02)
    assert doubt.quiet == pytest.approx(math.hypot(0.14 * 4 / 7, 0.07 * 3 / 7))


def test_similar_rows_share_a_quiet_probe() -> None:
    """Rows of one library and as many threads share a quiet probe."""
    two = seven(0.1, profile="two", threads=2, probe=0.7)
    found = rounds_of(*seven(0.1, probe=2.0), *seven(0.1, profile="again"), *two)
    assert dict(found.groupby("profile")["slowness"].mean()) == pytest.approx({"torch-1": 2, "again": 1, "two": 1})


@pytest.mark.parametrize(("fast", "slowness"), [(1, 1.0), (4, 1 / 0.7)])
def test_a_fast_first_minute_is_not_quiet(fast: int, slowness: float) -> None:
    """A laptop's clock falls, and does not come back."""
    found = rounds_of(*(make_record([0.1], number=one, probe=0.7 if one == fast else 1.0) for one in range(1, 8)))
    assert list(found.loc[found["round"] != fast, "slowness"]) == pytest.approx([slowness] * 6)


def test_few_processes_use_the_session_before() -> None:
    """Of a session of one process the probes count, too, however early."""
    before = [make_record([0.1], number=one, probe=0.7 if one == 1 else 1.0) for one in range(1, 7)]
    for probe, slowness in ((1.2, 1.2), (0.9, 1.0)):
        found = rounds_of(*before, make_record([0.1], started=NEXT_DAY, probe=probe))
        assert found.loc[found["session"] == 1, "slowness"].to_list() == pytest.approx([slowness])


def test_device_probes_are_compared_within_a_case() -> None:
    """What a device just did decides its clock: there all probes of a case may be slow."""
    found = rounds_of(*seven(0.1, probe=2.0, **GPU), *seven(0.1, case="1024x4096", **GPU))
    assert set(found["causes"]) == {""}
    assert set(found["step_seconds"]) == {0.1}


PROGRAM = Case("program", "program", {"program": {"command": ["true"]}})


@pytest.mark.parametrize(
    ("case", "facts", "counted"),
    [
        ("576x1024", {"threads": 2}, 1), ("576x1024", {"cpus": "socket 1"}, 1), ("576x1024", {"backend": "numpy"}, 1),
        ("576x1024", {"device": "cuda"}, 1), ("576x1024", {"precision": "bf16"}, 1),
        ("576x1024", {"library": "torch 3"}, 1), ("576x1024", {"elementwise": "triton"}, 1),
        ("576x1024", {"elementwise": "torch: no C compiler"}, 8),
        # Another card, or a slice of a card.
        ("576x1024", {"multiprocessors": 16}, 1),
        # An edit of a workload's file makes no other program of it, but another build of somebody else's program does.
        ("576x1024", {"source": "new"}, 8), (PROGRAM, {"source": "new"}, 1),
    ],
)  # fmt: skip
def test_of_two_ways_the_later_counts(case: str | Case, facts: dict[str, Any], counted: int) -> None:
    """Of a case that was measured in two ways the later counts."""
    table = replace(PAPER.experiments["rbm"], cases=(*PAPER.experiments["rbm"].cases, PROGRAM))
    papers = {"raina2009": replace(PAPER, experiments={"rbm": table})}
    records = [make_record(case=case, number=8, **facts), *seven(0.2, case=case)]
    assert len(read_rounds(records, papers)) == counted


@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_rows_ceiling_is_its_highest_round(place: int) -> None:
    """1e9 FLOP in 0.1 s: a fifth of the ceiling."""
    rates = [(5e10, 3e10) if number == place else (4e10, 1e10) for number in range(6)]
    ceilings = [{"flops_per_second": product, "bytes_per_second": copy} for product, copy in rates]
    slow = [make_record([0.1], number=number, ceilings=one) for number, one in enumerate(ceilings, start=1)]
    found = rounds_of(*slow, *seven(0.01, peak=4e11, threads=2, **ALL))
    assert set(found["bandwidth_gbytes"]) == {10.0, 30.0}
    shares = {key.profile: cell.peak_share for key, cell in judge_cells(found, PAPERS).items() if cell.rounds}
    assert shares == pytest.approx({"torch-1": 0.2, "torch-all": 0.25})


@pytest.mark.parametrize("workload", ["matmul", "repeated_product", "cd1_products"])
def test_every_bare_product_raises_the_ceiling(workload: str) -> None:
    """By all of a sample's steps: 20 of 1 GFLOP in 0.5 s."""
    case = replace(case_of("matmul", "square-512"), workload=workload)
    records = [
        make_record([seconds, 4.0], number=number, case=case, peak=1e9, sample_steps=20)
        for number, seconds in enumerate((2.0, 0.5, 3.0), start=1)
    ]
    papers = {"raina2009": replace(PAPER, experiments={"rbm": replace(PAPER.experiments["rbm"], cases=(case,))})}
    assert set(read_rounds(records, papers)["peak_gflops"]) == {40.0}


def test_a_round_is_its_clean_blocks_median() -> None:
    """Blocks of 0.1, 0.2 and 0.3 s a step, of one or more steps; discarded ones are counted."""
    disturbed = [{"sample_seconds": [0.9], "run_delay_seconds": 0.9}, *[{"throttled_seconds": 0.1}] * 3]
    clean = [{"sample_seconds": [0.1] * 3}, {"sample_steps": 2, "sample_seconds": [0.4] * 4}, {"sample_seconds": [0.3]}]
    record = make_record([0.1] * 3, blocks=[*clean, *disturbed])
    (row,) = rows_of(rounds_of(record), Round)
    assert (row.step_seconds, row.step_seconds_measured) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (row.blocks, row.discarded) == (7, 4)
    assert row.causes == "clocks throttled in 3, waited for a core in 1"


def test_one_round_another_day_keeps_the_interval() -> None:
    """The only session that both have has too few rounds of one of them."""
    once, row = make_record([0.1], started=NEXT_DAY), seven([0.05 * one for one in NOISE], started=NEXT_DAY, **ALL)
    made = frames_of([*seven([0.1 * one for one in NOISE]), once, *row])
    ratio, together = made.samples.ratio(*(cell for cell in made.cells if cell.rounds))
    assert (ratio.low is not None, together) == (True, False)


def test_parts_of_a_step_count_by_weight() -> None:
    """Three samples of two steps: the parts take 1 and 3 tenths of each, and count ten times and once."""
    parts = ((0.05, 0.1, 0.15), (0.15, 0.3, 0.45))
    block = Block(2, (0.2, 0.4, 0.6), (0.004, 0.004), 0.0, 1, 0, 0, 0, part_seconds=parts)
    found = step_times([block], {"code": 10.0, "bases": 1.0}, Quiet(0.004), TOGETHER)
    assert found.step_seconds == found.step_seconds_measured == pytest.approx(10 * 0.3 / 6 + 0.9 / 6)


def test_what_threads_waited_is_taken_out() -> None:
    """A tenth of the block, in all; not where steps are not corrected."""
    block = Block(1, (0.5, 0.5), (0.004, 0.004), 0.1, 2, 0, 0, 0)
    for slope, seconds in ((TOGETHER, 0.45), (UNRELATED, 0.5)):
        found = step_times([block], {}, Quiet(0.004), slope)
        assert (found.step_seconds, found.step_seconds_measured) == pytest.approx((seconds, 0.5))


def test_only_rows_without_correction_discard_short_waits() -> None:
    """Threads wait for three hundredths of their time."""
    for backend, discarded in (("torch", 0), ("jax", 1)):
        found = rounds_of(make_record([0.5, 0.5], run_delay_seconds=0.03, profile=backend, backend=backend))
        assert found["discarded"].to_list() == [discarded]
