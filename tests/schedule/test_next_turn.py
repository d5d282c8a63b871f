"""What is measured next, asked again after every turn."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.analysis.cells import judge_cells, make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.estimates import FEWEST_ROUNDS
from respeed.analysis.rounds import CellKey, read_rounds
from respeed.analysis.speedups import Samples, add_totals
from respeed.inputs.config import Preset, load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.measure import session
from respeed.schedule.next_turn import CLAIM_OPEN, NO_INTERVAL, UNDECIDED, WIDE, Plan, Turn, choose_unsettled
from respeed.schedule.selection import Work, make_work

CONFIG, PAPERS, PROFILES = load_config(), load_papers(["raina2009"]), load_profiles()
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CASE_SECONDS = 1.0
# The first rounds are 12 turns of four cases, which take 48 s.
RBM = {"rounds": 6, "most": 12, "experiments": ("rbm",)}
TWO, CORES = ("openblas-1", "torch-1"), ("openblas-1", "openblas-all")

# Seconds that a cell takes in the round of that number, or None where it is disturbed.
Times = Callable[[CellKey, int], float | None]


def work(
    *, seed: int = 1, rounds: int = 3, most: int = 0, minutes: float = 0, profiles: tuple[str, ...] = TWO,
    experiments: tuple[str, ...] | None = None, every: bool = False,
) -> Work:  # fmt: skip
    preset = Preset("test", rounds, most or rounds, minutes, "paper")
    config = replace(CONFIG, preset=preset, profiles=profiles, seed=seed, experiments=experiments, all_profiles=every)
    return make_work(config, PAPERS, PROFILES, "box", lambda profile: None)


def steady(cell: CellKey, number: int) -> float:
    """Settled after any number of rounds, and each profile's own."""
    return (1.0 + 0.5 * (cell.profile > "p")) * (1 + 0.001 * (number % 3))


def loose(cell: CellKey, number: int) -> float:
    """With an interval that is wide after any number of rounds."""
    return 3.0 * (1 + 0.3 * ((number * 7) % 5))


def close(by: float, first: float = 1.0) -> Times:
    """The two profiles so close that six rounds do not tell them apart through the noise."""
    return lambda cell, number: (
        (first + by if cell.profile == "torch-1" else first) * (1 + 0.03 * ((number * 7) % 5 - 2) / 2)
    )


def losing(*lost: int) -> Times:
    """Disturbed in the rounds of these numbers; in all, if there are none."""
    return lambda cell, number: None if number in lost or not lost else steady(cell, number)


def where(case: str, times: Times, others: Times = steady, profiles: tuple[str, ...] = TWO) -> Times:
    """These times for the cells of one case, and steady ones for all others."""
    return lambda cell, number: (times if cell.case == case and cell.profile in profiles else others)(cell, number)


def take(turn: Turn, plan: Plan, times: Times, at: datetime) -> None:
    """The records that the turn would write."""
    for round_id, cases in plan.rounds_of(turn).items():
        made = []
        for case in cases:
            cell = CellKey("box", round_id.paper, round_id.experiment, case.name, case.workload, turn.profile)
            seconds = times(cell, turn.number)
            block = {
                "sample_steps": 1, "sample_seconds": [seconds or 9.0],
                "probe_seconds": [0.004 if seconds else 0.04] * 2,
                "run_delay_seconds": 0.0, "threads_ran": 1, "minor_faults": 0, "quota_throttles": 0,
                "clock_throttles": None,
            }  # fmt: skip
            made.append({
                "case": case.name, "workload": case.workload, "parameters": dict(case.parameters),
                "flops": 1.0, "traffic_bytes": 1.0, "status": "measured", "reason": None, "errors": {},
                "warmup": {"settled": True}, "blocks": [block], "wall_seconds": CASE_SECONDS,
            })  # fmt: skip
        plan.add({
            "id": asdict(round_id), "profile": asdict(PROFILES[turn.profile]), "digest": "",
            "threads": 1 + (turn.profile == CORES[1]),
            "started": at.isoformat(), "wall_seconds": CASE_SECONDS * len(made), "start_seconds": 0.0,
            "ceilings": None, "provenance": {}, "cases": made,
        })  # fmt: skip


