"""A paper's claims, held against machines whose times are known: which rows they are held against, what is said where a
row is missing, how often a true claim is refused, and the paragraph about a machine."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from respeed.analysis.claims import count_results, open_claims
from respeed.inputs.papers import load_papers
from respeed.model import Claim
from tests.derived import (
    ALL,
    GPU,
    GPU_BF16,
    PAPER,
    Records,
    claims_frame,
    claims_of,
    every_case,
    frames_of,
    noisy,
    seven,
    sparse_coding_on_a_cpu,
)

CPUS = ("single-cpu", "multi-cpu")
COLUMNS = ("576x1024", "1024x4096", "2304x16000", "4096x11008")
PRINTED = (12.8756, 16.2337, 68.0131, 72.6425)
NOISE = (0.98, 0.99, 1.0, 1.0, 1.01, 1.02)

BOTH = ALL | {"threads": 2}
ONE = {"profile": "torch-1", "architecture": "single-cpu"}


def claim(test: str, row: str = "gpu", over: tuple[str, ...] = CPUS, threads: int | None = None) -> Claim:
    return Claim("it", "It is faster.", test, "rbm", row, over, threads)


def judge(records: Records, one: Claim) -> list[Any]:
    """The claim as a whole, then its cases."""
    return [*claims_of(records, {"raina2009": dataclasses.replace(PAPER, claims={one.name: one})}).values()]


PRINTED_BY_CORES = (563 / 497, 3638 / 2987, 172803 / 93586, 223741 / 125381)
SECOND_CORE = {"row": "multi-cpu", "over": ("single-cpu",), "threads": 2}
DISTURBED = {"run_delay_seconds": 1.0}


def rows(*measured: tuple[Iterable[float], dict[str, Any]], most: int = 6) -> Records:
    """Of each row so many rounds, with so many seconds a step in each of the paper's four columns."""
    return [
        record
        for seconds, row in measured
        for case, time in zip(COLUMNS, seconds, strict=False)
        for record in seven([time * noise for noise in NOISE[:most]], case=case, **{"package": "PyTorch"} | row)
    ]


def like_the_paper(*factors: float, most: int = 6) -> Records:
    """A machine whose GPU is so many times as fast as the paper's was, over the CPU, in each column."""
    faster = [1 / (printed * factor) for printed, factor in zip(PRINTED, factors, strict=True)]
    return rows(([1.0] * 4, BOTH), (faster, GPU), most=most)


CPU = ([1.0] * 4, BOTH)
THREE = ([1 / printed for printed in PRINTED[:3]], GPU)


