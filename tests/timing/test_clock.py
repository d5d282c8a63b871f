"""Clocks that go on while the machine sleeps, and those that do not. No test can put a machine to sleep: clocks are
faked, as Linux and macOS have them."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from respeed.timing import clock
from respeed.timing.clock import boot_mark
from respeed.timing.disturbance import difference, take_snapshot

NAMES = ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "CLOCK_UPTIME_RAW")
SYSTEMS = {"Linux": NAMES[:3], "macOS": NAMES[1:], "another": NAMES[1:2]}


class Machine:
    """Its clocks, in seconds; `asleep` is what those that go on have gone farther."""

    def __init__(self, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.awake, self.asleep = 100.0, 0.0
        self.goes_on = {"Linux": {0}, "macOS": {1, 2}}.get(system, set())
        for number, name in enumerate(NAMES):
            if name in SYSTEMS[system]:
                monkeypatch.setattr(time, name, number, raising=False)
            else:
                monkeypatch.delattr(time, name, raising=False)
        monkeypatch.setattr(time, "clock_gettime", lambda number: self.awake + self.asleep * (number in self.goes_on))


@pytest.fixture(autouse=True)
def _ask_again() -> Iterator[None]:
    clock._clocks.cache_clear()
    yield
    clock._clocks.cache_clear()


@pytest.mark.parametrize(
    ("system", "asleep", "slept"),
    [
        ("Linux", 3600.0, 3600.0),
        ("macOS", 3600.0, 3600.0),
        ("another", 3600.0, None),
        # Clocks are never read at quite the same moment.
        *(("Linux", apart, 0.0) for apart in (0.0, 1e-6, -1e-6, 0.02)),
    ],
)
def test_a_machine_that_slept_in_a_block_is_noticed(
    monkeypatch: pytest.MonkeyPatch, system: str, asleep: float, slept: float | None
) -> None:
    machine = Machine(system, monkeypatch)
    before = take_snapshot()
    machine.awake += 0.3
    machine.asleep += asleep
    assert difference(before, take_snapshot())["slept_seconds"] == slept


def test_the_clocks_of_this_machine_say_that_it_has_not_slept() -> None:
    before = take_snapshot()
    assert not difference(before, take_snapshot())["slept_seconds"]


def test_the_clock_of_a_record_counts_sleep_and_says_which_start_of_the_machine_it_counts_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = Machine("Linux", monkeypatch)
    monkeypatch.setattr(clock, "boot_mark", lambda: "0123abcd")
    machine.asleep = 50
    assert clock.clock_facts() == {"boot": "0123abcd", "seconds": 150.0}
    monkeypatch.setattr(clock, "boot_mark", lambda: None)
    assert clock.clock_facts() is None
    (tmp_path / "one").write_text("ed643712-e8bb-47a5-ad93-ada908fcbbf6\n")
    (tmp_path / "two").write_text("1d643712-e8bb-47a5-ad93-ada908fcbbf6\n")
    one, two = (boot_mark(tmp_path / name) for name in ("one", "two"))
    assert one != two
    assert one == boot_mark(tmp_path / "one")
    assert len(one or "") == 8