def planned(asked: Work, earlier: Plan | None = None) -> Plan:
    """As a run begins that finds those records."""
    plan = Plan(asked)
    for record in earlier.records.values() if earlier else ():
        plan.add(record)
    return plan


def run(asked: Work, times: Times = steady, earlier: Plan | None = None, turns: int = 500) -> tuple[list[Turn], Plan]:
    """What a run measures until nothing is left; `earlier` is what runs before it left."""
    plan, taken = planned(asked, earlier), list[Turn]()
    while len(taken) < turns and (turn := plan.next_turn()):
        take(turn, plan, times, BEGIN + timedelta(minutes=len(plan.records)))
        taken.append(turn)
    return taken, plan


def again(taken: list[Turn]) -> set[tuple[str, str]]:
    """What was measured beyond the first rounds."""
    return {(cell.profile, cell.case) for turn in taken[12:] for cell in turn.cells}


# The first rounds.


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_round_one_of_everything_comes_before_round_two_of_anything(seed: int, rounds: int) -> None:
    taken, _ = run(work(seed=seed, rounds=rounds))
    assert [key for key, _ in groupby(turn.number for turn in taken)] == list(range(1, rounds + 1))
    for _, turns in groupby(taken, key=lambda turn: turn.number):
        assert sorted(turn.profile for turn in turns) == sorted(TWO)
    # All turns of a round have their experiments in one order.
    for first, second in zip(taken[::2], taken[1::2], strict=True):
        orders = [list(dict.fromkeys(cell.experiment for cell in turn.cells)) for turn in (first, second)]
        both = set(orders[0]) & set(orders[1])
        assert [name for name in orders[0] if name in both] == [name for name in orders[1] if name in both]
        assert len(both) > 3


def test_the_order_is_random_but_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> tuple[str, ...]:
        return tuple(turn.profile for turn in run(work(seed=seed))[0])

    assert order(1) == order(1)
    assert len({order(seed) for seed in range(20)}) > 3


def test_with_an_accelerator_a_first_table_comes_before_all_else_on_it_and_on_one_row_of_cpus() -> None:
    asked = work(rounds=2, profiles=("gpu-bf16", "gpu", "openblas-1", "openblas-all", "torch-1", "torch-all"))
    taken, plan = run(asked)
    assert {turn.profile for turn in taken[:2]} == {"gpu", "torch-all"}
    assert {cell.experiment for turn in taken[:2] for cell in turn.cells} == {"rbm"}
    assert {plan.attempts(cell) for cell in asked.cells} == {2}
    assert planned(asked).first_turns_left == len(taken) == 2 * 6 + 2
    # What takes two turns is told to take two starts of a process.
    only = work(rounds=2, profiles=("gpu", "torch-all"), experiments=("rbm",))
    assert len(run(only)[0]) == planned(only).first_turns_left == 4
    beside = work(rounds=2, profiles=("openblas-1", "gpu"))
    assert {cell.profile for cell in beside.first} == {"openblas-1", "gpu"}
    assert {work(profiles=rows).first for rows in (TWO, ("gpu",), ("gpu-bf16", "torch-1"))} == {()}


