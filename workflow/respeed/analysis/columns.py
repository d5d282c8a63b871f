"""Every tidy table, results/tables/<name>.csv, as `columns.toml` declares it.

Here are the dtypes of its frame, how its file is written and read, and docs/tables.md, which is made by

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

# A number in a tidy table: more digits than any measurement has, fewer than a float prints.
DIGITS = 9
# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@")


@dataclass(frozen=True)
class Column:
    """One column of a table.

    `kind` is text, number, count (a whole number) or flag. `empty` says what an empty field means; it is "" where no
    field is empty.
    """

    kind: str
    unit: str
    meaning: str
    empty: str

    @property
    def dtype(self) -> str:
        """Of the frame. A missing number is NaN, a missing text is ""; a count that may be missing is nullable."""
        count = "Int64" if self.empty else "int64"
        return {"text": "str", "number": "float64", "count": count, "flag": "bool"}[self.kind]


@dataclass(frozen=True)
class Table:
    """A tidy table: what a row is, which columns tell rows apart, and all columns in their order, by name."""

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

    A missing text is "", and a count that must not be missing is 0. Raises KeyError if a column is not there.
    """
    table = TABLES[name]
    missing = {"str": "", "int64": 0}
    fill = {column: missing[dtype] for column, dtype in table.dtypes.items() if dtype in missing}
    return frame[list(table.columns)].fillna(fill).astype(table.dtypes)


def make_frame(rows: Iterable[Mapping[str, Any]], name: str) -> pd.DataFrame:
    """Make a table of rows, each by the names of its columns; of no rows an empty one."""
    return apply_dtypes(pd.DataFrame(list(rows), columns=list(TABLES[name].columns), dtype=object), name)


def rows_of(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows: attributes are named as the columns, and None, not NaN, where a number is missing."""
    row = _row_of(tuple(map(str, frame.columns)))
    return itertools.starmap(row, _values(frame))


def _values(data: pd.DataFrame | pd.Series) -> list[Any]:
    """Those of a column, or of each row, as Python has them; None where one is missing."""
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

    Numbers have nine digits, no spreadsheet computes a text, and a field is empty where a number is missing.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows(zip(*(_fields(frame[name]) for name in frame), strict=True))
    write_text(path, text.getvalue())


def load_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Every table by its name, as `respeed report` wrote it. UserError if one is not there."""
    return {name: load_table(name, folder) for name in TABLES}


def load_table(name: str, folder: Path) -> pd.DataFrame:
    """<folder>/<name>.csv in its dtypes. UserError if it is not there."""
    table, path = TABLES[name], folder / f"{name}.csv"
    if not path.exists():
        raise UserError(
            f"{path}: not found; build the tables first: respeed report --only tables (all: ./run snakemake report)"
        )
    missing = {column: [""] for column in table.columns if column not in table.texts}
    frame = pd.read_csv(path, dtype=table.dtypes, keep_default_na=False, na_values=missing, encoding="utf-8")
    return apply_dtypes(frame.assign(**{column: frame[column].map(_unguarded) for column in table.texts}), name)


def _fields(column: pd.Series) -> list[Any]:
    """Return what a file has for the values of a column. A text of many rows is made once; counts and flags stay."""
    values = _values(column)
    if isinstance(column.dtype, pd.StringDtype):
        shown = {value: _plain(value) for value in set(values)}
        return [shown[value] for value in values]
    return values if column.dtype.kind in "bi" else [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """Return a number with nine digits, or a text without what cannot be printed.

    A text that a spreadsheet would compute begins with an apostrophe, which makes it a text there.
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
    """docs/tables.md: what every row and column of every table is."""
    text = INTRODUCTION
    for name, table in TABLES.items():
        text += f"\n## {name}.csv\n\n{table.row} Key: {', '.join(table.key)}.\n\n"
        text += "| column | kind | unit | meaning | empty if |\n| --- | --- | --- | --- | --- |\n"
        for column, one in table.columns.items():
            text += f"| {column} | {one.kind} | {one.unit} | {one.meaning} | {one.empty} |\n"
    return text


if __name__ == "__main__":
    print(describe_tables(), end="")
