"""The tests that need a GPU, on the pretended one, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pretended_gpu.environment import LIMIT_SECONDS, ROOT, environment

ALL = ("tests/conformance", "tests/pretended_gpu/test_device.py", "tests/pretended_gpu/test_timed.py")
# By default all is tried in fp32, what is the device's own in bf16 too, and of the workloads those that a graph or a
# stream could break: convolutions are not pretended, replicas are processes of their own, and the sparse solvers ask
# step by step.
OTHERS = "jax or bf16 or fp64 or tf32 or fp16 or convnet or data_parallel or sparse_parallel or sparse_published"
SOME = ("-m", "gpu and not slow", "-k", f"not (conformance and ({OTHERS}))")


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(
    ("order", "chosen"), [("lazy", SOME), pytest.param("reverse", ("-m", "gpu"), marks=pytest.mark.slow)]
)
def test_what_needs_a_gpu_passes_on_this(order: str, chosen: tuple[str, ...], tmp_path: Path) -> None:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    options = ("-q", "-n0", "-ptests.pretended_gpu.plugin", "-pno:cacheprovider", f"--basetemp={tmp_path / 'tests'}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *chosen, *ALL], cwd=ROOT, env={**inherited, **environment(order)},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20000:]
