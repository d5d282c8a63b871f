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
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import numpy as np
import pytest

from respeed.analysis.neighbours import Quiet, find_quiet
from respeed.machine.devices import EnergyCounter
from respeed.measure import timing
from respeed.measure.timing import (
    Marks,
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
from respeed.protocol import REAL, Block, contamination, lasting_causes
from tests.known import assert_known

QUIET = {"run_delay_seconds": 0.0, "threads_ran": 1, "minor_faults": 0, "quota_seconds": 0.0, "throttled_seconds": 0.0}
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


def timer(clock: Clock, seconds: float, *, counters: tuple[EnergyCounter, ...] = ()) -> Timer:
    def product() -> None:
        clock.now += 0.004 + 1e-5 * clock.products
        clock.products += 1

    step = clock.step(lambda _: seconds)
    probe = Probe(product, nothing, 2)
    return Timer((step,), nothing, REAL, probe, meter=Meter(counters))


@pytest.mark.parametrize(
    ("facts", "causes"),
    [
        # Threads may wait for two hundredths of the time that they could have run.
        ({"run_delay_seconds": 0.0399}, []), ({"run_delay_seconds": 0.0401}, ["waited for a core"]),
        *(({"probe_seconds": ends}, ["slow reference probe"]) for ends in ((0.004, 0.0051), (0.0051, 0.004))),
        ({"quota_seconds": 0.0399}, []), ({"quota_seconds": 0.0401}, ["CPU quota used up"]),
        ({"throttled_seconds": 0.0199}, []), ({"throttled_seconds": 0.0201}, ["clocks throttled"]),
        ({"minor_faults": 8_300}, []), ({"minor_faults": 8_400}, ["page faults"]),
        # What the kernel does not tell is not held against a block.
        (dict.fromkeys(("run_delay_seconds", "threads_ran", "quota_seconds", "throttled_seconds")), []),
    ],
)  # fmt: skip
def test_each_cause_is_named(facts: dict[str, object], causes: list[str]) -> None:
    assert contamination(replace(CLEAN, **facts), 2, REAL, (), 0.004) == causes


def test_a_wait_that_is_taken_out_may_be_longer() -> None:
    for threads, most in ((1, 0.05), (2, 0.1), (8, 0.1)):
        for share, causes in ((0.98 * most, []), (1.02 * most, ["waited for a core"])):
            block = replace(CLEAN, run_delay_seconds=share * CLEAN.seconds)
            assert contamination(block, threads, REAL, may_wait=True) == causes


def test_a_laptop_always_hot_keeps_its_blocks() -> None:
    """Clocks that are low in every block of most rounds belong to the machine; in few rounds they disturb."""
    hot, cold = replace(CLEAN, throttled_seconds=0.5), CLEAN
    for rounds, kept in (([[hot, hot]] * 3 + [[hot, cold]], True), ([[hot, cold]] * 3 + [[hot, hot]], False)):
        lasting = lasting_causes(rounds, REAL)
        assert (contamination(hot, 1, REAL, lasting) == []) == kept


def probes(seconds: float, noise: float = 0.0, busy: float = 0.0, seed: int = 1) -> list[float]:
    """A hundred probes, of which a share is 1.2 to 1.8 times as slow."""
    draw = np.random.default_rng(seed)
    slow = np.where(draw.random(100) < busy, draw.uniform(1.2, 1.8, 100), 1.0)
    return list(seconds * slow * np.exp(draw.normal(0, noise, 100)))


def test_the_quiet_probe_is_found_beside_neighbours() -> None:
    processes = [probes(0.004, 0.01, busy, seed) for seed, busy in enumerate((0.3, 0.6, 0.9, 0.5, 0.8, 0.9))]
    quiet = find_quiet(processes)
    assert quiet.seconds == pytest.approx(0.004, rel=0.02)
    assert quiet.error < 0.05


def test_a_noisy_hour_keeps_the_quiet_probe() -> None:
    before = [probes(0.004, 0.01, seed=seed) for seed in range(5)]
    later = [probes(0.004, 0.01, 1.0, seed) for seed in range(20)]
    assert find_quiet([*before, *later]).seconds == find_quiet(before).seconds
    assert find_quiet([*before, *[probes(0.0041)] * 9]).seconds == find_quiet(before).seconds
    assert find_quiet([*before, *[probes(0.0035)] * 9]).seconds < find_quiet(before).seconds


def test_one_quiet_process_shows_the_quiet_probe() -> None:
    """In the others, a neighbour stayed; but of processes that are alike, the middle one counts."""
    assert find_quiet([probes(0.005), probes(0.004), *[probes(0.005)] * 4]).seconds == pytest.approx(0.004)
    alike = [probes(0.004 * slow) for slow in (1.0, 1.01, 1.02, 1.025, 1.1)]
    assert find_quiet(alike).seconds == pytest.approx(0.004 * 1.015)


def test_a_disputed_quiet_probe_has_an_error() -> None:
    assert find_quiet([probes(0.004)]).error == 0.05
    assert find_quiet([probes(0.004)] * 2).error == pytest.approx(0.05 / math.sqrt(2))  # alike by chance
    apart = find_quiet([probes(0.004 * slow) for slow in (1.0, 1.1, 1.25, 1.4)])
    assert apart.error > 0.05
    assert math.log(apart.seconds / 0.004) < 2 * apart.error
    assert find_quiet([probes(0.004, 0.01, seed=seed) for seed in range(5)]).error < 0.01


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
    one = replace(timer(clock, math.inf), parts=parts, sync=sync, meter=meter, synchronous=synchronous)
    first = one.one_step()
    warm = warm_up(step, sync, REAL, first.seconds, synchronous=synchronous)
    assert warm.settled == (change < 1)
    yield f"{shown([*vars(warm).values()])}; {clock.steps} parts, {clock.now:.5g} s"
    least = REAL.block_seconds if synchronous else REAL.device_block_seconds
    number = itertools.count()
    timed = one.blocks(warm.step_seconds, lambda _: next(number) == 1 and not step())
    for block in (first, *timed):
        if block is not first:
            assert block.seconds >= least * 0.9
            assert block.steps >= (REAL.block_steps if warm.step_seconds <= least else 1)
            assert len(block.sample_seconds) <= (26 if synchronous else 1)  # a record stays small
        readings = [read["sm_mhz"] for read in block.device]
        parts_told = "".join(f"; {shown(part)}" for part in block.part_seconds)
        told = f"{shown(block.sample_seconds)}{parts_told}; probes {shown(block.probe_seconds)}"
        yield f"  {block.sample_steps} x {told}; device {shown(readings)}; {block.joules['package-0']:.5g} J"
    yield f"  {clock.steps} parts, {clock.now:.5g} s"


def accounts() -> str:
    """All of them, on the test's own clock."""
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "take_snapshot", lambda *_, **__: None)
        patch.setattr(timing, "difference", lambda *_: QUIET)
        steps = itertools.product((2e-4, 0.004, 0.02, 0.08, 0.3), (True, False), ((1.0,), (0.25, 0.75)), (0.8,))
        for seconds, synchronous, shares, change in (*steps, (0.02, True, (1.0,), 1.1), (5.0, True, (1.0,), 0.8)):
            clock = Clock()
            patch.setattr(timing, "seconds_now", lambda clock=clock: clock.now)
            lines += [f"{seconds:g} s in {len(shares)}, {'waited for' if synchronous else 'queued'}"]
            lines += account_of(clock, seconds, synchronous, shares, change)
    return "\n".join([*lines, ""])


