"""A table in the paper's own shape, theirs and then ours: as CSV, and folded for people."""

import csv
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.labels import PAPER as THEIRS
from respeed.analysis.labels import reference, tell_apart
from respeed.model.paper import Paper
from respeed.output.published import FoldedTable, Note, fold, groups_of, write_published_csv
from tests.derived import ALL, GPU, GPU_BF16, PAPER, PROFILES, MakeRecord, folded_of, machine_of, seven, table_of


def rows_of(table: pd.DataFrame, **where: str) -> list[tuple[str, list[str]]]:
    """What each row is called, and its texts or reasons."""
    found = table[(table[list(where)] == list(where.values())).all(axis=1)] if where else table
    return [
        (one["architecture"].iat[0], list(one["text"].where(one["text"] != "", one["reason"])))
        for _, one in found.groupby("row")
    ]


def alone(experiment: str, paper: Paper = PAPER) -> pd.DataFrame:
    """Of a paper of which nothing was measured."""
    return table_of([], experiment, paper)[lambda table: table["source"] == THEIRS]


def lines_of(folded: FoldedTable, group: int) -> list[tuple[str, list[str]]]:
    return [(label, [value.text for value in values]) for _, label, values in groups_of(folded.numbers)[group][1]]


def texts_of(folded: FoldedTable) -> list[str]:
    return [note.text for note in folded.notes if not note.mark]


def test_rows_of_low_precision_are_there_only_where_they_were_measured(make_record: MakeRecord) -> None:
    labels = [
        [label for label, _ in rows_of(table_of(records)) if "bf16" in label]
        for records in (seven(make_record, [0.1] * 7), seven(make_record, [0.001] * 7, **GPU_BF16))
    ]
    assert labels == [[], [PROFILES["gpu-bf16"].label]]