@pytest.mark.parametrize(
    ("minutes", "spare"),
    [
        (1, set()),
        (3.6, set()),
        (5.7, {("gpu-bf16", "rbm")}),
        (7.2, {("gpu-bf16", "rbm"), ("gpu", "matmul"), ("gpu-bf16", "matmul")}),
        (60, {("gpu-bf16", "rbm"), ("gpu", "matmul"), ("gpu-bf16", "matmul"), ("torch-all", "matmul")}),
    ],
)
def test_with_an_accelerator_other_precisions_and_tables_the_paper_is_silent_about_have_the_time_that_is_left(
    minutes: float, spare: set[tuple[str, str]]
) -> None:
    """Or else ten minutes on a GPU would be gone before what the paper is about has an interval."""
    rows = ("torch-all", "gpu", "gpu-bf16")
    asked = work(rounds=6, minutes=minutes, profiles=rows, every=True)
    taken, plan = run(asked)
    done = {(cell.profile, cell.experiment) for cell in asked.cells if plan.attempts(cell) == 6}
    core = {("gpu", "rbm"), ("torch-all", "rbm"), ("gpu", "patches"), ("gpu", "dbn"), ("gpu", "sparse-coding")}
    assert core <= done
    assert {one for one in done if (one[0] == "gpu-bf16" and one[1] == "rbm") or one[1] == "matmul"} == spare
    assert {plan.attempts(cell) for cell in asked.cells} <= {0, 6}
    assert plan.spent_seconds() <= 60 * max(minutes, 3.6)
    # What is spare comes after all else, row by row, and a run that is stopped in it ends it.
    places = [cell in set(sum(asked.spare, ())) for turn in taken for cell in turn.cells]
    assert places == sorted(places)
    half = run(asked, turns=len(taken) - 3)[1]
    assert planned(asked, half).first_turns_left == 3
    assert {plan.attempts(cell) for cell in run(asked, earlier=half)[1].work.cells} <= {0, 6}
    # Nothing waits where it is named, on machines without one, or where no minutes are set.
    assert work(minutes=1, profiles=rows, experiments=("rbm", "matmul")).spare == ()
    assert work(minutes=1, profiles=TWO, every=True).spare == work(minutes=0, profiles=rows, every=True).spare == ()


def test_a_case_that_two_tables_show_is_measured_once() -> None:
    measured = Counter((cell.workload, cell.case) for cell in work(profiles=("torch-1",)).cells)
    assert measured["rbm", "4096x11008"] == 1
    asked = work(profiles=("torch-1",), experiments=("dbn",))
    assert {cell.experiment for cell in asked.cells if cell.case == "4096x11008"} == {"rbm"}
    (turn, *_), _ = run(asked)
    (rounds,) = [cases for one, cases in Plan(asked).rounds_of(turn).items() if one.experiment == "rbm"]
    assert [case.name for case in rounds] == ["4096x11008"]


def test_what_is_added_is_measured_alone() -> None:
    _, plan = run(work(rounds=2, experiments=("rbm",)))
    before = set(plan.records)
    taken, after = run(work(rounds=5, experiments=("rbm",)), earlier=plan)
    assert {turn.number for turn in taken} == {3, 4, 5}
    assert {path.name for path in after.records.keys() - before} == {f"round-0{n}.json" for n in (3, 4, 5)}
    taken, _ = run(work(rounds=2, experiments=("rbm",), profiles=(*TWO, "torch-all")), earlier=plan)
    assert [(turn.profile, turn.number) for turn in taken] == [("torch-all", 1), ("torch-all", 2)]
    # A table takes as many turns as if nothing had been measured.
    asked = work(rounds=2, experiments=("rbm", "patches"))
    assert planned(asked, plan).first_turns_left == len(run(asked, earlier=plan)[0]) == 2 * len(TWO)


def test_a_profile_is_measured_only_in_tables_and_cases_that_it_runs() -> None:
    def tables(profile: str) -> set[str]:
        return {cell.experiment for cell in work(profiles=(profile,)).cells}

    def algorithms(profile: str) -> set[str]:
        return {cell.workload for cell in work(profiles=(profile,), experiments=("sparse-coding",)).cells}

    assert tables("gpu-bf16") == tables("gpu") - {"sparse-coding"}
    assert tables("torch-1-fp64") == tables("gpu-bf16")
    assert algorithms("torch-all") - algorithms("torch-1") == {"sparse_parallel", "sparse_published"}


