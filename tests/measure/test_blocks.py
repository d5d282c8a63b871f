"""Warm-up, blocks, probes and energy, on steps whose duration is known because the test owns the clock; and blocks that
are discarded by cause, never by value."""

import itertools
import mmap
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from respeed.machine.devices import EnergyCounter
from respeed.measure import timing
from respeed.measure.timing import Meter, Probe, Snapshot, Timer, difference, make_probe, take_snapshot, warm_up
from respeed.protocol import REAL, Block, contamination, quiet_probe

CLEAN = Block(
    sample_steps=1, sample_seconds=(0.25, 0.25, 0.5), probe_seconds=(0.004, 0.004), run_delay_seconds=0.0,
    threads_ran=2, minor_faults=0, quota_throttles=0, clock_throttles=0,
)  # fmt: skip
QUIET = {"run_delay_seconds": 0.0, "threads_ran": 1, "minor_faults": 0, "quota_throttles": 0, "clock_throttles": 0}
WATTS = 200.0
# What a reading of a counter takes, seconds: it must show in no time.
READING = 0.003


class Clock:
    """Time that passes in steps, in probes and while a counter is read."""

    def __init__(self) -> None:
        self.now, self.steps = 0.0, 0

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


def nothing() -> None:
    pass


def timer(clock: Clock, seconds: float, *, synchronous: bool = True, counters: tuple[EnergyCounter, ...] = ()) -> Timer:
    def product() -> None:
        clock.now += 0.004

    step = clock.step(lambda _: seconds)
    probe = Probe(product, nothing, 2)
    return Timer((step,), nothing, synchronous, 1, seconds, REAL, probe, [], meter=Meter(counters))


@pytest.mark.parametrize(
    ("facts", "causes"),
    [
        # Threads may wait for two hundredths of the time that they could have run.
        ({"run_delay_seconds": 0.0399}, []),
        ({"run_delay_seconds": 0.0401}, ["waited for a core"]),
        ({"probe_seconds": (0.004, 0.0051)}, ["slow reference probe"]),
        ({"probe_seconds": (0.0051, 0.004)}, ["slow reference probe"]),
        ({"quota_throttles": 1}, ["CPU quota used up"]),
        ({"clock_throttles": 1}, ["clocks throttled"]),
        ({"minor_faults": 100_000}, ["page faults"]),
        # What the kernel does not tell is not held against a block.
        (dict.fromkeys(("run_delay_seconds", "threads_ran", "quota_throttles", "clock_throttles")), []),
    ],
)
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


@pytest.mark.parametrize("seconds", [1e-5, 0.004, 0.08, 0.3, 5.0])
@pytest.mark.parametrize("synchronous", [True, False])
def test_every_block_is_long_enough_has_enough_steps_and_lies_between_two_probes(
    clock: Clock, seconds: float, synchronous: bool
) -> None:
    one = timer(clock, seconds, synchronous=synchronous)
    timed = one.measure()
    for block in timed:
        assert block.seconds >= REAL.block_seconds * 0.999
        assert block.steps >= (REAL.block_steps if seconds < REAL.block_seconds else 1)
        assert block.seconds / block.steps == pytest.approx(seconds)
        assert block.probe_seconds == pytest.approx((0.004, 0.004))
        # Samples are steps where these are slow, and the block where the device runs ahead; a record stays small.
        assert len(block.sample_seconds) <= (26 if synchronous else 1)
        assert block.sample_steps == 1 or seconds < REAL.sample_seconds or not synchronous
    assert one.probes == [probe for block in timed for probe in block.probe_seconds]


def test_disturbed_blocks_are_kept_and_measured_again_until_the_cap(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "difference", lambda *_: QUIET | {"run_delay_seconds": 1.0})
    timed = timer(clock, 0.01).measure()
    assert all(contamination(block, 1, 0.004, REAL) for block in timed)
    assert sum(block.seconds for block in timed) >= REAL.measure_cap * REAL.measure_seconds * 0.999
    # However long a disturbed block took, another follows.
    waits = iter([1.0, 0.0, 0.0])
    monkeypatch.setattr(timing, "difference", lambda *_: QUIET | {"run_delay_seconds": next(waits)})
    timed = timer(clock, 5.0).measure()
    assert [bool(contamination(block, 1, 0.004, REAL)) for block in timed] == [True, False]


def test_a_step_in_parts_is_timed_part_by_part(clock: Clock) -> None:
    one = replace(timer(clock, 0.1), parts=(clock.step(lambda _: 0.03), clock.step(lambda _: 0.07)))
    for block in one.measure():
        for part, seconds in zip((*block.part_seconds, block.sample_seconds), (0.03, 0.07, 0.1), strict=True):
            assert part == pytest.approx([seconds] * len(block.sample_seconds))


