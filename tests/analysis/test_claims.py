"""A paper's claims, held against machines whose times are known: which rows they are held against, what is said where a
row is missing, how often a true claim is refused, and the paragraph about a machine."""

import dataclasses
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from respeed.analysis.cells import ROUNDS_OF
from respeed.analysis.claims import make_claims, summarize
from respeed.analysis.columns import rows_of
from respeed.analysis.speedups import published_speedup
from respeed.analysis.totals import make_totals
from respeed.model.paper import Claim
from respeed.numbers import format_duration
from tests.derived import (
    ALL,
    GPU,
    GPU_BF16,
    PAPER,
    MakeRecord,
    claims_frame,
    claims_of,
    every_case,
    frames_of,
    seven,
    sparse_coding_on_a_cpu,
    their_total,
)

CPUS = ("single-cpu", "multi-cpu")
COLUMNS = ("576x1024", "1024x4096", "2304x16000", "4096x11008")
PRINTED = (12.8756, 16.2337, 68.0131, 72.6425)
NOISE = (0.98, 0.99, 1.0, 1.0, 1.01, 1.02)

BOTH = {"profile": "torch-all", "architecture": "multi-cpu", "threads": 2}
ONE = {"profile": "torch-1", "architecture": "single-cpu"}


def claim(test: str, row: str = "gpu", over: tuple[str, ...] = CPUS, threads: int | None = None) -> Claim:
    return Claim("it", "It is faster.", test, "rbm", row, over, threads)


def measure(make_record: MakeRecord, seconds: Iterable[float], **row: Any) -> list[dict[str, Any]]:
    """Six rounds of a row, with so many seconds a step in each of the paper's four columns."""
    threads, package = row.pop("threads", 1), row.pop("of", "PyTorch")
    records = []
    for case, time in zip(COLUMNS, seconds, strict=False):
        visible, hidden = (int(size) for size in case.split("x"))
        for index, noise in enumerate(NOISE, start=1):
            changed = {"visible": visible, "hidden": hidden}
            record = make_record([time * noise], index=index, case=case, changed=changed, **row)
            record["threads"] = threads
            record["profile"] |= {"package": package, "threads": threads if threads == 1 else "all"}
            records.append(record)
    return records


def judge(records: list[dict[str, Any]], one: Claim) -> list[Any]:
    """The claim as a whole, then its cases."""
    joined = join_cases(records)
    papers = {"raina2009": dataclasses.replace(PAPER, claims=(one,))}
    made = frames_of(joined, papers)
    totals = make_totals(made.cells, made.samples, papers, smoke=False)
    return list(rows_of(make_claims(made.cells, made.samples, papers, totals)))


def join_cases(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A round measures all of its cases: one record for each profile and index."""
    joined: dict[tuple[str, str, int], dict[str, Any]] = {}
    for record in records:
        key = (record["id"]["machine"], record["id"]["profile"], record["id"]["index"])
        if key in joined:
            joined[key]["cases"] += record["cases"]
        else:
            joined[key] = record
    return list(joined.values())


def like_the_paper(make_record: MakeRecord, factors: Iterable[float]) -> list[dict[str, Any]]:
    """A machine whose GPU is so many times as fast as the paper's was, over the CPU, in each column."""
    return [
        *measure(make_record, [1.0] * 4, **BOTH),
        *measure(make_record, [1 / (p * f) for p, f in zip(PRINTED, factors, strict=True)], **GPU),
    ]


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ((1, 1, 1, 1), "reproduced"),
        ((2, 2, 2, 2), "larger"),
        ((2, 1, 1, 1), "larger"),
        ((0.5, 0.5, 0.5, 0.5), "smaller"),
        ((2, 2, 0.5, 0.5), "another shape"),
    ],
)
def test_a_claim_about_each_case_is_judged_by_all_of_them(
    make_record: MakeRecord, factors: tuple[float, ...], verdict: str
) -> None:
    whole, *cases = judge(like_the_paper(make_record, factors), claim("each"))
    assert whole.verdict == verdict
    assert [one.case for one in cases] == list(COLUMNS)
    expected = ["reproduced" if f == 1 else "larger" if f > 1 else "smaller" for f in factors]
    assert [one.verdict for one in cases] == expected


