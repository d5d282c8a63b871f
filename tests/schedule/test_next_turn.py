"""What is measured next, asked again after every turn."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.analysis.rounds import CellKey
from respeed.inputs.config import Preset, load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.machine.description import describe_machine
from respeed.schedule.availability import why_not
from respeed.schedule.next_turn import NO_INTERVAL, UNDECIDED, WIDE, Plan, Turn, choose_unsettled
from respeed.schedule.selection import Work, make_work

CONFIG, PAPERS, PROFILES = load_config(), load_papers(["raina2009"]), load_profiles()
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CASE_SECONDS = 1.0
RBM = {"rounds": 6, "most": 12, "experiments": ("rbm",)}
TWO = ("openblas-1", "torch-1")

# Seconds that a cell takes in the round of that number, or None where it is disturbed.
Times = Callable[[CellKey, int], float | None]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def work(
    *, seed: int = 1, rounds: int = 3, most: int = 0, minutes: float = 0, profiles: tuple[str, ...] = TWO,
    experiments: tuple[str, ...] | None = None, whole: bool = False, papers: Any = PAPERS,
) -> Work:  # fmt: skip
    preset = Preset("test", rounds, most or rounds, minutes, "paper", whole)
    config = replace(CONFIG, preset=preset, profiles=profiles, seed=seed, experiments=experiments)
    return make_work(config, papers, PROFILES, "box")


def steady(cell: CellKey, number: int) -> float:
    """Settled after any number of rounds, and each profile's own."""
    return (1.0 + 0.5 * (cell.profile > "p")) * (1 + 0.001 * (number % 3))


def take(turn: Turn, plan: Plan, times: Times, at: datetime) -> None:
    """The records that the turn would write."""
    for round_id, cases in plan.rounds_of(turn).items():
        made = []
        for case in cases:
            cell = CellKey("box", round_id.paper, round_id.experiment, case.name, case.workload, turn.profile)
            seconds = times(cell, turn.number)
            probe = 0.004 if seconds else 0.04
            block = {
                "sample_steps": 1, "sample_seconds": [seconds or 9.0], "probe_seconds": [probe, probe],
                "run_delay_seconds": 0.0, "threads_ran": 1, "minor_faults": 0, "quota_throttles": 0,
                "clock_throttles": None,
            }  # fmt: skip
            made.append({
                "case": case.name, "workload": case.workload, "parameters": dict(case.parameters),
                "flops": 1.0, "traffic_bytes": 1.0,
                "status": "measured", "reason": None, "errors": {}, "warmup": {"settled": True}, "blocks": [block],
                "wall_seconds": CASE_SECONDS,
            })  # fmt: skip
        record = {
            "id": asdict(round_id), "profile": asdict(PROFILES[turn.profile]), "threads": 1, "digest": "",
            "started": at.isoformat(), "wall_seconds": CASE_SECONDS * len(made), "start_seconds": 0.0,
            "ceilings": None, "provenance": {}, "cases": made,
        }  # fmt: skip
        plan.add(record)


def run(asked: Work, times: Times = steady, earlier: Plan | None = None, turns: int = 500) -> tuple[list[Turn], Plan]:
    """What a run measures until nothing is left; `earlier` is what runs before it left."""
    plan, taken = planned(asked, earlier), list[Turn]()
    while len(taken) < turns and (turn := plan.next_turn()):
        take(turn, plan, times, BEGIN + timedelta(minutes=len(plan.records)))
        taken.append(turn)
    return taken, plan


def planned(asked: Work, earlier: Plan | None = None) -> Plan:
    """As a run begins that finds those records."""
    plan = Plan(asked)
    for record in earlier.records.values() if earlier else ():
        plan.add(record)
    return plan


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_round_one_of_everything_comes_before_round_two_of_anything(seed: int, rounds: int) -> None:
    taken, _ = run(work(seed=seed, rounds=rounds))
    assert [key for key, _ in groupby(turn.number for turn in taken)] == list(range(1, rounds + 1))
    for _, turns in groupby(taken, key=lambda turn: turn.number):
        assert sorted(turn.profile for turn in turns) == sorted(TWO)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_all_turns_of_a_round_have_their_experiments_in_one_order(seed: int) -> None:
    taken, _ = run(work(seed=seed))
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


