"""What papers and rows are called."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.cells import reference, tell_apart
from tests.derived import PAPER


@pytest.mark.parametrize(
    ("authors", "words"),
    [(("Jane Doe",), "Doe (ICML 2009)"), (("A B", "C D", "E F", "G H"), "B and others (ICML 2009)")],
)
def test_a_table_says_whose_it_is(authors: tuple[str, ...], words: str) -> None:
    assert reference(replace(PAPER, authors=authors)) == words


@given(st.dictionaries(st.text("ab", min_size=1), st.sampled_from(["one", "two", "three"])))
def test_labels_that_several_profiles_have_are_told_apart_and_no_other_changes(labels: dict[str, str]) -> None:
    told = {
        name: facts["label"] for name, facts in tell_apart({n: {"label": one} for n, one in labels.items()}).items()
    }
    assert len(set(told.values())) == len(labels)
    for name, label in labels.items():
        assert told[name] == (label if list(labels.values()).count(label) == 1 else f"{label} ({name})")
