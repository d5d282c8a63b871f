"""A program that learns until its numbers overflow computes with none: it shows no time."""

from dataclasses import replace

import pytest

from respeed.backends import openblas
from respeed.measure.bench import make_bench
from respeed.measure.case import measure_case
from respeed.model.paper import Case
from respeed.paths import RoundId
from respeed.schedule.spec import make_spec

ROUND = RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True)
SIZES = {
    "inputs": 36, "hidden": 24, "layers": 2, "outputs": 10, "batch": 12, "weight_decay": 0.0, "activation": "relu",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize(("rate", "status"), [(0.01, "measured"), (1e6, "wrong")])
def test_a_net_whose_numbers_overflow_while_it_is_timed_shows_no_time(rate: float, status: str) -> None:
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1))
    case = Case("net", "mlp", {**SIZES, "learning_rate": rate})
    facts = measure_case(replace(make_spec(ROUND, 1), cases=(case,), rehearsals=()), 0, bench)
    assert facts["status"] == status
    if status == "wrong":
        # Its first step was right.
        assert max(facts["errors"].values()) < 1e-4
        assert "not finite" in facts["reason"]
        assert facts["blocks"] == []
