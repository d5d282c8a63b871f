"""What a machine is asked for, and records as if a run had measured it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from respeed.inputs.config import Preset, load_config
from respeed.inputs.machines import load_profiles
from respeed.inputs.papers import load_papers
from respeed.machine import describe_machine
from respeed.machine.process import telling_environment
from respeed.machine.software import package_versions
from respeed.records import Record
from respeed.schedule.plan import Plan, Turn
from respeed.schedule.rows import Row
from respeed.schedule.work import Wanted, Work, list_work
from tests.made import make_lines, record_of, write_lines

CONFIG, PAPERS, PROFILES = load_config(), load_papers(["raina2009"]), load_profiles()
HARDWARE, VERSIONS = describe_machine(), package_versions()
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CASE_SECONDS = 1.0
TWO, CORES = ("openblas-1", "torch-1"), ("openblas-1", "openblas-all")

# What became of a case in the round of that number: the seconds that it took, None if it was disturbed, or a status.
Outcome = float | str | None
Outcomes = Callable[[Wanted, int], Outcome]


def work(
    *, seed: int = 1, rounds: int = 3, most: int = 0, minutes: float = 0, profiles: Sequence[str] = TWO,
    experiments: tuple[str, ...] | None = None, every: bool = False,
) -> Work:  # fmt: skip
    """Return what these profiles are asked for, of which the machine can run all; `every`: none of them was named."""
    preset = Preset("test", rounds, most or rounds, minutes, "paper")
    config = replace(
        CONFIG, preset=preset, papers=("raina2009",), profiles=tuple(profiles), seed=seed, experiments=experiments,
        all_profiles=every,
    )  # fmt: skip
    rows = {name: Row(PROFILES[name], 2 if PROFILES[name].threads == "all" else 1, ()) for name in profiles}
    return list_work(config, PAPERS, rows, "box")


def steady(wanted: Wanted, number: int) -> Outcome:
    """Settled after any number of rounds, and each profile's own."""
    return (1.0 + 0.5 * (wanted.profile > "p")) * (1 + 0.001 * (number % 3))


def record_of_turn(turn: Turn, asked: Work, outcomes: Outcomes, before: int, **facts: Any) -> Record:
    """Return the record that the turn leaves, as the one after `before` others, a minute each."""
    profile, start, results = turn[0].wanted.row.profile, {}, []
    for entry in turn:
        wanted, number = entry.wanted, entry.goal
        came_out = outcomes(wanted, number)
        if isinstance(came_out, str):
            said = {"status": came_out, "reason": "it was so", "flops": None, "traffic_bytes": None}
        else:
            said = {"run_delay_seconds": 0.0 if came_out else 9.0}
        start, result = make_lines(
            [came_out if isinstance(came_out, float) else 9.0], profile=profile.name, case=wanted.case,
            source=wanted.source, wall_seconds=CASE_SECONDS, **said,
            **{"threads": turn[0].wanted.row.threads, "start_seconds": 1e-6, "architecture": profile.architecture,
               "backend": profile.backend, "device": profile.device, "precision": profile.precision,
               "timing": asdict(asked.timing), "versions": VERSIONS, "hardware": HARDWARE,
               "environment": telling_environment()} | facts,
        )  # fmt: skip
        results.append(result | {"number": number})
    start["started"] = (BEGIN + timedelta(minutes=before)).isoformat()
    return record_of(start, *results)


def write(record: Record) -> None:
    """Write the record to where records are."""
    write_lines(
        record.start.model_dump(by_alias=True, mode="json"), *(one.model_dump(mode="json") for one in record.results)
    )


def run(
    asked: Work, outcomes: Outcomes = steady, earlier: Iterable[Record] = (), turns: int = 500
) -> tuple[list[Turn], tuple[Record, ...]]:
    """Return the turns of a run until nothing is left, at most so many, and all records; `earlier` are of runs before
    it."""
    records, taken = [*earlier], list[Turn]()
    while len(taken) < turns and (turn := Plan(asked, tuple(records)).next_turn()):
        records.append(record_of_turn(turn, asked, outcomes, len(records)))
        taken.append(turn)
    return taken, tuple(records)


def again_of(turn: Turn) -> str:
    """Return why the cases of a turn are measured again."""
    return ", ".join(dict.fromkeys(entry.reason for entry in turn))


def said_of(turns: Iterable[Turn]) -> list[tuple[str, list[tuple[str, int]], str]]:
    """Return what tells turns apart: the row, the cases with their rounds, and why they are measured again."""
    return [
        (turn[0].wanted.profile, [(entry.wanted.key, entry.goal) for entry in turn], again_of(turn)) for turn in turns
    ]
