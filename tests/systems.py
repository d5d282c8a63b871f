"""Prefixes for commands: as a user who may not write, on a small disk, without a network; or else a test is skipped."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from respeed.machine.cpu import usable_cores

IS_ROOT = os.geteuid() == 0
two_cores = pytest.mark.skipif(len(usable_cores()) < 2, reason="needs two cores")


def as_nobody() -> list[str]:
    """Root may write everywhere: then a user who reads what this one reads. Another user is bound as he is."""
    groups = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    return _checked(["setpriv", *groups, *(f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient"))], IS_ROOT)


def on_small_disk(folder: str | os.PathLike[str], size: str) -> list[str]:
    """In the folder, on which an empty disk of that size is mounted meanwhile: nobody else sees it."""
    script = f'mount -t tmpfs -o size={size} none "$0" && cd "$0" && exec "$@"'
    return _checked([*_unshared("--mount"), "sh", "-c", script, os.fspath(folder)])


def needs_executables(folder: Path) -> Path:
    """The folder, if what lies in it may be run."""
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        pytest.skip(f"{folder} is on a disk of which nothing may be run")
    return folder


def without_network(*options: str) -> list[str]:
    return _checked([*_unshared("--net", *options)])


def _unshared(*options: str) -> list[str]:
    return ["unshare", *options, *([] if IS_ROOT else ["--map-root-user"]), "--"]


def _checked(prefix: list[str], needed: bool = True) -> list[str]:
    if not needed:
        return []
    if shutil.which(prefix[0]) is None:
        pytest.skip(f"no {prefix[0]}")
    done = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{prefix[0]} may not do this here: {done.stderr.strip()}")
    return prefix
