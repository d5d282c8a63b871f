"""Tables that are cut into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.numbers import Value
from respeed.tables.folded import FoldedTable, Group, Line
from respeed.tables.layout import lay_out


def table_with(lines: int, columns: int, groups: int = 1) -> FoldedTable:
    """Every value is another number."""
    made = tuple(
        Group(
            f"group {place}",
            tuple(
                Line(f"row {row}", "seconds", tuple(Value(f"{place}-{row}-{column}") for column in range(columns)))
                for row in range(lines)
            ),
        )
        for place in range(groups)
    )
    return FoldedTable("", "title", "unit", "reference", tuple(f"case {n}" for n in range(columns)), made, ())


@given(*[st.integers(1, 12)] * 2, st.integers(1, 3), st.integers(1, 4))
def test_every_number_is_in_one_part_and_no_part_is_too_wide(lines: int, columns: int, groups: int, most: int) -> None:
    parts = lay_out(table_with(lines, columns, groups), most)
    shown = [value.text for part in parts for group in part.groups for line in group.lines for value in line.values]
    assert len(shown) == len(set(shown)) == lines * columns * groups
    for part in parts:
        assert 1 <= len(part.header) <= most
        assert {len(line.values) for group in part.groups for line in group.lines} == {len(part.header)}


@pytest.mark.parametrize(("columns", "header"), [(4, "case 0"), (11, "row 0")])
def test_a_table_of_more_than_four_cases_is_turned(columns: int, header: str) -> None:
    assert lay_out(table_with(2, columns))[0].header[0] == header


def test_a_table_without_rows_has_no_parts() -> None:
    assert lay_out(table_with(1, 4, groups=0)) == []