def test_what_stands_beside_a_table_is_measured_again_alone_when_it_is_changed() -> None:
    asked = work(rounds=1, experiments=("sparse-coding",), profiles=("torch-all",))
    earlier = run(asked)[1]
    for record in earlier.records.values():
        for case in record["cases"]:
            case["parameters"] = case["parameters"] | {"penalty": 0.5}
    left = {cell for cell in asked.cells if not planned(asked, earlier).attempts(cell)}
    assert {cell.workload for cell in left} == {"sparse_published"}
    assert len(left) == 1


# What is measured again.


@pytest.mark.parametrize(
    ("times", "reason", "cells", "last"),
    [
        (steady, None, set(), 0),
        (where("576x1024", losing(1, 2, 4, 5, 7), profiles=("torch-1",)), NO_INTERVAL, {("torch-1", "576x1024")}, 8),
        (where("1024x4096", close(0.03)), UNDECIDED, {(name, "1024x4096") for name in TWO}, 12),
        (where("1024x4096", close(0.001)), None, set(), 0),  # no number of rounds that it may have would do
        (where("576x1024", loose, profiles=("torch-1",)), WIDE, {("torch-1", "576x1024")}, 12),
    ],
)
def test_what_the_first_rounds_left_unsettled_is_measured_again_until_it_is_and_nothing_else(
    times: Times, reason: str | None, cells: set[tuple[str, str]], last: int
) -> None:
    taken, _ = run(work(**RBM, minutes=60), times)
    assert {turn.again for turn in taken[:12]} == {""}
    assert again(taken) == cells
    assert {turn.again for turn in taken[12:]} == ({reason} if reason else set())
    assert max((turn.number for turn in taken[12:]), default=0) == last


def noisy_cores(cell: CellKey, number: int) -> float:
    """Two cores bring what the paper says of them, and every cell is settled; but each ratio is not, as surely as a
    claim about four of them needs it."""
    printed = PAPERS["raina2009"].speedup("rbm", cell.case, "multi-cpu", ("single-cpu",)) or 1.0
    noise = 0.07 * random.Random(f"{cell.case}/{cell.profile}/{number}").uniform(-1.5, 1.5)
    return 10.0 / (printed if cell.profile == "openblas-all" else 1.0) * (1 + noise)


def test_what_an_open_claim_is_about_is_measured_again_until_the_claim_is_decided() -> None:
    asked = work(**RBM | {"most": 20}, minutes=60, profiles=CORES)
    first, whole = run(asked, noisy_cores, turns=12)[1], run(asked, noisy_cores)
    assert claim_verdicts(first)["second-core"] == "not settled"
    assert {turn.again for turn in whole[0][12:]} == {CLAIM_OPEN}
    assert {cell.case for turn in whole[0][12:] for cell in turn.cells} >= {"576x1024"}
    assert claim_verdicts(whole[1])["second-core"] == "reproduced"


def claim_verdicts(plan: Plan) -> dict[str, str]:
    rounds = read_rounds(plan.records.values())
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, PAPERS, {}, {}, smoke=False), samples, PAPERS, smoke=False)
    claims = make_claims(cells, samples, PAPERS)
    return {row.claim: row.verdict for row in claims[claims["case"] == ""].itertuples()}


def test_a_cell_that_loses_its_interval_after_the_look_is_measured_again() -> None:
    """As where quieter probes, later, show most of its rounds to have been disturbed."""
    asked = work(**RBM, minutes=60)
    _, plan = run(asked)
    assert plan.next_turn() is None
    for record in [one for one in plan.records.values() if one["id"]["profile"] == "torch-1"][: 7 - FEWEST_ROUNDS]:
        record["cases"][0]["blocks"][0]["probe_seconds"] = [0.04, 0.04]
    taken, after = run(asked, earlier=plan)
    assert [(turn.profile, [cell.case for cell in turn.cells], turn.again) for turn in taken] == [
        ("torch-1", [record["cases"][0]["case"]], NO_INTERVAL)
    ]
    assert after.next_turn() is None


