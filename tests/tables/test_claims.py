"""A paper's claims, held against machines whose times are known."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from respeed.analysis.claims import make_claims
from respeed.analysis.columns import rows_of
from respeed.analysis.totals import make_totals
from respeed.inputs.papers import load_paper
from respeed.model.paper import Claim
from tests.tables.derived import frames_of

MakeRecord = Callable[..., dict[str, Any]]
PAPER = load_paper("raina2009")
CPUS = ("single-cpu", "multi-cpu")
COLUMNS = ("576x1024", "1024x4096", "2304x16000", "4096x11008")
PRINTED = (12.8756, 16.2337, 68.0131, 72.6425)
NOISE = (0.98, 0.99, 1.0, 1.0, 1.01, 1.02)

GPU = {"profile": "gpu", "architecture": "gpu", "device": "cuda"}
ALL = {"profile": "torch-all", "architecture": "multi-cpu", "threads": 2}
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
    cells, _, rounds = frames_of(joined, papers)
    return list(rows_of(make_claims(cells, rounds, papers, make_totals(cells, rounds, papers, smoke=False))))


def join_cases(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A round measures all of its cases: one record for each profile and index."""
    joined: dict[tuple[str, int], dict[str, Any]] = {}
    for record in records:
        key = (record["id"]["profile"], record["id"]["index"])
        if key in joined:
            joined[key]["cases"] += record["cases"]
        else:
            joined[key] = record
    return list(joined.values())


def like_the_paper(make_record: MakeRecord, factors: Iterable[float]) -> list[dict[str, Any]]:
    """A machine whose GPU is so many times as fast as the paper's was, over the CPU, in each column."""
    return [
        *measure(make_record, [1.0] * 4, **ALL),
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
    assert (whole.profile, whole.base_profile) == ("gpu", "torch-all")


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
    records = measure(make_record, [time / (1_000_000 / 192) for time in seconds], **ALL)
    whole, *cases = judge(records, claim("each"))
    assert (whole.verdict, whole.reason, whole.here) == ("not testable here", "no CUDA device", "")
    assert "takes 0.50x to 2.0x the time of the paper's GPU (GeForce GTX 280)" in whole.instead
    assert "and is 6.4x to 145x as fast as its CPU (two cores at 3.16 GHz)" in whole.instead
    assert {one.verdict for one in cases} == {"not testable here"}
    largest = judge(records, claim("largest"))[0]
    assert largest.instead.startswith("At 4096x11008 the fastest CPU program here takes 0.50 of the time")


def test_instead_of_growth_it_says_how_evenly_the_cpu_works(make_record: MakeRecord) -> None:
    whole = judge(measure(make_record, [0.1, 0.1, 0.1, 0.05], **ALL), claim("growth"))[0]
    assert whole.instead.startswith("The fastest CPU program here does 10 to 20 GFLOP/s over these cases")
    assert "differ by a factor of 2.0 here" in whole.instead


def test_a_case_that_could_not_be_measured_is_named_and_the_others_are_judged(make_record: MakeRecord) -> None:
    records = [
        *measure(make_record, [1.0] * 4, **ALL),
        *measure(make_record, [1 / p for p in PRINTED[:3]], **GPU),
    ]
    whole, *cases = judge(records, claim("each"))
    assert whole.verdict == "reproduced"
    assert whole.reason == "4096x11008: no CUDA device"
    assert [one.verdict for one in cases] == ["reproduced"] * 3 + ["not testable here"]


def test_what_a_second_core_brings_is_asked_of_rows_of_two_threads_and_one_package(make_record: MakeRecord) -> None:
    second = claim("each", row="multi-cpu", over=("single-cpu",), threads=2)
    printed = (563 / 497, 3638 / 2987, 172803 / 93586, 223741 / 125381)
    records = [
        *measure(make_record, [1.0] * 4, **ONE),
        *measure(make_record, [1 / p for p in printed], **ALL),
        # Faster on one core, but of another package: what a library brings is no second core.
        *measure(make_record, [0.9] * 4, profile="openblas-1", of="OpenBLAS"),
    ]
    assert judge(records, second)[0].verdict == "reproduced"
    four = [*measure(make_record, [1.0] * 4, **ONE), *measure(make_record, [0.25] * 4, **(ALL | {"threads": 4}))]
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
