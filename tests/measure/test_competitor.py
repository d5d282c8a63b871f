"""A competitor in the middle of a measurement: within 5 % of quiet, or flagged."""

import statistics
import subprocess
import sys
from dataclasses import replace

import pytest

from respeed.machine.cpu import usable_cores
from respeed.measure.lock import machine_lock
from respeed.measure.turn import measure_turn
from respeed.paths import RoundId
from respeed.protocol import REAL, Block, contamination, quiet_probe
from respeed.schedule.spec import make_spec

ROUND = RoundId("box", "raina2009", "rbm", "openblas-all", 1, smoke=True)


def clean_times(probes: list[float]) -> list[float]:
    """The medians of the blocks that count, of the largest smoke case; the `probes` of the session grow."""
    spec = make_spec(ROUND, 1)
    (case,) = (case for case in spec.cases if case.name == "256x688")
    spec = replace(spec, cases=(case,), timing=REAL)
    with machine_lock() as lock:
        record = dict(measure_turn([spec], lock, probes))[spec.id]
    blocks = [Block(**block) for block in record["cases"][0]["blocks"]]
    probes += [probe for block in blocks for probe in block.probe_seconds]
    return [
        statistics.median(block.sample_seconds) / block.sample_steps
        for block in blocks
        if not contamination(block, spec.threads, quiet_probe(probes), REAL)
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long threads wait for a core")
def test_beside_busy_loops_no_block_that_counts_is_far_from_a_quiet_one() -> None:
    probes: list[float] = []
    quiet = clean_times(probes)
    if not quiet:
        pytest.skip("this machine is never quiet")
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in usable_cores()]
    try:
        beside = clean_times(probes)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert all(seconds < 1.05 * max(quiet) for seconds in beside)
