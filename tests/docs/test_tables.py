"""docs/tables.md says what each column of the tidy tables means, in the words of respeed.analysis.tables."""

import ast
import inspect

import pytest

from respeed.analysis import tables
from respeed.analysis.tables import TABLES, dtypes_of
from respeed.paths import ROOT
from tests.known import assert_known

INTRODUCTION = """# Tables

Every table `results/tables/*.csv`, for your own statistics. (`respeed.analysis.tables` declares them.)

```python
import respeed

tables = respeed.load_tables()  # pandas DataFrames by name, of the run in results/tables
cells = tables["cells"]
timed = cells[cells["seconds"].notna() & cells["is_cpu"]]
print(timed.loc[timed.groupby(["machine", "paper", "experiment", "case"])["seconds"].idxmin(), ["case", "profile"]])

rounds = tables["rounds"]  # where every statistic begins
by_cell = rounds.groupby(["machine", "paper", "experiment", "case", "algorithm", "profile"])
print(by_cell["step_seconds"].agg(["median", "std", "count"]))
```

An empty field becomes NaN in a column of numbers, and an empty text in one of texts. A text that a spreadsheet would
compute has an apostrophe before it in the file; the frame has none.
"""
# The words for a dtype.
KINDS = {"str": "text", "float64": "number", "int64": "whole number", "Int64": "whole number", "bool": "True or False"}


def texts_of_fields() -> dict[str, dict[str, str]]:
    """The text below each field, by the name of the class and of the field."""
    texts: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(tables)).body:
        if isinstance(node, ast.ClassDef):
            pairs = zip(node.body, node.body[1:], strict=False)
            fields = [(field, text) for field, text in pairs if isinstance(field, ast.AnnAssign)]
            texts[node.name] = {
                field.target.id: " ".join(text.value.value.split())
                for field, text in fields
                if isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
                if isinstance(text.value, ast.Constant)
            }
    return texts


def describe_tables() -> str:
    texts = texts_of_fields()
    page = INTRODUCTION
    for name, row_type in TABLES.items():
        page += f"\n## {name}.csv\n\n{inspect.getdoc(row_type)}\n\n"
        page += "| column | kind | meaning |\n| --- | --- | --- |\n"
        meanings: dict[str, str] = {}
        for part in reversed(row_type.__mro__[:-1]):
            meanings |= texts[part.__name__]
        for column, dtype in dtypes_of(row_type).items():
            page += f"| {column} | {KINDS[dtype]} | {meanings[column]} |\n"
    return page


@pytest.mark.known
def test_the_page_of_tables_describes_each_column() -> None:
    assert_known(ROOT / "docs/tables.md", describe_tables())
