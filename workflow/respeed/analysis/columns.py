"""The tidy tables, results/tables/<name>.csv, as `columns.toml` declares them.

This module sets the dtypes of the frames, writes and reads the files, and makes docs/tables.md:

    ./run python -m respeed.analysis.columns > docs/tables.md
"""

import functools
import itertools
import tomllib
import unicodedata
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.errors import UserError
from respeed.model import Names
from respeed.paths import write_text
from respeed.text import printable

# Digits of a number in a tidy table: more than any measurement has, fewer than a float prints.
DIGITS = 9
# If a text begins with one of these characters, a spreadsheet takes the text for a formula.
FORMULA = ("=", "+", "-", "@")
# The fields of a row by column, or some of them, before the row is part of a frame.
Fields = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    `kind` is text, number, count (a whole number) or flag. `empty` is the meaning of an empty field, or "" if no field
    may be empty.
    """

    kind: str
    unit: str
    meaning: str
    empty: str

    @property
    def dtype(self) -> str:
        """Return the dtype in the frame. A missing number is NaN, a missing text "", a missing count NA."""
        count = "Int64" if self.empty else "int64"
        return {"text": "str", "number": "float64", "count": count, "flag": "bool"}[self.kind]


@dataclass(frozen=True)
class Table:
    """A tidy table: the meaning of a row, the names of the key columns, and all columns by name, in order."""

    row: str
    key: Names
    columns: dict[str, Column]

    @property
    def dtypes(self) -> dict[str, str]:
        """Return the dtype of each column."""
        return {name: column.dtype for name, column in self.columns.items()}


def _declared() -> dict[str, Table]:
    declared = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    shared = declared.pop("shared")
    return {
        name: Table(
            table["row"],
            tuple(table["key"]),
            {column: Column(*(facts or shared[column])) for column, facts in table["columns"].items()},
        )
        for name, table in declared.items()
    }


TABLES = _declared()


def apply_dtypes(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the declared columns of the table, in order, each in its dtype.

    A missing text becomes "". A missing count becomes 0 in a column without empty fields, and NA in others. Raises
    KeyError if a column is missing.
    """
    table = TABLES[name]
    missing = {"str": "", "int64": 0}
    fill = {column: missing[dtype] for column, dtype in table.dtypes.items() if dtype in missing}
    return frame[list(table.columns)].astype(object).fillna(fill).astype(table.dtypes)


def make_frame(rows: Iterable[Mapping[str, Any]], name: str) -> pd.DataFrame:
    """Make a table from rows, each a mapping of columns to values; without rows, make an empty table."""
    return apply_dtypes(pd.DataFrame(list(rows), columns=list(TABLES[name].columns), dtype=object), name)


def rows_of(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield each row as a named tuple, with the columns' names; a missing number is None, not NaN."""
    values = frame.to_numpy(dtype=object, copy=True)
    values[frame.isna().to_numpy()] = None
    return itertools.starmap(_row_type(tuple(frame.columns)), values)


@functools.cache
def _row_type(columns: Names) -> Any:
    return namedtuple("Row", columns)


def write_table(frame: pd.DataFrame, name: str, folder: Path) -> None:
    """Write the declared columns of the table as <folder>/<name>.csv."""
    write_csv(apply_dtypes(frame, name), folder / f"{name}.csv")


def write_csv(frame: pd.DataFrame, path: Path, *, mark: str = "") -> None:
    """Write a frame without its index, after a byte order `mark`, which a spreadsheet needs to read ± and µ.

    Floats have at most nine digits, a missing number is an empty field, and no text or heading looks like a formula to
    a spreadsheet.
    """
    shown = frame.map(lambda value: _guarded(value) if isinstance(value, str) else value)
    shown = shown.set_axis([_guarded(str(name)) for name in frame], axis=1)
    write_text(path, mark + shown.to_csv(index=False, lineterminator="\n", float_format=_rounded))


def load_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read every table that `respeed report` wrote, by name; UserError if a file is missing."""
    return {name: load_table(name, folder) for name in TABLES}


def load_table(name: str, folder: Path) -> pd.DataFrame:
    """Read <folder>/<name>.csv with its dtypes; UserError if it is missing."""
    table = TABLES[name]
    path = folder / f"{name}.csv"
    if not path.exists():
        raise UserError(
            f"{path}: not found; build the tables first: respeed report --only tables (or all: ./run snakemake report)"
        )
    frame = pd.read_csv(path, dtype=table.dtypes, keep_default_na=False, na_values=[""], encoding="utf-8")
    frame = apply_dtypes(frame, name)
    return frame.assign(**frame.select_dtypes("str").map(_unguarded))


def _rounded(value: Any) -> str:
    return repr(float(f"{value:.{DIGITS}g}"))


def _guarded(text: str) -> str:
    """Remove the characters that cannot be printed; an apostrophe before what looks like a formula keeps it a text."""
    shown = printable(text)
    return f"'{shown}" if _is_formula(shown) else shown


def _unguarded(shown: str) -> str:
    return shown[1:] if shown.startswith("'") and _is_formula(shown[1:]) else shown


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet would compute the text; a full-width sign counts as the plain one."""
    return unicodedata.normalize("NFKC", text.lstrip()[:1]).startswith(FORMULA)


INTRODUCTION = """# Tables

Every table `results/tables/*.csv`, for your own statistics. (`respeed.analysis.columns` writes them and this page.)

```python
import respeed

tables = respeed.load_tables()  # pandas DataFrames by name, of the run in results/tables
cells = tables["cells"]
timed = cells[cells["seconds"].notna() & cells["is_cpu"]]
print(timed.loc[timed.groupby(["machine", "paper", "experiment", "case"])["seconds"].idxmin(), ["case", "profile"]])

rounds = respeed.load_rounds()  # where every statistic begins
by_cell = rounds.groupby(["machine", "paper", "experiment", "case", "algorithm", "profile"])
print(by_cell["step_seconds"].agg(["median", "std", "count"]))
```

A count is a whole number, a flag True or False. An empty field becomes NaN in a column of numbers, and an empty text in
one of texts. A text that a spreadsheet would compute has an apostrophe before it in the file; the frame has none.
"""


def describe_tables() -> str:
    """Return docs/tables.md: the meaning of every row and column of every table."""
    text = INTRODUCTION
    for name, table in TABLES.items():
        text += f"\n## {name}.csv\n\n{table.row} Key: {', '.join(table.key)}.\n\n"
        text += "| column | kind | unit | meaning | empty if |\n| --- | --- | --- | --- | --- |\n"
        for column, one in table.columns.items():
            text += f"| {column} | {one.kind} | {one.unit} | {one.meaning} | {one.empty} |\n"
    return text


if __name__ == "__main__":
    print(describe_tables(), end="")
