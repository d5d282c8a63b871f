"""A model of four GPUs, whose clocks follow what they do, drives the real warm-up, probe and blocks; and what tables
make of these: a clock that a heavy load always lowers keeps its blocks, heat and a neighbour lose theirs."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.analysis.rounds import read_rounds
from respeed.measure import timing
from respeed.measure.case import measure_ceilings
from respeed.measure.timing import DEVICE_PROBE_SECONDS, Meter, Timer, make_probe, warm_up
from respeed.protocol import POWER_CAP, REAL, TOO_HOT
from respeed.records import Record
from respeed.workloads.matmul import Matmul
from tests.derived import PAPER, PAPERS
from tests.made import make_record
from tests.measure.test_blocks import QUIET

# Seconds at the highest clock; of a synchronisation; that the host builds and checks for; until a device's clock has
# followed its load, and how many times as fast it comes back.
PRODUCT, STEP, SYNC, PAUSE, LAG, BACK = 40e-6, 2e-3, 20e-6, 1.0, 0.05, 10
ROUNDS, DISTURBED = 6, (1, 4)
CASES = PAPER.experiments["rbm"].cases


class GPU:
    """`kind` is what lowers its clock to 1 / `slower`: capped, a heavy load; boosting, a pause; hot, heat, always;
    thermal and shared, in the rounds DISTURBED, heat and a neighbour."""

    def __init__(self, kind: str, slower: float) -> None:
        self.kind, self.slower, self.now, self.busy, self.heavy, self.round = kind, slower, 0.0, 0.0, 0.0, 1

    @property
    def is_slow(self) -> bool:
        match self.kind:
            case "capped":
                return self.heavy > LAG
            case "boosting":
                return self.busy < LAG
            case "hot":
                return True
        return self.round in DISTURBED

    def run(self, seconds: float, *, heavy: bool = False) -> None:
        took = seconds * (self.slower if self.is_slow else 1.0)
        self.now += took
        self.busy += took
        self.heavy = min(2 * LAG, self.heavy + took) if heavy else max(0.0, self.heavy - BACK * took)

    def pause(self) -> None:
        self.now += PAUSE
        self.busy = self.heavy = 0.0

    def sync(self) -> None:
        self.now += SYNC

    def told(self) -> dict[str, float]:
        bits = {"capped": POWER_CAP, "thermal": TOO_HOT & 0x40, "hot": TOO_HOT & 0x20}.get(self.kind, 0) * self.is_slow
        clock = 1590 / self.slower if self.is_slow and self.kind != "shared" else 1590
        return {"sm_mhz": clock, "highest_sm_mhz": 1590, "watts": 70.0, "reasons": bits}


def records_of(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """Rounds of cases that are light and heavy by turns, each built and checked while the device does nothing."""
    monkeypatch.setattr(timing, "seconds_now", lambda: gpu.now)
    monkeypatch.setattr(timing, "take_snapshot", lambda *_, **__: None)
    monkeypatch.setattr(timing, "difference", lambda *_: QUIET)
    records: list[Record] = []
    for gpu.round in range(1, ROUNDS + 1):
        gpu.pause()
        probe = make_probe(lambda: gpu.run(PRODUCT), gpu.sync, synchronous=False)
        assert probe.repeats == pytest.approx(DEVICE_PROBE_SECONDS / PRODUCT, rel=0.01) or gpu.is_slow
        results = []
        for number, case in enumerate(CASES):

            def step(heavy: bool = number % 2 > 0) -> None:
                gpu.run(STEP, heavy=heavy)

            meter = Meter(device=gpu.told)
            timer = Timer((step,), gpu.sync, REAL, probe, synchronous=False, meter=meter)
            gpu.pause()
            timer.one_step()
            gpu.pause()
            warm = warm_up(step, timer.sync, REAL, STEP, synchronous=False)
            timed = timer.blocks(warm.step_seconds, lambda _: False)
            made = make_record([0.1], number=gpu.round, profile="gpu", device="cuda", architecture="gpu", case=case)
            results.append(made.results[0].model_copy(update={"blocks": timed}))
        records.append(replace(made, results=tuple(results)))
    return records


@pytest.mark.parametrize(
    ("precision", "width", "sides", "free", "copied"),
    [
        ("bf16", 2, (1024, 2048, 4096, 8192), 64e9, 512 * 2**20),
        ("fp64", 8, (1024,), None, 512 * 2**20),
        ("fp64", 8, (1024,), 1e9, 2e8),  # an array is a fifth of what is free
    ],
)
def test_the_ceilings_of_a_device_are_those_under_load_whatever_a_synchronisation_takes(
    precision: str,
    width: int,
    sides: tuple[int, ...],
    free: float | None,
    copied: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu, bandwidth, built = GPU("boosting", 2.0), 3e12, list[Any]()
    # In bf16 a product of 4096 takes 3.4 ms, which is too short.
    peak = 2e11 if precision == "fp64" else 4e13
    monkeypatch.setattr(timing, "seconds_now", lambda: gpu.now)

    def build(workload: Any, seed: int) -> SimpleNamespace:
        built.append(workload)
        if isinstance(workload, Matmul):  # a small one does not fill the device
            return SimpleNamespace(step=lambda: gpu.run(workload.flops() / peak + 1e-5))
        return SimpleNamespace(step=lambda: gpu.run(2 * width * workload.length / bandwidth))

    device: Any = SimpleNamespace(synchronous=False, precision=precision, sync=gpu.sync, build=build)
    device.bytes_free = lambda: free
    found = measure_ceilings(device)
    *squares, copy = built
    assert [{square.m, square.k, square.n} for square in squares] == [{side} for side in sides]
    # Bytes are counted as those of traffic are, at least four a number.
    assert copy.length * max(4, width) == pytest.approx(copied)
    counted = bandwidth * max(4, width) / width
    assert found == pytest.approx({"flops_per_second": peak, "bytes_per_second": counted}, rel=0.04)


@pytest.mark.parametrize(
    ("kind", "slower", "causes"),
    [
        ("capped", 3.0, {}), ("boosting", 2.0, {}), ("hot", 1.5, {}), ("thermal", 1.2, {"the device was too hot"}),
        ("shared", 2.0, {"slow reference probe"}),
    ],
)  # fmt: skip
def test_lasting_heat_spoils_no_block(
    kind: str, slower: float, causes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load of its own and lasting heat are held against no block and passing heat and neighbours are."""
    records = records_of(GPU(kind, slower), monkeypatch)
    rounds = read_rounds(records, PAPERS)
    lost = rounds["round"].isin(DISTURBED if causes else ())
    assert (rounds["discarded"] == rounds["blocks"].where(lost, 0)).all()
    assert set().union(*rounds["cause_counts"]) == set(causes)
    # What counts is the time at the clock that the load leaves, from the first step of a block to the last.
    expected = STEP * (slower if kind in ("capped", "hot") else 1.0)
    heavy = rounds["case"].isin([CASES[1].name, CASES[3].name]) & ~lost
    assert rounds.loc[heavy, "step_seconds"].tolist() == pytest.approx([expected] * heavy.sum(), rel=0.01)
