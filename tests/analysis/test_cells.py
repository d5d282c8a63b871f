"""From records to cells."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.cells import judge_cells, reference, tell_apart
from respeed.analysis.rounds import read_rounds
from respeed.inputs.machines import other_library
from respeed.inputs.papers import load_papers
from tests.derived import (
    BF16,
    PAPER,
    PROFILES,
    STEPS,
    Records,
    case_of,
    cells_of,
    described,
    frames_of,
    one,
    seven,
)
from tests.made import HARDWARE, LATER, make_record

SECONDS = pytest.approx(0.1 * STEPS)
KILLED = {"seconds": [], "number": 8, "status": "failed", "reason": "the measuring process was killed"}
WRONG = {"seconds": [], "number": 8, "status": "wrong", "reason": "wrong result: weights"}


def timed(times: list[float], *more: dict[str, Any], **facts: Any) -> Records:
    """Rounds of these seconds a step, and besides one round for each of `more`, its facts."""
    return [*seven(times, **facts), *(make_record(**one) for one in more)]


@pytest.mark.parametrize(
    ("records", "fields"),
    [
        # 1e9 FLOP in 0.1 s, and the share of a peak.
        (timed([0.1] * 7, peak=2e10),
         {"status": "settled", "reason": "", "rounds": 7, "seconds": SECONDS, "gflops": pytest.approx(10),
          "published_seconds": 563, "peak_share": pytest.approx(0.5), "algorithm": "rbm",
          "work": "1,000,000 examples", "steps": pytest.approx(STEPS), "flops": pytest.approx(1e9 * STEPS),
          "traffic_bytes": pytest.approx(1e6 * STEPS)}),
        # A round with slow probes does not count, although it was faster; nor does a session without a clean block.
        (timed([0.1] * 7, {"number": 8, "run_delay_seconds": 1.0, "seconds": [0.05] * 2}),
         {"status": "settled", "rounds": 7, "seconds": SECONDS}),
        (timed([0.1] * 7, {"number": 8, "run_delay_seconds": 1.0, "started": LATER}),
         {"rounds": 7, "sessions": 1}),
        (timed([0.1] * 7, run_delay_seconds=0.1),
         {"status": "contaminated", "seconds": None, "peak_gflops": 1e4,
          "reason": "no clean block of 7: waited for a core in 7"}),
        # One wrong result is enough; a round that could not run is a missing round and no more.
        (timed([0.1] * 7, WRONG), {"status": "failed", "seconds": None, "reason": "wrong result: weights"}),
        (timed([], KILLED), {"status": "failed", "reason": "the measuring process was killed"}),
        # A process that never started cannot say its library: a missing round all the same.
        (timed([0.1] * 7, KILLED | {"library": None, "started": LATER}), {"status": "settled", "rounds": 7}),
        (timed([0.1] * 2, KILLED | {"library": None, "started": LATER}),
         {"reason": "2 clean rounds; an interval needs 3; the measuring process was killed"}),
        # What was wrong before its program was mended is forgotten.
        (timed([0.1] * 7, WRONG | {"source": "before", "number": 1}), {"status": "settled", "rounds": 7}),
        # A rate above what the machine can do; others that noise may explain are shown.
        (timed([0.1] * 7, peak=1e10 / 1.03), {"status": "settled"}),
        (timed([0.1] * 7, peak=1e10 / 1.11),
         {"status": "failed", "seconds": None, "gflops": None,
          "reason": "111% of the highest rate that any matrix product reached here: the time or the FLOP count is "
          "wrong"}),
        *((timed(times, peak=0.9e10), {"status": status, "gflops": pytest.approx(10, rel=1e-3)})
          for times, status in (([0.1], "wide"), ([0.1] * 2, "wide"), ([0.094, 0.1064] * 3, "settled"))),
        # A number that is not settled is shown, and says what is missing.
        (timed([0.1] * 2), {"status": "wide", "seconds": SECONDS, "reason": "2 clean rounds; an interval needs 3"}),
        (timed([0.1, 0.13] * 4),
         {"status": "wide", "reason": "about 26 more rounds for an interval of ±10 %"}),
        (timed([0.1] * 7, settled=False),
         {"status": "wide", "seconds": SECONDS,
          "reason": "the step had not settled after warm-up in 7 of 7 rounds"}),
        (timed([0.1] * 7, parameters={"batch": 96}),
         {"status": "due", "seconds": None, "reason": "not measured yet"}),
    ],
)  # fmt: skip
def test_a_cell_says_what_its_rounds_say(records: Records, fields: dict[str, Any]) -> None:
    cell = one(cells_of(records), "torch-1")
    assert {name: getattr(cell, name) for name in fields} == fields


def test_every_missing_cell_says_why() -> None:
    made = cells_of(seven(0.1))
    assert {(cell.profile, cell.case) for cell in made if cell.experiment == "rbm"} == {
        (profile.name, case.name)
        for profile in PROFILES.values()
        for case in PAPER.experiments["rbm"].cases
        if not profile.optional and not other_library(profile, HARDWARE) and profile.backend != "program"
    }
    for profile, status, why in (("gpu", "cannot-run", "no CUDA device"), ("torch-all", "due", "not measured yet")):
        assert (one(made, profile).status, one(made, profile).reason) == (status, why)
    assert all(cell.reason for cell in made if cell.status in {"contaminated", "cannot-run", "due", "failed"})
    assert {row.work for row in made if row.experiment == "matmul"} == {"a step", "a step of 192 examples"}
    assert frames_of([], descriptions={}).cells == []


def test_scipys_blas_and_measured_rows_are_shown() -> None:
    """A machine has rows of the BLAS of its SciPy and of what was measured and no optional one."""
    made = cells_of([*seven(0.1, profile="mkl-1"), *seven(0.1, **BF16)], box=described(blas="accelerate"))
    rows = {"accelerate-1", "accelerate-all", "mkl-1", "torch-1", "torch-all", "cpu-bf16"}
    assert {cell.profile for cell in made if cell.is_cpu} == rows


def test_a_row_keeps_the_cpus_it_ran_on() -> None:
    """A row that ran on other CPUs than its file says now is shown as it ran."""
    for cpus, label in (("socket 1", "label of torch-1"), (None, PROFILES["torch-1"].label)):
        assert one(cells_of(seven(0.1, cpus=cpus)), "torch-1").label == label


def test_an_imported_row_keeps_its_recorded_label() -> None:
    """A row of others keeps the label of its record whatever the file here says."""
    own, foreign = seven(0.1), seven(0.1, machine="theirs")
    foreign = [replace(record, path=Path("results/imported", *record.path.parts[2:])) for record in foreign]
    labels = {cell.machine: cell.label for cell in cells_of([*own, *foreign]) if cell.profile == "torch-1"}
    assert labels == {"box": PROFILES["torch-1"].label, "theirs": "label of torch-1"}


def test_only_nets_and_controls_may_be_faster_than_products() -> None:
    papers = load_papers(["cnn-benchmarks", "machine", "raina2009"])
    cases = (
        (case_of("nets", "vgg-16", paper=papers["cnn-benchmarks"]), "settled"),
        (case_of("controls", "once", paper=papers["machine"]), "settled"),
        (case_of("rbm", "576x1024"), "failed"),
    )
    for case, status in cases:
        rounds = read_rounds(seven(0.1, case=case), papers).assign(peak_gflops=5.0)
        (cell,) = (cell for cell in judge_cells(rounds, papers).values() if cell.rounds)
        assert (cell.status, (cell.peak_share or 0) > 1.9) == (status, status == "settled")


def test_a_paper_is_called_by_its_authors() -> None:
    """A paper is called by its authors' last names or the first of many and organisations are whole."""
    for authors, words in (
        (("Jane Doe",), "Doe"),
        (("Ada B. First", "{Some Laboratory}", "Last"), "First, Some Laboratory and Last"),
        (("A B", "C D", "E F", "G H"), "B and others"),
    ):
        assert reference(replace(PAPER, authors=authors)) == f"{words} (ICML 2009)"


def test_only_shared_labels_are_told_apart() -> None:
    """Labels that several profiles have are told apart and no other changes."""
    told = tell_apart({"a": "one", "b": "two", "c": "one"})
    assert list(told.values()) == ["one (a)", "two", "one (c)"]
