"""The pretended GPU from outside: its library, the environment of a process that takes it for one, and tests there."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from respeed.machine.process import private_folder

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
# As every order of streams is a different program, what must hold is tried in two that are each other's contrary.
ORDERS = ("lazy", "reverse")
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

    `order` is that of streams, one of ORDERS; `memory` the device's, in bytes.
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


class Outcome(NamedTuple):
    """Of a run of tests: how many passed, the names of those that failed, and what pytest wrote."""

    passed: int
    failed: tuple[str, ...]
    output: str


def run_tests(
    *tests: str, options: tuple[str, ...], added: dict[str, str], workflow: Path = ROOT / "workflow"
) -> Outcome:
    """Run tests in a process of their own, with these `options` of pytest and what is `added` to the environment.

    Raises AssertionError, with what pytest wrote last, if it ended otherwise than with all passed or some failed.
    """
    paths = [str(workflow), *filter(None, [added.get("PYTHONPATH")]), str(ROOT)]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    plugin = ["-p", "tests.pretended_gpu.plugin"] if added else []
    # The process's own folder: of one that tests share, pytest would remove what others still use.
    with tempfile.TemporaryDirectory(prefix="pretended-gpu-") as folder:
        command = [
            sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "-q",
            "-n", "0", "--basetemp", f"{folder}/tests", *options, *tests,
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=ROOT, env={**inherited, **added, "PYTHONPATH": os.pathsep.join(paths)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    passed = re.findall(r"^.*?(\d+) passed.* in [\d.]+s", done.stdout, re.M)
    failed = tuple(re.findall(r"^(?:FAILED|ERROR) \S+?::(\S+)", done.stdout, re.M))
    if done.returncode not in (0, 1) or bool(failed) != bool(done.returncode):
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout[-5000:]}")
    return Outcome(int(passed[-1]) if passed else 0, failed, done.stdout)
