"""Warm-up, blocks, probes and energy, on steps whose duration is known because the test owns the clock; and blocks that
are discarded by cause, never by value."""

import itertools
import math
import mmap
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest

from respeed.machine.devices import EnergyCounter
from respeed.measure import timing
from respeed.measure.timing import (
    Meter,
    Probe,
    Snapshot,
    Timer,
    difference,
    make_probe,
    prove_threads,
    take_snapshot,
    warm_up,
)
from respeed.protocol import REAL, Block, contamination, quiet_probe
from tests.known import assert_known

QUIET = {"run_delay_seconds": 0.0, "threads_ran": 1, "minor_faults": 0, "quota_throttles": 0, "clock_throttles": 0}
CLEAN = Block(sample_steps=1, sample_seconds=(0.25, 0.25, 0.5), probe_seconds=(0.004, 0.004), **QUIET)
WATTS = 200.0
# What a reading of a counter takes, seconds: it must show in no time.
READING = 0.003


class Clock:
    """Time that passes in steps, in probes and while a counter is read."""

    def __init__(self) -> None:
        self.now, self.steps, self.products = 0.0, 0, 0

    def step(self, seconds: Callable[[int], float]) -> Callable[[], None]:
        def run() -> None:
            self.now += seconds(self.steps)
            self.steps += 1

        return run

    def counter(self, domain: str = "package-0") -> EnergyCounter:
        def joules() -> float:
            self.now += READING
            return WATTS * self.now

        return EnergyCounter(domain, joules)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timing, "seconds_now", lambda: made.now)
    return made


def nothing() -> None: ...


def timer(clock: Clock, seconds: float, *, synchronous: bool = True, counters: tuple[EnergyCounter, ...] = ()) -> Timer:
    def product() -> None:
        clock.now += 0.004 + 1e-5 * clock.products
        clock.products += 1

    step = clock.step(lambda _: seconds)
    probe = Probe(product, nothing, 2)
    return Timer((step,), nothing, synchronous, 1, seconds, REAL, probe, [], meter=Meter(counters))


@pytest.mark.parametrize(
    ("facts", "causes"),
    [
        # Threads may wait for two hundredths of the time that they could have run.
        ({"run_delay_seconds": 0.0399}, []), ({"run_delay_seconds": 0.0401}, ["waited for a core"]),
        *(({"probe_seconds": ends}, ["slow reference probe"]) for ends in ((0.004, 0.0051), (0.0051, 0.004))),
        ({"quota_throttles": 1}, ["CPU quota used up"]), ({"clock_throttles": 1}, ["clocks throttled"]),
        ({"minor_faults": 8_300}, []), ({"minor_faults": 8_400}, ["page faults"]),
        # What the kernel does not tell is not held against a block.
        (dict.fromkeys(("run_delay_seconds", "threads_ran", "quota_throttles", "clock_throttles")), []),
    ],
)  # fmt: skip
def test_each_cause_is_named(facts: dict[str, object], causes: list[str]) -> None:
    assert contamination(replace(CLEAN, **facts), 2, 0.004, REAL) == causes


def test_what_a_machine_is_like_now_and_then_is_no_quiet_state_of_it() -> None:
    for fast, usual, slow, quiet in (
        (12, 80, 8, 500.0),  # a machine that is now and then faster than itself, as one of 16 cores was
        (12, 40, 48, 340.0),  # nothing is usual there
        (26, 74, 0, 340.0),  # disturbed most of the time, and quiet in a quarter of it
    ):
        probes = [340.0] * fast + [500.0 + one for one in range(usual)] + [900.0 + 20 * one for one in range(slow)]
        assert quiet_probe(probes) == quiet


def test_disturbed_blocks_are_kept_and_measured_again_until_the_cap(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "difference", lambda *_: QUIET | {"run_delay_seconds": 1.0})
    timed = timer(clock, 0.01).measure()
    assert all(contamination(block, 1, 0.004, REAL) for block in timed)
    assert sum(block.seconds for block in timed) >= REAL.measure_cap * REAL.measure_seconds * 0.999


