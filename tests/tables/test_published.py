"""The paper's own shape: theirs, then ours."""

import csv
from dataclasses import replace
from itertools import chain
from pathlib import Path

from respeed.tables.published import make_published_table, reference
from respeed.tables.write import write_published
from tests.tables.derived import ALL, GPU, GPU_BF16, PAPER, PROFILES, MakeRecord, derive, seven


def test_the_paper_shaped_table_has_rows_of_low_precision_only_where_they_were_measured(
    make_record: MakeRecord,
) -> None:
    labels = []
    for records in (seven(make_record, [0.1] * 7), seven(make_record, [0.001] * 7, **GPU_BF16)):
        table = make_published_table(PAPER, PAPER.experiments["rbm"], *derive(records), smoke=False)
        labels.append([row.architecture for row in table.rows if "bf16" in row.architecture])
    assert labels[0] == []
    assert labels[1] == [PROFILES["gpu-bf16"].label]


def test_the_paper_shaped_table_has_their_rows_ours_and_both_speedups(make_record: MakeRecord, tmp_path: Path) -> None:
    made, ratios = derive(chain(seven(make_record, [0.06] * 7, **ALL), seven(make_record, [0.002] * 7, **GPU)))
    table = make_published_table(PAPER, PAPER.experiments["rbm"], made, ratios, smoke=False)
    write_published(tmp_path, table, "")
    with (tmp_path / "rbm.csv").open() as file:
        rows = list(csv.DictReader(file))
    theirs = [row["576x1024"] for row in rows if row["source"] == "paper"]
    assert theirs == ["563", "497", "38.6", "12.9x"]
    assert "223,741" in [row["4096x11008"] for row in rows]
    ours = [row for row in rows if row["source"] == "box"]
    assert ours[-1]["576x1024"] == "30.0x ±0.1 %"
    assert all(value for row in ours for key, value in row.items() if "x" in key and key[0].isdigit())
    for ending in ("md", "tex"):
        assert "12.9x" in (tmp_path / f"rbm.{ending}").read_text()


def test_without_a_gpu_the_row_and_the_speedup_say_so(make_record: MakeRecord) -> None:
    made, ratios = derive(seven(make_record, [0.1] * 7))
    table = make_published_table(PAPER, PAPER.experiments["rbm"], made, ratios, smoke=False)
    missing = [row for row in table.rows if row.is_missing and "GPU" in row.architecture]
    assert [row.kind for row in missing] == ["seconds", "speedup"]
    assert {value.plain for row in missing for value in row.values} == {"not measured: no CUDA device"}


def test_a_speedup_that_has_no_base_says_so(make_record: MakeRecord) -> None:
    table = make_published_table(
        PAPER, PAPER.experiments["rbm"], *derive(seven(make_record, [0.1] * 7, **GPU)), smoke=False
    )
    row = next(row for row in table.rows if row.source == "box" and row.kind == "speedup")
    assert row.values[0].reason == "not measured: no CPU row in fp32 was measured to compare with"


def test_published_numbers_stand_as_they_were_printed() -> None:
    rows = make_published_table(PAPER, PAPER.experiments["patches"], [], [], smoke=False).rows
    assert [value.text for value in rows[-1].values] == ["9.4x", "9.4x", "10.1x", "10.1x"]
    rows = make_published_table(PAPER, PAPER.experiments["sparse-coding"], [], [], smoke=False).rows
    assert [value.text for value in rows[2].values] == ["37.0", "41.5", "55.8"]


def test_where_no_speedup_was_printed_stands_what_the_printed_seconds_come_to() -> None:
    paper = replace(PAPER, speedups={})
    rows = make_published_table(paper, paper.experiments["rbm"], [], [], smoke=False).rows
    assert rows[-1].values[0].text == "12.9x"


def test_columns_are_the_printed_ones_unless_two_of_ours_answer_one() -> None:
    columns = {
        name: make_published_table(PAPER, experiment, [], [], smoke=False).columns
        for name, experiment in PAPER.experiments.items()
    }
    assert columns["sparse-coding"] == ("3%", "6%", "10%")
    assert columns["patches"][:2] == ("20736x49152 patch24", "20736x49152 patch32")


def test_a_table_says_whose_it_is() -> None:
    assert reference(PAPER) == "Raina, Madhavan and Ng (ICML 2009)"
    assert reference(replace(PAPER, authors=("Jane Doe",))) == "Doe (ICML 2009)"
    assert reference(replace(PAPER, authors=("A B", "C D", "E F", "G H"))) == "B and others (ICML 2009)"
