"""The paper's own shape: theirs, then ours."""

import csv
from itertools import chain
from pathlib import Path

from respeed.tables.published import make_published_table
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
    missing = [row.values for row in table.rows if row.kind == "missing" and "GPU" in row.architecture]
    assert missing == [("not measured: no CUDA device",) * 4] * 2
