"""What is measured next: laws of the list, what counts of the records, and what is measured again."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.analysis.cells import judge_cells, make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.estimates import FEWEST_ROUNDS
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, add_totals
from respeed.measure import session
from respeed.protocol import SMOKE
from respeed.records import Record
from respeed.schedule import plan as planning
from respeed.schedule.look import CLAIM_OPEN, NO_INTERVAL, UNDECIDED, WIDE
from respeed.schedule.plan import Plan, Turn
from respeed.schedule.work import USUAL, Wanted, Work
from tests.schedule.measured import (
    BEGIN,
    CASE_SECONDS,
    CORES,
    HARDWARE,
    PAPERS,
    TWO,
    VERSIONS,
    Outcome,
    Outcomes,
    noisy,
    record_of_turn,
    run,
    said_of,
    steady,
    work,
    write,
)  # fmt: skip

# The first rounds are 12 turns of four cases, which take 48 s.
RBM: dict[str, Any] = {"rounds": 6, "most": 12, "experiments": ("rbm",)}
WITH_GPU = ("gpu", "gpu-bf16", "openblas-1", "torch-all")
OUTCOMES = st.sampled_from([1.0, None, "failed", "wrong", "not-run"])


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


@settings(max_examples=20)
@given(asked_for, st.integers())
def test_a_run_ends_and_measures_everything_usual_as_often_as_it_should_and_nothing_more_often(
    asked: Work, seed: int
) -> None:
    _, records = run(asked, drawn(seed))
    after = Plan(asked, records)
    assert after.next_turn() is None
    counts = Counter((record.profile, one.key) for record in records for one in record.results)
    assert set(counts.values()) <= {asked.preset.rounds}
    assert {(one.profile, one.key) for one in asked.wanted if one.tier <= USUAL} <= counts.keys()
    assert (after.seconds_left(), after.turns_left) == (0, 0)


@LARGE
@settings(max_examples=20)
@given(asked_for, st.integers())
def test_round_one_of_everything_usual_comes_before_round_two_of_anything(asked: Work, seed: int) -> None:
    taken, _ = run(asked, drawn(seed))
    done: Counter[tuple[str, str]] = Counter()
    for turn in taken:
        assert {one.profile for one, _ in turn.cases} == {turn.row.profile.name}
        tier, number = min((one.tier, number) for one, number in turn.cases)
        # What is spare and does not fit the minutes is not waited for.
        usual = [one for one in asked.wanted if one.tier <= min(tier, USUAL)]
        behind = [one for one in usual if done[one.profile, one.key] < number - 1]
        assert not behind
        for one, of_case in turn.cases:
            done[one.profile, one.key] += 1
            assert of_case == done[one.profile, one.key] <= number
    # Where there is no accelerator, everything is usual.
    if all(one.row.profile.is_cpu for one in asked.wanted):
        numbers = [max(number for _, number in turn.cases) for turn in taken]
        assert numbers == sorted(numbers)


@LARGE
@settings(max_examples=15)
@given(asked_for, st.integers(), st.data())
def test_a_run_that_is_killed_goes_on_as_it_would_have_gone_on(asked: Work, seed: int, data: st.DataObject) -> None:
    """Between two turns as if nothing had been; in the middle of one, what it had measured is not measured again."""
    taken, records = run(asked, drawn(seed))
    if not taken:
        return
    stop = data.draw(st.integers(0, len(taken) - 1))
    assert said_of(run(asked, drawn(seed), records[:stop])[0]) == said_of(taken[stop:])
    cut = data.draw(st.integers(0, len(taken[stop].cases)))
    part = Record("box", records[stop].path, records[stop].start, records[stop].results[:cut])
    after = run(asked, drawn(seed), [*records[:stop], part])[1]
    counts = Counter((record.profile, one.key) for record in after for one in record.results)
    usual = {(one.profile, one.key) for one in asked.wanted if one.tier <= USUAL}
    assert {counts[place] for place in usual} <= {asked.preset.rounds}
    assert set(counts.values()) <= {asked.preset.rounds}


def test_a_run_that_is_killed_in_the_time_that_is_left_goes_on_as_it_would_have_gone_on() -> None:
    """The time that is left decides what is chosen: 22 s."""
    asked = work(**RBM, minutes=70 / 60)
    straight, records = run(asked, noisy)
    assert len(straight) > 13
    for stop in (12, 13, len(straight) - 1):
        assert said_of(run(asked, noisy, records[:stop])[0]) == said_of(straight[stop:])


def test_the_order_in_which_files_are_found_changes_nothing() -> None:
    """Their names begin with the second of their start, and tables of one second are told apart by random letters."""
    asked = work(**RBM, minutes=60)
    taken, records = run(asked, noisy)
    for record in reversed(records[:13]):
        write(record)
    turn = session.read_plan(asked).next_turn()
    assert turn is not None
    assert said_of([turn]) == said_of([taken[13]])


@settings(max_examples=15)
@given(asked_for, st.sets(st.sampled_from(WITH_GPU)))
def test_rows_that_could_not_start_are_left_out_and_keep_nothing_of_the_others_back(
    asked: Work, broken: set[str]
) -> None:
    whole, without = Plan(asked), Plan(asked, broken=frozenset(broken))
    left = {entry.wanted.profile for entry in without.entries}
    assert not left & broken
    assert {one.profile for one in asked.wanted if one.tier <= USUAL} - broken <= left
    assert (without.next_turn() is None) == (not left)
    assert without.turns_left <= whole.turns_left


def test_the_order_of_rows_and_of_cases_is_random_but_the_same_for_the_same_seed() -> None:
    def orders(seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        taken = run(work(seed=seed, experiments=("rbm",)))[0]
        return tuple(turn.row.profile.name for turn in taken), tuple(one.case.name for one, _ in taken[0].cases)

    assert orders(1) == orders(1)
    assert all(len(of_seeds) > 3 for of_seeds in map(set, zip(*map(orders, range(20)), strict=True)))


# What counts of the records.

OF_THE_ROW: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"label": "Another label", "package": "renamed", "architecture": "multi-cpu"}, True),
    ({"versions": {"torch": "another"}, "hardware": HARDWARE | {"accelerators": ["A GPU"]}}, True),
    ({"seed": 2}, True),
    ({"threads": 2}, False),
    ({"backend": "torch"}, False),
    ({"precision": "fp64"}, False),
    ({"device": "cuda"}, False),
    ({"cpus": "0"}, False),
    ({"timing": asdict(SMOKE)}, False),
    ({"library": None}, False),  # its process never came to its first case
]


@pytest.mark.parametrize(("facts", "counts"), OF_THE_ROW)
def test_what_was_measured_counts_if_row_threads_and_timing_are_those_of_now(
    facts: dict[str, Any], counts: bool
) -> None:
    asked = work(rounds=1, experiments=("rbm",), profiles=("openblas-1",))
    turn = Plan(asked).next_turn()
    assert turn is not None
    status = "failed" if facts.get("library", "") is None else 1.0
    record = record_of_turn(turn, asked, lambda *_: status, 0, **facts)
    assert (Plan(asked, (record,)).next_turn() is None) == counts


@pytest.mark.parametrize("status", ["failed", "wrong", "not-run"])
@pytest.mark.parametrize(
    "changed",
    [
        {"versions": VERSIONS | {"torch": "another"}},
        {"hardware": HARDWARE | {"accelerators": ["A GPU"]}},
        {"hardware": HARDWARE | {"accelerator_driver": "1.0"}},
        {"source": "another"},
    ],
)
def test_what_failed_is_tried_again_only_when_its_program_a_library_or_the_device_changed(
    status: str, changed: dict[str, Any]
) -> None:
    asked = work(rounds=1, experiments=("rbm",), profiles=("openblas-1",))
    then = asked
    if "source" in changed:
        then = replace(asked, wanted=tuple(replace(one, **changed) for one in asked.wanted))
        changed = {}
    turn = Plan(then).next_turn()
    assert turn is not None
    record = record_of_turn(turn, then, lambda *_: status, 0, **changed)
    assert Plan(then, (record,)).next_turn() is None or changed
    again = Plan(asked, (record,)).next_turn()
    assert again is not None
    assert {number for _, number in again.cases} == {1}
    # A time stays a time, whichever file of ours it was made by.
    timed = record_of_turn(turn, then, steady, 0, **changed)
    assert Plan(asked, (timed,)).next_turn() is None


def test_a_time_of_another_build_of_a_program_does_not_count() -> None:
    asked = work(rounds=1, experiments=("rbm",), profiles=("openblas-1",))
    first = asked.wanted[0]
    parameters = {"program": {"paper": "any", "command": ["./it"]}}
    theirs = replace(first, case=replace(first.case, workload="program", parameters=parameters))
    asked = replace(asked, wanted=(theirs,))
    turn = Plan(asked).next_turn()
    assert turn is not None
    built_again = replace(asked, wanted=(replace(theirs, source="another"),))
    record = record_of_turn(turn, asked, steady, 0)
    assert Plan(asked, (record,)).next_turn() is None
    assert Plan(built_again, (record,)).next_turn() is not None


def test_a_case_whose_parameters_a_record_has_in_other_letters_is_found_again() -> None:
    """A record has no odd spaces: what is not found again would be measured for ever."""
    asked = work(rounds=1, experiments=("rbm",), profiles=("openblas-1",))
    case = replace(asked.wanted[0].case, parameters={"activation": "a\u00a0b", "sizes": (1, 2)})
    asked = replace(asked, wanted=(replace(asked.wanted[0], case=case),))
    turn = Plan(asked).next_turn()
    assert turn is not None
    record = record_of_turn(turn, asked, steady, 0)
    write(record)
    assert session.read_plan(asked).next_turn() is None


# With an accelerator.


def test_with_an_accelerator_the_first_table_comes_first_on_it_and_on_one_row_of_cpus() -> None:
    rows = ("gpu-bf16", "gpu", "openblas-1", "openblas-all", "torch-1", "torch-all")
    taken = run(work(rounds=2, profiles=rows, minutes=60))[0]
    assert {turn.row.profile.name for turn in taken[:4]} == {"gpu", "torch-all"}
    assert {turn.row.profile.name for turn in taken[4:]} == {*rows} - {"gpu", "torch-all"}
    # Where time is short, nothing is taken along.
    timed = work(rounds=2, profiles=("gpu", "torch-all"), minutes=1)
    turn = Plan(timed).next_turn(budget_seconds=10)
    assert turn is not None
    assert {one.cells[0].experiment for one, _ in turn.cases} == {"rbm"}
    turn = Plan(replace(timed, minutes=60)).next_turn()
    assert turn is not None
    assert {one.cells[0].experiment for one, _ in turn.cases} > {"rbm"}


@pytest.mark.parametrize(
    ("minutes", "spare"),
    [
        (1, set()),
        (5.7, {("gpu-bf16", "rbm"), ("gpu", "matmul")}),
        (7.2, {("gpu-bf16", "rbm"), ("gpu", "matmul"), ("gpu-bf16", "matmul")}),
        (60, {("gpu-bf16", "rbm"), ("gpu", "matmul"), ("gpu-bf16", "matmul"), ("torch-all", "matmul")}),
    ],
)
def test_other_precisions_and_tables_the_paper_is_silent_about_have_the_time_that_is_left(
    minutes: float, spare: set[tuple[str, str]]
) -> None:
    """Or else ten minutes on a GPU would be gone before what the paper is about has an interval."""
    asked = work(rounds=6, minutes=minutes, profiles=("torch-all", "gpu", "gpu-bf16"), every=True)
    taken, records = run(asked)
    after = Plan(asked, records)
    done = {(one.profile, one.cells[0].experiment) for one in asked.wanted if len(after.tried(one)) == 6}
    core = {("gpu", "rbm"), ("torch-all", "rbm"), ("gpu", "patches"), ("gpu", "dbn"), ("gpu", "sparse-coding")}
    assert core <= done
    assert {one for one in done if one == ("gpu-bf16", "rbm") or one[1] == "matmul"} == spare
    assert {len(after.tried(one)) for one in asked.wanted} <= {0, 6}
    # What is begun is ended, also by a run that goes on after a kill.
    half = run(asked, turns=len(taken) - 3)[1]
    assert said_of(run(asked, earlier=half)[0]) == said_of(taken[-3:])


# What is measured again.


def chosen(asked: Work, records: tuple[Record, ...]) -> dict[tuple[str, str], str]:
    """Why the look chose which cells."""
    return {(one.wanted.profile, one.wanted.case.name): one.why for one in Plan(asked, records).entries if one.why}


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


def again(taken: list[Turn]) -> set[tuple[str, str]]:
    """What was measured beyond the first rounds."""
    return {(one.profile, one.case.name) for turn in taken[12:] for one, _ in turn.cases}


@pytest.mark.parametrize(
    ("outcomes", "reason", "cells", "last"),
    [
        (steady, None, set(), 0),
        (where("576x1024", losing(1, 2, 4, 5, 7), profiles=("torch-1",)), NO_INTERVAL, {("torch-1", "576x1024")}, 8),
        (where("1024x4096", close(0.03)), UNDECIDED, {(name, "1024x4096") for name in TWO}, 12),
        (where("1024x4096", close(0.001)), None, set(), 0),  # no number of rounds that it may have would do
        (where("576x1024", loose, profiles=("torch-1",)), WIDE, {("torch-1", "576x1024")}, 12),
    ],
)
def test_what_the_first_rounds_left_unsettled_is_measured_again_until_it_is_and_nothing_else(
    outcomes: Outcomes, reason: str | None, cells: set[tuple[str, str]], last: int
) -> None:
    taken, _ = run(work(**RBM, minutes=60), outcomes)
    assert {turn.again for turn in taken[:12]} == {""}
    assert again(taken) == cells
    assert {turn.again for turn in taken[12:]} == ({reason} if reason else set())
    assert max((number for turn in taken[12:] for _, number in turn.cases), default=0) == last


def noisy_cores(wanted: Wanted, number: int) -> Outcome:
    """Two cores bring what the paper says of them, and every cell is settled; but each ratio is not, as surely as a
    claim about four of them needs it."""
    printed = PAPERS["raina2009"].speedup("rbm", wanted.case.name, "multi-cpu", ("single-cpu",)) or 1.0
    noise = 0.07 * random.Random(f"{wanted.case.name}/{wanted.profile}/{number}").uniform(-1.5, 1.5)
    return 10.0 / (printed if wanted.profile == "openblas-all" else 1.0) * (1 + noise)


def test_what_an_open_claim_is_about_is_measured_again_until_the_claim_is_decided() -> None:
    asked = work(**RBM | {"most": 20}, minutes=60, profiles=CORES)
    taken, records = run(asked, noisy_cores)
    assert claim_verdicts(records[:12])["second-core"] == "not settled"
    assert {turn.again for turn in taken[12:]} == {CLAIM_OPEN}
    assert {wanted.case.name for turn in taken[12:] for wanted, _ in turn.cases} >= {"576x1024"}
    assert claim_verdicts(records)["second-core"] == "reproduced"


def claim_verdicts(records: tuple[Record, ...]) -> dict[str, str]:
    rounds = read_rounds(records, PAPERS)
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, PAPERS, {}, {}), samples, PAPERS)
    claims = make_claims(cells, samples, PAPERS)
    return {row.claim: row.verdict for row in claims[claims["case"] == ""].itertuples()}


def changed(records: tuple[Record, ...], change: Callable[[Any], Any], most: int) -> tuple[tuple[Record, ...], str]:
    """The records with a change of the first case in so many rounds of torch-1; and which case that is."""
    name = next(record for record in records if record.profile == "torch-1").results[0].key
    made, left = [], most
    for record in records:
        results = list(record.results)
        if record.profile == "torch-1" and left:
            left -= 1
            place = next(place for place, one in enumerate(results) if one.key == name)
            results[place] = change(results[place])
        made.append(Record(record.machine, record.path, record.start, tuple(results)))
    return tuple(made), name


def disturbed(result: Any) -> Any:
    """As where quieter probes, later, show most of a cell's rounds to have been disturbed."""
    return result.model_copy(update={"blocks": tuple(replace(one, probe_seconds=(0.04,) * 2) for one in result.blocks)})


