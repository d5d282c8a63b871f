"""A row of JAX runs on its own device, which need not be the one that JAX takes by itself."""

import importlib.util
import os
import subprocess
import sys

import pytest

from respeed.inputs.registry import workloads

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
WORKLOADS = [name for name, facts in workloads().items() if "jax" in facts.backends and name != "small_step"]
QUICK = ["inverse", "matmul", "memory_copy", "rbm"]

# In a process of its own: how many devices a CPU passes for is read once. JAX takes the first by itself, as it takes a
# GPU beside jax-all, or the first GPU beside a row of the second.
CODE = """
import sys

import jax

from respeed.backends import make_backend
from respeed.workloads import load_workload
from tests.conformance.programs import case_of, errors_of

made = make_backend("jax", device="cpu:1", precision="fp32", threads=1, seed=1)
for name in sys.argv[1:]:
    module, case = load_workload(name), case_of(name, "smoke")
    assert max(errors_of(made, case).values()) < 1e-3, name
    program = module.build(made, case, module.inputs(case, seed=5))
    program.step()
    made.sync()
    places = {device.id for array in jax.live_arrays() for device in array.devices()}
    assert places == {1}, (name, places)
"""


@pytest.mark.parametrize("workloads", [QUICK, pytest.param(WORKLOADS, marks=pytest.mark.slow)], ids=["quick", "all"])
def test_what_a_row_computes_is_on_its_device_and_nothing_on_the_one_that_jax_begins_with(workloads: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *workloads],
        env=os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
