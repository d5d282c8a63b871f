"""A machine beside the paper."""

from respeed.tables.comparison import compare
from respeed.tables.numbers import format_number
from tests.tables.derived import ALL, PAPER, STEPS, MakeRecord, derive, one, seven


def test_the_comparison_sets_this_cpu_against_theirs(make_record: MakeRecord) -> None:
    made, ratios = derive(seven(make_record, [0.1] * 7))
    mine = [cell for cell in made if cell.experiment == "rbm"]
    comparison = compare(PAPER, PAPER.experiments["rbm"], mine, ratios)
    assert comparison is not None
    rows = dict(comparison.rows)
    assert rows["CPU here over CPU there"][0] == f"{format_number(497 / (0.1 * STEPS))}x"
    assert "Here: GPU, seconds" not in rows


def test_rows_that_are_equally_fast_share_the_first_place(make_record: MakeRecord) -> None:
    """37.0 against 38.6 with intervals of 6 %: neither is the fastest CPU row alone."""
    wide = (1.0, 1.08, 0.94, 1.05, 0.96, 1.03, 0.97)
    records = [
        *seven(make_record, [0.0370 * noise for noise in wide], **ALL),
        *seven(make_record, [0.0386 * noise for noise in reversed(wide)]),
        *seven(make_record, [0.0800 * noise for noise in wide], profile="openblas-1"),
    ]
    made, ratios = derive(records)
    compared = compare(PAPER, PAPER.experiments["rbm"], made, ratios)
    assert compared is not None
    labels = [one(made, name).label for name in ("torch-all", "torch-1")]
    assert dict(compared.rows)["Here: fastest CPU is"][0] == " or ".join(labels)
