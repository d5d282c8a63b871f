"""Whenever a clock is read, nothing is left to do on the device: in every path that is timed.

A time that ends before the work does would be one of asking for it.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from respeed.measure import case as measuring
from respeed.measure import timing
from respeed.protocol import SMOKE
from tests.conformance.programs import make
from tests.pretended_gpu.device import library
from tests.pretended_gpu.environment import is_pretended
from tests.pretended_gpu.test_device import order_of_one

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_pretended(), reason="of the pretended GPU")]

# Steps of a few products each, too short for the smoke preset's blocks to have but one.
SHORT = replace(SMOKE, warmup_cap_seconds=0.05, block_seconds=0.005, measure_seconds=0.01)
Step = Callable[[], None]


@pytest.fixture(autouse=True)
def _read(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Watch every reading of a clock; a test that reads none fails, too.

    The first that comes too early ends the test: what goes by such a clock may queue work without end.
    """
    early: dict[str, bool] = {}

    def watched(reader: Callable[[], Any]) -> Any:
        caller = sys._getframe(2).f_code.co_qualname  # who called the function of `timing` that called this
        early[caller] = early.get(caller, False) or library().pretended_waiting() > 0
        assert not early[caller], f"{caller} read the clock before the device had ended"
        return reader()

    clocks = {name: partial(watched, getattr(time, name)) for name in ("perf_counter_ns", "process_time")}
    monkeypatch.setattr(timing, "time", SimpleNamespace(**{**vars(time), **clocks}))
    yield
    assert early, "no clock was read"
    assert not any(early.values()), early  # what was raised may have been taken for a failure of the case


@pytest.fixture(scope="module")
def made() -> Any:
    """Return torch on the device."""
    return make("torch", "cuda")


def time_parts(sync: Step, *parts: Step) -> None:
    """Time a program of these parts, from its first step on."""
    timer = timing.Timer(parts, sync, SHORT, timing.Probe(parts[0], sync, 2), synchronous=False)
    timer.one_step()
    timer.blocks(1e-3, lambda _: False)


WAYS: dict[str, Callable[[Step, Step], object]] = {
    "probes and the proof of threads": lambda sync, step: timing.prove_threads(
        timing.make_probe(step, sync, synchronous=False)
    ),
    "warm-up": lambda sync, step: timing.warm_up(step, sync, SHORT, 1e-3, synchronous=False),
    "blocks": time_parts,
    "parts": lambda sync, step: time_parts(sync, step, step),
    "load": lambda sync, step: timing.best_seconds(step, sync, synchronous=False),
}


@pytest.mark.parametrize("way", WAYS)
def test_work_on_another_stream_is_timed(way: str, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cheat: nothing that is asked of the row's own stream is left to be waited for."""
    monkeypatch.setattr(timing, "LOAD_SECONDS", 0.01)
    stream, (a, b, out) = torch.cuda.Stream(), (torch.ones(64, 64, device="cuda") for _ in range(3))
    made.sync()

    def step() -> None:
        with torch.cuda.stream(stream):
            torch.mm(a, b, out=out)

    if way in {"probes and the proof of threads", "load"}:
        step()
    WAYS[way](made.sync, step)
    made.sync()


def test_nothing_is_timed_before_its_end(made: Any) -> None:
    order = order_of_one(timing=SHORT)
    facts = measuring.measure_case(order, order.cases[0], measuring.make_bench(made)[0])
    assert facts["status"] == "measured", facts["reason"]