def test_a_case_that_two_tables_show_is_measured_once() -> None:
    measured = Counter((cell.workload, cell.case) for cell in work(profiles=("torch-1",)).cells)
    assert measured["rbm", "4096x11008"] == 1
    asked = work(profiles=("torch-1",), experiments=("dbn",))
    assert {cell.experiment for cell in asked.cells if cell.case == "4096x11008"} == {"rbm"}
    (turn, *_), _ = run(asked)
    (rounds,) = [cases for one, cases in Plan(asked).rounds_of(turn).items() if one.experiment == "rbm"]
    assert [case.name for case in rounds] == ["4096x11008"]


def test_more_rounds_go_on_after_the_earlier_ones() -> None:
    _, plan = run(work(rounds=2))
    before = set(plan.records)
    taken, plan = run(work(rounds=5), earlier=plan)
    assert {turn.number for turn in taken} == {3, 4, 5}
    assert {path.name for path in plan.records.keys() - before} == {f"round-0{n}.json" for n in (3, 4, 5)}


def test_a_run_that_is_stopped_goes_on_as_it_would_have_gone_on() -> None:
    """Also where the time that is left decides what is chosen: 12 turns of four cases take 48 s, and 22 s are left."""

    def noisy(cell: CellKey, number: int) -> float:
        return 1.0 + 0.4 * random.Random(f"{cell.case}/{number}").random()

    asked = work(**RBM, minutes=70 / 60)
    straight, _ = run(asked, noisy)
    assert len(straight) > 12
    for stop in (5, *range(12, len(straight))):
        before, plan = run(asked, noisy, turns=stop)
        after, _ = run(asked, noisy, earlier=plan)
        assert [*before, *after] == straight


def test_a_new_profile_is_measured_alone() -> None:
    _, plan = run(work())
    taken, _ = run(work(profiles=(*TWO, "torch-all")), earlier=plan)
    assert {turn.profile for turn in taken} == {"torch-all"}
    assert [turn.number for turn in taken] == [1, 2, 3]


def test_a_profile_without_its_device_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "respeed.schedule.availability.missing_device", lambda device: None if device == "cpu" else "no CUDA device"
    )
    assert work(profiles=("gpu", "torch-1")).profiles == ["torch-1"]


def test_all_profiles_are_all_but_the_optional_ones() -> None:
    assert set(load_config().profiles) == {name for name, profile in PROFILES.items() if not profile.optional}
    assert load_config(overrides={"profiles": "cpu-bf16"}).profiles == ("cpu-bf16",)


def test_a_profile_is_measured_only_in_tables_that_run_in_its_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respeed.schedule.availability.missing_device", lambda device: None)
    tables = {cell.experiment for cell in work(profiles=("gpu-bf16",)).cells}
    assert tables == {cell.experiment for cell in work(profiles=("gpu",)).cells} - {"sparse-coding"}
    assert tables == {cell.experiment for cell in work(profiles=("torch-1-fp64",)).cells}


def test_an_algorithm_is_measured_on_the_rows_that_run_it() -> None:
    def algorithms(profile: str) -> set[str]:
        return {cell.workload for cell in work(profiles=(profile,), experiments=("sparse-coding",)).cells}

    assert algorithms("openblas-all") - algorithms("openblas-1") == {"sparse_parallel"}


def test_a_low_precision_needs_a_cpu_with_instructions_for_it() -> None:
    facts = describe_machine() | {"cpu_flags": ["avx2", "avx512f"]}
    assert why_not(PROFILES["cpu-bf16"], facts) == "the CPU has no instructions for bf16"
    assert why_not(PROFILES["torch-1"], facts) is None
    assert why_not(PROFILES["cpu-bf16"], facts | {"cpu_flags": ["amx_bf16", "avx2"]}) is None


