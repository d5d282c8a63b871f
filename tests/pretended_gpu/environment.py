"""The environment of a process that takes the pretended GPU for one."""

import os
from pathlib import Path

from tests.pretended_gpu.build import LIBRARY, build

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# As every order of streams is a different program, what must hold is tried in two that are each other's contrary.
ORDERS = ("lazy", "reverse")


def environment(order: str = "lazy", *, memory: int | None = None) -> dict[str, str]:
    """What to add to a process's environment: the library before all others, the numbers wherever torch is imported."""
    folder = build()
    added = {
        "LD_PRELOAD": str(folder / LIBRARY),
        "LD_LIBRARY_PATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
        "PYTHONPATH": os.pathsep.join(map(str, (HERE / "site", ROOT, ROOT / "workflow"))),
        "PRETENDED_GPU": str(folder),
        "PRETENDED_GPU_ORDER": order,
        "CUDA_VISIBLE_DEVICES": "0",
        "MALLOC_TRIM_THRESHOLD_": "4294967295",
        "MALLOC_MMAP_THRESHOLD_": "1073741824",
    }
    return added | ({"PRETENDED_GPU_BYTES": str(memory)} if memory else {})


def is_pretended() -> bool:
    """Whether this process takes the pretended GPU for one."""
    return "PRETENDED_GPU" in os.environ
