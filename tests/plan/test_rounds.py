"""Which rounds, and in which order."""

from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.load.config import load_config
from respeed.load.hardware import load_profiles
from respeed.load.papers import load_papers
from respeed.model.config import Config, Preset
from respeed.model.round import RoundId
from respeed.plan.availability import why_not
from respeed.plan.rounds import group_turns, plan_rounds

PAPERS, PROFILES = load_papers(), load_profiles()


def plan(
    seed: int = 1, rounds: int = 3, profiles: tuple[str, ...] = ("openblas-1", "torch-1"), whole: bool = False
) -> list[RoundId]:
    preset = Preset("test", rounds, "paper", whole)
    config: Config = replace(load_config(), preset=preset, profiles=profiles, seed=seed)
    return plan_rounds(config, PAPERS, PROFILES, "box")


@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_round_one_of_everything_comes_before_round_two_of_anything(seed: int, rounds: int) -> None:
    assert [key for key, _ in groupby(one.index for one in plan(seed, rounds))] == list(range(1, rounds + 1))


@given(st.integers(0, 2**32 - 1))
def test_a_turn_is_one_profiles_round_and_all_of_a_round_have_their_experiments_in_one_order(seed: int) -> None:
    planned = plan(seed)
    turns = group_turns(planned)
    assert [one for turn in turns for one in turn.rounds] == planned
    assert len(set(planned)) == len(planned)
    assert len({turn.name for turn in turns}) == len(turns) == 3 * 2
    for first, second in zip(turns[::2], turns[1::2], strict=True):
        assert [one.experiment for one in first.rounds] == [one.experiment for one in second.rounds]
        assert {turn.rounds[0].profile for turn in (first, second)} == {"openblas-1", "torch-1"}


def test_every_whole_run_is_a_turn_of_its_own() -> None:
    turns = [turn for turn in group_turns(plan(whole=True)) if turn.rounds[0].whole]
    assert all(len(turn.rounds) == 1 for turn in turns)
    assert len({turn.name for turn in turns}) == len(turns) > 1


def test_the_order_is_random_but_the_same_for_the_same_seed() -> None:
    assert plan(1) == plan(1)
    assert len({tuple(plan(seed)) for seed in range(20)}) > 10


def test_more_rounds_leave_the_earlier_ones_as_they_were() -> None:
    assert plan(rounds=7) == plan(rounds=20)[: len(plan(rounds=7))]


def test_a_profile_without_its_device_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "respeed.plan.availability.missing_device", lambda device: None if device == "cpu" else "no CUDA device"
    )
    assert {one.profile for one in plan(profiles=("gpu", "torch-1"))} == {"torch-1"}


def test_all_profiles_are_all_but_the_optional_ones() -> None:
    assert set(load_config().profiles) == {name for name, profile in PROFILES.items() if not profile.optional}
    assert load_config(overrides={"profiles": "cpu-bf16"}).profiles == ("cpu-bf16",)


def test_a_profile_is_measured_only_in_tables_that_run_in_its_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respeed.plan.availability.missing_device", lambda device: None)
    tables = {one.experiment for one in plan(profiles=("gpu-bf16",))}
    assert tables == {one.experiment for one in plan(profiles=("gpu",))} - {"sparse-coding"}


def test_a_low_precision_needs_a_cpu_with_instructions_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respeed.plan.availability.cpu_flags", lambda: ["avx2", "avx512f"])
    assert why_not(PROFILES["cpu-bf16"]) == "the CPU has no instructions for bf16"
    assert why_not(PROFILES["torch-1"]) is None
    monkeypatch.setattr("respeed.plan.availability.cpu_flags", lambda: ["amx_bf16", "avx2"])
    assert why_not(PROFILES["cpu-bf16"]) is None


def test_whole_runs_come_last_and_only_where_something_is_extrapolated() -> None:
    wholes = [one for one in plan(whole=True) if one.whole]
    assert {one.experiment for one in wholes} == {"rbm", "patches", "sparse-coding", "dbn"}
    assert plan(whole=True)[-len(wholes) :] == wholes
