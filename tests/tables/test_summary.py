"""The paragraph about a machine on the first page."""

from typing import Any

from respeed.analysis.claims import summarize
from respeed.analysis.rounds import key_of
from tests.tables.derived import ALL, GPU, PAPER, MakeRecord, claims_frame, derive, every_case, frames_of, seven

SPEEDUP = {"claim": "rbm-speedup", "published": "12.9x to 72.6x", "here": "12.8x to 72.5x"}
UNTESTED = SPEEDUP | {
    "verdict": "not testable here", "reason": "no CUDA device", "instead": "It says this.", "here": "",
}  # fmt: skip


def paragraph(make_record: MakeRecord, *claims: dict[str, Any]) -> str:
    return summary(seven(make_record, [0.1] * 7), *claims)[0]


def summary(records: list[dict[str, Any]], *claims: dict[str, Any]) -> tuple[str, str]:
    return summarize("box", PAPER, frames_of(records)[0], claims_frame(*claims))


def test_claims_are_counted_by_their_verdict_and_what_came_out_follows(make_record: MakeRecord) -> None:
    two = SPEEDUP | {"claim": "patches-speedup", "verdict": "larger", "published": "9.4x", "here": "30.0x"}
    larger = SPEEDUP | {"claim": "rbm-largest", "verdict": "larger"}
    assert paragraph(make_record, SPEEDUP, two, larger) == (
        "Of 3 claims, 1 is reproduced and 2 come out larger than claimed. "
        "Densely connected RBM: 12.8x to 72.5x here, 12.9x to 72.6x published. "
        "Overlapping patches: 30.0x here, 9.4x published."
    )


def test_single_cases_other_machines_and_other_papers_are_not_counted(make_record: MakeRecord) -> None:
    others = [SPEEDUP | {"case": "576x1024"}, SPEEDUP | {"machine": "hut"}, SPEEDUP | {"paper": "other"}]
    assert paragraph(make_record, SPEEDUP, *others).startswith("Of 1 claim, 1 is reproduced. ")


def test_why_claims_cannot_be_tested_is_said_once_with_what_the_first_of_a_table_says_instead(
    make_record: MakeRecord,
) -> None:
    patches = UNTESTED | {"claim": "patches-speedup", "instead": "Not this."}
    network = UNTESTED | {"claim": "network", "instead": "And this.", "reason": "the device ran out of memory"}
    assert paragraph(make_record, UNTESTED, patches) == (
        "Of 2 claims, 2 cannot be tested here (no CUDA device). Densely connected RBM: It says this."
    )
    assert paragraph(make_record, UNTESTED, patches, network) == (
        "Of 3 claims, 3 cannot be tested here (no CUDA device; others for other reasons). "
        "Densely connected RBM: It says this. Deep belief network of 100 million weights: And this."
    )


def test_a_paper_without_claims_says_how_firm_its_numbers_are_and_no_more(make_record: MakeRecord) -> None:
    came_out, firm = summary(seven(make_record, [0.1] * 7))
    assert came_out == ""
    assert firm.startswith(
        "Of 1 cells (a case on one row) 1 have an interval, 1 of them one of at most ±10 %, from 7 rounds"
    )


def test_a_machine_that_measured_nothing_says_so(make_record: MakeRecord) -> None:
    disturbed = [make_record([0.1, 0.1], index=index, run_delay=1.0) for index in range(1, 8)]
    assert summary(disturbed, SPEEDUP) == ("Nothing of this paper has been measured on this machine yet.", "")


def test_a_wide_cell_has_an_interval_and_is_not_settled(make_record: MakeRecord) -> None:
    wide = seven(make_record, [0.1, 0.2, 0.1, 0.2, 0.15, 0.12, 0.3], **ALL)
    assert (
        "Of 2 cells (a case on one row) 2 have an interval, 1 of them"
        in summary([*seven(make_record, [0.1] * 7), *wide])[1]
    )


def test_a_case_that_stands_in_two_tables_is_one_cell(make_record: MakeRecord) -> None:
    records = list(every_case(make_record, 0.1, **GPU))
    measured = {key_of(cell) for cell in derive(records)[0] if cell.seconds}
    assert summary(records)[1].startswith(f"Of {len(measured)} cells ")


def test_a_failed_cell_is_told_with_its_reason(make_record: MakeRecord) -> None:
    failed = make_record([0.1], case="1024x4096", status="failed", reason="a wrong sum")
    failed["cases"][0]["parameters"] |= {"visible": 1024, "hidden": 4096}
    assert summary([*seven(make_record, [0.1] * 7), failed])[1].endswith("1 failed: a wrong sum.")