def lost(result: Any) -> Any:
    """As one that left its process without the device: it has no second attempt in its turn."""
    return result.model_copy(update={"status": "failed", "reason": "CUDA error", "blocks": (), "warmup": None,
                                     "source": result.source})  # fmt: skip


@pytest.mark.parametrize("change", [disturbed, lost])
def test_a_cell_that_loses_its_interval_after_the_look_or_failed_in_most_rounds_is_measured_again(
    change: Callable[[Any], Any],
) -> None:
    asked = work(**RBM, minutes=60)
    _, records = run(asked)
    assert Plan(asked, records).next_turn() is None
    records, key = changed(records, change, 7 - FEWEST_ROUNDS)
    taken, after = run(asked, earlier=records)
    assert {(turn.row.profile.name, turn.again) for turn in taken} == {("torch-1", NO_INTERVAL)}
    assert {wanted.key for turn in taken for wanted, _ in turn.cases} == {key}
    assert Plan(asked, after).next_turn() is None


def test_of_two_undecided_pairs_the_one_that_needs_fewer_rounds_has_the_time_that_is_left() -> None:
    outcomes = where("576x1024", close(0.028), others=where("1024x4096", close(0.03)))
    records = run(work(**RBM | {"most": 6}), outcomes)[1]
    for seconds, cases in ((600, {"576x1024", "1024x4096"}), (48 + 2 * 2.1 * CASE_SECONDS, {"1024x4096"})):
        assert {case for _, case in chosen(work(**RBM, minutes=seconds / 60), records)} == cases


