"""A case whose machine counts its energy, measured for real; the counter is the test's."""

import time
from dataclasses import replace
from typing import Any

import pytest

from respeed.backends import openblas
from respeed.estimators.energy import RoundEnergy, energy_of_round
from respeed.machine.energy import FEWEST_UPDATES, EnergyCounter
from respeed.measure.bench import make_bench
from respeed.measure.case import measure_case
from respeed.paths import RoundId
from respeed.protocol import REAL, Block
from respeed.schedule.spec import RoundSpec, make_spec
from respeed.timing.energy import Meter, make_meter

WATTS = 80.0


def test_the_blocks_of_a_case_hold_what_was_used_in_them() -> None:
    spec = make_spec(RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True), 1)
    meter = Meter((EnergyCounter("package-0", lambda: WATTS * time.perf_counter(), 1e5),))
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1), meter=meter)
    facts = measure_case(spec, 0, bench)
    assert facts["status"] == "measured", facts["reason"]
    blocks = [Block(**block) for block in facts["blocks"]]
    # From before the first sample to after the last: what lies between samples is used as well.
    assert all(block.joules["package-0"] >= WATTS * block.seconds for block in blocks)
    found = energy_of_round(blocks, {}, {"update_seconds": {"package-0": 1e-6}, "reason": None})
    assert isinstance(found, RoundEnergy)
    assert found.watts >= WATTS


def test_a_machine_without_counters_is_measured_as_ever() -> None:
    spec = make_spec(RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True), 1)
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1))
    facts = measure_case(spec, 0, bench)
    assert facts["status"] == "measured", facts["reason"]
    assert all(block["joules"] == {} for block in facts["blocks"])


def slow_meter(update: float) -> tuple[Meter, dict[str, Any]]:
    """A GPU's: its counter moves so rarely."""
    return make_meter([EnergyCounter("GPU", lambda: WATTS * update * (time.perf_counter() // update))], "")


def measure(spec: RoundSpec, meter: Meter) -> dict[str, Any]:
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1), meter=meter)
    facts = measure_case(spec, 0, bench)
    assert facts["status"] == "measured", facts["reason"]
    return facts


def real_spec(device: str) -> RoundSpec:
    """Of a tiny case, timed as a real one is; the row says that it is on the device."""
    spec = make_spec(RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True), 1)
    return replace(spec, timing=REAL, profile=replace(spec.profile, device=device))


@pytest.mark.slow
def test_a_device_whose_counter_is_slow_runs_on_until_it_tells() -> None:
    meter, told = slow_meter(0.1)
    facts = measure(real_spec("cuda"), meter)
    run, blocks = facts["energy_run"], [Block(**block) for block in facts["blocks"]]
    assert run["seconds"] >= FEWEST_UPDATES * meter.update_seconds
    assert all(block.seconds < run["seconds"] for block in blocks)
    found = energy_of_round(blocks, {}, told, run)
    assert isinstance(found, RoundEnergy)
    # Either end is off by up to an update.
    assert found.watts == pytest.approx(WATTS, rel=2 / FEWEST_UPDATES)
    assert found.joules == pytest.approx(WATTS * run["seconds"] / run["steps"], rel=2 / FEWEST_UPDATES)
    assert isinstance(energy_of_round(blocks, {}, told), str)


@pytest.mark.parametrize(("device", "update"), [("cpu", 0.1), ("cuda", 0.45), ("cuda", 0.001)])
def test_no_steps_are_added_for_a_cpu_nor_in_vain(device: str, update: float) -> None:
    meter = Meter((EnergyCounter("GPU", lambda: WATTS * time.perf_counter()),), update)
    assert "energy_run" not in measure(real_spec(device), meter)