def test_published_numbers_stand_as_they_were_printed(make_record: MakeRecord) -> None:
    whole, *cases = judge(like_the_paper(make_record, (1, 1, 1, 1)), claim("each"))
    assert whole.published == "12.9x to 72.6x"
    assert [one.published for one in cases] == ["12.9x", "16.2x", "68.0x", "72.6x"]
    assert whole.here.startswith("12.9x to 72.6x ±")
    assert (whole.profile, whole.base_profile, whole.instead) == ("gpu", "torch-all", "")
    assert (whole.published_low, whole.published_high) == pytest.approx((12.8756, 72.6425), rel=1e-4)


def test_the_largest_speedup_is_compared_with_the_largest_printed_one(make_record: MakeRecord) -> None:
    # Larger at the first column, where the claim says nothing, and as large at the last.
    whole = judge(like_the_paper(make_record, (5, 1, 1, 1)), claim("largest"))[0]
    assert (whole.verdict, whole.published) == ("reproduced", "72.6x")
    assert judge(like_the_paper(make_record, (1, 1, 1, 0.5)), claim("largest"))[0].verdict == "smaller"


@pytest.mark.parametrize(
    ("speedups", "verdict"),
    [((10, 20, 30, 40), "reproduced"), ((40, 30, 20, 10), "another shape"), ((30, 30, 30, 30), "another shape")],
)
def test_growth_is_about_the_order_of_the_columns(
    make_record: MakeRecord, speedups: tuple[float, ...], verdict: str
) -> None:
    records = like_the_paper(make_record, [s / p for s, p in zip(speedups, PRINTED, strict=True)])
    assert judge(records, claim("growth"))[0].verdict == verdict


def test_a_machine_without_the_row_says_what_is_missing_and_what_it_can_say_all_the_same(
    make_record: MakeRecord,
) -> None:
    # The paper's GPU needs 38.6 s for the first column, 1726 s for the last; its dual core 497 s and 125381 s.
    seconds = [38.6 * 2, 184 * 2, 1376, 1726 / 2]
    records = measure(make_record, [time / (1_000_000 / 192) for time in seconds], **BOTH)
    whole, *cases = judge(records, claim("each"))
    assert (whole.verdict, whole.reason, whole.here) == ("not testable here", "no CUDA device", "")
    assert "takes 0.50x to 2.0x the time of the paper's GPU (GeForce GTX 280)" in whole.instead
    assert "and is 6.4x to 145x as fast as its CPU (two cores at 3.16 GHz)" in whole.instead
    assert {one.verdict for one in cases} == {"not testable here"}
    largest = judge(records, claim("largest"))[0]
    assert largest.instead.startswith("At 4096x11008 the fastest CPU program here takes 0.50 of the time")


def test_instead_of_growth_it_says_how_evenly_the_cpu_works(make_record: MakeRecord) -> None:
    whole = judge(measure(make_record, [0.1, 0.1, 0.1, 0.05], **BOTH), claim("growth"))[0]
    assert whole.instead.startswith("The fastest CPU program here does 10 to 20 GFLOP/s over these cases")
    assert "differ by a factor of 2.0 here" in whole.instead


def test_a_case_that_could_not_be_measured_is_named_and_the_others_are_judged(make_record: MakeRecord) -> None:
    records = [
        *measure(make_record, [1.0] * 4, **BOTH),
        *measure(make_record, [1 / p for p in PRINTED[:3]], **GPU),
    ]
    whole, *cases = judge(records, claim("each"))
    assert whole.verdict == "reproduced"
    assert whole.reason.endswith("% would show; 4096x11008: no CUDA device")
    assert [one.verdict for one in cases] == ["reproduced"] * 3 + ["not testable here"]


