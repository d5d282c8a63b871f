"""Controls: work of a known ratio, which shows whether times can be trusted, and what is said where they cannot."""

from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.controls import count_controls, say_failed
from respeed.inputs.papers import load_papers
from respeed.outcome import count_cells
from respeed.output.layout import front
from respeed.schedule.run import resolve_run
from tests.derived import ALL, NOISE, OPENBLAS, Records, case_of, frames_of, seven, shown_of
from tests.schedule.measured import write

PAPERS = load_papers(["machine"])
MACHINE = PAPERS["machine"]
RIGHT = (0.1, 0.1, 0.2)
# The second product was not done, or not waited for.
IDLE = (0.1, 0.1, 0.1)
WIDE = (0.7, 1.0, 1.3)
HEAD = "Controls (twice the work takes twice the time): "


def row(seconds: tuple[float, ...], noise: tuple[float, ...] = NOISE, **facts: Any) -> Records:
    """Rounds on a row of `once`, `once-again` and `twice`, which take so long."""
    found: Records = []
    for name, work, one in zip(("once", "once-again", "twice"), (1e9, 1e9, 2e9), seconds, strict=False):
        case = case_of("controls", name, paper=MACHINE)
        found += seven([one * factor for factor in noise], case=case, flops=work, **facts)
    return found


@pytest.mark.parametrize(
    ("records", "counts", "failed"),
    [
        (row(RIGHT), "2 agree", ""),
        # What a step costs beside its products.
        (row((0.1, 0.1, 0.1993)), "2 agree", ""),
        (row(IDLE), "1 agree, 1 failed", "twice on torch-1 of box took 1.00x ±1 %, not 2.00x"),
        (row((0.1, 0.1, 0.19)), "1 agree, 1 failed", "twice on torch-1 of box took 1.90x ±1 %, not 2.00x"),
        (row((0.1, 0.1, 0.22)), "1 agree, 1 failed", "twice on torch-1 of box took 2.20x ±1 %, not 2.00x"),
        # The same work takes another time.
        (row((0.1, 0.11, 0.19)), "2 failed",
         "once-again on torch-1 of box took 1.10x ±1 %, not 1.00x, and 1 more"),
        # One wrong row of two is enough, also where the other leaves it open.
        (row(RIGHT) + row(IDLE, **ALL), "3 agree, 1 failed",
         "twice on torch-all of box took 1.00x ±1 %, not 2.00x"),
        (row(RIGHT, WIDE) + row(IDLE, **ALL), "1 agree, 2 too noisy to tell, 1 failed",
         "twice on torch-all of box took 1.00x ±1 %, not 2.00x"),
        (row((0.1, 0.1)), "1 agree", ""),
        (row(RIGHT, WIDE), "2 too noisy to tell", ""),
        (row(RIGHT, (1.0, 1.0)), "2 too noisy to tell", ""),
        (row((0.1,)), "", ""),
    ],
)  # fmt: skip
def test_twice_the_work_must_take_twice_as_long(records: Records, counts: str, failed: str) -> None:
    """Twice the work must take twice as long on every row."""
    made = frames_of(records, PAPERS)
    assert say_failed(made.cells, made.samples) == (f"Trust no number: a control failed ({failed})." if failed else "")
    assert count_controls(made.cells, made.samples) == (f"{HEAD}{counts}." if counts else "")


def test_more_controls_need_a_larger_deviation() -> None:
    """The more controls there are the farther off one must be to fail."""
    off = row((0.1, 0.1, 0.1955))
    for records, failed in ((off, True), ([*off, *row(RIGHT, **ALL), *row(RIGHT, **OPENBLAS)], False)):
        made = frames_of(records, PAPERS)
        assert bool(say_failed(made.cells, made.samples)) == failed


def test_failed_controls_stand_above_tables_and_report() -> None:
    """Tables and report of controls that failed say so above everything."""
    for seconds, stamp in ((IDLE, "Trust no number: a control failed (twice on"), (RIGHT, "")):
        shown = shown_of(row(seconds), PAPERS)
        assert shown.stamp.startswith(stamp)
        assert bool(shown.stamp) == bool(stamp)
        assert f" {HEAD}" in front(shown, MACHINE)["precision"][-1]


def test_the_last_line_names_a_failed_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of a run says that a control failed."""
    monkeypatch.chdir(tmp_path)
    for record in row(IDLE):
        write(record)
    run = resolve_run({"machine": "box", "papers": "machine", "profiles": "torch-1"})
    last = count_cells(run, run.plan).lines[-1]
    assert "; Trust no number: a control failed (twice on torch-1 of box took 1.00x" in last