@pytest.mark.parametrize(
    ("test", "facts", "records", "fields"),
    [
        # Each case is judged, and all together.
        ("each", {}, like_the_paper(1, 1, 1, 1),
         {"verdict": "reproduced", "cases": "reproduced reproduced reproduced reproduced", "profile": "gpu",
          "base_profile": "torch-all", "published": "12.9x to 72.6x",
          "published_low": pytest.approx(12.8756, rel=1e-4), "published_high": pytest.approx(72.6425, rel=1e-4)}),
        ("each", {}, like_the_paper(2, 1, 1, 1),
         {"verdict": "larger", "cases": "larger reproduced reproduced reproduced"}),
        ("each", {}, like_the_paper(2, 2, 0.5, 0.5),
         {"verdict": "trend not reproduced", "cases": "larger larger smaller smaller"}),
        ("each", {}, like_the_paper(1, 1, 1, 1, most=2), {"verdict": "not settled", "speedup_low": None}),
        ("growth", {}, like_the_paper(2, 2, 2, 2), {"verdict": "reproduced"}),
        ("growth", {}, like_the_paper(5, 4, 0.1, 0.1), {"verdict": "trend not reproduced"}),
        # Of several rows in single precision the fastest.
        ("each", {},
         rows(CPU, ([1 / p for p in PRINTED], GPU), ([0.5] * 4, GPU | {"profile": "gpu-old"}), ([1e-4] * 4, GPU_BF16),
              ([2.0] * 4, ONE)),
         {"verdict": "reproduced", "profile": "gpu", "base_profile": "torch-all"}),
        # A case that could not be measured is named; one that was disturbed leaves the claim open.
        ("each", {}, rows(CPU, THREE),
         {"verdict": "reproduced", "cases": "reproduced reproduced reproduced not testable here",
          "reason": "a difference of 6 % would show; 4096x11008: no CUDA device"}),
        ("each", {}, rows(CPU, ([0.01] * 4, GPU | DISTURBED)),
         {"verdict": "not settled", "cases": "not settled not settled not settled not settled"}),
        ("growth", {}, rows(CPU, ([0.01], GPU)),
         {"verdict": "not settled",
          "reason": "only 576x1024 was measured; growth needs two cases; 1024x4096: no CUDA device; "
          "2304x16000: no CUDA device; 4096x11008: no CUDA device"}),
        # What a second core brings is asked of rows of two threads and of one package.
        ("each", SECOND_CORE,
         rows(([1.0] * 4, ONE), ([1 / p for p in PRINTED_BY_CORES], BOTH),
              ([0.9] * 4, {"profile": "openblas-1", "package": "OpenBLAS"}),
              ([0.8] * 4, ONE | {"profile": "torch-odd", "threads": 2})),
         {"verdict": "reproduced", "base_profile": "torch-1", "published": "1.13x to 1.85x"}),
        ("each", SECOND_CORE, rows(([1.0] * 4, ONE), ([0.25] * 4, BOTH | {"threads": 4})),
         {"verdict": "not testable here",
          "reason": "no row of 2 threads was measured, only of 4; add a hardware profile with `threads: 2`"}),
        ("each", SECOND_CORE, rows(CPU), {"verdict": "not settled", "reason": "not measured yet"}),
        ("each", {}, rows(([0.1] * 4, BOTH)), {"verdict": "not testable here", "reason": "no CUDA device", "here": ""}),
    ],
)  # fmt: skip
def test_a_claim_is_judged_by_the_rows_that_it_is_about(
    test: str, facts: dict[str, Any], records: Records, fields: dict[str, Any]
) -> None:
    found, *cases = judge(records, claim(test, **facts))
    known = {name: getattr(found, name) for name in fields if name != "cases"}
    assert known | ({"cases": " ".join(one.verdict for one in cases)} if "cases" in fields else {}) == fields


BOTH_PRECISIONS = [{"profile": "torch-1"}, {"profile": "torch-1-fp64", "precision": "fp64"}]


@pytest.mark.parametrize(
    ("measured", "fields"),
    [
        (BOTH_PRECISIONS, ("reproduced", "1.80x ±0.9 % (fp32 over fp64)", "a difference of 2 % would show")),
        (BOTH_PRECISIONS[:1],
         ("not testable here", "", "no row in fp64 was measured; name a hardware profile in it")),
    ],
    ids=["both measured", "fp32 alone"],
)  # fmt: skip
def test_a_claim_about_precision_alone_never_compares_a_row_with_itself(
    measured: list[dict[str, Any]], fields: tuple[str, str, str]
) -> None:
    papers = load_papers(["bergstra2010"])
    case = papers["bergstra2010"].experiments["mlp"].cases[0]
    records = [one for facts in measured for one in noisy(1.0 if len(facts) == 1 else 1.804, case=case, **facts)]
    found = claims_of(records, papers)["precision-alone", ""]
    assert (found.verdict, found.here, found.reason) == fields
    assert found.published == "1.80x (fp32 over fp64)"


def test_each_side_runs_the_algorithm_that_the_paper_ran_there() -> None:
    found = claims_of([*sparse_coding_on_a_cpu(), *every_case(0.01, **GPU)])["sparse-coding-speedup", ""]
    # The fastest program of all on the CPU is not the paper's.
    assert (found.speedup_low or 0) > 40


def test_a_total_is_the_cpus_seconds_over_the_gpus_and_theirs_is_over_the_faster_of_their_cpus() -> None:
    first, *others = PAPER.experiments["dbn"].cases
    fast = [record for case in (first, *others) for record in noisy(0.16 if case is first else 0.02, case=case, **GPU)]
    cpu = every_case(1.0, **ALL)
    found = claims_of([*cpu, *fast])["network", ""]
    assert found.speedup == pytest.approx(50 * (1 + len(others)) / (8 + len(others)), rel=1e-3)
    assert found.published_low == pytest.approx(313251 / 4668)
    assert found.published == "~67.1x"
    few = [record for record in (*cpu, *fast) if record.results[0].number <= 2]
    found = claims_of(few)["network", ""]
    assert (found.verdict, found.reason) == ("not settled", "total: 2 clean rounds; an interval needs 3")


