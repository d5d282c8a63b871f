"""docs/launches.csv is what a step asks of a CUDA device."""

import csv

import pytest

from tests.pretended_gpu.environment import ROOT, is_pretended

LINES = list(csv.DictReader((ROOT / "docs" / "launches.csv").read_text().splitlines()))


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("workload", ["rbm", "patches", "softmax_cost"])
def test_a_step_asks_for_what_the_launch_plan_says(workload: str, precision: str) -> None:
    if not is_pretended():
        pytest.skip("counted on the pretended GPU")
    from tests.pretended_gpu.launch_plan import counted

    found = counted(workload, precision)
    assert found is not None
    if found["between"] != "triton":
        pytest.skip("without Triton a step asks for more")
    told = {name: str(value) for name, value in found.items()}
    assert told in LINES
