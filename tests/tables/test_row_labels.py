"""What rows are called: no two of a machine alike."""

from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.labels import tell_apart
from tests.tables.derived import MakeRecord, derive, seven


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
    cells, speedups = derive(records)
    assert {cell.label for cell in cells if cell.profile in {"mine", "yours"}} == {"PyTorch (mine)", "PyTorch (yours)"}
    assert "PyTorch (mine)" in {row.label for row in speedups}
