"""The packages of this environment come first, whatever PYTHONPATH or the working folder have of the same names.

A numpy.py there, or another Python's packages that a cluster's modules put there, would be measured in place of ours.
Uses nothing but what Python itself has loaded by then.
"""

import os
import site
import sys

# Folders of another Python's packages, which `run` made this environment upon (RESPEED_PYTHON), a line each.
UPON = "_respeed_upon.pth"
# Python looks for these along the whole path by design.
_ANYBODYS = {"__pycache__", "sitecustomize", "usercustomize", "respeed"}


def own_packages_first() -> None:
    """From now on, folders that hide a package of this environment are looked at last."""
    environment = _environment()
    hiding = [folder for folder in sys.path if _is_foreign(folder) and _hides(folder, environment)]
    sys.path[:] = [*(folder for folder in sys.path if folder not in hiding), *hiding]


def own_path(path: str) -> str:
    """A PYTHONPATH without the folders that hide a package of this environment, for a process that is about to be
    started."""
    environment = _environment()
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder and not _hides(folder, environment))


def upon() -> list[str]:
    """The folders of another Python's packages that belong to this environment: after its own, before any others."""
    found = []
    for folder in site.getsitepackages():
        try:
            with open(os.path.join(folder, UPON), encoding="utf-8") as file:
                found += file.read().splitlines()
        except OSError:
            continue
    return found


def _environment() -> frozenset[str]:
    """The names of what can be imported here: of Python itself, and what is installed."""
    installed = [folder for folder in sys.path if _is_installed(folder)]
    return frozenset(sys.stdlib_module_names).union(*map(_modules, installed)) - _ANYBODYS


def _is_installed(folder: str) -> bool:
    """Whether it is where this environment's packages are, or lies in there. Another Python's may lie beside it, or
    below the same prefix, such as /usr."""
    path = os.path.realpath(folder)
    own = [os.path.realpath(one) for one in (*site.getsitepackages(), *upon())]
    return any(path == one or path.startswith(one + os.sep) for one in own)


def _is_foreign(folder: str) -> bool:
    """Neither Python's own folder, nor one of this environment."""
    python = os.path.dirname(os.__file__)
    libraries = f"python{sys.version_info.major}.{sys.version_info.minor}"
    compiled = os.path.join(sys.base_exec_prefix, sys.platlibdir, libraries, "lib-dynload")
    own = {os.path.realpath(one) for one in (python, os.path.join(python, "lib-dynload"), compiled)}
    return os.path.realpath(folder) not in own and not _is_installed(folder)


def _hides(folder: str, environment: frozenset[str]) -> bool:
    return not _modules(folder or os.curdir).isdisjoint(environment)


def _modules(folder: str) -> set[str]:
    """What can be imported from a folder: its modules, and its folders that are packages."""
    try:
        names = os.listdir(folder)
    except OSError:
        return set()
    return {
        name.split(".")[0]
        for name in names
        if name.endswith((".py", ".so", ".pyd")) or os.path.isfile(os.path.join(folder, name, "__init__.py"))
    }
