"""docs/launches.csv is what a step asks of a CUDA device."""

import importlib.util
from collections.abc import Sequence

import pytest

from tests.pretended_gpu.launch_plan import WORKLOADS, counted_lines, told_lines

# Their steps are the longest, and made of what the others are made of.
LONG = {"dbn", "sda", "sparse_parallel", "sparse_published"}

pytestmark = pytest.mark.usefixtures("pretended")


def test_a_step_asks_for_what_the_launch_plan_says() -> None:
    check([name for name in WORKLOADS if name not in LONG])


@pytest.mark.slow
def test_every_step_asks_for_what_the_launch_plan_says() -> None:
    check(WORKLOADS)
    assert {line["workload"] for line in told_lines()} <= set(WORKLOADS)


def check(workloads: Sequence[str]) -> None:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton comes with torch on Linux alone")
    assert counted_lines(workloads) == [line for line in told_lines() if line["workload"] in workloads]