def test_warm_up_lasts_its_minimum_and_until_two_windows_agree_or_is_capped_and_says_so(clock: Clock) -> None:
    done = warm_up(clock.step(lambda _: 0.004), nothing, REAL)
    assert (done.settled, done.seconds >= REAL.warmup_seconds) == (True, True)
    begun = clock.steps
    done = warm_up(clock.step(lambda step: 0.004 * (1 + 5 * 0.96 ** (step - begun))), nothing, REAL)
    assert (done.settled, done.step_seconds) == (True, pytest.approx(0.004, rel=0.1))
    begun = clock.steps
    done = warm_up(clock.step(lambda step: 0.02 * 1.08 ** (step - begun)), nothing, REAL)
    assert (done.settled, done.seconds >= REAL.warmup_cap_seconds) == (False, True)


def test_where_the_device_runs_ahead_warm_up_times_as_many_steps_together_as_fit_the_window(clock: Clock) -> None:
    """A synchronisation that costs more than a step must not make the step seem slow."""

    def sync() -> None:
        clock.now += 0.0032

    assert warm_up(clock.step(lambda _: 0.001), sync, REAL, synchronous=False).step_seconds == pytest.approx(0.0011)
    for seconds in (1e-4, 0.004, 0.04, 0.2, 0.3):
        began = clock.now
        done = warm_up(clock.step(lambda _, seconds=seconds: seconds), nothing, REAL, synchronous=False)
        assert clock.now - began <= 2 * REAL.warmup_seconds + 2 * seconds
    assert done.steps == 1  # one that is longer than a block is warm-up enough


def test_between_two_blocks_on_a_device_lies_one_probe(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "difference", lambda *_: QUIET | {"run_delay_seconds": 1.0})
    probe = Probe(clock.step(lambda number: 0.001 * number), nothing, 1)
    for synchronous in (True, False):
        found = replace(timer(clock, 0.01, synchronous=synchronous), probe=probe).measure()
        shared = [one.probe_seconds[1] == other.probe_seconds[0] for one, other in itertools.pairwise(found)]
        assert set(shared) == {not synchronous}


def test_a_probe_is_long_enough_for_the_clock_and_its_first_product_does_not_count(clock: Clock) -> None:
    """After a program was built or checked it took twice as long, on a quiet machine."""
    assert make_probe(clock.step(lambda _: 0.0005), nothing).repeats == 20
    assert make_probe(clock.step(lambda _: 0.02), nothing).repeats == 1
    clock.steps = 0
    one = Probe(clock.step(lambda number: 0.008 if number % 5 == 0 else 0.004), nothing, 4)
    assert [one.seconds() for _ in range(3)] == pytest.approx([0.004] * 3)


def test_threads_that_ran_are_counted_and_idle_ones_are_not_and_page_faults_are() -> None:
    before = take_snapshot()
    if not before.threads:
        pytest.skip("this kernel has no /proc/self/task/*/schedstat")
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
    here, later = (Snapshot({"7": times}, False, {}) for times in ((0, 10**9), (10**9, 3 * 10**9)))
    assert difference(here, later) == {"run_delay_seconds": 2.0, "threads_ran": 1}
    # Of threads that share their cores by design, waiting tells nothing.
    assert difference(take_snapshot(is_shared=True), take_snapshot(is_shared=True))["run_delay_seconds"] is None


def test_a_block_has_what_was_used_in_it_and_its_times_nothing_of_the_reading(clock: Clock) -> None:
    for block in timer(clock, 0.01, counters=(clock.counter(), clock.counter("GPU"))).measure():
        assert block.seconds / block.steps == pytest.approx(0.01)
        used = pytest.approx(WATTS * (block.seconds + 2 * READING))
        assert block.joules == {"package-0": used, "GPU": used}


def test_without_counters_or_where_one_is_gone_at_one_end_a_block_has_no_energy(clock: Clock) -> None:
    assert timer(clock, 0.01).first_step().joules == {}
    lost = EnergyCounter("GPU", iter([1.0]).__next__)  # the second reading fails
    assert timer(clock, 0.01, counters=(clock.counter(), lost)).first_step().joules == {}
    unsure = EnergyCounter("GPU", iter([2.0, 1.0]).__next__)  # as one that was set back
    assert timer(clock, 0.01, counters=(clock.counter(), unsure)).first_step().joules == {}


def test_a_host_that_waits_keeps_nothing_from_a_device_that_is_ahead_of_it(clock: Clock) -> None:
    for is_ahead, causes in ((True, []), (False, ["waited for a core"]), (None, ["waited for a core"])):
        waited = replace(CLEAN, run_delay_seconds=CLEAN.seconds, ahead=is_ahead)
        assert contamination(waited, 1, 0.004, REAL) == causes
    busy = iter([True, True, False])  # at the end of each block of one step
    timed = [replace(timer(clock, 0.5), synchronous=False, busy=busy.__next__).first_step() for _ in range(3)]
    assert [block.ahead for block in timed] == [True, True, False]
    assert timer(clock, 0.5).first_step().ahead is None
