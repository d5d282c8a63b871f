"""A session of measuring: turn after turn, and what ends it."""

import fcntl
import io
import os
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from respeed.cli import build_parser, main, parse_duration
from respeed.errors import UserError
from respeed.machine import describe_machine
from respeed.machine.process import machine_lock, telling_environment
from respeed.machine.software import package_versions
from respeed.measure import progress, session, timing
from respeed.measure.order import Order
from respeed.measure.progress import Progress
from respeed.outcome import count_cells
from respeed.records import Record, read_records, record_paths
from respeed.schedule import rows
from respeed.schedule.run import Run, resolve_run
from respeed.schedule.work import Work
from tests.derived import PAPERS, rounds_of, seven
from tests.known import assert_known
from tests.made import make_lines, record_of, write_lines

SETTINGS = {
    "preset": "smoke", "experiments": "rbm", "profiles": ["openblas-1", "gpu"], "machine": "box", "papers": "raina2009",
}  # fmt: skip
ONE_ROW = SETTINGS | {"profiles": "openblas-1"}
LONG = "a long case" * 10
LOST = {"status": "not-run", "reason": "the device is lost", "flops": None, "traffic_bytes": None}


@pytest.fixture(autouse=True)
def _in_a_folder_and_with_a_lock_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Pretended:
    """Turns that no process measures: `dies` says whether one of that row begins, and whether its device is lost.

    `facts` are those of all results, such as what disturbed them.
    """

    def __init__(self) -> None:
        self.turns: list[Order] = []
        self.facts: dict[str, Any] = {}
        self.dies: Callable[[str], tuple[bool, bool]] = lambda profile: (True, False)

    def measure_turn(self, order: Order, machine: str, smoke: bool, lock: object, watcher: Progress) -> list[Record]:
        self.turns.append(order)
        watcher.note(LONG)
        assert len(self.turns) < 20, "it does not end"
        begins, is_lost = self.dies(order.profile.name)
        facts: dict[str, Any] = {
            "profile": order.profile.name, "smoke": smoke, "threads": order.threads, "backend": order.profile.backend,
            "device": order.profile.device, "precision": order.profile.precision, "timing": vars(order.timing),
            "start_seconds": 3.0, "library": "torch 2" if begins else None, "wall_seconds": 10.0,
            "architecture": order.profile.architecture, "started": timing.utc_now(),
            "hardware": describe_machine(), "versions": package_versions(), "environment": telling_environment(),
        }  # fmt: skip
        made = [
            make_lines(case=one.case, source=one.source, **facts, **(LOST if is_lost else self.facts))
            for one in order.cases
        ]
        start, results = made[0][0], [result for _, result in made]
        write_lines(start, *results, machine=machine)
        records = [record_of(start, *results[: place + 1], machine=machine) for place in range(len(results))]
        for record in records:
            watcher.finish_case(record)
        return records[-1:]


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """With a device that a moment's trial finds nothing wrong with."""
    made = Pretended()
    monkeypatch.setattr(rows, "missing_device", lambda device: None)
    monkeypatch.setattr(rows, "probe_device", lambda *asked, **how: {})
    monkeypatch.setattr(session, "measure_turn", made.measure_turn)
    return made


def asked(rounds: int = 3, **settings: Any) -> Run:
    run = resolve_run(SETTINGS | settings)
    return replace(run, config=replace(run.config, preset=replace(run.config.preset, rounds=rounds, most=rounds)))


def measure(work: Work, say: Callable[[str], None] = lambda line: None, **limits: float) -> bool:
    return session.measure_session(work, Progress(say, lambda rounds: None), **limits)


