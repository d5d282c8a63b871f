"""Frames of the tidy tables that `tables` declares: their dtypes, their rows, and their files."""

import itertools
import unicodedata
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from respeed.analysis.tables import TABLES, MachineRow, dtypes_of
from respeed.errors import UserError
from respeed.paths import RUN, write_text
from respeed.text import first_line, printable

# Digits of a number in a tidy table: more than any measurement has, fewer than a float prints.
DIGITS = 9
# If a text begins with one of these characters, a spreadsheet takes the text for a formula.
FORMULA = ("=", "+", "-", "@")
# The end of a message about tables that are missing, or not those of the records.
ANEW = f"build the tables first: respeed report --only tables (or all: {RUN}snakemake report)"
AnyRow = TypeVar("AnyRow", bound=MachineRow)


def make_frame(rows: Iterable[AnyRow], row_type: type[AnyRow]) -> pd.DataFrame:
    """Make a table from rows of its class; without rows, make an empty table."""
    dtypes = dtypes_of(row_type)
    values = map(attrgetter(*dtypes), rows)
    return pd.DataFrame(values, columns=[*dtypes], dtype=object).astype(dtypes)


def rows_of(frame: pd.DataFrame, row_type: type[AnyRow]) -> Iterator[AnyRow]:
    """Yield each line of a frame as a row of a dataclass; a missing number is None, not NaN."""
    columns = frame[[*dtypes_of(row_type)]].astype(object)
    values = columns.where(columns.notna(), None)
    return itertools.starmap(row_type, values.to_numpy())


def write_csv(frame: pd.DataFrame, path: Path, *, mark: str = "") -> None:
    """Write a frame without its index, after a byte order `mark` if one is given.

    Floats have at most nine digits, a missing number is an empty field, and no text or heading looks like a formula to
    a spreadsheet.
    """
    guarded = frame.map(_guarded).rename(columns=_guarded)
    write_text(path, mark + guarded.to_csv(index=False, lineterminator="\n", float_format=_rounded))


def load_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read every table that `respeed report` wrote, by name; UserError if a file is missing."""
    return {name: load_table(name, folder) for name in TABLES}


def load_table(name: str, folder: Path) -> pd.DataFrame:
    """Read <folder>/<name>.csv with its dtypes; UserError if it is missing or of another form."""
    path = folder / f"{name}.csv"
    if not path.exists():
        raise UserError(f"{path}: not found; {ANEW}")
    dtypes = dtypes_of(TABLES[name])
    empty = {column: "" for column, dtype in dtypes.items() if dtype != "str"}
    try:
        frame = pd.read_csv(path, dtype=dtypes, keep_default_na=False, na_values=empty, encoding="utf-8")[[*dtypes]]
    except (ValueError, KeyError) as error:  # another version wrote it, or a spreadsheet
        raise UserError(f"{path}: cannot be read ({first_line(error)}); {ANEW}") from None
    return frame.assign(**frame.select_dtypes("str").map(_unguarded))


def _rounded(value: object) -> str:
    return repr(float(f"{value:.{DIGITS}g}"))


def _guarded(text: Any) -> Any:
    """Remove the characters that cannot be printed; an apostrophe before what looks like a formula keeps it a text."""
    if not isinstance(text, str):
        return text
    line = printable(text)
    return f"'{line}" if _is_formula(line) else line


def _unguarded(guarded: str) -> str:
    return guarded[1:] if guarded.startswith("'") and _is_formula(guarded[1:]) else guarded


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet would compute the text; a full-width sign counts as the plain one."""
    return unicodedata.normalize("NFKC", text.lstrip()[:1]).startswith(FORMULA)
