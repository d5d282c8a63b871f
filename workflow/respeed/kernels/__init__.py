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

from respeed.machine.process import private_folder

FOLDER = Path(__file__).parent
_STAMP = "sources.sha256"


def forget_stale(folder: Path = FOLDER) -> None:
    """Delete what was compiled of other sources than those in `folder` now. Where nothing can be written beside them,
    or NUMBA_CACHE_DIR names a folder, compiled kernels are kept in a folder named by a hash of the sources."""
    sources = hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()
    kept = folder / "__pycache__"
    if config.CACHE_DIR or not os.access(kept if kept.exists() else folder, os.W_OK):
        name = f"kernels-{sources[:16]}"
        config.CACHE_DIR = str(Path(config.CACHE_DIR, name) if config.CACHE_DIR else private_folder(name))
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


forget_stale()
