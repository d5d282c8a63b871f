"""Compiles the pretended runtime, once for its sources, its compiler and torch."""

import hashlib
import shutil
import subprocess
import sysconfig
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from respeed.machine.process import private_folder

SOURCES = Path(__file__).resolve().parent / "runtime"
LIBRARY = "libpretended.so"
# Headers that torch's own packages bring, and where.
HEADERS = {
    "cuda_runtime_api.h": "nvidia/*/include",
    "cublasLt.h": "nvidia/*/include",
    "crt/host_defines.h": "triton/backends/nvidia/include",
}
# What is preloaded, and what libraries look for by name: each with its sources.
LIBRARIES = {
    LIBRARY: sorted(SOURCES.glob("*.cpp")),
    "libcuda.so.1": [SOURCES / "driver.c"],
    "libnvidia-ml.so.1": [SOURCES / "nvml.c"],
}


class CannotBuildError(Exception):
    """Why there is no pretended GPU here."""


def build() -> Path:
    """The folder with the libraries; CannotBuildError with the reason if they cannot be compiled here."""
    compiler, headers = shutil.which("c++") or shutil.which("g++"), header_folders()
    if not compiler:
        raise CannotBuildError("no C++ compiler (Debian: apt install g++)")
    if len(headers) < len(HEADERS):
        raise CannotBuildError(f"torch's packages bring no {' or '.join(HEADERS)}: it is built without CUDA")
    texts = b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir()))
    known = hashlib.sha256(texts + f"{compiler} {version('torch')} {headers}".encode()).hexdigest()[:16]
    folder = private_folder("pretended-gpu") / known
    if folder.is_dir():
        return folder
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    include = [f"-I{path}" for path in headers]
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
def header_folders() -> tuple[Path, ...]:
    """Where the headers lie, as far as they are here."""
    packages = Path(sysconfig.get_path("purelib"))
    found = [sorted(path for path in packages.glob(place) if (path / name).exists()) for name, place in HEADERS.items()]
    return tuple(paths[0] for paths in found if paths)
