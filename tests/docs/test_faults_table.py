"""docs/faults.md: every fault has its answer, and a test that is there."""

import re

import pytest

from tests.conftest import ROOT

ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs/faults.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| fault"))
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:50])
def test_every_row_says_what_happens_and_names_tests_that_are_there(row: list[str]) -> None:
    assert len(row) == 3
    fault, answer, test = row
    assert fault
    assert answer
    named = re.findall(r"`(test_\w+\.py|\w+/test_\w+\.py|bench/\w+\.py)[^`]*`", test)
    # A clock that is set back between runs changes no number: there is nothing to test.
    assert named or test == "–"
    for path in named:
        assert (ROOT / path if path.startswith("bench/") else ROOT / "tests" / path).is_file(), path
