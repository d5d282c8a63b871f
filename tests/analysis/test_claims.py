"""A paper's claims, held against machines whose times are known: which rows they are held against, what is said where a
row is missing, and the paragraph about a machine."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from respeed.analysis.claims import say_precision
from respeed.inputs.papers import load_papers
from respeed.model import Claim
from tests.derived import ALL, BF16, GPU, PAPER, Records, claims_of, every_case, frames_of, noisy, seven

RATES = {"ceilings": {"flops_per_second": 1e13, "bytes_per_second": 1e10}}
COLUMNS = ("576x1024", "1024x4096", "2304x16000", "4096x11008")
PRINTED = (12.8756, 16.2337, 68.0131, 72.6425)
PRINTED_BY_CORES = (563 / 497, 3638 / 2987, 172803 / 93586, 223741 / 125381)
BOTH = ALL | {"threads": 2}
ONE = {"profile": "torch-1", "architecture": "single-cpu"}
GPU_OVER_CPU = {"row": "gpu", "over": ("single-cpu", "multi-cpu")}
SECOND_CORE = {"row": "multi-cpu", "over": ("single-cpu",), "threads": 2}


def rows(*measured: tuple[Iterable[float], dict[str, Any]]) -> Records:
    """Of each row seven rounds, with so many hundredths of a second a step in each of the paper's four columns.

    No rate of the rows is known.
    """
    return [
        record
        for seconds, row in measured
        for case, time in zip(COLUMNS, seconds, strict=False)
        for record in noisy(time / 100, case=case, **{"package": "PyTorch", "ceilings": {}} | row)
    ]


CPU = ([1.0] * 4, BOTH)


def like_the_paper(*factors: float) -> Records:
    """A machine whose GPU is so many times as fast as the paper's was, over the CPU, in each column."""
    return rows(CPU, ([1 / (printed * factor) for printed, factor in zip(PRINTED, factors, strict=False)], GPU))


@pytest.mark.parametrize(
    ("facts", "records", "fields"),
    [
        # Each case is judged, and all together.
        (GPU_OVER_CPU, like_the_paper(1, 1, 1, 1),
         {"verdict": "reproduced", "cases": "reproduced reproduced reproduced reproduced", "profile": "gpu",
          "base_profile": "torch-all", "published": "12.9x to 72.6x",
          "published_low": pytest.approx(12.8756, rel=1e-4), "published_high": pytest.approx(72.6425, rel=1e-4)}),
        (GPU_OVER_CPU, like_the_paper(2, 2, 1, 0.5),
         {"verdict": "trend not reproduced", "cases": "larger larger reproduced smaller"}),
        (GPU_OVER_CPU | {"test": "growth"}, like_the_paper(2, 2, 2, 2), {"verdict": "reproduced"}),
        (GPU_OVER_CPU | {"test": "growth"}, rows(CPU, ([1 / printed for printed in PRINTED], GPU | RATES)),
         {"verdict": "weakly reproduced", "doubt": "weak: PyTorch, GPU at 576x1024: 7.8 times the least it needs"}),
        # A base that is not fair: weak, on fewer cores than its row has, or slower than another row on one core.
        (GPU_OVER_CPU, rows(([1.0] * 4, BOTH | RATES), ([0.01] * 4, GPU)),
         {"verdict": "not fair here", "reason": "else larger",
          "doubt": "base not fair: label of torch-all at 576x1024: 100 times the least it needs"}),
        (GPU_OVER_CPU, rows(([1.0] * 4, BOTH | {"threads_ran": 1}), ([1 / printed for printed in PRINTED], GPU)),
         {"verdict": "not fair here", "reason": "else reproduced",
          "doubt": "base not fair: label of torch-all ran on 1 of 2 cores",
          "cases": "not fair here not fair here not fair here not fair here"}),
        (GPU_OVER_CPU | {"over": ("single-cpu",)}, rows(CPU, ([2.0] * 4, ONE), ([0.01] * 4, GPU)),
         {"verdict": "not fair here",
          "doubt": "base not fair: label of torch-all is 2.00x as fast as PyTorch, one core"}),
        # A faster row in another precision is no rival of a base.
        (GPU_OVER_CPU, rows(CPU, ([0.5] * 4, BF16), ([1 / printed for printed in PRINTED], GPU)),
         {"verdict": "reproduced", "doubt": ""}),
        # A CPU that is slower than the paper's is not unfair.
        (GPU_OVER_CPU, rows(([50.0] * 4, BOTH), ([50 / printed for printed in PRINTED], GPU)),
         {"verdict": "reproduced", "doubt": ""}),
        # Cores are compared with cores.
        (SECOND_CORE, rows(([1.0] * 4, ONE), ([1 / p for p in PRINTED_BY_CORES], BOTH)),
         {"verdict": "reproduced", "doubt": ""}),
        # Of several rows in single precision the fastest.
        (GPU_OVER_CPU,
         [*like_the_paper(1, 1, 1, 1), *rows(
             ([0.5] * 4, GPU | {"profile": "gpu-old"}), ([2.0] * 4, ONE),
             ([1e-4] * 4, GPU | {"profile": "gpu-bf16", "precision": "bf16"}))],
         {"verdict": "reproduced", "profile": "gpu", "base_profile": "torch-all"}),
        # A case that could not be measured is named; one that was disturbed leaves the claim open.
        (GPU_OVER_CPU, like_the_paper(1, 1, 1),
         {"verdict": "reproduced", "cases": "reproduced reproduced reproduced not testable here",
          "reason": "a difference of 2 % would show; 4096x11008: no CUDA device"}),
        (GPU_OVER_CPU, rows(CPU, ([0.01] * 4, GPU | {"run_delay_seconds": 1.0})),
         {"verdict": "not settled", "cases": "not settled not settled not settled not settled"}),
        (GPU_OVER_CPU, rows(CPU), {"verdict": "not testable here", "reason": "no CUDA device", "here": ""}),
        # What a second core brings is asked of rows of two threads and of one package.
        (SECOND_CORE,
         rows(([1.0] * 4, ONE), ([1 / p for p in PRINTED_BY_CORES], BOTH),
              ([0.9] * 4, {"profile": "openblas-1", "package": "OpenBLAS"}),
              ([0.8] * 4, ONE | {"profile": "torch-odd", "threads": 2})),
         {"verdict": "reproduced", "base_profile": "torch-1", "published": "1.13x to 1.85x"}),
        (SECOND_CORE, rows(([1.0] * 4, ONE), ([0.25] * 4, BOTH | {"threads": 4})),
         {"verdict": "not testable here",
          "reason": "no row of 2 threads was measured; add a hardware profile with threads: 2"}),
        (SECOND_CORE, rows(CPU), {"verdict": "not settled", "reason": "not measured yet"}),
    ],
)  # fmt: skip
def test_a_claim_is_judged_by_its_own_rows(facts: dict[str, Any], records: Records, fields: dict[str, Any]) -> None:
    """A claim is judged by the rows that it is about."""
    claim = Claim("it", "It is faster.", **{"test": "each", "experiment": "rbm"} | facts)
    papers = {"raina2009": dataclasses.replace(PAPER, claims={"it": claim})}
    found, *cases = claims_of(records, papers).values()
    known = {name: getattr(found, name) for name in fields if name != "cases"}
    assert known | ({"cases": " ".join(one.verdict for one in cases)} if "cases" in fields else {}) == fields