def test_a_cell_is_not_chosen_for_one_more_round_which_would_settle_nothing() -> None:
    records = run(work(**RBM | {"most": 6}), where("576x1024", loose, profiles=("torch-1",)))[1]
    for seconds, whys in ((1.9, []), (2.1, [WIDE])):
        assert [*chosen(work(**RBM, minutes=(48 + seconds * CASE_SECONDS) / 60), records).values()] == whys


@pytest.mark.parametrize(
    ("outcomes", "minutes", "cells", "longest"),
    [
        (loose, 0.1, set(), 48.1),
        (where("576x1024", losing(1, 3, 4, 6), loose, ("torch-1",)), 48 / 60, {("torch-1", "576x1024")}, 1.2 * 48),
        # One that is never clean does not keep a run going.
        (where("576x1024", losing(), profiles=("torch-1",)), 48 / 60, {("torch-1", "576x1024")}, 1.2 * 48),
    ],
)
def test_the_first_rounds_are_measured_however_long_they_take_and_then_only_what_has_no_interval(
    outcomes: Outcomes, minutes: float, cells: set[tuple[str, str]], longest: float
) -> None:
    asked = work(**RBM | {"most": 99}, minutes=minutes)
    taken, records = run(asked, outcomes)
    assert again(taken) == cells
    assert 48 <= Plan(asked, records).spent_seconds <= longest


