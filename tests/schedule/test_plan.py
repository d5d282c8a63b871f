"""What is measured next: laws of the list, what counts of the records, and what is measured again."""

import math
import random
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, add_totals
from respeed.machine.process import CHOOSING, telling_environment
from respeed.measure import session
from respeed.protocol import SMOKE
from respeed.records import Record
from respeed.schedule import plan as planning
from respeed.schedule.plan import CLAIM_OPEN, WIDE, Plan, Turn
from respeed.schedule.work import USUAL, Wanted, Work
from tests.known import assert_known
from tests.schedule import measured
from tests.schedule.measured import (
    CORES,
    HARDWARE,
    PAPERS,
    TWO,
    VERSIONS,
    Outcome,
    Outcomes,
    again_of,
    record_of_turn,
    run,
    said_of,
    steady,
    work,
    write,
)  # fmt: skip

# The first rounds are 12 turns of four cases, which take 48 s.
RBM: dict[str, Any] = {"rounds": 6, "most": 8, "experiments": ("rbm",)}
WITH_GPU = ("gpu", "gpu-bf16", "openblas-1", "torch-all")


@pytest.fixture(autouse=True)
def _the_same_software(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look for it takes longer than all else."""
    monkeypatch.setattr(planning, "package_versions", lambda: VERSIONS)


def drawn(seed: int) -> Outcomes:
    """Outcomes of every kind, each case's own in every round."""
    outcomes = (1.0, 1.02, 2.0, None, "failed", "wrong", "not-run")

    def outcome(wanted: Wanted, number: int) -> Outcome:
        return random.Random(f"{seed}/{wanted.profile}/{wanted.key}/{number}").choice(outcomes)

    return outcome


# What is asked for is long to print.
LARGE = pytest.mark.filterwarnings("ignore:Generating overly large repr")
asked_for = st.builds(
    work,
    seed=st.integers(0, 2**32 - 1),
    rounds=st.integers(1, 3),
    profiles=st.lists(st.sampled_from(WITH_GPU), min_size=1, max_size=3, unique=True),
    experiments=st.sampled_from([None, ("rbm",), ("matmul", "sparse-coding"), ("rbm", "dbn")]),
    minutes=st.sampled_from([0, 1, 60]),
    every=st.booleans(),
)


# Laws.


@LARGE
@settings(max_examples=20)
@given(asked_for, st.integers())
def test_a_run_measures_everything_round_by_round(asked: Work, seed: int) -> None:
    """A run ends with everything usual measured as often as it should be in round after round."""
    taken, records = run(asked, drawn(seed))
    after, done = Plan(asked, records), Counter[tuple[str, str]]()
    assert (after.next_turn(), after.seconds_left()) == ((), 0)
    for turn in taken:
        assert {entry.wanted.profile for entry in turn} == {turn[0].wanted.profile}
        # Round one of everything before round two of anything. What is spare and does not fit is not waited for.
        tier, number = min((entry.tier, entry.goal) for entry in turn)
        assert all(done[one.place] >= number - 1 for one in asked.wanted if one.tier <= min(tier, USUAL))
        for entry in turn:
            done[entry.wanted.place] += 1
            assert entry.goal == done[entry.wanted.place] <= number
    assert set(done.values()) <= {asked.preset.rounds}
    assert {one.place for one in asked.wanted if one.tier <= USUAL} <= done.keys()


@LARGE
@settings(max_examples=15)
@given(asked_for, st.integers(), st.data())
def test_a_killed_run_goes_on_as_before(asked: Work, seed: int, data: st.DataObject) -> None:
    """Between two turns as if nothing had been; in the middle of one, what it had measured is not measured again."""
    taken, records = run(asked, drawn(seed))
    if not taken:
        return
    stop = data.draw(st.integers(0, len(taken) - 1))
    assert said_of(run(asked, drawn(seed), records[:stop])[0]) == said_of(taken[stop:])
    cut = data.draw(st.integers(0, len(taken[stop])))
    part = Record("box", records[stop].path, records[stop].start, records[stop].results[:cut])
    after = run(asked, drawn(seed), [*records[:stop], part])[1]
    counts = Counter((record.profile, one.key) for record in after for one in record.results)
    assert {*counts.values()} <= {asked.preset.rounds}


@pytest.mark.known
def test_known_runs_have_the_known_turns() -> None:
    """Seconds that are left, the row, the seconds and the rounds of a turn; behind what is asked for."""
    lines = []
    for options, outcomes in KNOWN_RUNS:
        asked, records = work(**options), list[Record]()
        lines.append(f"{options}")
        while turn := (plan := Plan(asked, tuple(records))).next_turn():
            cases = ", ".join(
                f"{entry.wanted.cells[0].experiment}/{entry.wanted.case.name} {entry.goal}" for entry in turn
            )
            left, takes = plan.seconds_left(), plan.seconds_of(turn)
            lines.append(f"{left:g} s {turn[0].wanted.profile} {takes:g} s {again_of(turn)}: {cases}")
            records.append(record_of_turn(turn, asked, outcomes, len(records)))
        lines.append(f"in all {plan.spent_seconds:g} s")
    assert_known(Path(__file__).with_name("turns.txt"), "\n".join(lines))


# What counts of the records.


ONE = work(rounds=1, experiments=("rbm",), profiles=("openblas-1",))


def turn_of(plan: Plan) -> Turn:
    """What is next, where something is left."""
    turn = plan.next_turn()
    assert turn
    return turn


def is_counted(then: Work, now: Work = ONE, outcome: Outcome = 1.0, **facts: Any) -> bool:
    """Whether all that was measured then is what is asked for now."""
    record = record_of_turn(turn_of(Plan(then)), then, lambda *_: outcome, 0, **facts)
    return Plan(now, (record,)).next_turn() == ()


def with_source(asked: Work, source: str) -> Work:
    return replace(asked, wanted=tuple(replace(one, source=source) for one in asked.wanted))


@pytest.mark.parametrize(
    ("facts", "counts"),
    [
        ({"label": "Another label", "package": "renamed", "architecture": "multi-cpu", "seed": 2}, True),
        ({"versions": {"torch": "another"}, "hardware": HARDWARE | {"accelerators": ["A GPU"]}}, True),
        ({"threads": 2}, False),
        ({"backend": "torch"}, False),
        ({"precision": "fp64"}, False),
        ({"device": "cuda"}, False),
        ({"cpus": "0"}, False),
        ({"timing": asdict(SMOKE)}, False),
        ({"library": None}, False),  # its process never came to its first case
    ],
)
def test_what_counts_has_the_same_rules(facts: dict[str, Any], counts: bool) -> None:
    """What was measured counts if row threads and timing are those of now."""
    assert is_counted(ONE, outcome="failed" if facts.get("library", "") is None else 1.0, **facts) == counts


TWO_CARDS = HARDWARE | {"accelerators": ["A", "B"]}
CHOICE = {"CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("facts", "so_far"),
    [
        ({"hardware": TWO_CARDS, "environment": CHOICE | {"OMP_NUM_THREADS": "2"}}, set()),
        ({"hardware": TWO_CARDS, "environment": CHOICE | {"CUDA_VISIBLE_DEVICES": "1"}},
         {"A, B, CUDA_VISIBLE_DEVICES=1"}),
        ({"hardware": TWO_CARDS, "environment": CHOICE | {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"}},
         {"A, B, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50, CUDA_VISIBLE_DEVICES=0"}),
        ({"hardware": HARDWARE | {"accelerators": ["A"]}, "environment": CHOICE}, {"A, CUDA_VISIBLE_DEVICES=0"}),
        ({"hardware": HARDWARE | {"accelerators": []}, "environment": {}}, {"an accelerator without a name"}),
    ],
)  # fmt: skip
def test_another_cards_records_do_not_count(
    facts: dict[str, Any], so_far: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in CHOOSING:
        monkeypatch.delenv(name, raising=False)
    for name, value in CHOICE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(planning, "accelerator_names", lambda: ("A", "B"))
    asked = work(rounds=1, experiments=("rbm",), profiles=("gpu",))
    assert is_counted(asked, asked, **facts) == (not so_far)
    plan = Plan(asked, (record_of_turn(turn_of(Plan(asked)), asked, steady, 0, **facts),))
    assert plan.other_cards == so_far
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", f" 0,  {'GPU-8f6a, ' * 99}")  # a record has the beginning of it
    assert is_counted(asked, asked, hardware=TWO_CARDS, environment=telling_environment())
    cpus = replace(asked, wanted=ONE.wanted)
    assert Plan(cpus, plan.records).other_cards == set()


@pytest.mark.parametrize("outcome", ["failed", "wrong", "not-run"])
def test_a_failure_waits_for_a_change(outcome: str) -> None:
    """What failed is tried again only when its program a library or the device changed."""
    assert is_counted(ONE, outcome=outcome)
    assert not is_counted(with_source(ONE, "another"), outcome=outcome)
    for facts in (
        {"versions": VERSIONS | {"torch": "another"}},
        {"hardware": HARDWARE | {"accelerator_driver": "1.0"}},
    ):
        assert not is_counted(ONE, outcome=outcome, **facts)


def test_only_a_rebuilt_program_makes_another_time() -> None:
    """A time stays one whichever file of ours made it but not of another build of a program."""
    assert is_counted(with_source(ONE, "another"))
    parameters = {"program": {"paper": "any", "command": ["./it"]}}
    case = replace(ONE.wanted[0].case, workload="program", parameters=parameters)
    theirs = replace(ONE, wanted=(replace(ONE.wanted[0], case=case),))
    assert is_counted(theirs, theirs)
    assert not is_counted(theirs, with_source(theirs, "another"))


def test_parameters_match_in_other_letters() -> None:
    """A record has no odd spaces: what is not found again would be measured for ever."""
    case = replace(ONE.wanted[0].case, parameters={"activation": "a\u00a0b"})
    asked = replace(ONE, wanted=(replace(ONE.wanted[0], case=case),))
    write(record_of_turn(turn_of(Plan(asked)), asked, steady, 0))
    assert session.read_plan(asked).next_turn() == ()


# With an accelerator.


def test_an_accelerators_first_table_comes_first() -> None:
    """With an accelerator the first table comes first on it and on every row of all cores."""
    rows = ("gpu-bf16", "gpu", "openblas-1", "openblas-all", "torch-1", "torch-all")
    taken = run(work(rounds=2, profiles=rows, minutes=60))[0]
    first = {"gpu", "openblas-all", "torch-all"}
    assert {turn[0].wanted.profile for turn in taken[:6]} == first
    assert {turn[0].wanted.profile for turn in taken[6:]} == {*rows} - first

    def tables(plan: Plan, seconds: float = math.inf) -> set[str]:
        turn = plan.next_turn(seconds)
        return {entry.wanted.cells[0].experiment for entry in turn} if turn else set()

    # Where time is short, nothing is taken along.
    timed = work(rounds=2, profiles=("gpu", "torch-all"), minutes=60)
    assert tables(Plan(replace(timed, minutes=1)), 10) == {"rbm"} < tables(Plan(timed))
    # Nor is what is a round ahead, as it had been measured alone.
    alone = run(work(rounds=2, profiles=("gpu",), experiments=("matmul",), minutes=60))[1]
    both = run(work(rounds=3, profiles=("gpu",), minutes=60), earlier=alone, turns=1)[1]
    assert "matmul" not in tables(Plan(work(rounds=3, profiles=("gpu",), minutes=60), both)) > {"patches"}


def test_eight_minutes_of_a_gpu_give_fair_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every CPU row of all cores has the first table's intervals, at times that a machine of 16 cores and a GPU had."""
    monkeypatch.setattr(measured, "CASE_SECONDS", 3.0)
    rows = ("gpu", "gpu-bf16", "gpu-tf32", "openblas-1", "openblas-all", "torch-1", "torch-all")
    asked = work(rounds=4, most=20, profiles=rows, minutes=13, every=True)
    records = list[Record]()
    spent = 0.0
    while turn := (plan := Plan(asked, tuple(records))).next_turn(480 - spent):
        if plan.seconds_of(turn) > 480 - spent:
            break
        records.append(record_of_turn(turn, asked, steady, len(records), start_seconds=6.0))
        spent += records[-1].wall_seconds
    after = Plan(asked, tuple(records))
    rounds = Counter({wanted.place: len(after.tried(wanted)) for wanted in asked.wanted if wanted.is_first})
    assert {profile for profile, _ in rounds} == {"gpu", "openblas-all", "torch-all"}
    assert {*rounds.values()} == {4}
    assert any(record.profile == "gpu" and len(record.results) > 4 for record in records)
    assert 300 < spent <= 480


@pytest.mark.parametrize(
    ("minutes", "spare"),
    [
        (1, set()),
        (6, {("gpu-bf16", "rbm"), ("gpu", "matmul")}),
        (60, {("gpu-bf16", "rbm"), ("gpu", "matmul"), ("gpu-bf16", "matmul"), ("torch-all", "matmul")}),
    ],
)
def test_other_precisions_have_the_time_left(minutes: float, spare: set[tuple[str, str]]) -> None:
    """Or else ten minutes on a GPU would be gone before what the paper is about has an interval."""
    asked = work(rounds=6, minutes=minutes, profiles=("torch-all", "gpu", "gpu-bf16"), every=True)
    after = Plan(asked, run(asked)[1])
    done = {(one.profile, one.cells[0].experiment) for one in asked.wanted if len(after.tried(one)) == 6}
    core = {("gpu", "rbm"), ("torch-all", "rbm"), ("gpu", "patches"), ("gpu", "dbn"), ("gpu", "sparse-coding")}
    assert core <= done
    assert {one for one in done if one == ("gpu-bf16", "rbm") or one[1] == "matmul"} == spare
    assert {len(after.tried(one)) for one in asked.wanted} <= {0, 6}


# What is measured again.


def chosen(asked: Work, records: tuple[Record, ...]) -> dict[tuple[str, str], str]:
    """Why the look chose which cells."""
    entries = [entry for entry in Plan(asked, records).entries if entry.reason]
    return {(entry.wanted.profile, entry.wanted.case.name): entry.reason for entry in entries}


def loose(wanted: Wanted, number: int) -> Outcome:
    """With an interval that is wide after any number of rounds."""
    return 3.0 * (1 + 0.3 * ((number * 7) % 5))


def close(by: float) -> Outcomes:
    """The two profiles so close that six rounds do not tell them apart through the noise."""
    return lambda wanted, number: (
        (1.0 + by if wanted.profile == "torch-1" else 1.0) * (1 + 0.03 * ((number * 7) % 5 - 2) / 2)
    )


def losing(*lost: int) -> Outcomes:
    """Disturbed in the rounds of these numbers; in all, if there are none."""
    return lambda wanted, number: None if number in lost or not lost else steady(wanted, number)


def where(case: str, outcomes: Outcomes, others: Outcomes = steady, profiles: tuple[str, ...] = TWO) -> Outcomes:
    """These outcomes for one case, and others for all others."""
    return lambda wanted, number: (
        outcomes if wanted.case.name == case and wanted.profile in profiles else others
    )(wanted, number)  # fmt: skip


KNOWN_RUNS: list[tuple[dict[str, Any], Outcomes]] = [
    ({"rounds": 2, "minutes": 2, "profiles": WITH_GPU, "every": True, "experiments": ("rbm", "matmul")}, drawn(7)),
    ({"rounds": 2, "minutes": 3.5, "profiles": WITH_GPU, "every": True}, steady),
    ({"rounds": 3, "most": 5, "minutes": 1, "profiles": CORES, "experiments": ("rbm",)}, drawn(8)),
]


def again(taken: list[Turn]) -> set[tuple[str, str]]:
    """What was measured beyond the first rounds."""
    return {(entry.wanted.profile, entry.wanted.case.name) for turn in taken[12:] for entry in turn}


@pytest.mark.parametrize(
    ("outcomes", "reason", "cells", "last"),
    [
        (steady, None, set(), 0),
        (where("576x1024", losing(1, 2, 4, 5, 7), profiles=("torch-1",)), WIDE, {("torch-1", "576x1024")}, 8),
        (where("1024x4096", close(0.001)), None, set(), 0),  # which of two rows is the faster is no reason
        (where("576x1024", loose, profiles=("torch-1",)), WIDE, {("torch-1", "576x1024")}, 8),
    ],
)
def test_unsettled_cells_are_measured_again(
    outcomes: Outcomes, reason: str | None, cells: set[tuple[str, str]], last: int
) -> None:
    """What the first rounds left unsettled is measured again until it is and nothing else."""
    taken, _ = run(work(**RBM, minutes=60), outcomes)
    assert {again_of(turn) for turn in taken[:12]} == {""}
    assert again(taken) == cells
    assert {again_of(turn) for turn in taken[12:]} == ({reason} if reason else set())
    assert max((entry.goal for turn in taken[12:] for entry in turn), default=0) == last


def noisy_cores(wanted: Wanted, number: int) -> Outcome:
    """Two cores bring what the paper says of them, and every cell is settled; but each ratio is not, as surely as a
    claim about four of them needs it."""
    printed = PAPERS["raina2009"].experiments["rbm"].speedup(wanted.case.name, "multi-cpu", ("single-cpu",)) or 1.0
    noise = 0.05 * random.Random(f"{wanted.case.name}/{wanted.profile}/{number}").uniform(-1.5, 1.5)
    return 10.0 / (printed if wanted.profile == "openblas-all" else 1.0) * (1 + noise)


def test_open_claims_are_measured_until_decided() -> None:
    """What an open claim is about is measured again until the claim is decided."""
    asked = work(**RBM | {"most": 10}, minutes=60, profiles=CORES)
    taken, records = run(asked, noisy_cores)
    assert claim_verdicts(records[:12])["second-core"] == "not settled"
    assert {again_of(turn) for turn in taken[12:]} == {CLAIM_OPEN}
    assert {entry.wanted.case.name for turn in taken[12:] for entry in turn} >= {"576x1024"}
    # It is decided: what stands in the way is only that these steps are far above what their rates allow.
    assert claim_verdicts(records)["second-core"] == "not fair here"


def test_a_claim_that_needs_too_much_waits() -> None:
    taken, _ = run(work(**RBM | {"most": 7}, minutes=60, profiles=CORES), noisy_cores)
    assert len(taken) == 12


def claim_verdicts(records: tuple[Record, ...]) -> dict[str, str]:
    rounds = read_rounds(records, PAPERS)
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, PAPERS, {}, {}), samples, PAPERS)
    claims = make_claims(cells, samples, PAPERS)
    return {row.claim: row.verdict for row in claims if not row.case}


@pytest.mark.parametrize(
    ("outcomes", "minutes", "cells", "longest"),
    [
        (loose, 0.1, set(), 48.1),
        # What is wide has the minutes, and no more; and not for a round that would settle nothing.
        (where("576x1024", loose, profiles=("torch-1",)), 49.9 / 60, set(), 48.1),
        (where("576x1024", loose, profiles=("torch-1",)), 50.1 / 60, {("torch-1", "576x1024")}, 50.1),
    ],
)
def test_first_rounds_are_measured_however_long_they_take(
    outcomes: Outcomes, minutes: float, cells: set[tuple[str, str]], longest: float
) -> None:
    asked = work(**RBM | {"most": 99}, minutes=minutes)
    taken, records = run(asked, outcomes)
    assert again(taken) == cells
    assert 48 <= Plan(asked, records).spent_seconds <= longest


def test_the_look_sees_the_first_rounds_alone() -> None:
    """A second look at later rounds would make a false claim more likely than the two that are paid for."""
    asked = work(**RBM | {"most": 12}, minutes=60)
    _, records = run(asked, lambda wanted, number: loose(wanted, number if number <= 6 else 1), turns=16)
    assert len(records) == 16
    assert chosen(asked, records[:12]) == chosen(asked, records)
