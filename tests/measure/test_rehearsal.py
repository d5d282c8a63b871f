"""What a process loads or compiles once is there before a first step is timed."""

import json
import subprocess
import sys

import pytest

from respeed.inputs.registry import workloads
from tests.conformance.programs import case_of

# Loads the libraries once, and does each workload in a process of its own, in which nothing was compiled yet.
PROGRAM = """
import contextlib, importlib, json, os, pkgutil, sys
from respeed import kernels
from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from respeed.model import Case
from respeed.workloads import make_workload

NAMES = [one.name for one in pkgutil.iter_modules(kernels.__path__) if one.name != "fused"]
MODULES = [importlib.import_module(f"respeed.kernels.{name}") for name in NAMES]

def compiled():
    found = [value for module in MODULES for value in vars(module).values()]
    found += [cell.cell_contents for one in found for cell in getattr(one, "__closure__", None) or ()]
    found = [value for value in found if hasattr(value, "overloads")]
    return {f"{kernel.__qualname__} {types}" for kernel in found for types in kernel.overloads}

def left_to_compile(name, workload, tiny, large):
    made = make_backend(name, device="cpu", precision="fp32", threads=2, seed=1)
    tiny, large = (Case("any", workload, parameters) for parameters in (tiny, large))
    for rehearsal in made.rehearsals():
        with rehearsal:
            made.build(make_workload(tiny), 1).step()
    program = made.build(make_workload(large), 1)
    before = compiled()
    program.step()
    return sorted(compiled() - before)

name, cases = json.loads(sys.stdin.read())
importlib.import_module(f"respeed.backends.{name}")
for workload, sizes in cases.items():
    if not os.fork():
        with contextlib.suppress(NotMeasurable):
            print(json.dumps([workload, left_to_compile(name, workload, *sizes)]), flush=True)
        os._exit(0)
    os.wait()
"""
# A table's own tiny cases, and small steps, are done as the large ones are.
ALIKE = {"mlp": {"activation": "sigmoid"}, "small_step": {"how": "spread"}}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_rehearsal_leaves_no_kernel_to_be_loaded_by_a_large_step(backend: str) -> None:
    cases = {
        name: [case_of(name, size, **ALIKE.get(name, {})).parameters for size in ("smoke", "odd")]
        for name, facts in workloads().items()
        if backend in facts.backends
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps([backend, cases]), capture_output=True, text=True, check=True
    )
    left = dict(map(json.loads, done.stdout.splitlines()))
    assert not any(left.values()), left
    assert len(left) > 5
