"""The process that proves kernels, on the pretended GPU, where their numbers are torch's."""

import os

import pytest

from tests.conftest import Project
from tests.pretended_gpu.environment import environment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pretended")]

BETWEEN = """
import torch
from respeed.backends._torch_fused import between_for
scratch = lambda like, dtype=None, name="": torch.empty(like.shape, dtype=dtype or like.dtype, device="cuda")
print(between_for(torch.device("cuda"), torch.float32, scratch).facts)
print("on:", torch.ones(3, device="cuda").sum().item())
"""
# What another process has proved is not proved by one of its own once more.
AGAIN = """
import subprocess
from respeed.backends import _torch_fused
_torch_fused.why_not = lambda *_: "it was asked again"
"""
OPERATOR = "def mask(x: Tensor, draws: Tensor, share: float, out: Tensor) -> None:\n"


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("", "triton "),
        ("    import os; os.abort()\n", "torch: the process that proves the kernels was ended by SIGABRT"),
        ("    raise torch.AcceleratorError('an illegal access')\n", "torch: AcceleratorError: an illegal"),
    ],
    ids=["right", "crash", "fault"],
)
def test_a_kernel_that_fails_there_leaves_this_process_its_device(project: Project, planted: str, told: str) -> None:
    project.edit("workflow/respeed/backends/_torch_triton.py", OPERATOR, OPERATOR + planted)
    added = environment()
    added["PYTHONPATH"] = os.pathsep.join([str(project.folder / "workflow"), added["PYTHONPATH"]])
    for before in ("", AGAIN if not planted else ""):
        code = before + BETWEEN
        lines = project.run("python", "-c", code, check=False, **{**added, "PATH": os.environ["PATH"]}).stdout
        assert told in lines, lines
        assert "on: 3.0" in lines