def shown(value: Any) -> str:
    """Numbers in short; of many, the first, the last and how many there are."""
    if isinstance(value, list | tuple):
        return " ".join(map(shown, value if len(value) < 5 else (value[0], f"..{len(value)}..", value[-1])))
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def account_of(clock: Clock, seconds: float, synchronous: bool, shares: Any, change: float) -> Iterator[str]:
    """What was timed when, of a step that takes twice as long at first, and then less, or more and more."""

    def sync() -> None:
        clock.now += 0.0 if synchronous else 0.0002

    def step() -> None:
        for part in parts:
            part()

    parts = tuple(clock.step(lambda done, share=share: seconds * share * (1 + change**done)) for share in shares)
    meter = Meter((clock.counter(),), lambda: {"sm_mhz": clock.now})
    one = replace(timer(clock, math.inf, synchronous=synchronous), parts=parts, sync=sync, meter=meter)
    first = one.first_step()
    warm = warm_up(step, sync, REAL, synchronous=synchronous, first_seconds=first.seconds)
    assert warm.settled == (change < 1)
    yield f"{shown([*vars(warm).values()])}; {clock.steps} parts, {clock.now:.5g} s"
    for block in (first, *replace(one, step_seconds=warm.step_seconds).measure(begin=sync)):
        if block is not first:
            assert block.seconds >= REAL.block_seconds * 0.9
            assert block.steps >= (REAL.block_steps if seconds < REAL.block_seconds else 1)
            assert len(block.sample_seconds) <= (26 if synchronous else 1)  # a record stays small
        readings = [read["sm_mhz"] for read in block.device]
        parts_told = "".join(f"; {shown(part)}" for part in block.part_seconds)
        told = f"{shown(block.sample_seconds)}{parts_told}; probes {shown(block.probe_seconds)}"
        yield f"  {block.sample_steps} x {told}; device {shown(readings)}; {block.joules['package-0']:.5g} J"
    yield f"  {clock.steps} parts, {clock.now:.5g} s, {len(one.probes)} probes"


def accounts() -> str:
    """All of them, on the test's own clock."""
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "take_snapshot", lambda *_, **__: None)
        waits = itertools.cycle([0.0, 1.0, 0.0])  # after each first step is a block that is disturbed
        patch.setattr(timing, "difference", lambda *_: QUIET | {"run_delay_seconds": next(waits)})
        steps = itertools.product((2e-4, 0.004, 0.02, 0.08, 0.3), (True, False), ((1.0,), (0.25, 0.75)), (0.8,))
        for seconds, synchronous, shares, change in (*steps, (0.02, True, (1.0,), 1.1), (5.0, True, (1.0,), 0.8)):
            clock = Clock()
            patch.setattr(timing, "seconds_now", lambda clock=clock: clock.now)
            lines += [f"{seconds:g} s in {len(shares)}, {'waited for' if synchronous else 'queued'}"]
            lines += account_of(clock, seconds, synchronous, shares, change)
    return "\n".join([*lines, ""])


def test_what_is_timed_when_and_how_often_is_known_to_the_step() -> None:
    assert_known(Path(__file__).with_name("blocks.txt"), accounts())


