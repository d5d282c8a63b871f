"""The software that took part in a round."""

import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

# Set before the measuring process starts, or left by it to the user: which device, and what is loaded before all else.
# A record shows what was in force.
TELLING_VARIABLES = (
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "BLIS_",
    "VECLIB_",
    "NUMEXPR_",
    "NUMBA_",
    "KMP_",
    "GOMP_",
    "MALLOC_",
    "GLIBC_",
    "CUDA_",
    "NVIDIA_VISIBLE_DEVICES",
    "NCCL_",
    "HIP_",
    "ROCR_",
    "HSA_",
    "ZE_",
    "ONEAPI_",
    "SYCL_",
    "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES",
    *("JAX_", "XLA_", "LIBTPU_", "TPU_", "PJRT_", "NPROC"),
)
# Folders and files, in whose names a user's may be; what a network calls machines.
PRIVATE = (
    *("_DIR", "_DIRECTORY", "_PATH", "_HOME", "_FILE"),
    *("_NAME", "_HOSTNAMES", "_ADDRESS", "_ADDRESSES", "_COMM_ID"),
)
# What stands between the files of a list, where not all of these do: `:;,=` and spaces.
BETWEEN = {"LD_PRELOAD": r":\s", "DYLD_INSERT_LIBRARIES": ":"}


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a number."""
    found = {"python": platform.python_version()}
    for name in ("respeed", "numpy", "scipy", "numba", "torch"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def blas_libraries() -> list[dict[str, Any]]:
    """Every BLAS and OpenMP library that is loaded, NumPy's and SciPy's own ones told apart by their folder."""
    keys = ("user_api", "internal_api", "version", "architecture", "threading_layer", "num_threads")
    return [
        {"file": "/".join(Path(pool["filepath"]).parts[-2:]), **{key: pool.get(key) for key in keys}}
        for pool in threadpool_info()
    ]


def telling_environment() -> dict[str, str]:
    """The environment variables that steer threads, memory and devices."""
    return {
        key: _without_folders(key, value)
        for key, value in sorted(os.environ.items())
        if key.startswith(TELLING_VARIABLES) and not key.endswith(PRIVATE)
    }


def _without_folders(key: str, value: str) -> str:
    """Of files that are named with their folders, such as libraries to preload, their own names alone."""
    between = BETWEEN.get(key, r":;,=\s")
    return re.sub(rf"(?:^|(?<=[{between}]))(?=[/~.])[^{between}]*/", "", value)


def source_commit(root: Path) -> str:
    """The commit of the checkout, with "+changes" if files differ from it; "unknown" outside a checkout."""
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        return f"{commit}+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(root: Path, *arguments: str) -> str:
    # It takes no lock that would be left behind, and keep the user from his own commits, if this is killed now.
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
