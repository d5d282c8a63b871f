"""Which of a machine's rows a claim is held against, and what a row without a time does to the verdict."""

from typing import Any

import pytest

from tests.tables.derived import (
    ALL,
    GPU,
    GPU_BF16,
    MakeRecord,
    claims_of,
    every_case,
    sparse_coding_on_a_cpu,
    their_total,
)
from tests.tables.test_claims import ALL as BOTH
from tests.tables.test_claims import ONE, PRINTED, claim, judge, like_the_paper, measure

DISTURBED = {"run_delay": 1.0}


def whole(records: list[dict[str, Any]], test: str, **facts: Any) -> Any:
    return judge(records, claim(test, **facts))[0]


def test_the_fastest_of_several_rows_in_single_precision_is_taken(make_record: MakeRecord) -> None:
    records = [
        *like_the_paper(make_record, (1, 1, 1, 1)),
        *measure(make_record, [0.5] * 4, **(GPU | {"profile": "gpu-old"})),
        *measure(make_record, [0.0001] * 4, **GPU_BF16),
        *measure(make_record, [2.0] * 4, **ONE),
    ]
    found = whole(records, "each")
    assert (found.verdict, found.profile, found.base_profile) == ("reproduced", "gpu", "torch-all")


def test_the_range_of_what_was_published_has_its_ends_in_order_and_nothing_stands_instead(
    make_record: MakeRecord,
) -> None:
    found = whole(like_the_paper(make_record, (1, 1, 1, 1)), "each")
    assert (found.published_low, found.published_high) == pytest.approx((12.8756, 72.6425), rel=1e-4)
    assert found.instead == ""


def test_intervals_of_several_cases_are_of_more_confidence_than_that_of_one(make_record: MakeRecord) -> None:
    # Five rounds beside five give an interval of 97 %, but none of the 99 % that each of four cases needs.
    records = [one for one in like_the_paper(make_record, (1, 1, 1, 1)) if one["id"]["index"] <= 5]
    found = whole(records, "each")
    assert (found.verdict, found.speedup_low) == ("not settled", None)


def test_a_row_of_one_core_is_one_of_one_thread(make_record: MakeRecord) -> None:
    printed = (563 / 497, 3638 / 2987, 172803 / 93586, 223741 / 125381)
    records = [
        *measure(make_record, [1.0] * 4, **ONE),
        *measure(make_record, [0.8] * 4, **(ONE | {"profile": "torch-odd", "threads": 2})),
        *measure(make_record, [1 / p for p in printed], **BOTH),
    ]
    found = whole(records, "each", row="multi-cpu", over=("single-cpu",), threads=2)
    assert (found.verdict, found.base_profile, found.published) == ("reproduced", "torch-1", "1.13x to 1.85x")


def test_what_was_only_disturbed_leaves_the_claim_and_its_cases_open(make_record: MakeRecord) -> None:
    records = [*measure(make_record, [1.0] * 4, **BOTH), *measure(make_record, [0.01] * 4, **(GPU | DISTURBED))]
    assert {row.verdict for row in judge(records, claim("each"))} == {"not settled"}


def with_the_last_case_missing(make_record: MakeRecord, *, disturbed: bool) -> list[dict[str, Any]]:
    records = [*measure(make_record, [1.0] * 4, **BOTH), *measure(make_record, [1 / p for p in PRINTED[:3]], **GPU)]
    if disturbed:
        for record in measure(make_record, [0.01] * 4, **(GPU | DISTURBED)):
            if record["cases"][0]["case"] == "4096x11008":
                records.append(record)
    return records


def test_one_case_that_was_disturbed_leaves_open_what_the_others_reproduce(make_record: MakeRecord) -> None:
    found = whole(with_the_last_case_missing(make_record, disturbed=True), "each")
    assert found.verdict == "not settled"
    assert found.reason.startswith("4096x11008: no clean block")


def test_the_largest_of_some_cases_is_not_called_smaller_than_the_largest_of_all(make_record: MakeRecord) -> None:
    found = whole(with_the_last_case_missing(make_record, disturbed=False), "largest")
    assert (found.verdict, found.reason) == ("not settled", "4096x11008: no CUDA device")


def test_growth_says_nothing_of_a_single_case(make_record: MakeRecord) -> None:
    records = [*measure(make_record, [1.0] * 4, **BOTH), *measure(make_record, [0.01], **GPU)]
    found = whole(records, "growth")
    assert found.verdict == "not settled"
    assert found.reason.startswith("only 576x1024 was measured; growth needs two cases")


def test_what_was_not_measured_yet_is_open_and_not_untestable(make_record: MakeRecord) -> None:
    records = measure(make_record, [1.0] * 4, **BOTH)
    found = whole(records, "each", row="multi-cpu", over=("single-cpu",), threads=2)
    assert (found.verdict, found.reason) == ("not settled", "not measured yet")


def test_each_side_runs_the_algorithm_that_the_paper_ran_there(make_record: MakeRecord) -> None:
    records = [*sparse_coding_on_a_cpu(make_record), *every_case(make_record, 0.01, **GPU)]
    found = claims_of(records)["sparse-coding-speedup"]
    # The fastest program of all on the CPU is not the paper's.
    assert (found.speedup_low or 0) > 40


def test_a_total_is_the_cpus_seconds_over_the_gpus_and_theirs_is_over_the_faster_of_their_cpus(
    make_record: MakeRecord,
) -> None:
    found = claims_of([*every_case(make_record, 1.0, **ALL), *every_case(make_record, 0.02, **GPU)])["network"]
    assert found.speedup == pytest.approx(50, rel=1e-3)
    assert found.published_low == pytest.approx(their_total(make_record, "multi-cpu") / their_total(make_record, "gpu"))


def test_too_few_rounds_of_a_total_are_said_without_the_name_of_a_case(make_record: MakeRecord) -> None:
    records = [*every_case(make_record, 1.0, **ALL), *every_case(make_record, 0.02, **GPU)]
    found = claims_of([one for one in records if one["id"]["index"] <= 3])["network"]
    assert (found.verdict, found.reason) == ("not settled", "3 clean rounds; an interval needs 6")