@pytest.mark.known
def test_known_steps_are_timed_as_before() -> None:
    """What is timed when and how often is known to the step."""
    assert_known(Path(__file__).with_name("blocks.txt"), accounts())


def test_probes_inside_a_step_are_not_timed(clock: Clock) -> None:
    """Ten products of 30 ms: before every second one a probe is due, of which neither time nor energy counts."""
    marks = list[Callable[[], None]]()

    @contextmanager
    def marked(at_mark: Callable[[], None]) -> Iterator[None]:
        marks.append(at_mark)
        yield

    def step() -> None:
        for _ in range(10):
            marks[-1]()
            clock.now += 0.03

    block = replace(timer(clock, 0.0, counters=(clock.counter(),)), parts=(step,), marked=marked).one_step()
    assert [seconds for seconds, _ in block.inside] == pytest.approx([0.06] * 4)
    assert block.seconds == pytest.approx(0.3)
    assert block.joules["package-0"] == pytest.approx(WATTS * 0.3, rel=0.06)
    # Between two probes their mean counts, and each part by its time: 0.2 s are quiet, and 0.1 s half slow.
    slow = replace(block, probe_seconds=(0.004, 0.004), inside=((0.2, 0.004), (0.05, 0.008)))
    assert Quiet(0.004).slowness(slow) == pytest.approx(math.log(2) / 2 * 0.1 / 0.3)


