"""The pretended GPU of the project's tests, a preloaded library that answers for one: nothing is measured on it."""

import ctypes
import os
from pathlib import Path

from respeed.errors import UserError

# What that library alone has, whatever it is called.
SYMBOL = "respeed_pretended_gpu"
# Set by tests to the copy of the project that they measure in, for the smoke preset, whose tables say "No measurement".
ALLOWED = "RESPEED_PRETENDED_GPU"


def is_pretended() -> bool:
    """Whether this process has it, and so every process that it starts."""
    return hasattr(ctypes.CDLL(None), SYMBOL)


def refuse_pretended(root: Path, *, smoke: bool) -> None:
    """UserError if something is to be measured or described in the project at `root` on a pretended GPU."""
    allowed = os.environ.get(ALLOWED)
    if is_pretended() and not (smoke and allowed and Path(allowed).resolve() == root.resolve()):
        raise UserError(
            "a pretended GPU, the one of the project's tests, is preloaded: nothing is measured on it, or described; "
            f"unset LD_PRELOAD (now {os.environ.get('LD_PRELOAD', 'not set')})"
        )
