"""Tables for people: what was not measured stands in notes."""

from respeed.estimators.rounds import collect_rounds
from respeed.tables.folded import Note, fold
from respeed.tables.origins import describe_origin
from tests.tables.derived import ALL, GPU, MakeRecord, seven, table_of


def test_rows_without_any_number_become_one_note_a_reason(make_record: MakeRecord) -> None:
    folded = fold(table_of(seven(make_record, [0.1] * 7)), {})
    assert [line.label for line in folded.groups[1].lines] == ["PyTorch, one core"]
    assert [note.text for note in folded.notes if not note.mark] == [
        "Not measured yet: OpenBLAS, one core; OpenBLAS, all cores and PyTorch, all cores.",
        "Not measured: PyTorch, GPU (no CUDA device).",
    ]


def test_a_row_that_was_measured_in_part_stays_with_a_dash_and_a_numbered_note(make_record: MakeRecord) -> None:
    folded = fold(table_of(seven(make_record, [0.1] * 7)), {})
    values = folded.groups[1].lines[0].values
    assert [value.text for value in values] == ["521", "–", "–", "–"]
    assert [value.mark for value in values] == ["", "1", "1", "1"]
    assert Note("1", "not measured yet.") in folded.notes


def test_rows_of_one_reason_in_some_columns_and_others_in_others_say_that(make_record: MakeRecord) -> None:
    disturbed = seven(make_record, [0.1] * 7, run_delay=0.1)
    notes = fold(table_of([*disturbed, *seven(make_record, [0.1] * 7, **ALL)]), {}).notes
    wanted = "Without a time: PyTorch, one core (contaminated: no clean block of 7: waited for a core in 7; in"
    assert any(note.text.startswith(wanted) for note in notes)


def test_a_machine_without_any_number_has_a_note_and_no_rows(make_record: MakeRecord) -> None:
    folded = fold(table_of(seven(make_record, [0.1] * 7), "sparse-coding"), {})
    assert len(folded.groups) == 1
    assert [note.text for note in folded.notes] == [
        "Not measured: PyTorch, GPU, parallel coordinates (no CUDA device).",
        "Not measured yet: every other row.",
    ]


def test_numbers_without_an_interval_are_explained_once(make_record: MakeRecord) -> None:
    folded = fold(table_of(seven(make_record, [0.1] * 3)), {})
    assert (folded.groups[1].lines[0].values[0].text, folded.groups[1].lines[0].values[0].interval) == ("521", "")
    assert sum("has no interval" in note.text for note in folded.notes) == 1


def test_headings_say_whose_table_it_is_and_what_the_machine_is(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 7)
    origin = describe_origin("box", records, collect_rounds(records), None)
    headings = [group.heading for group in fold(table_of(records), {"box": origin}).groups]
    assert headings == ["As published: Raina, Madhavan and Ng (ICML 2009)", "On box: A CPU, 2 cores"]


def test_of_many_machines_the_notes_name_theirs_and_those_that_are_left_out(make_record: MakeRecord) -> None:
    machines = ("box", "hut", "den")
    table = table_of([record for name in machines for record in seven(make_record, [0.1] * 7, **GPU, machine=name)])
    texts = [note.text for note in fold(table, {}, ["box", "hut"]).notes]
    assert any(text.startswith("Not measured yet on hut: ") for text in texts)
    assert texts[-1] == "The rows of 1 other machine are in rbm.csv."
