"""What Numba keeps of compiled kernels: thrown away when any of their sources has changed.

Numba looks at the time stamp of a kernel's own file alone. One that calls a kernel of another file would go on with
what that was when it was compiled: after an update, wrong results.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from numba import config

FOLDER = Path(__file__).parent
_STAMP = "sources.sha256"


def forget_stale(folder: Path = FOLDER) -> None:
    """Delete what was compiled of other sources than those in `folder` now. Without the right to write, nothing is:
    then nothing was kept there either."""
    sources = hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()
    if config.CACHE_DIR:  # a place of the user's, for others' kernels too: a folder of our own there
        config.CACHE_DIR = str(Path(config.CACHE_DIR) / f"respeed-{sources[:16]}")
        return
    kept = folder / "__pycache__"
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