def test_the_look_sees_the_first_rounds_alone() -> None:
    """A second look at later rounds would make a false claim more likely than the two that are paid for."""
    asked = work(**RBM, minutes=60)
    _, records = run(asked, lambda wanted, number: loose(wanted, number if number <= 6 else 1))
    assert len(records) > 12
    assert chosen(asked, records[:12]) == chosen(asked, records)


def test_another_session_measures_everything_as_often_again_and_a_run_after_it_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = work(**RBM, minutes=60)
    records = run(asked)[1]
    monkeypatch.setattr(session, "read_records", lambda *_: list(records))
    for later, rounds in ((timedelta(minutes=20), 6), (timedelta(days=1), 12)):
        monkeypatch.setattr(session, "utc_now", (BEGIN + timedelta(minutes=12) + later).isoformat)
        more = session.with_another_session(asked)
        assert more.preset.rounds == rounds
    tomorrow = [replace_start(record, days=1) for record in run(work(**RBM | {"most": 6}))[1]]
    assert len(run(more, earlier=records)[0]) == 12
    both = (*records, *tomorrow)
    assert Plan(more, both).next_turn() is None
    assert set(judge_cells(read_rounds(both, PAPERS))["sessions"]) == {2}
    assert Plan(asked, both).next_turn() is None
    # However many sessions there were, the numbers stay such as a preset may have.
    monkeypatch.setattr(session, "current_session", lambda *_: ([], 40))
    assert session.with_another_session(asked).preset.rounds == 99


