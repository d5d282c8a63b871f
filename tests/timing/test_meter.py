"""Energy at the ends of blocks, by counters and a clock that the test owns."""

from collections.abc import Callable

import pytest

from respeed.machine.energy import EnergyCounter
from respeed.protocol import REAL
from respeed.timing import blocks, energy
from respeed.timing.blocks import Timer
from respeed.timing.energy import STILL_SECONDS, Meter, make_meter
from respeed.timing.probe import Probe

WATTS = 200.0
# What a reading takes, seconds: it must show in no time.
READING = 0.003


class World:
    """Time passes in steps, in probes and while a counter is read."""

    def __init__(self, update: float = 1e-9) -> None:
        self.now, self.update = 0.0, update

    def joules(self) -> float:
        self.now += READING
        return WATTS * self.update * (self.now // self.update)

    def step(self) -> None:
        self.now += 0.01


def nothing() -> None:
    pass


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], World]:
    def make(update: float) -> World:
        made = World(update)
        monkeypatch.setattr(blocks, "seconds_now", lambda: made.now)
        monkeypatch.setattr(energy, "seconds_now", lambda: made.now)
        return made

    return make


def timer(world: World, counters: tuple[EnergyCounter, ...]) -> Timer:
    return Timer((world.step,), nothing, True, 1, 0.01, REAL, Probe(nothing, nothing, 1), [], meter=Meter(counters))


def test_a_block_has_what_was_used_in_it_and_its_times_nothing_of_the_reading(world: Callable[[float], World]) -> None:
    one = world(1e-9)
    for block in timer(one, (EnergyCounter("package-0", one.joules),)).measure():
        assert block.seconds / block.steps == pytest.approx(0.01)
        assert block.joules == {"package-0": pytest.approx(WATTS * (block.seconds + READING))}


def test_every_domain_has_its_own_number(world: Callable[[float], World]) -> None:
    one = world(1e-9)
    counters = (EnergyCounter("package-0", one.joules), EnergyCounter("GPU", lambda: 3 * WATTS * one.now))
    block = timer(one, counters).first_step()
    assert list(block.joules) == ["package-0", "GPU"]


def test_without_counters_nothing_is_read_and_nothing_is_told(world: Callable[[float], World]) -> None:
    one = world(1e-9)
    assert timer(one, ()).first_step().joules == {}
    assert one.now == pytest.approx(0.01)


def test_a_counter_that_is_gone_at_one_end_leaves_the_block_without_energy(world: Callable[[float], World]) -> None:
    one, readings = world(1e-9), iter([1.0])

    def lost() -> float:
        for joules in readings:
            return joules
        raise OSError("GPU is lost")

    assert timer(one, (EnergyCounter("package-0", one.joules), EnergyCounter("GPU", lost))).first_step().joules == {}


def test_how_often_a_counter_moves_is_seen(world: Callable[[float], World]) -> None:
    one = world(0.1)
    meter, facts = make_meter([EnergyCounter("GPU", one.joules)], "")
    assert facts["reason"] is None
    assert facts["update_seconds"]["GPU"] == pytest.approx(0.1, abs=2 * READING)
    assert meter.counters


def test_a_counter_that_stands_still_is_a_reason_and_is_not_waited_for_long(world: Callable[[float], World]) -> None:
    one = world(1e9)
    meter, facts = make_meter([EnergyCounter("package-0", one.joules)], "")
    assert facts == {"update_seconds": {}, "reason": "the counter of package-0 stands still"}
    assert meter == Meter()
    assert one.now < STILL_SECONDS + 3 * READING


def test_a_reason_that_there_is_no_counter_is_kept() -> None:
    assert make_meter([], "no counter")[1] == {"update_seconds": {}, "reason": "no counter"}
