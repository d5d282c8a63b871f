"""What a process loads or compiles once is there before a first step is timed."""

import json
import subprocess
import sys

import pytest

from respeed.load.modules import workload_backends, workload_parameters
from tests.conformance.programs import case_of

PROGRAM = """
import importlib, json, pkgutil, sys
from respeed import kernels
from respeed.backends import make_backend
from respeed.model.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import load_workload

def compiled():
    modules = [importlib.import_module(f"respeed.kernels.{one.name}") for one in pkgutil.iter_modules(kernels.__path__)]
    found = [value for module in modules for value in vars(module).values() if hasattr(value, "overloads")]
    return {f"{kernel.__name__} {types}" for kernel in found for types in kernel.overloads}

name, tiny, large = json.loads(sys.stdin.read())
made = make_backend(name, device="cpu", precision="fp32", threads=2, seed=1)
tiny, large = (Case("any", *case) for case in (tiny, large))
workload = load_workload(tiny.workload)
inputs = [workload.inputs(case, 1) for case in (tiny, large)]
for rehearsal in made.rehearsals():
    with rehearsal:
        try:
            workload.build(made, tiny, inputs[0]).step()
        except NotMeasurable as reason:
            sys.exit(f"not measurable: {reason}")
program = workload.build(made, large, inputs[1])
before = compiled()
program.step()
print(sorted(compiled() - before))
"""


@pytest.mark.parametrize("workload", workload_parameters())
@pytest.mark.parametrize("backend", ["openblas", "torch"])
def test_a_rehearsal_leaves_no_kernel_to_be_loaded_by_a_large_step(backend: str, workload: str) -> None:
    if backend not in workload_backends()[workload]:
        pytest.skip(f"{workload} does not run on {backend}")
    cases = [(case.workload, dict(case.parameters)) for case in (case_of(workload, "odd"), case_of(workload, "large"))]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps([backend, *cases]), capture_output=True, text=True
    )
    if done.stderr.startswith("not measurable: "):
        pytest.skip(done.stderr.strip())
    assert not done.returncode, done.stderr
    assert done.stdout.strip() == "[]"
