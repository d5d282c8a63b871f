"""Blocks and warm-up, on steps whose duration is known because the test owns the clock."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from respeed.protocol import REAL, contamination
from respeed.timing import blocks, probe, warmup
from respeed.timing.blocks import Timer
from respeed.timing.disturbance import difference, take_snapshot
from respeed.timing.probe import Probe, make_probe
from respeed.timing.warmup import warm_up


class Clock:
    """Time that passes only in steps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0

    def step(self, seconds: Callable[[int], float]) -> Callable[[], None]:
        def run() -> None:
            self.now += seconds(self.steps)
            self.steps += 1

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(warmup, "seconds_now", lambda: clock.now)
    monkeypatch.setattr(blocks, "seconds_now", lambda: clock.now)
    monkeypatch.setattr(probe, "seconds_now", lambda: clock.now)
    return clock


def nothing() -> None:
    pass


def timer(clock: Clock, step_seconds: float, *, synchronous: bool = True) -> Timer:
    def product() -> None:
        clock.now += 0.004

    return Timer(
        parts=(clock.step(lambda _: step_seconds),),
        sync=nothing,
        synchronous=synchronous,
        threads=1,
        step_seconds=step_seconds,
        protocol=REAL,
        probe=Probe(product, nothing, 2),
        probes=[],
    )


@pytest.mark.parametrize("step_seconds", [1e-4, 0.004, 0.01, 0.08, 0.3, 0.7, 5.0])
@pytest.mark.parametrize("synchronous", [True, False])
def test_every_block_is_long_enough_and_has_enough_steps(clock: Clock, step_seconds: float, synchronous: bool) -> None:
    for block in timer(clock, step_seconds, synchronous=synchronous).measure():
        assert block.seconds >= REAL.block_seconds * 0.999
        assert block.steps >= (REAL.block_steps if step_seconds < REAL.block_seconds else 1)
        assert block.seconds / block.steps == pytest.approx(step_seconds)


def test_samples_are_steps_where_steps_are_slow_and_the_block_where_the_device_runs_ahead(clock: Clock) -> None:
    assert {block.sample_steps for block in timer(clock, 0.05).measure()} == {1}
    assert {len(block.sample_seconds) for block in timer(clock, 0.05, synchronous=False).measure()} == {1}


def test_a_record_stays_small_where_steps_are_fast(clock: Clock) -> None:
    assert all(len(block.sample_seconds) <= 26 for block in timer(clock, 1e-5).measure())


@pytest.mark.parametrize(("step_seconds", "steps"), [(0.005, 5209), (0.7, 10), (0.3, 1), (0.01, 25)])
def test_a_whole_run_does_exactly_the_steps_it_is_asked_for(clock: Clock, step_seconds: float, steps: int) -> None:
    timed = timer(clock, step_seconds).measure_whole(steps)
    assert sum(block.steps for block in timed) == clock.steps == steps


def test_disturbed_blocks_are_kept_and_measured_again_until_the_cap(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {"run_delay_seconds": 1.0, "threads_ran": 1, "minor_faults": 0, "quota_throttles": 0, "clock_throttles": 0}
    monkeypatch.setattr(blocks, "difference", lambda *_: seen)
    timed = timer(clock, 0.01).measure()
    assert all(contamination(block, 1, 0.004, REAL) for block in timed)
    assert sum(block.seconds for block in timed) >= REAL.measure_cap * REAL.measure_seconds * 0.999


def test_a_disturbed_block_is_followed_by_another_however_long_it_took(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = iter([1.0, 0.0, 0.0])
    quiet = {"threads_ran": 1, "minor_faults": 0, "quota_throttles": 0, "clock_throttles": 0}
    monkeypatch.setattr(blocks, "difference", lambda *_: quiet | {"run_delay_seconds": next(waits)})
    timed = timer(clock, 5.0).measure()
    assert [bool(contamination(block, 1, 0.004, REAL)) for block in timed] == [True, False]


def test_every_block_lies_between_two_probes(clock: Clock) -> None:
    one = timer(clock, 0.01)
    timed = one.measure()
    assert all(block.probe_seconds == pytest.approx((0.004, 0.004)) for block in timed)
    assert one.probes == [seconds for block in timed for seconds in block.probe_seconds]


def test_warm_up_lasts_its_minimum(clock: Clock) -> None:
    done = warm_up(clock.step(lambda _: 0.004), nothing, REAL)
    assert done.settled
    assert done.seconds >= REAL.warmup_seconds


def test_warm_up_goes_on_until_two_windows_agree(clock: Clock) -> None:
    done = warm_up(clock.step(lambda step: 0.004 * (1 + 5 * 0.96**step)), nothing, REAL)
    assert done.settled
    assert done.step_seconds == pytest.approx(0.004, rel=0.1)


def test_warm_up_that_never_settles_is_capped_and_says_so(clock: Clock) -> None:
    done = warm_up(clock.step(lambda step: 0.02 * 1.08**step), nothing, REAL)
    assert not done.settled
    assert done.seconds >= REAL.warmup_cap_seconds


def test_a_slow_step_that_takes_as_long_as_the_one_before_is_warm(clock: Clock) -> None:
    assert warm_up(clock.step(lambda _: 0.15), nothing, REAL, first_seconds=0.15).steps == 1
    assert warm_up(clock.step(lambda _: 0.15), nothing, REAL, first_seconds=0.2).steps == 2
    assert warm_up(clock.step(lambda _: 0.02), nothing, REAL, first_seconds=0.02).steps == 6  # two windows of three
    assert warm_up(clock.step(lambda _: 0.6), nothing, REAL).steps == 1


def test_a_step_in_parts_is_timed_part_by_part(clock: Clock) -> None:
    one = replace(timer(clock, 0.1), parts=(clock.step(lambda _: 0.03), clock.step(lambda _: 0.07)))
    for block in one.measure():
        first, second = block.part_seconds
        assert first == pytest.approx([0.03] * len(first))
        assert second == pytest.approx([0.07] * len(first))
        assert block.sample_seconds == pytest.approx([0.1] * len(first))


def test_a_probe_is_long_enough_for_the_clock(clock: Clock) -> None:
    assert make_probe(clock.step(lambda _: 0.0005), nothing).repeats == 20
    assert make_probe(clock.step(lambda _: 0.02), nothing).repeats == 1


def test_the_first_product_of_a_probe_does_not_count(clock: Clock) -> None:
    """After a program was built or checked it took twice as long, on a quiet machine."""
    one = Probe(clock.step(lambda number: 0.008 if number % 5 == 0 else 0.004), nothing, 4)
    assert [one.seconds() for _ in range(3)] == pytest.approx([0.004] * 3)


def test_threads_that_ran_are_counted_and_idle_ones_are_not() -> None:
    before = take_snapshot()
    if not before.threads:
        pytest.skip("this kernel has no /proc/self/task/*/schedstat")
    stop = threading.Event()
    idle = threading.Thread(target=stop.wait)
    idle.start()
    began = time.perf_counter()
    while time.perf_counter() - began < 0.2:
        pass
    seen = difference(before, take_snapshot())
    stop.set()
    idle.join()
    assert seen["threads_ran"] == 1
    assert seen["run_delay_seconds"] is not None


def test_where_the_device_runs_ahead_warm_up_times_steps_together(clock: Clock) -> None:
    """A synchronisation that costs more than a step must not make the step seem slow."""

    def sync() -> None:
        clock.now += 0.0032

    assert warm_up(clock.step(lambda _: 0.001), sync, REAL, synchronous=False).step_seconds == pytest.approx(0.0011)