def test_a_case_that_failed_in_most_rounds_is_measured_again_in_the_time_that_is_left() -> None:
    """As one that left its process without the device: it has no second attempt in its turn."""
    plan = run(work(**RBM, minutes=60), turns=12)[1]
    for record in [one for one in plan.records.values() if one["id"]["profile"] == "torch-1"][: 7 - FEWEST_ROUNDS]:
        first, *others = record["cases"]
        lost = first | {"status": "failed", "reason": "CUDA error", "warmup": None, "blocks": []}
        plan.add(record | {"cases": [lost, *others]})
    turn = planned(plan.work, plan).next_turn()
    assert turn is not None
    assert (turn.profile, [cell.case for cell in turn.cells]) == (record["id"]["profile"], [first["case"]])
    assert turn.again == NO_INTERVAL


def test_of_two_undecided_pairs_the_one_that_needs_fewer_rounds_comes_first() -> None:
    times = where("576x1024", close(0.028), others=where("1024x4096", close(0.03)))
    plan = planned(work(**RBM, minutes=60), run(work(**RBM), times)[1])
    assert {cell.case for cell in choose_unsettled(plan, 1e9)} == {"576x1024", "1024x4096"}
    assert {cell.case for cell in choose_unsettled(plan, 2 * 2 * CASE_SECONDS)} == {"1024x4096"}


def test_a_cell_is_not_chosen_for_one_more_round_which_would_settle_nothing() -> None:
    _, plan = run(work(**RBM), where("576x1024", loose, profiles=("torch-1",)))
    assert choose_unsettled(plan, 1.9 * CASE_SECONDS) == {}
    assert list(choose_unsettled(plan, 2.1 * CASE_SECONDS).values()) == [WIDE]


@pytest.mark.parametrize(
    ("times", "minutes", "cells", "longest"),
    [
        (loose, 0.1, set(), 48.0),
        (where("576x1024", losing(1, 3, 4, 6), loose, ("torch-1",)), 48 / 60, {("torch-1", "576x1024")}, 1.2 * 48),
        # One that is never clean does not keep a run going.
        (where("576x1024", losing(), profiles=("torch-1",)), 48 / 60, {("torch-1", "576x1024")}, 1.2 * 48),
    ],
)
def test_the_first_rounds_are_measured_however_long_they_take_and_then_only_what_has_no_interval(
    times: Times, minutes: float, cells: set[tuple[str, str]], longest: float
) -> None:
    taken, plan = run(work(**RBM | {"most": 99}, minutes=minutes), times)
    assert again(taken) == cells
    assert 48 <= plan.spent_seconds() <= longest


def test_the_look_sees_the_first_rounds_alone() -> None:
    """A second look at later rounds would make a false claim more likely than the two that are paid for."""
    asked = work(**RBM, minutes=60)
    plans = [run(asked, lambda cell, number: loose(cell, number if number <= 6 else 1), turns=n)[1] for n in (12, 500)]
    assert len(plans[0].records) < len(plans[1].records)
    chosen = [choose_unsettled(plan.first_rounds(), 1e9) for plan in plans]
    assert chosen[0] == chosen[1]


def test_a_run_that_is_stopped_goes_on_as_it_would_have_gone_on() -> None:
    """Also where the time that is left decides what is chosen: 22 s."""

    def noisy(cell: CellKey, number: int) -> float:
        return 1.0 + 0.4 * random.Random(f"{cell.case}/{number}").random()

    asked = work(**RBM, minutes=70 / 60)
    straight, _ = run(asked, noisy)
    assert len(straight) > 12
    for stop in (5, *range(12, len(straight))):
        before, plan = run(asked, noisy, turns=stop)
        after, _ = run(asked, noisy, earlier=plan)
        assert [*before, *after] == straight


# Another day.