def replace_start(record: Record, **later: float) -> Record:
    started = (BEGIN + timedelta(minutes=record.began / 60 - BEGIN.timestamp() / 60, **later)).isoformat()
    return replace(record, path=record.path / "later", start=record.start.model_copy(update={"started": started}))


# How long it takes.


@pytest.mark.parametrize(
    ("outcomes", "turns"),
    [
        (steady, 2), (where("576x1024", losing(1, 3, 4, 6), profiles=("torch-1",)), 12),
        (where("1024x4096", close(0.03)), 12), (loose, 12), (noisy_cores, 12),
    ],
)  # fmt: skip
@pytest.mark.parametrize("minutes", [1.5, 60])
def test_the_time_that_is_left_is_told_within_a_factor_of_one_and_a_half(
    outcomes: Outcomes, turns: int, minutes: float
) -> None:
    asked = work(**RBM, minutes=minutes, profiles=CORES if outcomes is noisy_cores else TWO)
    records = run(asked, outcomes, turns=turns)[1]
    before = Plan(asked, records)
    after = Plan(asked, run(asked, outcomes, records)[1])
    took = after.spent_seconds - before.spent_seconds
    assert took / 1.5 <= before.seconds_left() <= 1.5 * took
    assert after.seconds_left() == 0


def test_a_turn_is_expected_to_take_what_earlier_ones_took_and_a_process_starts_once() -> None:
    asked = work(rounds=2)
    assert Plan(asked).seconds_left() > 0
    records = run(asked, turns=2)[1]
    plan = Plan(asked, records)
    assert plan.turns_left == 2
    assert plan.seconds_left() == pytest.approx(CASE_SECONDS * len(asked.wanted))
    slow = tuple(
        replace(one, start=one.start.model_copy(update={"start_seconds": 5.0})) for one in records
    )  # fmt: skip
    plan = Plan(asked, slow)
    assert plan.seconds_left() == pytest.approx(5.0 * len(TWO) + CASE_SECONDS * len(asked.wanted))
    turn = plan.next_turn()
    assert turn is not None
    assert plan.seconds_of_turn(turn) == pytest.approx(5.0 + CASE_SECONDS * len(turn.cases))
