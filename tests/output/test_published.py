"""A table in the paper's own shape, theirs and then ours: as CSV, and folded for people."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.cells import PAPER as THEIRS
from respeed.analysis.cells import reference, tell_apart
from respeed.output.published import FoldedTable, fold, write_published_csv
from tests.derived import ALL, GPU, GPU_BF16, PAPER, PROFILES, MakeRecord, folded_of, seven, table_of


def rows_of(table: pd.DataFrame) -> dict[str, list[str]]:
    """Texts of each row, or why there is none, by what it is called."""
    shown = table.assign(text=table["text"].where(table["text"] != "", table["reason"]))
    return shown.groupby("architecture", sort=False)["text"].agg(list).to_dict()


def texts_of(folded: FoldedTable) -> list[str]:
    return [note.text for note in folded.notes if not note.mark]


def test_rows_of_low_precision_are_there_only_where_they_were_measured(make_record: MakeRecord) -> None:
    label = PROFILES["gpu-bf16"].label
    assert label not in rows_of(table_of(seven(make_record, [0.1] * 7)))
    assert label in rows_of(table_of(seven(make_record, [0.001] * 7, **GPU_BF16)))


def test_what_a_spreadsheet_would_compute_comes_out_as_text(make_record: MakeRecord, tmp_path: Path) -> None:
    records = seven(make_record, [0.1] * 7, profile="evil")
    for record in records:
        record["profile"]["label"] = "=1+1\x00\ud800"
    write_published_csv(table_of(records), tmp_path / "rbm.csv", PAPER.experiments["rbm"].case_names())
    assert ",'=1+1," in (tmp_path / "rbm.csv").read_text()


def test_a_speedup_that_has_no_base_says_so(make_record: MakeRecord) -> None:
    found = rows_of(table_of(seven(make_record, [0.1] * 7, **GPU)))["Speedup over fastest CPU (PyTorch, GPU)"]
    assert found[0] == "not measured: no CPU row in fp32 was measured to compare with"


def test_where_no_speedup_was_printed_stands_what_the_printed_seconds_come_to() -> None:
    found = rows_of(table_of([], "rbm", replace(PAPER, speedups={})))
    assert found["Speedup over fastest CPU (GPU)"][0] == "12.9x"


@pytest.mark.parametrize(
    ("authors", "words"),
    [(("Jane Doe",), "Doe (ICML 2009)"), (("A B", "C D", "E F", "G H"), "B and others (ICML 2009)")],
)
def test_a_table_says_whose_it_is(authors: tuple[str, ...], words: str) -> None:
    assert reference(replace(PAPER, authors=authors)) == words


@given(st.dictionaries(st.text("ab", min_size=1), st.sampled_from(["one", "two", "three"])))
def test_labels_that_several_profiles_have_are_told_apart_and_no_other_changes(labels: dict[str, str]) -> None:
    found = {
        name: facts["label"] for name, facts in tell_apart({n: {"label": one} for n, one in labels.items()}).items()
    }
    assert len(set(found.values())) == len(labels)
    for name, label in labels.items():
        assert found[name] == (label if list(labels.values()).count(label) == 1 else f"{label} ({name})")


def test_rows_of_one_reason_in_some_columns_and_others_in_others_say_that(make_record: MakeRecord) -> None:
    disturbed = seven(make_record, [0.1] * 7, run_delay=0.1)
    notes = folded_of([*disturbed, *seven(make_record, [0.1] * 7, **ALL)]).notes
    wanted = "Without a time: PyTorch, one core (contaminated: no clean block of 7: waited for a core in 7; in"
    assert any(note.text.startswith(wanted) for note in notes)


def test_of_several_machines_the_notes_name_theirs(make_record: MakeRecord) -> None:
    machines = ("box", "hut", "den")
    records = [record for name in machines for record in seven(make_record, [0.1] * 7, **GPU, machine=name)]
    texts = texts_of(folded_of(records, only=["box", "hut"]))
    assert any(text.startswith("Not measured yet on hut: ") for text in texts)


def test_a_paper_that_prints_nothing_and_was_not_measured_has_no_rows() -> None:
    table = table_of([], "matmul")
    folded = fold(table[table["source"] == THEIRS], PAPER, PAPER.experiments["matmul"], False, {})
    assert folded.numbers.empty
    assert folded.notes == ()