def test_another_session_measures_everything_as_often_again_and_a_run_after_it_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = work(**RBM, minutes=60)
    _, first = run(asked)
    monkeypatch.setattr(session, "read_plan", lambda work: planned(work, first))
    for later, rounds in ((timedelta(minutes=20), 6), (timedelta(days=1), 12)):
        now = BEGIN + timedelta(minutes=len(first.records)) + later
        monkeypatch.setattr(session, "utc_now", now.isoformat)
        assert session.with_another_session(asked).preset.rounds == rounds
    again, plan = planned(session.with_another_session(asked), first), list[Turn]()
    while turn := again.next_turn():
        take(turn, again, steady, now + timedelta(minutes=len(plan)))
        plan.append(turn)
    assert sorted(turn.profile for turn in plan) == sorted(6 * TWO)
    assert set(judge_cells(read_rounds(again.records.values()))["sessions"]) == {2}
    assert planned(asked, again).next_turn() is None


# What the records tell besides.


@pytest.mark.parametrize(
    ("times", "turns"),
    [
        (steady, 2), (where("576x1024", losing(1, 3, 4, 6), profiles=("torch-1",)), 12),
        (where("1024x4096", close(0.03)), 12), (loose, 12), (noisy_cores, 12),
    ],
)  # fmt: skip
@pytest.mark.parametrize("minutes", [1.5, 60])
def test_the_time_that_is_left_is_told_within_a_factor_of_one_and_a_half(
    times: Times, turns: int, minutes: float
) -> None:
    profiles = CORES if times is noisy_cores else TWO
    asked = work(**RBM, minutes=minutes, profiles=profiles)
    plan = run(asked, times, turns=turns)[1]
    told, before = plan.seconds_left(), plan.spent_seconds()
    done = run(asked, times, earlier=plan)[1]
    took = done.spent_seconds() - before
    assert took / 1.5 <= told <= 1.5 * took
    assert done.seconds_left() == 0


def test_the_time_that_is_left_has_in_it_what_may_come_after_the_first_rounds_as_far_as_the_minutes_go() -> None:
    short, long = (run(work(**RBM, minutes=minutes), turns=2)[1].seconds_left() for minutes in (0.01, 60))
    assert short < long


def test_a_turn_is_expected_to_take_what_earlier_ones_took_and_a_process_starts_once() -> None:
    asked = work(rounds=2)
    assert Plan(asked).seconds_left() > 0
    _, plan = run(asked, turns=2)
    assert plan.first_turns_left == 2
    assert plan.seconds_left() == pytest.approx(CASE_SECONDS * len(asked.cells))
    for record in list(plan.records.values()):
        plan.add(record | {"start_seconds": 5.0})
    assert plan.seconds_of(asked.cells) == pytest.approx(5.0 * len(TWO) + CASE_SECONDS * len(asked.cells))


def test_a_case_that_was_tried_again_counts_with_all_it_took_as_it_does_to_a_run_that_begins_then() -> None:
    _, plan = run(work(**RBM), turns=1)
    (record,) = plan.records.values()
    plan.add(record | {"cases": [case | {"wall_seconds": 3 * CASE_SECONDS} for case in record["cases"]]})
    mine = [cell for cell in plan.work.cells if plan.attempts(cell)]
    assert plan.seconds_of(mine) == planned(plan.work, plan).seconds_of(mine) == 3 * CASE_SECONDS * len(mine)
    assert {plan.attempts(cell) for cell in mine} == {1}


def test_a_turn_is_judged_by_the_probes_of_its_own_session_and_profile() -> None:
    """Yesterday the machine may have been faster, and every block of today would seem disturbed."""
    _, plan = run(work(rounds=1, experiments=("rbm",)))
    last = BEGIN + timedelta(minutes=len(plan.records))
    soon, tomorrow = ((last + later).isoformat() for later in (timedelta(minutes=5), timedelta(days=1)))
    assert plan.probes("torch-1", soon) == {"": [0.004] * 8}  # four cases of one block, a probe at either end
    assert plan.probes("torch-all", soon) == {}
    assert plan.probes("torch-1", tomorrow) == {}
