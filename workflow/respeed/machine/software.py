"""The software that takes part in a round: packages, the BLAS that SciPy computes with, the environment, the commit."""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from threadpoolctl import LibController, ThreadpoolController, threadpool_info

from respeed.machine.process import output_of

# The libraries that SciPy may compute with, by the names that profiles and machines' facts use, and what people call
# them: its wheels have OpenBLAS, or on macOS Apple's Accelerate; conda's and Linux distributions' have what their
# package manager was told.
LIBRARIES = {"openblas": "OpenBLAS", "accelerate": "Accelerate", "mkl": "MKL", "blis": "BLIS"}


def files_of(command: Sequence[str], folder: Path) -> dict[str, Path | None]:
    """Return the files that a command names, by its words; None for one that is not there.

    They are the program, found from `folder` if its name has a /, or else on the PATH, and what begins with {paper}/,
    which stands for the folder.
    """
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
    """Return the SHA-256 of each file that a command names and that can be read."""
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
    """Return the versions of Python and of the packages that decide a number."""
    found = {"python": platform.python_version()}
    for name in ("respeed", "numpy", "scipy", "numba", "torch"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def blas_libraries() -> list[dict[str, Any]]:
    """Return every BLAS and OpenMP library that is loaded; the folder distinguishes NumPy's from SciPy's."""
    keys = ("user_api", "internal_api", "version", "architecture", "threading_layer", "num_threads")
    return [{"file": library_name(one["filepath"]), **{key: one.get(key) for key in keys}} for one in threadpool_info()]


def library_name(path: str) -> str:
    """Return a library's file without its folders, which may be named after a user; with a wheel's, numpy.libs/."""
    *_, folder, name = ("", *PurePath(path).parts)
    return f"{folder}/{name}" if folder.endswith(".libs") else name


def library_label(name: str) -> str:
    """Return what people call the library; of one that is not known here its own name."""
    return LIBRARIES.get(name, name)


@functools.cache
def scipy_library() -> str:
    """Return the name of the library that SciPy computes with, one of `LIBRARIES` or another.

    It is in the name that SciPy was built with. Where that is a stub's ("blas", "cblas"), the system has put a library
    of its choice behind it: one that threadpoolctl finds, or else Apple's, or the slow one of netlib.
    """
    import scipy

    built_with = str(scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]).lower()
    for name in (*LIBRARIES, "flexiblas"):
        if name in built_with:
            return name
    for found in _controllers():
        return str(found.internal_api)
    return "accelerate" if platform.system() == "Darwin" else "netlib"


def controller(library: str) -> LibController | None:
    """Return by which threadpoolctl steers SciPy's library; None if it does not find it."""
    return next((found for found in _controllers() if found.internal_api == library), None)


def _controllers() -> list[LibController]:
    """Return those of SciPy, and then those that all packages share.

    NumPy and torch have libraries of their own, in their folders, whose files may be called as SciPy's is.
    """
    import scipy
    from scipy.linalg import cython_blas  # noqa: F401  # loads the library

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    packages = str(Path(scipy.__file__).resolve().parents[1])
    ours = [library for library in found if library.filepath.startswith(f"{packages}/scipy")]
    return ours + [library for library in found if not library.filepath.startswith(packages)]


def source_commit(root: Path) -> str:
    """Return the commit of the checkout, with "+changes" if files differ from it; "unknown" outside a checkout."""
    # It takes no lock that would be left behind, and keep the user from his own commits, if this is killed now.
    git = ("git", "--no-optional-locks", "-C", str(root))
    commit = output_of(*git, "rev-parse", "--short=12", "HEAD")
    changes = output_of(*git, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}{'+changes' * bool(changes)}" if commit else "unknown"