def test_a_probe_is_long_enough_for_the_clock_and_its_first_product_does_not_count(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a program was built or checked it took twice as long, on a quiet machine."""
    assert make_probe(clock.step(lambda _: 0.0005), nothing).repeats == 20
    assert make_probe(clock.step(lambda _: 0.02), nothing).repeats == 1
    clock.steps = 0
    one = Probe(clock.step(lambda number: 0.008 if number % 5 == 0 else 0.004), nothing, 4)
    assert [one.seconds() for _ in range(3)] == pytest.approx([0.004] * 3)
    order: list[str] = []

    def product() -> None:
        clock.now += 0.006
        order.append("product")

    one = make_probe(product, lambda: order.append("wait"))
    assert order == ["product", "wait"] * 5
    order.clear()
    one.seconds()
    assert order == ["product", "wait", "product", "product", "wait"]
    monkeypatch.setattr(timing.time, "process_time", lambda: 1.5 * clock.now)
    monkeypatch.setattr(timing, "difference", lambda *_: QUIET)
    assert prove_threads(one) == {"threads_ran": 1, "run_delay_seconds": 0.0, "cpus_taken": 1.5}


def test_threads_that_ran_are_counted_and_idle_ones_are_not_and_page_faults_are() -> None:
    if not os.path.exists("/proc/self/schedstat"):
        pytest.skip("this kernel does not tell which threads ran")
    before = take_snapshot()
    stop = threading.Event()
    idle = threading.Thread(target=stop.wait)
    idle.start()
    began = time.perf_counter()
    while time.perf_counter() - began < 0.2:
        pass
    # Memory that is touched for the first time: a kernel may map sixteen pages at once.
    with mmap.mmap(-1, 256 * mmap.PAGESIZE) as pages:
        pages.write(bytes(len(pages)))
    seen = difference(before, take_snapshot())
    stop.set()
    idle.join()
    assert (seen["threads_ran"], seen["run_delay_seconds"] is None) == (1, False)
    assert seen["minor_faults"] >= 256 / 16
    # One that ran for less than a tenth of the time of the busiest hardly took part; one may be new.
    running = {"7": 10**9}, {"7": 2 * 10**9, "8": 15 * 10**7, "9": 5 * 10**7}
    waiting = {"7": 10**9}, {"7": 3 * 10**9, "8": 1, "9": 0}
    counts = {"a": 2, "b": None, "c": 2}, {"a": 5, "b": 1, "c": None}
    here, later = (Snapshot(Counter(running[end]), Counter(waiting[end]), False, counts[end]) for end in (0, 1))
    found = difference(here, later)
    assert found == {"run_delay_seconds": 2.000000001, "threads_ran": 2, "a": 3, "b": None, "c": None}
    assert abs(timing.seconds_now() - time.perf_counter()) < 60
    # Of threads that share their cores by design, waiting tells nothing.
    assert difference(take_snapshot(is_shared=True), take_snapshot(is_shared=True))["run_delay_seconds"] is None


def test_without_counters_or_where_one_is_gone_at_one_end_a_block_has_no_energy(clock: Clock) -> None:
    assert timer(clock, 0.01).first_step().joules == {}
    lost = EnergyCounter("GPU", iter([1.0]).__next__)  # the second reading fails
    assert timer(clock, 0.01, counters=(clock.counter(), lost)).first_step().joules == {}
    unsure = EnergyCounter("GPU", iter([2.0, 1.0]).__next__)  # as one that was set back
    assert timer(clock, 0.01, counters=(clock.counter(), unsure)).first_step().joules == {}


def test_a_host_that_waits_keeps_nothing_from_a_device_that_is_ahead_of_it(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for is_ahead, causes in ((True, []), (False, ["waited for a core"]), (None, ["waited for a core"])):
        waited = replace(CLEAN, run_delay_seconds=CLEAN.seconds, ahead=is_ahead)
        assert contamination(waited, 1, 0.004, REAL) == causes
    busy = iter([True, True, False])  # at the end of each block of one step
    timed = [replace(timer(clock, 0.5), synchronous=False, busy=busy.__next__).first_step() for _ in range(3)]
    assert [block.ahead for block in timed] == [True, True, False]
    snapshots = Mock(side_effect=take_snapshot)
    monkeypatch.setattr(timing, "take_snapshot", snapshots)
    assert replace(timer(clock, 0.5), helpers=(1,), is_shared=True).first_step().ahead is None
    assert snapshots.call_args_list == [call((1,), is_shared=True)] * 2
    waits = iter([9, 5])  # what was waited before a block is none of its own
    assert replace(timer(clock, 0.5), happened=lambda: {"minor_faults": next(waits)}).first_step().minor_faults == 5