def test_a_total_claim_compares_sums_of_seconds() -> None:
    """A total is the CPU's seconds over the GPU's and theirs is over the faster of their CPUs."""
    first, *others = PAPER.experiments["dbn"].cases
    gpu = [record for case in (first, *others) for record in noisy(0.16 if case is first else 0.02, case=case, **GPU)]
    # A row that lacks cases of a total is not the fastest of it.
    one_case = noisy(0.001, case=others[0], **GPU | {"profile": "gpu-tf32"})
    found = claims_of([*every_case(1.0, **ALL), *gpu, *one_case])["network", ""]
    assert found.speedup == pytest.approx(50 * (1 + len(others)) / (8 + len(others)), rel=1e-3)
    assert found.published_low == pytest.approx(313251 / 4668)
    assert (found.profile, found.published) == ("gpu", "~67.1x")


def test_cells_are_counted_by_their_interval() -> None:
    wide = seven([0.1, 0.2, 0.1, 0.2, 0.15, 0.12, 0.3], **ALL)
    for records, rounds in (
        (wide, "; 7 rounds"), (wide[:6], "; 6 to 7 rounds"), (wide[:2], ", 1 have no interval; 2 to 7 rounds"),
    ):  # fmt: skip
        cells = frames_of([*seven(0.1), *records]).cells
        text = f"Of 2 cells, 1 are known to ±10 %{rounds} each."
        assert say_precision(PAPER, cells) == text
    assert not say_precision(PAPER, frames_of(seven(0.1, run_delay_seconds=1.0)).cells)


LEE = load_papers(["lee2010"])
LEE_TABLES = LEE["lee2010"].experiments


def like_lee(*, without: str = "", **times: float) -> Records:
    """A machine whose GPU is as fast as Lee et al.'s was, over the CPU; in some tables so many times as fast."""
    records: Records = []
    for name, table in LEE_TABLES.items():
        (case,), wide = table.cases, "-fp64" * bool(table.precision)
        row, base = (
            one | {"profile": f"{one['profile']}{wide}", "precision": table.precision or "fp32"} for one in (GPU, ALL)
        )
        printed = LEE["lee2010"].experiments[name].speedup(case.name, row["profile"], LEE["lee2010"].cpu_rows) or 0.0
        records += noisy(1.0, case=case, ceilings={}, **base)
        if name != without:
            records += noisy(1 / (printed * times.get(name, 1.0)), case=case, **row)
    return records


@pytest.mark.parametrize(
    ("records", "verdict", "here", "reason"),
    [
        (like_lee(), "reproduced", "2.39x", "a difference of 0.7 % would show"),
        # One of seven 2^7 times as large doubles the mean.
        (like_lee(sgemm=2.0**7), "larger", "4.77x", ""),
        (like_lee(without="sort"), "not testable here", "", "Sort: no CUDA device"),
        (like_lee(without="spmv"), "not settled", "", f"{LEE_TABLES['spmv'].title}: not measured yet"),
    ],
)  # fmt: skip
def test_a_mean_over_tables_needs_all_of_them(records: Records, verdict: str, here: str, reason: str) -> None:
    """A mean over tables is judged as one number and needs all of them."""
    mean = claims_of(records, LEE)["average", ""]
    assert (mean.verdict, mean.here.partition(" ")[0], mean.published, mean.reason) == (verdict, here, "2.39x", reason)
    assert (mean.profile, mean.base_profile) in [("gpu or gpu-fp64", "torch-all or torch-all-fp64"), ("", "")]
