"""Tables of a paper with several rows of one kind, its own unit, and two precisions."""

from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.cells import in_unit
from respeed.analysis.claims import make_claims
from respeed.analysis.columns import make_frame, rows_of
from respeed.analysis.decomposition import explain, make_factors, make_why
from respeed.inputs.papers import load_paper
from respeed.model.paper import UNITS, Paper
from respeed.output.published import fold
from tests.derived import NOISE, MakeRecord, frames_of, seven, table_of
from tests.inputs.written import DRAFT, DRAFT_CSV

GPU = {"profile": "gpu", "architecture": "gpu", "device": "cuda"}


def draft(folder: Path, yaml: str = DRAFT, csv: str | None = DRAFT_CSV) -> Paper:
    (folder / "draft").mkdir()
    (folder / "draft/paper.yaml").write_text(yaml)
    if csv is not None:
        (folder / "draft/published.csv").write_text(csv)
    return load_paper("draft", folder)


def measured(make_record: MakeRecord, seconds: dict[str, float], **facts: Any) -> list[dict[str, Any]]:
    """Seven rounds of each of these cases of the draft."""
    hidden = {"small": 500, "large": 5000}
    records = []
    for case, time in seconds.items():
        sizes = {"visible": 784, "hidden": hidden[case], "batch": 60}
        for record in seven(make_record, [time * noise for noise in NOISE], case=case, changed=sizes, **facts):
            record["id"]["paper"] = "draft"
            records.append(record)
    return records


def made_of(paper: Paper, records: list[dict[str, Any]]) -> list[Any]:
    return list(rows_of(frames_of(records, {"draft": paper})[0]))


def claim_of(paper: Paper, records: list[dict[str, Any]]) -> Any:
    made = frames_of(records, {"draft": paper})
    return next(rows_of(make_claims(made.cells, made.samples, {"draft": paper}, make_frame([], "totals"))))


def test_a_table_stands_in_the_paper_s_own_unit_and_cells_in_seconds(make_record: MakeRecord, tmp_path: Path) -> None:
    paper = draft(tmp_path)
    records = measured(make_record, {"small": 0.01, "large": 0.1})
    table = table_of(records, "rbm", paper)
    assert fold(table, paper, paper.experiments["rbm"], False, {}).unit == "examples a second, larger is better"
    # 60 examples in 0.01 s; of the large case 6000 in 100 steps of 0.1 s.
    assert list(table.query("source == 'box' and text != ''")["text"]) == ["6,000", "600"]
    found = {cell.case: cell for cell in made_of(paper, records) if cell.seconds}
    assert found["small"].seconds == pytest.approx(0.01, rel=0.01)
    assert found["large"].seconds == pytest.approx(10.0, rel=0.01)
    assert found["small"].published_seconds == pytest.approx(60 / 6573.73)
    assert found["small"].published_row == "cpu"


def test_the_interval_of_a_rate_is_that_of_its_time_turned_round(make_record: MakeRecord, tmp_path: Path) -> None:
    made = made_of(draft(tmp_path), measured(make_record, {"small": 0.01}))
    cell = next(cell for cell in made if cell.seconds)
    value, low, high = in_unit(cell, UNITS["examples a second"])
    assert value
    assert low
    assert high
    assert low < value < high
    assert low == pytest.approx(60 / (cell.seconds_high or 0))


def test_published_rows_of_one_label_are_told_apart_by_device_and_precision(tmp_path: Path) -> None:
    table = table_of([], "rbm", draft(tmp_path))
    assert list(table.query("source == 'paper' and kind == 'seconds'")["architecture"].unique()) == [
        "Theano, one core, fp64", "NumPy", "Theano, GTX 285, fp32", "Theano, GTX 480, fp32",
    ]  # fmt: skip


