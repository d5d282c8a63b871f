"""Whenever a clock is read, nothing is left to do on the device: in every path that is timed. A time that ends before
the work does would be one of asking for it."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from respeed import timing
from respeed.measure import case as measuring
from respeed.measure.order import Asked
from respeed.protocol import SMOKE
from respeed.timing import blocks, disturbance
from tests.conformance.programs import build, case_of, make
from tests.orders import order_of
from tests.pretended_gpu.device import library
from tests.pretended_gpu.environment import is_pretended

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_pretended(), reason="of the pretended GPU")]

# Steps of a few products each, too short for the smoke preset's blocks to have but one.
SHORT = replace(SMOKE, warmup_cap_seconds=0.05, block_seconds=0.005, measure_seconds=0.01)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[int]]]:
    """How much the device had still to do at each reading of a clock, by the function that read it. The first that
    comes too early ends the test: what goes by such a clock may queue work without end."""
    seen: dict[str, list[int]] = {}

    def watched(reader: Callable[[], Any]) -> Any:
        caller = sys._getframe(2).f_code  # who called the function of `respeed.timing` that called this
        waiting = library().pretended_waiting()
        seen.setdefault(caller.co_qualname, []).append(waiting)
        assert not waiting, f"{caller.co_qualname} read the clock before the device had ended"
        return reader()

    clocks = {name: partial(watched, getattr(time, name)) for name in ("perf_counter_ns", "process_time")}
    others = {name: getattr(time, name) for name in dir(time) if name not in clocks}
    monkeypatch.setattr(timing, "time", SimpleNamespace(**others, **clocks))
    yield seen
    assert seen, "no clock was read"
    assert {reader: waiting for reader, waiting in seen.items() if any(waiting)} == {}


@pytest.fixture(scope="module")
def made() -> Any:
    return make("torch", "cuda")


@pytest.fixture(params=["resident", "streamed"])
def program(request: pytest.FixtureRequest, made: Any) -> Any:
    """The second has two streams."""
    return build(made, case_of("rbm", "odd", examples=request.param))


def time_parts(made: Any, *parts: Callable[[], None]) -> None:
    timer = blocks.Timer(
        parts=parts, sync=made.sync, synchronous=False, threads=1, step_seconds=1e-3, protocol=SHORT,
        probe=disturbance.Probe(parts[0], made.sync, 2), probes=[],
    )  # fmt: skip
    timer.first_step()
    timer.measure()


def load(made: Any, step: Callable[[], None]) -> None:
    step()
    disturbance.seconds_under_load(step, made.sync)


def prove(made: Any, step: Callable[[], None]) -> None:
    step()
    disturbance.prove_threads(disturbance.make_probe(step, made.sync))


WAYS: dict[str, Callable[[Any, Callable[[], None]], object]] = {
    "probes and the proof of threads": prove,
    "warm-up": lambda made, step: blocks.warm_up(step, made.sync, SHORT, synchronous=False),
    "blocks": time_parts,
    "parts": lambda made, step: time_parts(made, step, step),
    "load": load,
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_time_a_program_waits_for_it(
    way: str, read: Any, made: Any, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disturbance, "LOAD_SECONDS", 0.01)
    WAYS[way](made, program.step)


def test_ceilings_are_waited_for(read: Any, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SIDES", (64, 128))
    monkeypatch.setattr(measuring, "COPY_BYTES", 2**20)
    measuring.measure_ceilings(made)


def test_nothing_in_a_whole_case_is_timed_before_its_end(read: Any, made: Any) -> None:
    order = order_of("torch-1", cases=(Asked(case_of("rbm", "odd"), 1, ""),), timing=SHORT)
    order = replace(order, profile=replace(order.profile, device="cuda", precision="fp32"))
    facts = measuring.measure_case(order, order.cases[0], measuring.make_bench(made)[0])
    assert facts["status"] == "measured", facts["reason"]