@pytest.mark.known
def test_a_session_measures_all_and_the_next_nothing(pretended: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    monkeypatch.setattr(progress, "seconds_now", lambda: 43.0 * len(pretended.turns))
    assert measure(asked().work, said.append)
    assert_known(Path(__file__).with_name("session.txt"), "\n".join(said))
    assert measure(asked().work)
    assert len(pretended.turns) == 6
    assert measure(asked(rounds=4).work)
    assert len(pretended.turns) == 8


def test_a_clock_without_battery_is_told_first(pretended: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock without a battery is told before anything is measured."""
    monkeypatch.setattr(timing, "utc_now", lambda: "1970-01-02T00:00:09+00:00")
    with pytest.raises(UserError, match=r"^the clock says 1970-01-02, and records are ordered by time: set it$"):
        measure(asked().work)
    assert not pretended.turns


def test_a_terminal_shows_the_current_case_in_one_line(pretended: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "seconds_now", lambda: 43.0 * len(pretended.turns))
    measure(asked(rounds=1).work, lambda line: print(line, file=screen))
    shown = [line.split("\r")[-1] for line in screen.getvalue().split("\n")]
    assert not any("[" in line for line in shown)  # every whole line was written over a cleared one
    notes = [note for note in re.split("[\r\n]", screen.getvalue()) if "left: " in note]
    assert notes
    assert {len(note) for note in notes} == {progress.WIDTH}
    assert all(re.match(r"  \d+ \w+ left: a long case", note) for note in notes)


def test_the_first_table_is_shown_early(pretended: Pretended) -> None:
    shown = list[int]()
    run = asked(rounds=5, experiments="rbm,matmul", profiles=["openblas-1"])
    session.measure_session(run.work, Progress(lambda line: None, shown.append))
    first = [one.case.workload for one in pretended.turns[0].cases]
    assert ({*first}, shown) == ({"rbm"}, [1, 3])
    # In each later round, its cases come first.
    assert all(one.case.workload == "rbm" for order in pretended.turns[2:] for one in order.cases[: len(first)])


def test_numbers_that_a_quieter_probe_moved_are_told() -> None:
    """A case is measured beside neighbours, and another one of its row without them; and once more beside them."""
    before = seven(0.1, probe=1.3)
    lines = list[str]()
    for probe in (1.0, 1.3):
        after = [*before, *seven(0.1, case="1024x4096", probe=probe)]
        work = Mock(papers=PAPERS)
        begun, now = (Mock(rounds=rounds_of(*records), work=work) for records in (before, after))
        session._say_moved(begun, now, Mock(say=lines.append))
    assert lines == ["respeed: 1 earlier number moved, by 18 % at most: a quieter probe was seen"]


@pytest.mark.usefixtures("pretended")
def test_a_case_is_compared_with_the_papers_gpu() -> None:
    """Its printed 38.6 s are for a million examples, 192 of which a step of 0.1 s takes."""
    said = list[str]()
    measure(asked(rounds=1, preset="quick", profiles=["openblas-1"]).work, said.append)
    (line,) = (line for line in said if "576x1024" in line)
    assert line.endswith(f"{38.6 / (1e6 / 192 * 0.1):.4f}x the paper's GPU")


def test_a_disturbed_machine_is_named_once_and_early(pretended: Pretended) -> None:
    pretended.facts = {"blocks": ({"quota_seconds": 9e4},) * 6}
    said = list[str]()
    measure(asked(profiles="openblas-1").work, said.append)
    warned = [place for place, line in enumerate(said) if "is not quiet" in line]
    assert len(warned) == 1
    assert said[warned[0] - 1].endswith("24 of 24 blocks disturbed: CPU quota used up in 24")
    assert sum("disturbed: CPU quota used up in 6" in line for line in said) == 12


def test_no_counted_round_is_no_success(pretended: Pretended, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", "--only", "rbm/36x64", "--config", *(f"{key}={value}" for key, value in ONE_ROW.items())]
    assert main([*command, "rounds=1"]) == 0
    pretended.facts = {"blocks": ({"quota_seconds": 9e4},)}
    assert main([*command, "rounds=2"]) == 75
    assert "no new round counts" in capsys.readouterr().err
    # What the budget is not enough for is left.
    pretended.facts = {}
    assert main([*command[:1], "--budget", "1s", *command[1:], "rounds=3"]) == 75
    assert main([*command, "rounds=3"]) == 0


def test_measuring_again_is_measuring_anew(
    pretended: Pretended, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = "2026-01-01T00:00:30+00:00"
    monkeypatch.setattr(timing, "utc_now", lambda: moment.replace("30", "00"))
    command = ["measure", "--config", *(f"{key}={value}" for key, value in ONE_ROW.items())]
    assert [main(command), main(command), len(pretended.turns)] == [0, 0, 1]
    monkeypatch.setattr(timing, "utc_now", lambda: moment)
    assert main([*command[:1], "--again", moment[:19], "--only", "rbm/36x64", *command[1:]]) == 0
    assert [len(order.cases) for order in pretended.turns] == [4, 1]
    assert f"go on with --again {moment}" in capsys.readouterr().err
    assert main([*command[:1], "--again", moment, "--only", "rbm/36x64", *command[1:]]) == 0
    assert len(pretended.turns) == 2
    assert main([*command[:1], "--again", "yesterday", *command[1:]]) == 2
    assert "argument --again: 'yesterday' is no moment" in capsys.readouterr().err
    assert build_parser().parse_args(["measure", "--again"]).again > "2026-01-01T00:00:30+00:00"


def test_a_session_set_aside_counts_no_more(pretended: Pretended, capsys: pytest.CaptureFixture[str]) -> None:
    """A session that is set aside counts no more until it is taken back."""
    command = ["measure", "--config", *(f"{key}={value}" for key, value in ONE_ROW.items())]
    sessions = ["sessions", "--smoke", "--machine", "box"]
    main(command)
    (file,) = record_paths(True, "box")
    name = read_records(True, "box")[0].start.started[:16]
    assert main([*sessions, "--set-aside", name]) == 0
    assert record_paths(True, "box") == []
    assert f"set aside, and not counted: {name}" in (main(["status", *command[1:]]), capsys.readouterr().out)[1]
    assert main([*sessions, "--set-aside", name]) == 2
    assert "is in use began at" in capsys.readouterr().err
    assert main([*sessions, "--take-back", name]) == 0
    assert record_paths(True, "box") == [file]
    assert main([*sessions]) == 0
    listed = capsys.readouterr().out
    assert name in listed
    assert "set aside" not in listed.partition("session (UTC)")[2]
    assert main([*sessions, "--take-back", "2020-01-01T00:00"]) == 2


@pytest.mark.parametrize("begins", [True, False])
def test_a_row_that_never_began_stops(pretended: Pretended, begins: bool) -> None:
    """A row whose process never began is not begun again in the session."""
    pretended.dies = lambda profile: (begins, True) if profile == "gpu" else (True, False)
    said: list[str] = []
    assert measure(asked().work, said.append)
    assert [order.profile.name for order in pretended.turns].count("gpu") == (3 if begins else 1)
    assert any("gpu: not tried again in this session: the device is lost" in line for line in said) != begins
    # The next session tries it again, where it never began, and the last line says why there is no number.
    measure(asked().work)
    assert [order.profile.name for order in pretended.turns].count("gpu") == (3 if begins else 2)
    run = asked()
    assert count_cells(run, run.plan).lines[-1] == "box: 4 cells measured, 4 not measured: the device is lost"


def test_a_row_without_counted_rounds_stops(pretended: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason: here another version of a library than the one that is asked for."""
    pretended.dies = lambda profile: (True, profile == "gpu")
    monkeypatch.setattr("respeed.schedule.plan.package_versions", lambda: {"torch": "another"})
    said: list[str] = []
    measure(asked().work, said.append)
    assert [order.profile.name for order in pretended.turns].count("gpu") == 1
    assert any("gpu: not tried again in this session: nothing of its last turn can be counted" in line for line in said)


def test_a_budget_begins_no_turn_beyond_it(pretended: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn takes 43 s, as the first one has shown."""
    work = asked(profiles="openblas-1").work
    said: list[str] = []
    assert not measure(work, said.append, budget_seconds=1)
    assert re.fullmatch("respeed: 0 turns in .* more than is left of the budget", said[-1])
    assert not measure(work, budget_seconds=20)
    assert len(pretended.turns) == 1
    monkeypatch.setattr(progress, "seconds_now", lambda: 43.0 * len(pretended.turns))
    assert not measure(work, budget_seconds=44)
    assert len(pretended.turns) == 2
    measure(work, budget_seconds=100)
    assert len(pretended.turns) == 3
    assert measure(work, budget_seconds=1)


@pytest.mark.usefixtures("pretended")
def test_nothing_is_measured_beside_another_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Records that appear while a run makes its tables would end it at its last step."""
    with (
        machine_lock(0, print),
        pytest.raises(UserError, match=f"still runs on this machine: pid {os.getpid()}, since"),
    ):
        measure(asked().work, wait_seconds=0)
    Path("results/smoke").mkdir(parents=True)
    with Path("results/smoke/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["measure", "--wait", "0", "--config", "preset=smoke", "machine=box"]) == 2
    assert "another run is at work in this folder" in capsys.readouterr().err
    assert not record_paths(True, "box")


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("90s", 90), ("15min", 900), ("15 min", 900), ("1.5h", 5400)])
def test_a_duration_is_a_number_and_a_unit_and_anything_else_is_none(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    for other in ("", "15", "15m", "-3s", "nan h", "1e3s", "min"):
        with pytest.raises(ArgumentTypeError, match="is no duration"):
            parse_duration(other)