def test_a_ratio_across_precisions_is_marked_as_one(make_record: MakeRecord, tmp_path: Path) -> None:
    paper = draft(tmp_path, DRAFT.replace("test: faster", "test: each"))
    ratios = table_of([], "rbm", paper).query("source == 'paper' and kind == 'speedup'").drop_duplicates("row")
    assert list(ratios["text"]) == ["5.83x", "6.08x"]
    assert ratios["architecture"].str.contains("fp32 over fp64").all()
    both = [*measured(make_record, {"small": 0.01}), *measured(make_record, {"small": 0.001}, **GPU)]
    found = claim_of(paper, both)
    assert (found.published, found.verdict) == ("5.83x (fp32 over fp64)", "larger")
    assert "over" not in found.here
    papers = {"draft": paper}
    made = frames_of(both, papers)
    factors = make_factors(made.cells, made.samples, papers)
    why = make_why(made.cells, made.speedups, factors, papers, smoke=False)
    theirs = next(one for one in rows_of(why) if one.comparison == "theirs")
    assert theirs.precisions == "fp32 over fp64"
    assert "(fp32 over fp64)" in explain(theirs)


def test_a_claim_takes_our_rows_in_the_precision_of_the_paper_s_where_there_are_such(
    make_record: MakeRecord, tmp_path: Path
) -> None:
    paper = draft(tmp_path, DRAFT.replace("test: faster", "test: each"))
    double = {"profile": "openblas-1-fp64", "precision": "fp64"}
    records = [
        *measured(make_record, {"small": 0.01}),
        *measured(make_record, {"small": 0.02}, **double),
        *measured(make_record, {"small": 0.001}, **GPU),
    ]
    found = claim_of(paper, records)
    assert found.base_profile == "openblas-1-fp64"
    assert found.speedup == pytest.approx(20, rel=0.02)
    assert found.here.endswith("(fp32 over fp64)")


def test_a_claim_without_a_number_says_where_one_side_begins_to_win(make_record: MakeRecord, tmp_path: Path) -> None:
    paper = draft(tmp_path, DRAFT.replace("test: faster", "test: crossover"))
    both = [
        *measured(make_record, {"small": 0.01, "large": 0.1}),
        *measured(make_record, {"small": 0.02, "large": 0.01}, **GPU),
    ]
    found = claim_of(paper, both)
    assert (found.verdict, found.reason) == ("reproduced", "faster from large on")
    assert found.published == ""


def test_what_cannot_be_tested_says_what_the_cpu_does_in_the_table_s_unit(
    make_record: MakeRecord, tmp_path: Path
) -> None:
    paper = draft(tmp_path, csv=None)
    found = claim_of(paper, measured(make_record, {"small": 0.01, "large": 0.1}))
    assert found.verdict == "not testable here"
    assert found.instead == "The fastest CPU program here: 600 to 6,000 examples a second."


def test_a_limit_is_judged_between_two_cases_of_one_row(make_record: MakeRecord, tmp_path: Path) -> None:
    claim = "test: limited, experiment: rbm, row: cpu, over_case: small, by: hidden"
    paper = draft(tmp_path, DRAFT.replace("test: faster, experiment: rbm, row: gpu-a, over: [cpu]", claim))
    # Ten times the hidden units, as if they were threads.
    found = claim_of(paper, measured(make_record, {"small": 0.05, "large": 0.01}))
    assert found.profile == found.base_profile == "torch-1"
    assert (found.verdict, found.reason) == ("reproduced", "efficiency 50 %")


def test_a_share_of_a_copy_s_rate_tells_whether_memory_is_the_limit(make_record: MakeRecord, tmp_path: Path) -> None:
    claim = "test: memory, experiment: rbm, row: cpu"
    paper = draft(tmp_path, DRAFT.replace("test: faster, experiment: rbm, row: gpu-a, over: [cpu]", claim))
    # A step moves 1e6 bytes, and a copy 1e10 a second: 0.1 ms would be all that the memory can do.
    found = claim_of(paper, measured(make_record, {"large": 0.0001}))
    assert (found.verdict, found.here.split(" %")[0]) == ("reproduced", "100")
    slow = claim_of(paper, measured(make_record, {"large": 0.0002}))
    assert (slow.verdict, slow.reason) == ("smaller", "something else than the memory limits it")