def test_a_probes_own_products_are_no_marks(clock: Clock) -> None:
    """A backend marks every product, and a probe may take longer than the time between two."""
    marks, begun = list[Marks](), list[float]()

    def product() -> None:
        begun.append(clock.now)
        marks[0].at_mark()
        clock.now += 0.05

    marks.append(Marks(Probe(product, nothing, 2)))
    clock.now += 0.05
    marks[0].at_mark()
    # Three products, the first of which is not timed.
    assert (begun, marks[0].inside) == (pytest.approx([0.05, 0.1, 0.15]), [pytest.approx((0.05, 0.05))])
    assert marks[0].taken == pytest.approx(0.15)


def test_a_probe_outlasts_the_clocks_resolution(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a program was built or checked it took twice as long, on a quiet machine."""
    assert make_probe(clock.step(lambda _: 0.0005), nothing).repeats == 10
    assert make_probe(clock.step(lambda _: 0.02), nothing).repeats == 1
    clock.steps = 0
    one = Probe(clock.step(lambda number: 0.008 if number % 5 == 0 else 0.004), nothing, 4)
    assert [one.seconds() for _ in range(3)] == pytest.approx([0.004] * 3)
    order: list[str] = []

    def product() -> None:
        clock.now += 0.003
        order.append("product")

    one = make_probe(product, lambda: order.append("wait"))
    assert order == ["product", "product", "wait", *["product", "wait"] * 3]
    order.clear()
    one.seconds()
    assert order == ["product", "wait", "product", "product", "wait"]
    monkeypatch.setattr(timing.time, "process_time", lambda: 1.5 * clock.now)
    monkeypatch.setattr(timing, "difference", lambda *_: QUIET)
    assert prove_threads(one) == {"threads_ran": 1, "cpus_taken": 1.5}


def test_only_threads_that_ran_are_counted() -> None:
    """Threads that ran are counted and idle ones are not and page faults are."""
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
    here, later = (Snapshot(Counter(running[end]), Counter(waiting[end]), counts[end]) for end in (0, 1))
    found = difference(here, later)
    assert found == {"run_delay_seconds": 2.000000001, "threads_ran": 2, "a": 3, "b": None, "c": None}
    assert abs(timing.seconds_now() - time.perf_counter()) < 60


def test_without_whole_counters_a_block_has_no_energy(clock: Clock) -> None:
    """Without counters or where one is gone at one end a block has no energy."""
    assert timer(clock, 0.01).one_step().joules == {}
    lost = EnergyCounter("GPU", iter([1.0]).__next__)  # the second reading fails
    assert timer(clock, 0.01, counters=(clock.counter(), lost)).one_step().joules == {}
    unsure = EnergyCounter("GPU", iter([2.0, 1.0]).__next__)  # as one that was set back
    assert timer(clock, 0.01, counters=(clock.counter(), unsure)).one_step().joules == {}


def test_a_waiting_host_slows_no_device(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that waits keeps nothing from a device that is ahead of it."""
    for is_ahead, causes in ((True, []), (False, ["waited for a core"]), (None, ["waited for a core"])):
        waited = replace(CLEAN, run_delay_seconds=CLEAN.seconds, ahead=is_ahead)
        assert contamination(waited, 1, REAL) == causes
    busy = iter([True, True, False])  # at the end of each block of one step
    timed = [replace(timer(clock, 0.5), busy=busy.__next__).one_step() for _ in range(3)]
    assert [block.ahead for block in timed] == [True, True, False]
    snapshots = Mock(side_effect=take_snapshot)
    monkeypatch.setattr(timing, "take_snapshot", snapshots)
    assert replace(timer(clock, 0.5), helpers=(1,)).one_step().ahead is None
    assert snapshots.call_args_list == [call((1,))] * 2
    # Of threads that share their cores by design, waiting tells nothing.
    for shared in ({"helpers": (1,)}, {"is_shared": True}):
        assert replace(timer(clock, 0.5), **shared).one_step().run_delay_seconds is None
    waits = iter([9, 5])  # what was waited before a block is none of its own
    assert replace(timer(clock, 0.5), happened=lambda: {"minor_faults": next(waits)}).one_step().minor_faults == 5