def test_the_csv_has_their_rows_ours_and_both_speedups(make_record: MakeRecord, tmp_path: Path) -> None:
    table = table_of(chain(seven(make_record, [0.06] * 7, **ALL), seven(make_record, [0.002] * 7, **GPU)))
    write_published_csv(table, tmp_path / "rbm.csv", PAPER.experiments["rbm"].case_names())
    with (tmp_path / "rbm.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:4] == ["source", "package", "architecture", "576x1024"]
    theirs = [row["576x1024"] for row in rows if row["source"] == "paper"]
    assert theirs == ["563", "497", "38.6", "12.9x"]
    assert "223,741" in [row["4096x11008"] for row in rows]
    ours = [row for row in rows if row["source"] == "box"]
    assert ours[-1]["576x1024"] == "30.0x ±0.1 %"
    assert all(value for row in ours for key, value in row.items() if "x" in key and key[0].isdigit())


def test_what_a_spreadsheet_would_compute_comes_out_as_text(make_record: MakeRecord, tmp_path: Path) -> None:
    records = seven(make_record, [0.1] * 7, profile="evil")
    for record in records:
        record["profile"]["label"] = "=1+1\x00\ud800"
    write_published_csv(table_of(records), tmp_path / "rbm.csv", PAPER.experiments["rbm"].case_names())
    assert ",'=1+1," in (tmp_path / "rbm.csv").read_text()


def test_without_a_gpu_the_row_and_the_speedup_say_so(make_record: MakeRecord) -> None:
    missing = [one for one in rows_of(table_of(seven(make_record, [0.1] * 7)), source="box") if "GPU" in one[0]]
    assert [label for label, _ in missing] == ["PyTorch, GPU", "Speedup over fastest CPU (PyTorch, GPU)"]
    assert {text for _, texts in missing for text in texts} == {"not measured: no CUDA device"}


def test_a_speedup_that_has_no_base_says_so(make_record: MakeRecord) -> None:
    table = table_of(seven(make_record, [0.1] * 7, **GPU))
    ((_, texts),) = rows_of(table, source="box", kind="speedup")
    assert texts[0] == "not measured: no CPU row in fp32 was measured to compare with"


def test_published_numbers_stand_as_they_were_printed() -> None:
    assert rows_of(alone("patches"))[-1][1] == ["9.4x", "9.4x", "10.1x", "10.1x"]
    assert rows_of(alone("sparse-coding"))[2][1] == ["37.0", "41.5", "55.8"]


def test_where_no_speedup_was_printed_stands_what_the_printed_seconds_come_to() -> None:
    assert rows_of(alone("rbm", replace(PAPER, speedups={})))[-1][1][0] == "12.9x"


def test_columns_are_the_printed_ones_unless_two_of_ours_answer_one() -> None:
    columns = {name: list(folded_of([], name).numbers) for name in ("sparse-coding", "patches")}
    assert columns["sparse-coding"] == ["3%", "6%", "10%"]
    assert columns["patches"][:2] == ["20736x49152 patch24", "20736x49152 patch32"]


def test_a_table_says_whose_it_is() -> None:
    assert reference(PAPER) == "Raina, Madhavan and Ng (ICML 2009)"
    assert reference(replace(PAPER, authors=("Jane Doe",))) == "Doe (ICML 2009)"
    assert reference(replace(PAPER, authors=("A B", "C D", "E F", "G H"))) == "B and others (ICML 2009)"


@given(st.dictionaries(st.text("ab", min_size=1), st.sampled_from(["one", "two", "three"])))
def test_labels_that_several_profiles_have_are_told_apart_and_no_other_changes(labels: dict[str, str]) -> None:
    found = {
        name: facts["label"] for name, facts in tell_apart({n: {"label": one} for n, one in labels.items()}).items()
    }
    assert len(set(found.values())) == len(labels)
    for name, label in labels.items():
        assert found[name] == (label if list(labels.values()).count(label) == 1 else f"{label} ({name})")


def test_rows_of_a_table_whose_profiles_have_one_label_carry_the_profiles_names(make_record: MakeRecord) -> None:
    records = [*seven(make_record, [0.1] * 7, profile="mine"), *seven(make_record, [0.2] * 7, profile="yours")]
    for record in records:
        record["profile"]["label"] = "PyTorch"
    labels = {label for label, _ in rows_of(table_of(records), source="box")}
    assert {"PyTorch (mine)", "PyTorch (yours)"} < labels


def test_rows_without_any_number_become_one_note_a_reason(make_record: MakeRecord) -> None:
    folded = folded_of(seven(make_record, [0.1] * 7))
    assert [label for label, _ in lines_of(folded, 1)] == ["PyTorch, one core"]
    assert texts_of(folded) == [
        "Not measured yet: OpenBLAS, one core; OpenBLAS, all cores and PyTorch, all cores.",
        "Not measured: PyTorch, GPU (no CUDA device).",
    ]


def test_a_row_that_was_measured_in_part_stays_with_a_dash_and_a_numbered_note(make_record: MakeRecord) -> None:
    folded = folded_of(seven(make_record, [0.1] * 7))
    ((_, _, values),) = groups_of(folded.numbers)[1][1]
    assert [(value.text, value.mark) for value in values] == [("521", ""), *[("–", "1")] * 3]
    assert Note("1", "not measured yet.") in folded.notes


def test_rows_of_one_reason_in_some_columns_and_others_in_others_say_that(make_record: MakeRecord) -> None:
    disturbed = seven(make_record, [0.1] * 7, run_delay=0.1)
    notes = folded_of([*disturbed, *seven(make_record, [0.1] * 7, **ALL)]).notes
    wanted = "Without a time: PyTorch, one core (contaminated: no clean block of 7: waited for a core in 7; in"
    assert any(note.text.startswith(wanted) for note in notes)


def test_a_machine_without_any_number_has_a_note_and_no_rows(make_record: MakeRecord) -> None:
    folded = folded_of(seven(make_record, [0.1] * 7), "sparse-coding")
    assert set(folded.numbers.index.get_level_values("source")) == {THEIRS}
    assert texts_of(folded) == [
        "Not measured: PyTorch, GPU, parallel coordinates (no CUDA device).",
        "Not measured yet: every other row.",
    ]


def test_numbers_without_an_interval_are_explained_once(make_record: MakeRecord) -> None:
    folded = folded_of(seven(make_record, [0.1] * 3))
    value = groups_of(folded.numbers)[1][1][0][2][0]
    assert (value.text, value.interval) == ("521", "")
    assert sum("has no interval" in note.text for note in folded.notes) == 1


def test_headings_say_whose_table_it_is_and_what_the_machine_is(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 7)
    origin = machine_of(records, "box")
    headings = [heading for heading, _ in groups_of(folded_of(records, origins={"box": origin}).numbers)]
    assert headings == ["As published: Raina, Madhavan and Ng (ICML 2009)", "On box: A CPU, 2 cores"]


def test_of_many_machines_the_notes_name_theirs_and_those_that_are_left_out(make_record: MakeRecord) -> None:
    machines = ("box", "hut", "den")
    records = [record for name in machines for record in seven(make_record, [0.1] * 7, **GPU, machine=name)]
    texts = texts_of(folded_of(records, only=["box", "hut"]))
    assert any(text.startswith("Not measured yet on hut: ") for text in texts)
    assert texts[-1] == "The rows of 1 other machine are in rbm.csv."


def test_the_report_gets_the_same_table_as_plain_texts(make_record: MakeRecord) -> None:
    folded = folded_of(seven(make_record, [0.1] * 7))
    found: dict[str, Any] = folded.as_json()
    assert (found["columns"], found["reference"]) == (list(folded.numbers), "Raina, Madhavan and Ng (ICML 2009)")
    assert (found["has_theirs"], folded_of([], "matmul").as_json()["has_theirs"]) == (True, False)
    assert [group["heading"] for group in found["groups"]] == [heading for heading, _ in groups_of(folded.numbers)]
    line = found["groups"][1]["lines"][0]
    assert (line["label"], line["kind"]) == ("PyTorch, one core", "seconds")
    assert line["values"][1] | {"kind": ""} == {"text": "–", "interval": "", "mark": "1", "kind": ""}


def test_a_paper_that_prints_nothing_and_was_not_measured_has_no_rows() -> None:
    folded = fold(alone("matmul"), PAPER, PAPER.experiments["matmul"], False, {})
    assert folded.numbers.empty
    assert folded.notes == ()
