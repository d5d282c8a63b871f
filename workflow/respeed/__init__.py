"""respeed: published speedup tables, re-run on your hardware. CONTRIBUTING.md explains its terms and layers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

if sys.platform == "win32":
    sys.exit("respeed: runs on Linux and macOS; on Windows, run it within WSL2")


def load_tables(folder: str | Path = "results/tables") -> "dict[str, pandas.DataFrame]":
    """Return every tidy table of a run by name, with the dtypes of docs/tables.md.

    Raises UserError if a table is missing.
    """
    from respeed.analysis.columns import load_tables as load

    return load(Path(folder))
