"""Kernels are proved in a process of their own first.

A kernel that reads where nothing is leaves its process without the device, one that hangs never ends, and a compiler
may crash: none of it may happen where cases are measured. What was compiled there is found in Triton's cache here.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from respeed.errors import DISK

# Some twenty kernels are compiled the first time; after that torch starts, and little more.
LIMIT_SECONDS = 300.0


@cache
def proved_apart(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why the kernels cannot be used there; None if they can. What says nothing of them is raised: OSError of a full
    disk, OutOfMemoryError of the device, MemoryError."""
    prove = ["-m", "respeed.backends._torch_prove", str(device), str(dtype).removeprefix("torch.")]
    return why_not([sys.executable, "-P", *prove], LIMIT_SECONDS)


def why_not(command: Sequence[str], limit: float) -> str | None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"the kernels were not proved within {limit:g} s"
    answers = done.stdout.splitlines()
    if done.returncode == -signal.SIGKILL:  # by nobody but the kernel
        raise MemoryError("the process that proves the kernels was killed, most likely for want of memory")
    if not answers:
        return f"the process that proves the kernels {_ending(done.returncode)}"
    told: dict[str, Any] = json.loads(answers[-1])
    if told["errno"] in DISK:
        raise OSError(told["errno"], os.strerror(told["errno"]))
    if told["out_of_memory"]:
        raise torch.OutOfMemoryError(told["why"])
    why: str | None = told["why"]
    return why


def _ending(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
