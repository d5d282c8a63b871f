"""respeed: published speedup tables, re-run on your hardware. CONTRIBUTING.md has the words and the layers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

if sys.platform == "win32":
    sys.exit("respeed: runs on Linux and macOS; on Windows, run it within WSL2")


def load_tables(folder: str | Path = "results/tables") -> "dict[str, pandas.DataFrame]":
    """Return every tidy table of a run by its name, in the dtypes that docs/tables.md tells.

    Raises UserError if one is not there.
    """
    from respeed.analysis.columns import load_tables as load

    return load(Path(folder))


def load_rounds(folder: str | Path = "results/tables") -> "pandas.DataFrame":
    """Return the rounds of a run, a row for each round of a case: where every statistic begins."""
    from respeed.analysis.columns import load_table

    return load_table("rounds", Path(folder))
