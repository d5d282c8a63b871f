"""The tidy tables, results/tables/<name>.csv, as `columns.toml` declares them.

This module sets the dtypes of the frames, writes and reads the files, and makes docs/tables.md:

    ./run python -m respeed.analysis.columns > docs/tables.md
"""

import csv
import functools
import io
import itertools
import tomllib
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.errors import UserError
from respeed.paths import write_text
from respeed.text import printable

# Digits of a number in a tidy table: more than any measurement has, fewer than a float prints.
DIGITS = 9
# If a text begins with one of these characters, a spreadsheet takes the text for a formula.
FORMULA = ("=", "+", "-", "@")


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
    key: tuple[str, ...]
    columns: dict[str, Column]

    @property
    def texts(self) -> list[str]:
        """Return the names of the columns of texts."""
        return [name for name, column in self.columns.items() if column.kind == "text"]

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
    return frame[list(table.columns)].fillna(fill).astype(table.dtypes)


def make_frame(rows: Iterable[Mapping[str, Any]], name: str) -> pd.DataFrame:
    """Make a table from rows, each a mapping of columns to values; without rows, make an empty table."""
    return apply_dtypes(pd.DataFrame(list(rows), columns=list(TABLES[name].columns), dtype=object), name)


def rows_of(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield each row as a named tuple, with the columns' names; a missing number is None, not NaN."""
    row = _row_of(tuple(map(str, frame.columns)))
    return itertools.starmap(row, _values(frame))


def _values(data: pd.DataFrame | pd.Series) -> list[Any]:
    """Return the values of a column, or of each row, as Python objects; a missing value is None."""
    values = data.to_numpy(dtype=object, copy=True)
    values[data.isna().to_numpy()] = None
    found: list[Any] = values.tolist()
    return found


@functools.cache
def _row_of(names: tuple[str, ...]) -> Callable[..., Any]:
    return namedtuple("Row", names)


def write_table(frame: pd.DataFrame, name: str, folder: Path) -> None:
    """Write the declared columns of the table as <folder>/<name>.csv."""
    write_csv(apply_dtypes(frame, name), folder / f"{name}.csv")


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame without its index.

    Floats have at most nine digits, a missing number is an empty field, and no text looks like a formula to a
    spreadsheet.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows(zip(*(_fields(frame[name]) for name in frame), strict=True))
    write_text(path, text.getvalue())


def load_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read every table that `respeed report` wrote, by name; UserError if a file is missing."""
    return {name: load_table(name, folder) for name in TABLES}


def load_table(name: str, folder: Path) -> pd.DataFrame:
    """Read <folder>/<name>.csv with its dtypes; UserError if it is missing."""
    table, path = TABLES[name], folder / f"{name}.csv"
    if not path.exists():
        raise UserError(
            f"{path}: not found; build the tables first: respeed report --only tables (or all: ./run snakemake report)"
        )
    missing = {column: [""] for column in table.columns if column not in table.texts}
    frame = pd.read_csv(path, dtype=table.dtypes, keep_default_na=False, na_values=missing, encoding="utf-8")
    return apply_dtypes(frame.assign(**{column: frame[column].map(_unguarded) for column in table.texts}), name)


def _fields(column: pd.Series) -> list[Any]:
    """Return a column's values as they stand in the file. Equal texts are converted once; counts and flags stay."""
    values = _values(column)
    if isinstance(column.dtype, pd.StringDtype):
        shown = {value: _plain(value) for value in set(values)}
        return [shown[value] for value in values]
    return values if column.dtype.kind in "bi" else [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """Round a number to nine significant digits, or remove the characters of a text that cannot be printed.

    If a spreadsheet would take the text for a formula, it gets an apostrophe in front and so stays a text.
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, str):
        shown = printable(value)
        return f"'{shown}" if shown.lstrip().startswith(FORMULA) else shown
    return value


def _unguarded(shown: str) -> str:
    return shown[1:] if shown.startswith("'") and shown[1:].lstrip().startswith(FORMULA) else shown


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
