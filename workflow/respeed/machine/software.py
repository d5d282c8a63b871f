"""The software that a round uses: packages, the BLAS that SciPy computes with, others' programs, and our commit."""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePath

from threadpoolctl import LibController, ThreadpoolController, threadpool_info

from respeed.machine.process import Facts, output_of

# The libraries that SciPy may compute with, by the names in profiles and machines' facts, and their usual names: its
# wheels have OpenBLAS, or on macOS Apple's Accelerate; those of conda and Linux distributions have the library that
# their package manager chose.
LIBRARIES = {"openblas": "OpenBLAS", "accelerate": "Accelerate", "mkl": "MKL", "blis": "BLIS"}


# What decides what a number is: of a clone's files, and of those that people write in a study.
CODE = ("workflow/respeed", "requirements.lock")
WRITTEN = ("papers", "hardware", "workloads")


def files_of(command: Sequence[str], folder: Path) -> dict[str, Path | None]:
    """Return the files that a command names, by the word of the command; None for a file that does not exist.

    The first word is the program, relative to `folder` if the word contains a /, else searched on the PATH. Other files
    are the words that begin with {paper}/, which means `folder`.
    """
    files: dict[str, Path | None] = {}
    for word in command:
        is_program = not files
        if is_program and "/" not in word:
            on_path = shutil.which(word)
            files[word] = Path(on_path) if on_path else None
        elif is_program or word.startswith("{paper}/"):
            path = folder / word.replace("{paper}", ".", 1)
            files[word] = path if os.path.exists(path) else None  # a name may be too long for its `exists`
    return files


def checksums(command: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each readable file that a command names, by the word of the command."""
    sums = {}
    for word, path in files_of(command, folder).items():
        with contextlib.suppress(OSError):
            if path and path.is_file():
                sums[word] = checksum_of(path)
    return sums


def checksum_of(path: Path) -> str:
    """Return the SHA-256 of a file, which is read again only if it was written since; OSError if it cannot be read."""
    now = path.stat()
    return _checksum(path, now.st_ino, now.st_size, now.st_mtime_ns)


@functools.lru_cache(maxsize=2**14)
def _checksum(path: Path, *written: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def package_versions() -> dict[str, str]:
    """Return the versions of respeed, Python, and the packages that a measured time depends on."""
    versions = {"python": platform.python_version()}
    for name in ("respeed", "numpy", "scipy", "numba", "torch"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def blas_libraries() -> list[Facts]:
    """Return all loaded BLAS and OpenMP libraries; in `file`, the folder distinguishes NumPy's BLAS from SciPy's."""
    keys = ("user_api", "internal_api", "version", "architecture", "threading_layer", "num_threads")
    libraries = []
    for info in threadpool_info():
        facts = {"file": library_name(info["filepath"])}
        libraries.append(facts | {key: info.get(key) for key in keys})
    return libraries


def library_name(path: str) -> str:
    """Return a library's file name without folders, which may name a user; only a wheel's own, numpy.libs/, is kept."""
    file = PurePath(path)
    folder = file.parent.name
    return f"{folder}/{file.name}" if folder.endswith(".libs") else file.name


def library_label(name: str) -> str:
    """Return the usual name of a library, or `name` itself if it is not in `LIBRARIES`."""
    return LIBRARIES.get(name, name)


@functools.cache
def scipy_library() -> str:
    """Return the name of the BLAS that SciPy computes with, which may be missing in `LIBRARIES`.

    SciPy's build settings usually name the library. If they name a stub ("blas", "cblas"), the system has chosen the
    library behind the stub: the one that threadpoolctl finds, or else Apple's on macOS and netlib's slow one elsewhere.
    """
    import scipy

    build = scipy.show_config(mode="dicts")["Build Dependencies"]
    built_with = str(build["blas"]["name"]).lower()
    for name in (*LIBRARIES, "flexiblas"):
        if name in built_with:
            return name
    for library in _controllers():
        return str(library.internal_api)
    return "accelerate" if platform.system() == "Darwin" else "netlib"


def controller(library: str) -> LibController | None:
    """Return threadpoolctl's controller of SciPy's BLAS, named `library`; None if threadpoolctl does not find it."""
    return next((controller for controller in _controllers() if controller.internal_api == library), None)


def _controllers() -> list[LibController]:
    """Return threadpoolctl's controllers of SciPy's own BLAS, then of BLAS libraries outside site-packages.

    Other BLAS libraries in site-packages belong to NumPy or torch; their files may have the same name as SciPy's.
    """
    import scipy
    from scipy.linalg import cython_blas  # noqa: F401  # loads the library

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    packages = str(Path(scipy.__file__).resolve().parents[1])
    of_scipy = [library for library in libraries if library.filepath.startswith(f"{packages}/scipy")]
    return of_scipy + [library for library in libraries if not library.filepath.startswith(packages)]


def source_commit(root: Path, paths: Sequence[str] = CODE) -> str:
    """Return the checkout's commit, with "+changes" if files at `paths` differ from it; "unknown" elsewhere."""
    # Without git's locks: if this process was killed now, a lock left behind would keep the user from committing.
    # A repository that is named is read whoever owns it, and no other is: none that a folder above belongs to, and none
    # that a variable of git's names.
    git = ("git", "--no-optional-locks", f"--git-dir={root / '.git'}", f"--work-tree={root}")
    commit = output_of(*git, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return "unknown"
    changes = output_of(*git, "status", "--porcelain", "--untracked-files=no", "--", *paths)
    return f"{commit}+changes" if changes else commit
