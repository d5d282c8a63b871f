"""Compiles the pretended runtime, once for its sources, its compiler and torch."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from respeed.machine.process import why_not_private

SOURCES = Path(__file__).resolve().parent / "runtime"
LIBRARY = "libpretended.so"
# What is preloaded, and what libraries look for by name: each with its sources.
LIBRARIES = {
    LIBRARY: sorted(SOURCES.glob("*.cpp")),
    "libcuda.so.1": [SOURCES / "driver.c", SOURCES / "launches.c"],
    "libnvidia-ml.so.1": [SOURCES / "nvml.c"],
}


class CannotBuildError(Exception):
    """Why there is no pretended GPU here."""


def build() -> Path:
    """The folder with the libraries; CannotBuildError with the reason if they cannot be compiled here."""
    compiler, headers = shutil.which("c++") or shutil.which("g++"), header_folders()
    if not compiler:
        raise CannotBuildError("no C++ compiler (Debian: apt install g++)")
    if missing := {"cuda_runtime_api.h", "cuda.h", "cublasLt.h"} - {name for name, _ in headers}:
        raise CannotBuildError(f"torch's packages bring no {sorted(missing)[0]}: it is built without CUDA")
    texts = b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir()))
    known = hashlib.sha256(texts + f"{compiler} {version('torch')} {headers}".encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"respeed-pretended-gpu-{os.getuid()}" / known
    with contextlib.suppress(OSError):
        folder.parent.mkdir(mode=0o700)
    if why := why_not_private(folder.parent):
        raise CannotBuildError(why)
    if folder.is_dir():
        return folder
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    include = [f"-I{path}" for _, path in headers]
    for name, sources in LIBRARIES.items():
        language = ["-std=c++17"] if sources[0].suffix == ".cpp" else ["-x", "c"]
        command = [compiler, "-O1", "-shared", "-fPIC", *language, *include, *map(str, sources), "-o", name, "-ldl"]
        done = subprocess.run(command, cwd=made, text=True, capture_output=True, check=False)
        if done.returncode:
            raise CannotBuildError(f"{compiler} does not compile it: {done.stderr[-2000:]}")
    try:
        made.rename(folder)
    except OSError:  # another process was sooner
        shutil.rmtree(made)
    return folder


@cache
def header_folders() -> tuple[tuple[str, Path], ...]:
    """Where the headers lie that torch's own packages bring."""
    packages = Path(sysconfig.get_path("purelib"))
    found = []
    for name, places in {
        "cuda_runtime_api.h": "nvidia/*/include",
        "cublasLt.h": "nvidia/*/include",
        "cuda.h": "triton/backends/nvidia/include",
    }.items():
        folders = sorted(path for path in packages.glob(places) if (path / name).exists())
        if name == "cuda.h":
            folders += sorted(path for path in packages.glob("nvidia/*/include") if (path / name).exists())
        found += [(name, folders[0])] if folders else []
    return tuple(found)
