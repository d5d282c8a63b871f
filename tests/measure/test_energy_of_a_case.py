"""A case whose machine counts its energy, measured for real; the counter is the test's."""

import time

from respeed.backends import openblas
from respeed.estimators.energy import RoundEnergy, energy_of_round
from respeed.measure.bench import make_bench
from respeed.measure.case import measure_case
from respeed.model.block import Block
from respeed.model.energy import EnergyCounter
from respeed.model.round import RoundId
from respeed.plan.spec import make_spec
from respeed.timing.energy import Meter

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
