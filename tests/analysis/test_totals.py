"""The parts of a step, and tables that add up."""

import random
from typing import Any

import pytest

from respeed.analysis.claims import compare_claim
from respeed.analysis.columns import rows_of
from respeed.analysis.speedups import Samples, add_totals
from respeed.model.paper import Case, Claim
from tests.derived import PAPERS, MakeRecord, derive, frames_of

SPARSE, DBN = (PAPERS["raina2009"].experiments[name] for name in ("sparse-coding", "dbn"))
ONE = {"profile": "openblas-1"}


def record_of(make_record: MakeRecord, experiment: str, case: Case, seconds: float, **facts: Any) -> dict[str, Any]:
    record = make_record([seconds], case=case.name, **facts)
    record["id"]["experiment"] = experiment
    record["cases"][0] |= {"workload": case.workload, "parameters": dict(case.parameters), "flops": None}
    if facts.get("profile", "").startswith("openblas"):
        record["profile"]["backend"] = "numpy"
    return record


def flops(case: Case) -> float:
    products = 5 if case.workload == "rbm" else 1
    return products * 2 * case.parameters["batch"] * case.parameters["visible"] * case.parameters["hidden"]


def dbn_records(make_record: MakeRecord, cases: tuple[Case, ...]) -> list[dict[str, Any]]:
    records = []
    for index in range(1, 8):
        for experiment in ("rbm", "dbn"):
            mine = [case for case in cases if DBN.source(case.name) == experiment]
            record = record_of(make_record, experiment, cases[0], 0.1, index=index)
            template = record["cases"][0]
            record["cases"] = [
                template | {
                    "case": case.name, "workload": case.workload, "parameters": dict(case.parameters),
                    "flops": flops(case),
                }
                for case in mine
            ]  # fmt: skip
            records += [record] if mine else []
    return records


def ours_of(records: list[dict[str, Any]]) -> Any:
    cells = frames_of(records).cells.query("case == 'total' and profile == 'torch-1'")
    (total,) = rows_of(cells)
    return total


def test_a_total_of_two_days_has_in_its_interval_what_days_differ_by(make_record: MakeRecord) -> None:
    """To the last digit the same in all rounds: only another day could change it."""
    records = dbn_records(make_record, DBN.cases)
    for record in records[len(records) // 2 :]:
        record["started"] = "2026-01-02T00:00:00+00:00"
    ours = ours_of(records)
    # t of 8 + 1 degrees of freedom, and 4 % over the root of two sessions.
    assert 1.045 < ours.seconds_high / ours.seconds < 1.075
    assert ours.seconds_low * ours.seconds_high == pytest.approx(ours.seconds**2)


def test_a_row_that_cannot_run_every_case_has_no_total_and_is_not_the_faster_for_it(make_record: MakeRecord) -> None:
    made = frames_of(dbn_records(make_record, DBN.cases))
    short = made.cells.query(f"case != 'total' and not (experiment == 'dbn' and case == '{DBN.cases[0].name}')")
    made_again = add_totals(short, Samples(made.rounds), PAPERS, smoke=False)
    (ours,) = rows_of(made_again.query("case == 'total' and profile == 'torch-1'"))
    assert (ours.seconds, ours.reason) == (None, f"{DBN.cases[0].name}: cannot run on this row")


def test_a_total_is_the_sum_of_its_cells_also_where_one_of_them_lost_rounds(make_record: MakeRecord) -> None:
    """Six clean rounds of seven, each case another six: no round is clean in all of them, and all of them count."""
    draw, places = random.Random(1), {case.name: place for place, case in enumerate(DBN.cases)}
    records = dbn_records(make_record, DBN.cases)
    for record in records:
        for facts in record["cases"]:
            place = places[facts["case"]]
            delay = 1.0 if record["id"]["index"] == 1 + place % 7 else 0.0
            seconds = [0.1 * (1 + place) * draw.gauss(1, 0.03)]
            facts["blocks"] = [facts["blocks"][0] | {"sample_seconds": seconds, "run_delay_seconds": delay}]
    ours, (cells, _) = ours_of(records), derive(records)
    mine = [
        cell.seconds
        for cell in cells
        if (cell.experiment, cell.profile) == ("dbn", "torch-1") and cell.seconds and cell.case != "total"
    ]
    assert len(mine) == len(DBN.cases) == 7
    assert (ours.seconds, ours.rounds) == (pytest.approx(sum(mine)), 6)
    assert ours.seconds_low < ours.seconds < ours.seconds_high


def test_a_total_with_a_missing_part_says_which(make_record: MakeRecord) -> None:
    ours = ours_of(dbn_records(make_record, DBN.cases[:2]))
    assert ours.seconds is None
    assert ours.reason.startswith("4096x2048: ")


def test_a_total_is_compared_like_any_other_case(make_record: MakeRecord) -> None:
    """Of two rows, one twice as fast in all cases, the total is twice as fast, with an interval of its own."""
    slow, fast = dbn_records(make_record, DBN.cases), dbn_records(make_record, DBN.cases)
    draw = random.Random(2)
    for place, record in enumerate((*slow, *fast)):
        is_fast = place >= len(slow)
        record["id"]["profile"] = "torch-all" if is_fast else "torch-1"
        record["profile"]["architecture"] = "multi-cpu" if is_fast else "single-cpu"
        for facts in record["cases"]:
            seconds = [0.1 * draw.gauss(1, 0.02) / (2 if is_fast else 1)]
            facts["blocks"] = [facts["blocks"][0] | {"sample_seconds": seconds}]
    speedups = frames_of([*slow, *fast]).speedups.query("case == 'total'").set_index("profile")
    slower = speedups.loc["torch-1"]
    assert (slower["base_profile"], slower["verdict"]) == ("torch-all", "slower")
    assert slower["speedup_low"] < 0.5 < slower["speedup_high"]
    assert slower["published"] == pytest.approx(313251 / 553814)
    beside = frames_of(slow).cells.query("case == 'total' and profile == 'torch-1'")
    assert (beside["published_row"].item(), beside["published_seconds"].item()) == ("single-cpu", 553814)


@pytest.mark.parametrize(
    "claim",
    [
        Claim("it", "It is.", "memory", "dbn", "multi-cpu"),
        Claim("it", "It is.", "crossover", "dbn", "gpu", over=("multi-cpu",)),
        Claim("it", "It is.", "limited", "dbn", "multi-cpu", over_case="2048x1024", by="visible"),
    ],
)
def test_a_claim_about_sizes_is_not_about_their_total(make_record: MakeRecord, claim: Claim) -> None:
    made = frames_of(dbn_records(make_record, DBN.cases))
    mine = list(rows_of(made.cells.query("experiment == 'dbn'")))
    assert "total" not in {one.case for one in compare_claim(claim, PAPERS["raina2009"], mine, made.samples)}
