"""What Numba keeps of compiled kernels: thrown away when any of their sources has changed.

Numba looks at the time stamp of a kernel's own file alone. One that calls a kernel of another file would go on with
what that was when it was compiled: after an update, wrong results.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from numba import config

FOLDER = Path(__file__).parent
_STAMP = "sources.sha256"
# The rights of a group and of others to write.
OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def forget_stale(folder: Path = FOLDER) -> None:
    """Delete what was compiled of other sources than those in `folder` now. Where nothing can be written there, it is
    kept elsewhere from now on."""
    sources = hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()
    kept = folder / "__pycache__"
    if config.CACHE_DIR or not os.access(kept if kept.exists() else folder, os.W_OK):
        # A place of the user's, for others' kernels too: a folder of our own there.
        config.CACHE_DIR = str(Path(config.CACHE_DIR or _elsewhere()) / f"respeed-{sources[:16]}")
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


def _elsewhere() -> str:
    """The user's folder for what is made again when it is lost; without one, a new folder, for this process alone: in a
    place that others can write to, they could put code of theirs."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    with contextlib.suppress(OSError):
        folder = Path(home, "respeed")
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.stat()
        if os.access(folder, os.W_OK) and found.st_uid == os.geteuid() and not found.st_mode & OF_OTHERS:
            return str(folder)
    made = tempfile.mkdtemp(prefix="respeed-kernels-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