SPEEDUP = {"claim": "rbm-speedup", "published": "12.9x to 72.6x", "here": "12.8x to 72.5x"}


def summary(records: Records, *claims: dict[str, Any]) -> tuple[str, str]:
    return count_results("box", PAPER, frames_of(records)[0], claims_frame(*claims))


def test_claims_are_counted_by_their_verdict_and_cells_by_their_interval() -> None:
    wide = seven([0.1, 0.2, 0.1, 0.2, 0.15, 0.12, 0.3], **ALL)
    claims = [
        SPEEDUP,
        SPEEDUP | {"claim": "patches-speedup", "verdict": "larger"},
        SPEEDUP | {"claim": "rbm-growth", "verdict": "larger"},
        # Single cases, other machines and other papers are not counted.
        *(SPEEDUP | other for other in ({"case": "576x1024"}, {"machine": "hut"}, {"paper": "other"})),
    ]
    assert summary([*seven(0.1), *wide], *claims) == (
        "Claims: 1 reproduced, 2 larger.",
        "1 of 2 cells (a case on one row) are known to ±10 % or better; 7 rounds each.",
    )


def test_a_machine_that_measured_nothing_says_so() -> None:
    disturbed = seven(0.1, run_delay_seconds=1.0)
    assert summary(disturbed, SPEEDUP) == ("Nothing of this paper has been measured on this machine yet.", "")


LEE = load_papers(["lee2010"])
LEE_TABLES = LEE["lee2010"].experiments
GPU_FP64 = GPU | {"profile": "gpu-fp64", "precision": "fp64"}
CPU_FP64 = ALL | {"profile": "torch-all-fp64", "precision": "fp64"}


def like_lee(times: float = 1.0, *, without: str = "", **of: float) -> Records:
    """A machine whose GPU is so many times as fast as Lee et al.'s was, over the CPU; in some tables another number."""
    records: Records = []
    for name, table in LEE_TABLES.items():
        (case,), cpus = table.cases, LEE["lee2010"].cpu_rows
        gpu = "gpu-fp64" if table.precision else "gpu"
        printed = LEE["lee2010"].speedup(name, case.name, gpu, cpus) or 0.0
        records += noisy(1.0, case=case, **(CPU_FP64 if table.precision else ALL))
        if name != without:
            seconds = 1 / (printed * of.get(name, times))
            records += noisy(seconds, case=case, **(GPU_FP64 if table.precision else GPU))
    return records


@pytest.mark.parametrize(
    ("records", "verdict", "here", "reason"),
    [
        (like_lee(), "reproduced", "2.39x", "a difference of 0.7 % would show"),
        # One of seven 2^7 times as large doubles the mean, as all of them twice as large do.
        (like_lee(sgemm=2.0**7), "larger", "4.77x", ""),
        (like_lee(2.0), "larger", "4.77x", ""),
        (like_lee(0.5), "smaller", "1.19x", ""),
        # What is larger here and smaller there is no trend: it is judged as one.
        (like_lee(sgemm=4.0, sort=0.25), "reproduced", "2.39x", "a difference of 0.7 % would show"),
        (like_lee(without="sort"), "not testable here", "", "Sort: no CUDA device"),
        (like_lee(without="spmv"), "not settled", "", f"{LEE_TABLES['spmv'].title}: not measured yet"),
    ],
)  # fmt: skip
def test_a_mean_over_tables_is_judged_as_one_number_and_needs_all_of_them(
    records: Records, verdict: str, here: str, reason: str
) -> None:
    found = claims_of(records, LEE)
    mean = found["average", ""]
    assert (mean.verdict, mean.here.partition(" ")[0], mean.published, mean.reason) == (verdict, here, "2.39x", reason)
    assert [case for name, case in found if name == "average"] == [""]
    assert (mean.profile, mean.base_profile) in [("gpu or gpu-fp64", "torch-all or torch-all-fp64"), ("", "")]


def test_an_open_mean_asks_for_rounds_of_all_of_its_cells() -> None:
    made = frames_of([one for one in like_lee() if one.results[0].number <= 2], LEE)
    ((_, asked),) = [one for one in open_claims(made.cells, made.samples, LEE) if len(one[1]) > 2]
    assert {(key.experiment, key.profile) for key in asked} == {
        (name, f"{profile}{'-fp64' * bool(table.precision)}")
        for name, table in LEE_TABLES.items()
        for profile in ("gpu", "torch-all")
    }
