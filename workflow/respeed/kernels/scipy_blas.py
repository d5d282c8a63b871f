"""Which BLAS this SciPy computes with: its wheels have OpenBLAS, or on macOS Apple's Accelerate; conda's and Linux
distributions' have what their package manager was told.
"""

import functools
import platform
import sys
from pathlib import Path

import scipy
from threadpoolctl import LibController, ThreadpoolController

# Words in the name that SciPy was built with, and the library they mean. Any other is a stub ("blas", "cblas"), behind
# which the system puts a library of its choice.
_BUILT_WITH = {
    "openblas": "openblas",
    "accelerate": "accelerate",
    "mkl": "mkl",
    "blis": "blis",
    "flexiblas": "flexiblas",
}


@functools.cache
def scipy_library() -> str:
    """The name of the library, as in `model.blas`."""
    built_with = str(scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]).lower()
    known = (name for word, name in _BUILT_WITH.items() if word in built_with)
    return next(known, None) or _behind_a_stub()


def controller(library: str) -> LibController | None:
    """By which threadpoolctl steers SciPy's library; None if it does not find it."""
    return next((found for found in _controllers() if found.internal_api == library), None)


def _controllers() -> list[LibController]:
    """SciPy's, and those that all packages share. NumPy and torch have libraries of their own, whose files may be
    called as SciPy's is."""
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