def test_whole_runs_come_last_each_by_itself_and_only_where_something_is_extrapolated() -> None:
    taken, _ = run(work(whole=True, rounds=1))
    wholes = [turn for turn in taken if turn.whole]
    assert taken[-len(wholes) :] == wholes
    assert {turn.cells[0].experiment for turn in wholes} == {"rbm", "patches", "sparse-coding", "dbn"}
    assert all(len({cell.experiment for cell in turn.cells}) == 1 for turn in wholes)


def test_what_the_first_rounds_settled_is_not_measured_again() -> None:
    taken, _ = run(work(**RBM, minutes=60))
    assert len(taken) == 6 * len(TWO)


def test_a_cell_that_lost_a_round_is_measured_again_until_it_has_an_interval() -> None:
    def disturbed(cell: CellKey, number: int) -> float | None:
        lost = cell.profile == "torch-1" and cell.case == "576x1024" and number in (2, 4, 7)
        return None if lost else steady(cell, number)

    taken, _ = run(work(**RBM, minutes=60), disturbed)
    again = taken[12:]
    assert {(cell.profile, cell.case) for turn in again for cell in turn.cells} == {("torch-1", "576x1024")}
    assert [(turn.number, turn.again) for turn in again] == [(7, NO_INTERVAL), (8, NO_INTERVAL), (9, NO_INTERVAL)]


def test_an_undecided_pair_is_measured_again_both_of_it_and_nothing_else() -> None:
    def close(cell: CellKey, number: int) -> float:
        if cell.case != "1024x4096":
            return steady(cell, number)
        # 3 % apart, and noise that six rounds do not see through.
        return (1.03 if cell.profile == "torch-1" else 1.0) * (1 + 0.03 * ((number * 7) % 5 - 2) / 2)

    taken, _ = run(work(**RBM, minutes=60), close)
    again = taken[12:]
    assert {(cell.profile, cell.case) for turn in again for cell in turn.cells} == {(name, "1024x4096") for name in TWO}
    assert {turn.again for turn in again} == {UNDECIDED}
    assert max(turn.number for turn in again) == 12


def test_of_two_undecided_pairs_the_one_that_needs_fewer_rounds_comes_first() -> None:
    apart = {"576x1024": 1.028, "1024x4096": 1.03}

    def close(cell: CellKey, number: int) -> float:
        if cell.case not in apart:
            return steady(cell, number)
        return (apart[cell.case] if cell.profile == "torch-1" else 1.0) * (1 + 0.03 * ((number * 7) % 5 - 2) / 2)

    _, plan = run(work(**RBM), close)
    plan = planned(work(**RBM, minutes=60), plan)
    assert {cell.case for cell in choose_unsettled(plan, 1e9)} == set(apart)
    assert {cell.case for cell in choose_unsettled(plan, 2 * 2 * CASE_SECONDS)} == {"1024x4096"}


def test_a_wide_interval_is_measured_again() -> None:
    def wide(cell: CellKey, number: int) -> float:
        loose = (cell.profile, cell.case) == ("torch-1", "576x1024")
        return 3.0 * (1 + 0.3 * ((number * 7) % 5)) if loose else steady(cell, number)

    taken, _ = run(work(**RBM, minutes=60), wide)
    assert {turn.again for turn in taken[12:]} == {WIDE}
    assert {cell.case for turn in taken[12:] for cell in turn.cells} == {"576x1024"}


def test_a_cell_is_not_chosen_for_one_more_round_which_would_settle_nothing() -> None:
    def wide(cell: CellKey, number: int) -> float:
        loose = (cell.profile, cell.case) == ("torch-1", "576x1024")
        return 3.0 * (1 + 0.3 * ((number * 7) % 5)) if loose else steady(cell, number)

    _, plan = run(work(**RBM), wide)
    assert choose_unsettled(plan, 1.9 * CASE_SECONDS) == {}
    assert list(choose_unsettled(plan, 2.1 * CASE_SECONDS).values()) == [WIDE]


