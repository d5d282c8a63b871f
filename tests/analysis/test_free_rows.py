"""Tables of a paper with several rows of one kind, its own unit, and two precisions."""

from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.cells import in_unit
from respeed.analysis.speedups import published_speedup
from respeed.analysis.why import make_why
from respeed.model import UNITS, Paper
from tests.derived import FP64, GPU, Records, case_of, claims_of, frames_of, noisy, table_of, texts_of
from tests.inputs.written import DRAFT, DRAFT_CSV, draft


def measured(paper: Paper, seconds: dict[str, float], **facts: Any) -> Records:
    """Seven rounds of each of these cases of the draft, on rows of which only the copy's rate is known."""
    known = {"ceilings": {"bytes_per_second": 1e10}} | facts
    return [
        record
        for name, time in seconds.items()
        for record in noisy(time, case=case_of("rbm", name, paper=paper), **known)
    ]


def made_of(paper: Paper, records: Records) -> list[Any]:
    return frames_of(records, {"draft": paper}).cells


def claim_of(paper: Paper, records: Records) -> Any:
    return next(iter(claims_of(records, {"draft": paper}).values()))


def test_a_table_stands_in_the_papers_own_unit(tmp_path: Path) -> None:
    """A table stands in the paper's own unit and cells in seconds."""
    paper = draft(tmp_path)
    records = measured(paper, {"small": 0.01, "large": 0.1})
    table = table_of(records, "rbm", paper)
    assert table.caption.startswith("Examples a second, scaled from the mean step, larger is better.")
    # 60 examples in 0.01 s; of the large case 6000 in 100 steps of 0.1 s.
    assert ["6,000", "600"] in texts_of(table).values()
    found = {cell.case: cell for cell in made_of(paper, records) if cell.seconds}
    assert found["small"].seconds == pytest.approx(0.01, rel=0.01)
    assert found["large"].seconds == pytest.approx(10.0, rel=0.01)
    assert found["small"].published_seconds == pytest.approx(60 / 6573.73)
    assert found["small"].published_row == "cpu"
    # The interval of a rate is that of its time, turned round.
    value, low, high = in_unit(found["small"], UNITS["examples a second"])
    assert low < value < high
    assert low == pytest.approx(60 / found["small"].seconds_high)


def test_a_rate_of_bytes_counts_a_cells_work(tmp_path: Path) -> None:
    """A printed rate of bytes is for the work of a cell however wide its numbers are."""
    text, csv = (one.replace("examples a second", "GB/s").replace("5.83", "11.66") for one in (DRAFT, DRAFT_CSV))
    paper = draft(tmp_path, text, csv)
    records = [*measured(paper, {"small": 0.1}, traffic_bytes=1e9)]
    records += measured(paper, {"small": 0.1}, traffic_bytes=2e9, **FP64)
    # The fastest row beside both is one in double precision.
    published = [cell.published_seconds for cell in made_of(paper, records) if cell.seconds]
    assert published == [pytest.approx(2e9 / 6573.73e9)] * 2


def test_a_printed_speedup_is_over_the_fastest_cpu(tmp_path: Path) -> None:
    """A printed speedup is over the fastest CPU row and says nothing of one of them."""
    head, *_, printed = DRAFT_CSV.splitlines(keepends=True)
    paper = draft(tmp_path, csv=head + printed)
    table = paper.experiments["rbm"]
    printed = published_speedup(paper, table, "small", "gpu-a")
    assert (printed.value, printed.text) == (5.83, "5.83x")
    assert published_speedup(paper, table, "small", "gpu-a", ("cpu",)) is None


def test_a_ratio_across_precisions_is_marked_as_one(tmp_path: Path) -> None:
    paper = draft(tmp_path, DRAFT.replace("test: faster", "test: each"))
    ratios = {label: row for label, row in texts_of(table_of([], "rbm", paper)).items() if "Speedup" in label}
    assert [row[0] for row in ratios.values()] == ["5.83x", "6.08x"]
    assert all("fp32 over fp64" in label for label in ratios)
    both = [*measured(paper, {"small": 0.01}), *measured(paper, {"small": 0.001}, **GPU)]
    found = claim_of(paper, both)
    assert (found.published, found.verdict) == ("5.83x (fp32 over fp64)", "larger")
    assert "over" not in found.here
    made = frames_of(both, {"draft": paper})
    why = make_why(made.cells, made.samples, {"draft": paper})
    assert {one.precisions for one in why if one.comparison == "theirs"} == {"fp32 over fp64"}


def test_a_claim_prefers_rows_of_the_papers_precision(tmp_path: Path) -> None:
    """A claim takes our rows in the precision of the paper's where there are such."""
    paper = draft(tmp_path, DRAFT.replace("test: faster", "test: each"))
    records = [*measured(paper, {"small": 0.01}), *measured(paper, {"small": 0.001}, **GPU)]
    records += measured(paper, {"small": 0.02}, **FP64)
    found = claim_of(paper, records)
    assert found.base_profile == "openblas-1-fp64"
    assert found.speedup == pytest.approx(20, rel=0.02)
    assert found.here.endswith("(fp32 over fp64)")


FASTER = "test: faster, experiment: rbm, row: gpu-a, over: [cpu]"
LIMITED = "test: limited, experiment: rbm, row: cpu, over_case: small, by: hidden"
MEMORY = "test: memory, experiment: rbm, row: cpu"


@pytest.mark.parametrize(
    ("claim", "cpu", "gpu", "fields"),
    [
        # Where one side begins to win.
        (FASTER.replace("faster", "crossover"), {"small": 0.01, "large": 0.1}, {"small": 0.02, "large": 0.01},
         {"verdict": "reproduced", "reason": "faster at large, slower at small", "published": ""}),
        # Ten times the hidden units, as if they were threads.
        (LIMITED, {"small": 0.05, "large": 0.01}, {},
         {"verdict": "reproduced", "reason": "efficiency 50 %", "profile": "torch-1", "base_profile": "torch-1"}),
        # A step moves 1e6 bytes, and a copy 1e10 a second: 0.1 ms would be all that the memory can do.
        (MEMORY, {"large": 0.0001}, {}, {"verdict": "reproduced", "here": "100 % (99 % to 101 %)"}),
        (MEMORY, {"large": 0.0002}, {},
         {"verdict": "smaller", "reason": ""}),
    ],
)  # fmt: skip
def test_a_claim_about_free_rows_is_judged(
    tmp_path: Path, claim: str, cpu: dict[str, float], gpu: dict[str, float], fields: Any
) -> None:
    """A claim about rows and units of its own is judged."""
    paper = draft(tmp_path, DRAFT.replace(FASTER, claim))
    found = claim_of(paper, [*measured(paper, cpu), *measured(paper, gpu, **GPU)])
    assert {name: getattr(found, name) for name in fields} == fields


def test_a_limit_is_one_of_work_a_second(tmp_path: Path) -> None:
    """As replicas that each have a mini-batch of their own: in the same time twice the examples."""
    paper = draft(tmp_path, DRAFT.replace(FASTER, LIMITED).replace("hidden: 5000", "hidden: 5000, batch: 120"))
    found = claim_of(paper, measured(paper, {"small": 0.05, "large": 0.05}))
    assert found.speedup == pytest.approx(2, rel=0.01)
    assert found.reason == "efficiency 20 %"
