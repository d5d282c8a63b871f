"""A session of measuring: turn after turn, and what ends it."""

import fcntl
import io
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respeed.cli import main
from respeed.commands import parse_duration
from respeed.errors import UserError
from respeed.machine import describe_machine
from respeed.machine.process import machine_lock
from respeed.machine.software import package_versions
from respeed.measure import session
from respeed.measure.order import Order
from respeed.records import Record, record_paths
from respeed.schedule import rows
from respeed.schedule.run import Run, resolve_run, say_what_came_out
from tests.known import assert_known
from tests.made import make_lines, record_of, write_lines

SETTINGS = {
    "preset": "smoke", "experiments": "rbm", "profiles": ["openblas-1", "gpu"], "machine": "box", "papers": "raina2009",
}  # fmt: skip
LONG = "a long case" * 10
LOST = {"status": "not-run", "reason": "the device is lost", "flops": None, "traffic_bytes": None}


@pytest.fixture(autouse=True)
def _in_a_folder_and_with_a_lock_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Pretended:
    """Turns that no process measures: `dies` says whether one of that row begins, and whether its device is lost."""

    def __init__(self) -> None:
        self.turns: list[Order] = []
        self.dies: Callable[[str], tuple[bool, bool]] = lambda profile: (True, False)

    def measure_turn(
        self, order: Order, machine: str, smoke: bool, lock: object, watch: Callable[[str], None]
    ) -> list[Record]:
        self.turns.append(order)
        for shown in (LONG, "a case"):
            watch(shown)
        assert len(self.turns) < 20, "it does not end"
        begins, is_lost = self.dies(order.profile.name)
        facts: dict[str, Any] = {
            "profile": order.profile.name, "smoke": smoke, "threads": order.threads, "backend": order.profile.backend,
            "device": order.profile.device, "precision": order.profile.precision, "timing": vars(order.timing),
            "start_seconds": 3.0, "library": "torch 2" if begins else None, "wall_seconds": 10.0,
            "architecture": order.profile.architecture, "started": session.utc_now(),
            "hardware": describe_machine(), "versions": package_versions(),
        }  # fmt: skip
        made = [
            make_lines(case=one.case, source=one.source, **facts, **(LOST if is_lost else {})) for one in order.cases
        ]
        write_lines(made[0][0], *(result for _, result in made), machine=machine)
        return [record_of(made[0][0], *(result for _, result in made), machine=machine)]


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


def test_a_session_measures_until_nothing_is_left_and_the_next_one_nothing(
    pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, screen = list[str](), io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(session, "seconds_now", lambda: 43.0 * len(pretended.turns))
    outcome = session.measure_session(asked().work, say=said.append)
    assert (str(outcome), outcome.is_whole) == ("6 turns in 4 min; nothing is left to measure within the minutes", True)
    assert_known(Path(__file__).with_name("session.txt"), "\n".join(said))
    # Where lines can be written over, later turns show their cases in one.
    assert screen.getvalue() == "\r   …\r" + f"\r  {LONG[:108]}\r{' ' * 110}\r  a case …\r{' ' * 10}\r   …\r" * 5
    assert session.measure_session(asked().work).turns == 0
    assert session.measure_session(asked(rounds=4).work).turns == 2
    # What each turn is told of the machine being quiet is what its own row's turns saw in this session.
    seen = [len(order.probes.get("", [])) for order in pretended.turns if order.profile.name == "openblas-1"]
    assert seen == [0, 8, 16, 24]


@pytest.mark.parametrize("begins", [True, False])
def test_a_row_whose_process_never_began_is_not_begun_again_in_the_session(pretended: Pretended, begins: bool) -> None:
    pretended.dies = lambda profile: (begins, True) if profile == "gpu" else (True, False)
    said: list[str] = []
    assert session.measure_session(asked().work, say=said.append).is_whole
    assert [order.profile.name for order in pretended.turns].count("gpu") == (3 if begins else 1)
    assert any("gpu: not tried again in this session: the device is lost" in line for line in said) != begins
    # The next session tries it again, where it never began, and the last line says why there is no number.
    session.measure_session(asked().work)
    assert [order.profile.name for order in pretended.turns].count("gpu") == (3 if begins else 2)
    say_what_came_out(asked(), said.append)
    assert said[-1] == "box: 4 cells measured, 4 not measured: the device is lost"


def test_a_row_of_which_nothing_can_be_counted_is_not_measured_for_ever(
    pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason: here another version of a library than the one that is asked for."""
    pretended.dies = lambda profile: (True, profile == "gpu")
    monkeypatch.setattr("respeed.schedule.plan.package_versions", lambda: {"torch": "another"})
    said: list[str] = []
    session.measure_session(asked().work, say=said.append)
    assert [order.profile.name for order in pretended.turns].count("gpu") == 1
    assert any("gpu: not tried again in this session: nothing of its last turn can be counted" in line for line in said)


def test_within_a_budget_no_turn_is_begun_that_would_end_after_it(
    pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn takes 43 s, as the first one has shown."""
    work = asked(profiles="openblas-1").work
    outcome = session.measure_session(work, budget_seconds=1)
    assert (outcome.turns, outcome.is_whole) == (0, False)
    assert str(outcome).startswith("0 turns in ")
    assert "more than is left of the budget" in str(outcome)
    assert session.measure_session(work, budget_seconds=20).turns == 1
    monkeypatch.setattr(session, "seconds_now", lambda: 43.0 * len(pretended.turns))
    assert session.measure_session(work, budget_seconds=44).turns == 1
    assert session.measure_session(work, budget_seconds=100).turns == 1
    assert session.measure_session(work, budget_seconds=1).is_whole


@pytest.mark.usefixtures("pretended")
def test_beside_another_measurement_or_a_run_in_the_same_folder_nothing_is_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Records that appear while a run makes its tables would end it at its last step."""
    with machine_lock(0), pytest.raises(UserError, match=f"still runs on this machine: pid {os.getpid()}, since"):
        session.measure_session(asked().work, wait_seconds=0)
    Path("results/smoke").mkdir(parents=True)
    with Path("results/smoke/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["measure", "--wait", "0", "--config", "preset=smoke", "machine=box"]) == 2
    assert "another run is at work in this folder" in capsys.readouterr().err
    assert not record_paths(True)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15min", 900), ("15 min", 900), ("1.5h", 5400)])
def test_a_duration_is_a_number_and_a_unit_and_anything_else_is_none(text: str, seconds: float) -> None:
    assert parse_duration(text, "--budget") == seconds
    for other in ("", "15", "15m", "0s", "-3s", "nan h", "1e3s", "min"):
        with pytest.raises(UserError, match="--budget"):
            parse_duration(other, "--budget")