def test_what_a_second_core_brings_is_asked_of_rows_of_two_threads_and_one_package(make_record: MakeRecord) -> None:
    second = claim("each", row="multi-cpu", over=("single-cpu",), threads=2)
    printed = (563 / 497, 3638 / 2987, 172803 / 93586, 223741 / 125381)
    records = [
        *measure(make_record, [1.0] * 4, **ONE),
        *measure(make_record, [1 / p for p in printed], **BOTH),
        # Faster on one core, but of another package: what a library brings is no second core.
        *measure(make_record, [0.9] * 4, profile="openblas-1", of="OpenBLAS"),
    ]
    assert judge(records, second)[0].verdict == "reproduced"
    four = [*measure(make_record, [1.0] * 4, **ONE), *measure(make_record, [0.25] * 4, **(BOTH | {"threads": 4}))]
    whole = judge(four, second)[0]
    assert whole.verdict == "not testable here"
    assert whole.reason == ("no row of 2 threads was measured, only of 4; add a hardware profile with `threads: 2`")
    assert whole.instead == "4 threads are 4.0x as fast as one."


def test_too_few_rounds_leave_a_claim_open_and_say_how_many_are_missing(make_record: MakeRecord) -> None:
    records = [one for one in like_the_paper(make_record, (1, 1, 1, 1)) if one["id"]["index"] <= 3]
    whole = judge(records, claim("each"))[0]
    assert whole.verdict == "not settled"
    assert "3 clean rounds; an interval needs 6" in whole.reason


def test_every_claim_of_the_paper_grows_where_it_says_that_it_grows() -> None:
    for one in PAPER.claims:
        if one.test == "growth":
            cases = PAPER.experiments[one.experiment].case_names()
            speedups = [PAPER.speedup(one.experiment, case, one.row, one.over) or 0 for case in cases]
            assert all(speedups)
            assert speedups == sorted(speedups)


def test_the_printed_speedups_are_those_of_the_printed_seconds() -> None:
    assert len(PAPER.speedups) == 9
    for (experiment, column, row), printed in PAPER.speedups.items():
        fastest = min(PAPER.published[experiment, column, cpu].value for cpu in CPUS)
        assert f"{fastest / PAPER.published[experiment, column, row].value:.1f}" == printed.text


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


def of_one_column(make_record: MakeRecord) -> list[dict[str, Any]]:
    # Of the paper's first column: its GPU takes 38.6 s for 5208.3 steps, its dual core 497 s.
    return [
        *seven(make_record, [38.6 / 5208.3] * 7, **ALL),
        *seven(make_record, [2 * 38.6 / 5208.3] * 7, **ONE),
    ]


def test_the_fastest_cpu_row_stands_beside_the_papers_rows(make_record: MakeRecord) -> None:
    instead = claims_of(of_one_column(make_record))["rbm-speedup"].instead
    assert instead == (
        "The fastest CPU program here takes 1.0x the time of the paper's GPU (GeForce GTX 280), and is 13x as fast "
        "as its CPU (two cores at 3.16 GHz)."
    )


def test_growth_is_not_spoken_of_where_a_single_case_was_measured(make_record: MakeRecord) -> None:
    assert claims_of(of_one_column(make_record))["rbm-growth"].instead == ""


def test_beside_each_row_of_the_paper_stands_the_algorithm_that_it_ran(make_record: MakeRecord) -> None:
    found = claims_of(sparse_coding_on_a_cpu(make_record))
    assert "each time with the algorithm that the paper ran there" in found["sparse-coding-speedup"].instead
    # The better algorithm, which the paper has not, is 400 times as fast and would take 0.00.
    # Five batches: five steps of 0.4 s, where the paper's GPU takes 37.0, 41.5 and 55.8 s.
    assert "takes 0.036 to 0.054 of the time" in found["sparse-coding-speedup"].instead
    # Five steps of 0.5 s, where its CPU takes 191 to 854 s.
    assert "is 76x to 342x as fast as its CPU" in found["sparse-coding-speedup"].instead


