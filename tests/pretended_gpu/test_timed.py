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

from respeed.measure import case as measuring
from respeed.paths import RoundId
from respeed.protocol import SMOKE
from respeed.schedule.spec import make_spec
from respeed.timing import blocks, clock, disturbance
from tests.conformance.programs import build, case_of, make
from tests.pretended_gpu.environment import is_pretended

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_pretended(), reason="of the pretended GPU")]

# Steps of a few products each, too short for the smoke preset's blocks to have but one.
SHORT = replace(SMOKE, warmup_cap_seconds=0.05, block_seconds=0.005, measure_seconds=0.01)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[int]]]:
    """How much the device had still to do at each reading of a clock, by the function that read it. The first that
    comes too early ends the test: what goes by such a clock may queue work without end."""
    from tests.pretended_gpu.device import library

    seen: dict[str, list[int]] = {}

    def watched(reader: Callable[[], Any]) -> Any:
        caller = sys._getframe(2).f_code  # who called the function of clock.py that called this
        waiting = library().pretended_waiting()
        seen.setdefault(caller.co_qualname, []).append(waiting)
        assert not waiting, f"{caller.co_qualname} read the clock before the device had ended"
        return reader()

    clocks = {name: partial(watched, getattr(time, name)) for name in ("perf_counter_ns", "process_time")}
    others = {name: getattr(time, name) for name in dir(time) if name not in clocks}
    monkeypatch.setattr(clock, "time", SimpleNamespace(**others, **clocks))
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


def timer(made: Any, *parts: Callable[[], None]) -> blocks.Timer:
    probe = disturbance.Probe(parts[0], made.sync, 2)
    return blocks.Timer(
        parts=parts, sync=made.sync, synchronous=False, threads=1, step_seconds=1e-3, protocol=SHORT, probe=probe,
        probes=[],
    )  # fmt: skip


def test_at_the_ends_of_probes_and_of_the_proof_of_threads(read: Any, made: Any, program: Any) -> None:
    program.step()
    disturbance.prove_threads(disturbance.make_probe(program.step, made.sync))


def test_at_the_ends_of_warm_up_windows(read: Any, made: Any, program: Any) -> None:
    blocks.warm_up(program.step, made.sync, SHORT, synchronous=False)


def test_at_the_ends_of_blocks_and_of_a_first_step(read: Any, made: Any, program: Any) -> None:
    one = timer(made, program.step)
    one.first_step()
    one.measure()


def test_at_the_ends_of_the_parts_of_a_step(read: Any, made: Any, program: Any) -> None:
    one = timer(made, program.step, program.step)
    one.first_step()
    one.measure()


def test_at_the_ends_of_ceilings(read: Any, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SIDES", (64, 128))
    monkeypatch.setattr(measuring, "COPY_BYTES", 2**20)
    measuring.measure_ceilings(made)


def test_at_the_ends_of_steps_under_load(read: Any, made: Any, program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbance, "LOAD_SECONDS", 0.01)
    program.step()
    disturbance.seconds_under_load(program.step, made.sync)


def test_in_a_whole_case(read: Any, made: Any) -> None:
    spec = make_spec(RoundId("box", "raina2009", "rbm", "torch-1", 1, smoke=True), 1)
    profile = replace(spec.profile, device="cuda", precision="fp32")
    spec = replace(spec, cases=(case_of("rbm", "odd"),), timing=SHORT, profile=profile)
    facts = measuring.measure_case(spec, 0, measuring.make_bench(made)[0])
    assert facts["status"] == "measured", facts["reason"]
