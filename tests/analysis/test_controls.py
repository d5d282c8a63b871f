"""Controls: work of a known ratio, which shows whether times can be trusted, and what is said where they cannot."""

from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.claims import find_failed_controls, make_claims
from respeed.inputs.papers import load_papers
from respeed.output.layout import lay_out_claims
from respeed.schedule.run import resolve_run, say_what_came_out
from tests.derived import ALL, NOISE, Records, case_of, claims_of, frames_of, seven, shown_of
from tests.schedule.measured import write

PAPERS = load_papers(["machine"])
MACHINE = PAPERS["machine"]
RIGHT = (0.1, 0.1, 0.2)
# The second product was not done, or not waited for.
IDLE = (0.1, 0.1, 0.1)


def row(seconds: tuple[float, ...], noise: tuple[float, ...] = NOISE, **facts: Any) -> Records:
    """Rounds on a row of `once`, `once-again` and `twice`, which take so long."""
    return [
        record
        for name, one in zip(("once", "once-again", "twice"), seconds, strict=False)
        for record in seven([one * factor for factor in noise], case=case_of("controls", name, paper=MACHINE), **facts)
    ]


def claims_frame(records: Records) -> Any:
    made = frames_of(records, PAPERS)
    return make_claims(made.cells, made.samples, PAPERS)


@pytest.mark.parametrize(
    ("records", "verdict", "failed"),
    [
        (row(RIGHT), "reproduced", ""),
        # What a step costs beside its products.
        (row((0.1, 0.1, 0.1993)), "reproduced", ""),
        (row(IDLE), "smaller", "twice on torch-1 of box took 1.00x ±1 %, not 2.00x"),
        (row((0.1, 0.1, 0.19)), "smaller", "twice on torch-1 of box took 1.90x ±1 %, not 2.00x"),
        (row((0.1, 0.1, 0.22)), "larger", "twice on torch-1 of box took 2.20x ±1 %, not 2.00x"),
        # The same work takes another time.
        (row((0.1, 0.11, 0.19)), "trend not reproduced",
         "once-again on torch-1 of box took 1.10x ±1 %, not 1.00x, and 1 more"),
        # One wrong row of two is enough, also where the other leaves it open.
        (row(RIGHT) + row(IDLE, **ALL), "smaller", "twice on torch-all of box took 1.00x ±1 %, not 2.00x"),
        (row(RIGHT, (0.7, 1.0, 1.3)) + row(IDLE, **ALL), "not settled",
         "twice on torch-all of box took 1.00x ±1 %, not 2.00x"),
        (row((0.1, 0.1)), "not settled", ""),
        (row(RIGHT, (0.7, 1.0, 1.3)), "not settled", ""),
        (row(RIGHT, (1.0, 1.0)), "not settled", ""),
        ([], "not settled", ""),
    ],
)  # fmt: skip
def test_twice_the_work_must_take_twice_as_long_on_every_row(records: Records, verdict: str, failed: str) -> None:
    assert claims_of(records, PAPERS)["controls", ""].verdict == verdict
    said = find_failed_controls(claims_frame(records), PAPERS)
    assert said == (f"Trust no number: a control failed ({failed})." if failed else "")


def test_each_row_stands_with_its_own_ratio() -> None:
    found = claims_of(row(RIGHT) + row((0.05, 0.05, 0.1), **ALL), PAPERS)
    twice = found["controls", "twice on torch-all"]
    assert (twice.published, twice.here, twice.profile) == ("2.00x", "2.00x ±1 %", "torch-all")
    assert found["controls", ""].published == "1.00x to 2.00x"
    assert found["device-controls", ""].reason == "no CUDA device"


def test_tables_and_report_of_controls_that_failed_say_so_above_everything() -> None:
    for seconds, stamp in ((IDLE, "Trust no number: a control failed (twice on"), (RIGHT, "")):
        stamps = shown_of(row(seconds), PAPERS, claims=claims_frame(row(seconds))).stamp
        assert stamps.startswith(stamp)
        assert bool(stamps) == bool(stamp)


def test_tiny_sizes_have_no_verdict() -> None:
    tiny = {"machine": MACHINE.at_tiny_sizes()}
    made = frames_of(row(RIGHT), tiny)
    claims = make_claims(made.cells, made.samples, tiny)
    assert {*claims["verdict"]} == {"not testable here"}
    (note,) = lay_out_claims(shown_of([], tiny, claims=claims), tiny["machine"]).notes
    assert note.text == (
        "Not testable here: Controls and Controls of accelerators: nothing of the paper's sizes was measured."
    )


def test_the_last_line_of_a_run_says_that_a_control_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for record in row(IDLE):
        write(record)
    said: list[str] = []
    say_what_came_out(resolve_run({"machine": "box", "papers": "machine", "profiles": "torch-1"}), said.append)
    assert "; Trust no number: a control failed (twice on torch-1 of box took 1.00x" in said[-1]
