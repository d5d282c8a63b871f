"""Compiled loops for what no BLAS does: Numba, each on a range of rows, without Python's lock.

Every kernel takes the rows [start, stop) that it works on, so that `Workers` can spread them over threads. They are
compiled once and kept beside their source (or in NUMBA_CACHE_DIR). What is kept is thrown away when any of the sources
has changed: Numba looks at the time stamp of a kernel's own file alone, and one that calls a kernel of another file
would go on with what that was when it was compiled: after an update, wrong results.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from numba import config

from respeed.machine.process import private_folder, why_not_private

FOLDER = Path(__file__).parent
_STAMP = "sources.sha256"


def forget_stale(folder: Path = FOLDER) -> None:
    """Delete what was compiled of other sources than those in `folder` now. Where nothing can be written there, or
    others than those who can change the sources could have put something there, it is kept elsewhere from now on."""
    sources = hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()
    kept = (folder / "__pycache__").resolve()
    if config.CACHE_DIR or not _is_usable(kept, folder):
        # A place of the user's, for others' kernels too: a folder of our own there.
        name = f"kernels-{sources[:16]}"
        config.CACHE_DIR = str(private_folder(name, Path(config.CACHE_DIR, name) if config.CACHE_DIR else None))
        return
    stamp = kept / _STAMP
    with contextlib.suppress(OSError):
        if stamp.exists() and stamp.read_text() == sources:
            return
        for path in [*kept.glob("*.nbi"), *kept.glob("*.nbc")]:
            path.unlink(missing_ok=True)
        kept.mkdir(exist_ok=True)
        part = stamp.with_suffix(f".{os.getpid()}")
        part.write_text(sources)
        part.replace(stamp)


def _is_usable(kept: Path, folder: Path) -> bool:
    if not kept.exists():
        return os.access(folder, os.W_OK)
    # Of a copy of the project whose compiled kernels lie in another, such as the tests make: as closed as that one.
    return os.access(kept, os.W_OK) and not why_not_private(kept, like=kept.parent)


forget_stale()
