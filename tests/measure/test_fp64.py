"""A round in fp64: numbers of 8 bytes, wherever bytes are counted."""

import re
from dataclasses import replace

import pytest

from respeed.backends import BackendContract, make_backend
from respeed.measure.bench import COPY_BYTES, make_bench, measure_ceilings
from respeed.measure.case import measure_case
from respeed.measure.correctness import TOLERANCE
from respeed.paths import RoundId
from respeed.schedule.spec import make_spec
from respeed.workloads import load_workload

ROUND = RoundId("box", "raina2009", "rbm", "openblas-1-fp64", 1, smoke=True)
SPEC = make_spec(ROUND, 1)


def make(precision: str = "fp64") -> BackendContract:
    return make_backend("openblas", device="cpu", precision=precision, threads=1, seed=1)


def test_a_case_in_fp64_is_checked_to_1e_10_and_says_what_it_moves_and_takes() -> None:
    bench, _ = make_bench(make())
    facts, workload = measure_case(SPEC, 0, bench), load_workload("rbm")
    assert facts["status"] == "measured"
    assert max(facts["errors"].values()) < facts["tolerance"] == TOLERANCE["fp64"] == 1e-10
    assert facts["traffic_bytes"] == 2 * workload.traffic_bytes(SPEC.cases[0])
    assert facts["memory_bytes"] == 2 * workload.memory_bytes(SPEC.cases[0])


def test_a_program_in_fp32_is_wrong_as_fp64() -> None:
    bench, _ = make_bench(make("fp32"))
    facts = measure_case(SPEC, 0, bench)
    assert (facts["status"], facts["blocks"]) == ("wrong", [])
    assert re.fullmatch(r"wrong result: \w+ is off by .* of its largest value, 1e-10 allowed", facts["reason"])


def test_a_case_in_fp64_needs_twice_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respeed.measure.case.CHECK_FACTOR", 1e9)
    needs = []
    for precision in ("fp32", "fp64"):
        bench, _ = make_bench(make(precision))
        spec = replace(SPEC, profile=replace(SPEC.profile, precision=precision))
        needs.append(float(measure_case(spec, 0, bench)["reason"].split()[1]))
    assert needs[1] == pytest.approx(2 * needs[0])


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_the_ceiling_of_copies_is_of_as_many_bytes_in_every_precision(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, copied = make(precision), []
    monkeypatch.setattr(made, "copy", lambda source, out: copied.append((source.nbytes, out.nbytes)))
    monkeypatch.setattr("respeed.measure.bench._product_rate", lambda backend: 1.0)
    measure_ceilings(made)
    assert set(copied) == {(COPY_BYTES, COPY_BYTES)}
