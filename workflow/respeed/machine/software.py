"""The software that takes part in a round: packages, the BLAS that SciPy computes with, the environment, the commit."""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from threadpoolctl import LibController, ThreadpoolController, threadpool_info

# The libraries that SciPy may compute with, by the names that profiles and machines' facts use, and what people call
# them: its wheels have OpenBLAS, or on macOS Apple's Accelerate; conda's and Linux distributions' have what their
# package manager was told.
LIBRARIES = {
    "openblas": "OpenBLAS",
    "accelerate": "Accelerate",
    "mkl": "MKL",
    "blis": "BLIS",
}
# Facts of before said nothing of it: they are of Linux, where SciPy's wheels come with this one.
OF_BEFORE = "openblas"
# Libraries, by the name that SciPy was built with, which has such a word. Any other is a stub ("blas", "cblas"), behind
# which the system puts a library of its choice.
_BUILT_WITH = ("openblas", "accelerate", "mkl", "blis", "flexiblas")


def files_of(command: Sequence[str], folder: Path) -> dict[str, Path | None]:
    """The files that a command names, by its words: the program, found from `folder` if its name has a /, or else on
    the PATH, and what begins with {paper}/, which stands for the folder. None for one that is not there."""
    found: dict[str, Path | None] = {}
    for word in command:
        is_program, place = not found, folder / word.replace("{paper}", ".", 1)
        if is_program and "/" not in word:
            on_path = shutil.which(word)
            found[word] = Path(on_path) if on_path else None
        elif is_program or word.startswith("{paper}/"):
            found[word] = place if os.path.exists(place) else None  # a name may be too long for its `exists`
    return found


def checksums(command: Sequence[str], folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that a command names and that can be read."""
    found = {}
    for word, path in files_of(command, folder).items():
        with contextlib.suppress(OSError):
            if path and path.is_file():
                now = path.stat()
                found[word] = _checksum(path, now.st_ino, now.st_size, now.st_mtime_ns)
    return found


@functools.lru_cache(maxsize=256)
def _checksum(path: Path, *written: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    """Every BLAS and OpenMP library that is loaded; NumPy's and SciPy's own ones are told apart by their folder."""
    keys = ("user_api", "internal_api", "version", "architecture", "threading_layer", "num_threads")
    return [
        {"file": library_name(pool["filepath"]), **{key: pool.get(key) for key in keys}} for pool in threadpool_info()
    ]


def library_name(path: str) -> str:
    """A library's file without its folders, which may be named after a user; with that of a wheel, numpy.libs/."""
    *_, folder, name = ("", "", *PurePath(path).parts)
    return f"{folder}/{name}" if folder.endswith(".libs") else name


def library_label(name: str) -> str:
    """What people call the library; of one that is not known here its own name."""
    return LIBRARIES.get(name, name)


@functools.cache
def scipy_library() -> str:
    """The name of the library, one of `LIBRARIES` or another."""
    import scipy

    built_with = str(scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]).lower()
    return next((name for name in _BUILT_WITH if name in built_with), None) or _behind_a_stub()


def controller(library: str) -> LibController | None:
    """By which threadpoolctl steers SciPy's library; None if it does not find it."""
    return next((found for found in _controllers() if found.internal_api == library), None)


def _controllers() -> list[LibController]:
    """SciPy's, and those that all packages share. NumPy and torch have libraries of their own, whose files may be
    called as SciPy's is."""
    import scipy
    from scipy.linalg import cython_blas  # noqa: F401  # loads the library

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    packages = Path(scipy.__file__).resolve().parents[1]
    owned = [(_owner(Path(library.filepath).resolve(), packages), library) for library in found]
    ours = [library for owner, library in owned if owner.startswith("scipy")]
    return ours + [library for owner, library in owned if not owner]


def _owner(file: Path, packages: Path) -> str:
    """The package whose folder a file lies in; nothing if it is none's."""
    return file.relative_to(packages).parts[0] if file.is_relative_to(packages) else ""


def _behind_a_stub() -> str:
    found = _controllers()
    if found:
        return str(found[0].internal_api)
    if platform.system() == "Darwin":
        stub = Path(sys.prefix, "lib", "libblas.3.dylib").resolve()
        if "veclib" in stub.name.lower() or "accelerate" in str(stub).lower():
            return "accelerate"
    return "netlib"


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