def test_without_a_count_of_operations_growth_is_said_in_times(make_record: MakeRecord) -> None:
    records = sparse_coding_on_a_cpu(make_record)
    for record in records:
        ran = record["cases"][0]
        ran["flops"] = None
        if ran["case"] == "10-percent":
            ran["blocks"][0]["sample_seconds"] = [3 * time for time in ran["blocks"][0]["sample_seconds"]]
    assert claims_of(records)["sparse-coding-growth"].instead == (
        "From 3% to 10% the time of the paper's CPU algorithm grows by a factor of 3.00 here, of 4.47 there."
    )


def test_of_the_network_the_fastest_row_stands_beside_the_faster_of_the_papers_cpus(make_record: MakeRecord) -> None:
    records = [*every_case(make_record, 0.1, **ALL), *every_case(make_record, 0.5, **ONE)]
    instead = claims_of(records)["network"].instead
    days = their_total(make_record, "multi-cpu") / their_total(make_record, "gpu")
    assert days > 1
    assert f"({format_duration(days * 86400)} for its CPU, both at their own rates)" in instead
    assert instead.endswith("here (label of torch-all).")


@pytest.mark.parametrize("name", ["rbm-speedup", "rbm-largest", "rbm-growth", "network", "second-core"])
def test_nothing_is_said_where_nothing_was_measured(make_record: MakeRecord, name: str) -> None:
    disturbed = [make_record([0.1, 0.1], index=index, run_delay=1.0, **ALL) for index in range(1, 8)]
    assert claims_of(disturbed)[name].instead == ""


MACHINES, ROUNDS = 150, 6
SPREAD, DRIFT = 0.02, 0.02


def as_the_paper_says(make_record: MakeRecord, machine: int) -> list[dict[str, Any]]:
    """Six rounds of a CPU and a GPU row in the four columns: rounds differ by noise, and by a drift that both share."""
    draw, records = random.Random(machine), list[dict[str, Any]]()
    speedups = [published_speedup(PAPER, "rbm", case, "gpu", CPUS) or 0.0 for case in COLUMNS]
    for index in range(1, ROUNDS + 1):
        drift = draw.lognormvariate(0, DRIFT)
        for row, is_gpu in ((ONE, False), (GPU, True)):
            for case, speedup in zip(COLUMNS, speedups, strict=True):
                seconds = drift * draw.lognormvariate(0, SPREAD) / (speedup if is_gpu else 1.0)
                visible, hidden = (int(size) for size in case.split("x"))
                changed = {"visible": visible, "hidden": hidden}
                record = make_record([seconds], index=index, case=case, changed=changed, **row)
                record["id"]["machine"] = f"box-{machine}"
                records.append(record)
    return records


@pytest.mark.slow
@pytest.mark.parametrize("test", ["each", "largest", "growth"])
def test_a_claim_that_is_true_is_refused_on_at_most_one_machine_in_twenty(make_record: MakeRecord, test: str) -> None:
    records = [record for machine in range(MACHINES) for record in as_the_paper_says(make_record, machine)]
    verdicts = Counter(row.verdict for row in judge(records, claim(test)) if not row.case)
    refused = MACHINES - verdicts["reproduced"] - verdicts["not settled"]
    assert refused <= 0.05 * MACHINES, verdicts
    assert verdicts["reproduced"] > MACHINES / 3, verdicts


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
    cells = frames_of(records)[0]
    measured = cells[cells["seconds"].notna()].drop_duplicates(ROUNDS_OF)
    assert summary(records)[1].startswith(f"Of {len(measured)} cells ")


def test_a_failed_cell_is_told_with_its_reason(make_record: MakeRecord) -> None:
    failed = make_record([0.1], case="1024x4096", status="failed", reason="a wrong sum")
    failed["cases"][0]["parameters"] |= {"visible": 1024, "hidden": 4096}
    assert summary([*seven(make_record, [0.1] * 7), failed])[1].endswith("1 failed: a wrong sum.")
