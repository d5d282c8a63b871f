"""The pretended GPU from outside: its library, the environment of a process that takes it for one, and tests there."""

import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from respeed.paths import private_folder

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = "libpretended.so"
# By these names others look for the driver and for NVML: they find the same library.
NAMES = ("libcuda.so.1", "libnvidia-ml.so.1")
# Headers that torch's own packages bring: what is included, and what that includes.
HEADERS = (
    "nvidia/*/include/cuda_runtime_api.h",
    "nvidia/*/include/cublasLt.h",
    "triton/backends/nvidia/include/cuda.h",
)
LIMIT_SECONDS = 900.0


class CannotBuildError(Exception):
    """Why there is no pretended GPU here."""


@cache
def build() -> Path:
    """Compile the library, once for its sources, its compiler and torch; return the folder with it by all its names.

    Raises CannotBuildError, which says why, where it cannot be compiled.
    """
    compiler, packages = shutil.which("c++") or shutil.which("g++"), Path(sysconfig.get_path("purelib"))
    if not compiler:
        raise CannotBuildError("no C++ compiler (Debian: apt install g++)")
    headers = [next(packages.glob(header), None) for header in HEADERS]
    if missing := [header for header, path in zip(HEADERS, headers, strict=True) if not path]:
        raise CannotBuildError(f"torch's packages bring no {missing[0]}: it is built without CUDA")
    sources = sorted((HERE / "runtime").iterdir())
    options = ["-O1", "-std=c++17", "-shared", "-fPIC", *(f"-I{path.parent}" for path in headers if path)]
    texts = [*(path.read_bytes() for path in sources), f"{compiler} {version('torch')} {options}".encode()]
    folder = private_folder("pretended-gpu") / hashlib.sha256(b"".join(texts)).hexdigest()[:16]
    if folder.is_dir():
        return folder
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    command = [compiler, *options, *(str(path) for path in sources if path.suffix == ".cpp"), "-o", LIBRARY, "-ldl"]
    done = subprocess.run(command, cwd=made, text=True, capture_output=True, check=False)
    if done.returncode:
        raise CannotBuildError(f"{compiler} does not compile it: {done.stderr[-2000:]}")
    for name in NAMES:
        (made / name).symlink_to(LIBRARY)
    try:
        made.rename(folder)
    except OSError:  # another process was sooner
        shutil.rmtree(made)
    return folder


def environment(order: str = "lazy", *, memory: int = 2**33) -> dict[str, str]:
    """Return what to add to a process's environment: the library before all others, and numbers as soon as it starts.

    `order` is that of streams, "lazy" or its contrary, "reverse"; `memory` the device's, in bytes.
    """
    folder = build()
    return {
        "LD_PRELOAD": str(folder / LIBRARY),
        "LD_LIBRARY_PATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
        "PYTHONPATH": os.pathsep.join(map(str, (HERE / "site", ROOT, ROOT / "workflow"))),
        "PRETENDED_GPU_ORDER": order,
        "PRETENDED_GPU_BYTES": str(memory),
        "CUDA_VISIBLE_DEVICES": "0",
    }


def is_pretended() -> bool:
    """Return whether this process takes the pretended GPU for one."""
    return "PRETENDED_GPU_ORDER" in os.environ