def test_the_first_rounds_are_measured_however_long_they_take_and_no_more_without_time() -> None:
    def wide(cell: CellKey, number: int) -> float:
        return 1.0 + 0.3 * ((number * 7) % 5)

    taken, _ = run(work(**RBM, minutes=0.1), wide)
    assert len(taken) == 6 * len(TWO)


def test_only_what_has_no_interval_may_take_longer_than_the_preset_says() -> None:
    """12 turns of four cases take 48 s: no time is left, but for the cell that lost a round."""

    def disturbed(cell: CellKey, number: int) -> float | None:
        if (cell.profile, cell.case) == ("torch-1", "576x1024"):
            return None if number == 3 else 1.0
        return 1.0 + 0.3 * ((number * 7) % 5)

    minutes = 48.0 / 60
    taken, plan = run(work(**RBM, minutes=minutes), disturbed)
    assert [(turn.again, len(turn.cells)) for turn in taken[12:]] == [(NO_INTERVAL, 1)]
    assert plan.spent_seconds() <= 1.2 * 60 * minutes


def test_a_cell_that_is_never_clean_does_not_keep_a_run_going() -> None:
    def never(cell: CellKey, number: int) -> float | None:
        return None if (cell.profile, cell.case) == ("torch-1", "576x1024") else steady(cell, number)

    minutes = 48.0 / 60
    taken, plan = run(work(rounds=6, most=99, minutes=minutes, experiments=("rbm",)), never)
    assert len(taken) > 12
    assert 1.1 * 60 * minutes < plan.spent_seconds() <= 1.2 * 60 * minutes


def test_the_look_sees_the_first_rounds_alone() -> None:
    """A second look at later rounds would make a false claim more likely than the two that are paid for."""

    def settles_late(cell: CellKey, number: int) -> float:
        return 1.0 + (0.5 * ((number * 7) % 5) if number <= 6 else 0.0)

    asked = work(**RBM, minutes=60)
    _, plan = run(asked, settles_late, turns=12)
    at_first = choose_unsettled(plan.first_rounds(), 1e9)
    _, plan = run(asked, settles_late)
    assert choose_unsettled(plan.first_rounds(), 1e9) == at_first


def test_a_turn_is_expected_to_take_what_earlier_ones_took() -> None:
    asked = work(rounds=2)
    assert Plan(asked).seconds_left() > 0
    _, plan = run(asked, turns=2)
    assert plan.first_turns_left == 2
    assert plan.seconds_left() == pytest.approx(CASE_SECONDS * len(asked.cells))
    _, plan = run(asked)
    assert plan.seconds_left() == 0


def test_a_table_that_is_added_takes_as_many_turns_as_if_nothing_had_been_measured() -> None:
    _, plan = run(work(experiments=("rbm",)))
    asked = work(experiments=("rbm", "patches"))
    assert planned(asked, plan).first_turns_left == 3 * len(TWO)
    assert len(run(asked, earlier=plan)[0]) == 3 * len(TWO)


def test_a_process_starts_once_however_many_cells_it_measures() -> None:
    asked = work(**RBM)
    _, plan = run(asked)
    for record in list(plan.records.values()):
        plan.add(record | {"start_seconds": 5.0})
    assert plan.seconds_of(asked.cells) == pytest.approx(5.0 * len(TWO) + CASE_SECONDS * len(asked.cells))


def test_a_turn_is_judged_by_the_probes_of_its_own_session_and_profile() -> None:
    """Yesterday the machine may have been faster, and every block of today would seem disturbed."""
    _, plan = run(work(rounds=1, experiments=("rbm",)))
    last = BEGIN + timedelta(minutes=len(plan.records))
    soon, tomorrow = ((last + later).isoformat() for later in (timedelta(minutes=5), timedelta(days=1)))
    assert plan.session_probes("torch-1", soon) == [0.004] * 8  # four cases of one block, a probe at either end
    assert plan.session_probes("torch-all", soon) == []
    assert plan.session_probes("torch-1", tomorrow) == []
