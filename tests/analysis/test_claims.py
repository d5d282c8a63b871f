"""A paper's claims, held against machines whose times are known: which rows they are held against, what is said where a
row is missing, how often a true claim is refused, and the paragraph about a machine."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from respeed.analysis.cells import ROUNDS_OF
from respeed.analysis.claims import fold_claims, make_claims, summarize
from respeed.analysis.columns import rows_of
from respeed.analysis.totals import make_totals
from respeed.inputs.papers import load_papers
from respeed.model.paper import Claim, Printed
from respeed.text import format_duration
from tests.derived import (
    ALL,
    BF16,
    GPU,
    GPU_BF16,
    PAPER,
    MakeRecord,
    claims_frame,
    claims_of,
    every_case,
    frames_of,
    noisy,
    of_case,
    seven,
    sparse_coding_on_a_cpu,
    their_total,
)

CPUS = ("single-cpu", "multi-cpu")
COLUMNS = ("576x1024", "1024x4096", "2304x16000", "4096x11008")
PRINTED = (12.8756, 16.2337, 68.0131, 72.6425)
NOISE = (0.98, 0.99, 1.0, 1.0, 1.01, 1.02)

BOTH = ALL | {"threads": 2}
ONE = {"profile": "torch-1", "architecture": "single-cpu"}

Records = Callable[[MakeRecord], list[dict[str, Any]]]


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


PRINTED_BY_CORES = (563 / 497, 3638 / 2987, 172803 / 93586, 223741 / 125381)
SECOND_CORE = {"row": "multi-cpu", "over": ("single-cpu",), "threads": 2}
# The paper's GPU needs 38.6 s for the first column, 1726 s for the last; its dual core 497 s and 125381 s.
NEAR_THEIR_GPU = [time / (1_000_000 / 192) for time in (38.6 * 2, 184 * 2, 1376, 1726 / 2)]
DISTURBED = {"run_delay": 1.0}


def rows(*measured: tuple[Iterable[float], dict[str, Any]], most: int = 6) -> Records:
    """Of each row so many seconds a step in the columns, the first so many rounds."""

    def make(make_record: MakeRecord) -> list[dict[str, Any]]:
        found = [record for seconds, row in measured for record in measure(make_record, seconds, **row)]
        return [record for record in found if record["id"]["index"] <= most]

    return make


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
          "base_profile": "torch-all", "published": "12.9x to 72.6x", "instead": "",
          "published_low": pytest.approx(12.8756, rel=1e-4), "published_high": pytest.approx(72.6425, rel=1e-4)}),
        ("each", {}, like_the_paper(2, 1, 1, 1),
         {"verdict": "larger", "cases": "larger reproduced reproduced reproduced"}),
        ("each", {}, like_the_paper(2, 2, 0.5, 0.5),
         {"verdict": "another shape", "cases": "larger larger smaller smaller"}),
        # Five rounds beside five give an interval of 97 %, but none of the 99 % that each of four cases needs.
        ("each", {}, like_the_paper(1, 1, 1, 1, most=5), {"verdict": "not settled", "speedup_low": None}),
        # Larger at the first column, where the claim says nothing, and as large at the last.
        ("largest", {}, like_the_paper(5, 1, 1, 1), {"verdict": "reproduced", "published": "72.6x"}),
        ("largest", {}, like_the_paper(1, 1, 1, 0.5), {"verdict": "smaller"}),
        ("growth", {}, like_the_paper(2, 2, 2, 2), {"verdict": "reproduced"}),
        ("growth", {}, like_the_paper(5, 4, 0.1, 0.1), {"verdict": "another shape"}),
        # Of several rows in single precision the fastest.
        ("each", {},
         rows(CPU, ([1 / p for p in PRINTED], GPU), ([0.5] * 4, GPU | {"profile": "gpu-old"}), ([1e-4] * 4, GPU_BF16),
              ([2.0] * 4, ONE)),
         {"verdict": "reproduced", "profile": "gpu", "base_profile": "torch-all"}),
        # A case that could not be measured is named; one that was disturbed leaves the claim open.
        ("each", {}, rows(CPU, THREE),
         {"verdict": "reproduced", "cases": "reproduced reproduced reproduced not testable here",
          "reason": "a difference of 6 % would show; 4096x11008: no CUDA device"}),
        ("largest", {}, rows(CPU, THREE), {"verdict": "not settled", "reason": "4096x11008: no CUDA device"}),
        ("each", {}, rows(CPU, ([0.01] * 4, GPU | DISTURBED)),
         {"verdict": "not settled", "cases": "not settled not settled not settled not settled"}),
        ("growth", {}, rows(CPU, ([0.01], GPU)),
         {"verdict": "not settled",
          "reason": "only 576x1024 was measured; growth needs two cases; 1024x4096: no CUDA device; "
          "2304x16000: no CUDA device; 4096x11008: no CUDA device"}),
        # What a second core brings is asked of rows of two threads and of one package.
        ("each", SECOND_CORE,
         rows(([1.0] * 4, ONE), ([1 / p for p in PRINTED_BY_CORES], BOTH),
              ([0.9] * 4, {"profile": "openblas-1", "of": "OpenBLAS"}),
              ([0.8] * 4, ONE | {"profile": "torch-odd", "threads": 2})),
         {"verdict": "reproduced", "base_profile": "torch-1", "published": "1.13x to 1.85x"}),
        ("each", SECOND_CORE, rows(([1.0] * 4, ONE), ([0.25] * 4, BOTH | {"threads": 4})),
         {"verdict": "not testable here", "instead": "4 threads are 4.0 times as fast as one.",
          "reason": "no row of 2 threads was measured, only of 4; add a hardware profile with `threads: 2`"}),
        ("each", SECOND_CORE, rows(CPU), {"verdict": "not settled", "reason": "not measured yet"}),
        # What is said without the row that the claim is about.
        ("each", {}, rows((NEAR_THEIR_GPU, BOTH)),
         {"verdict": "not testable here", "reason": "no CUDA device", "here": "",
          "instead": "The CPU here is 0.50 to 2.0 times as fast as the paper's GPU (GeForce GTX 280) "
          "and 6.4 to 145 times as fast as its CPU (two cores at 3.16 GHz)."}),
        ("largest", {}, rows((NEAR_THEIR_GPU, BOTH)),
         {"instead": "The CPU here is 0.50 to 2.0 times as fast as the paper's GPU (GeForce GTX 280) "
          "and 6.4 to 145 times as fast as its CPU (two cores at 3.16 GHz)."}),
        # Of rows on the CPU in fp32 alone.
        ("growth", {}, rows(([0.1, 0.1, 0.1, 0.05], BOTH), ([1e-4], GPU), ([0.01] * 4, BF16)),
         {"instead": "Over these cases the CPU here does 10 to 20 GFLOP/s, the paper's CPU 0.042 to 10."}),
        ("growth", {}, rows(([0.1], BOTH)), {"instead": ""}),
        *((test, {}, rows(([0.1] * 4, BOTH | DISTURBED)), {"instead": ""}) for test in ("each", "largest", "growth")),
        ("each", SECOND_CORE, rows(([0.1] * 4, BOTH | DISTURBED)), {"instead": ""}),
    ],
)  # fmt: skip
def test_a_claim_is_judged_by_the_rows_that_it_is_about(
    make_record: MakeRecord, test: str, facts: dict[str, Any], records: Records, fields: dict[str, Any]
) -> None:
    found, *cases = judge(records(make_record), claim(test, **facts))
    known = {name: getattr(found, name) for name in fields if name != "cases"}
    assert known | ({"cases": " ".join(one.verdict for one in cases)} if "cases" in fields else {}) == fields


BOTH_PRECISIONS = [{"profile": "torch-1"}, {"profile": "torch-1-fp64", "precision": "fp64"}]


@pytest.mark.parametrize(
    ("measured", "fields"),
    [
        (BOTH_PRECISIONS, ("reproduced", "1.80x ±1 % (fp32 over fp64)", "a difference of 2 % would show")),
        (BOTH_PRECISIONS[:1],
         ("not testable here", "", "no row in fp64 was measured; name a hardware profile in it")),
    ],
    ids=["both measured", "fp32 alone"],
)  # fmt: skip
def test_a_claim_about_precision_alone_never_compares_a_row_with_itself(
    make_record: MakeRecord, measured: list[dict[str, Any]], fields: tuple[str, str, str]
) -> None:
    papers = load_papers(["bergstra2010"])
    records = [one for facts in measured for one in noisy(make_record, 1.0 if len(facts) == 1 else 1.804, **facts)]
    (case,) = papers["bergstra2010"].experiments["mlp"].cases
    of_case(records, papers["bergstra2010"], "mlp", case.name)
    made = frames_of(records, papers)
    totals = make_totals(made.cells, made.samples, papers, smoke=False)
    claims = {one.claim: one for one in rows_of(make_claims(made.cells, made.samples, papers, totals))}
    found = claims["precision-alone"]
    assert (found.verdict, found.here, found.reason) == fields
    assert found.published == "1.80x (fp32 over fp64)"


def test_published_numbers_of_cases_stand_as_they_were_printed_and_agree_with_the_printed_seconds(
    make_record: MakeRecord,
) -> None:
    found, *cases = judge(like_the_paper(1, 1, 1, 1)(make_record), claim("each"))
    assert [one.published for one in cases] == ["12.9x", "16.2x", "68.0x", "72.6x"]
    assert found.here.startswith("12.9x to 72.6x ±")
    assert len(PAPER.speedups) == 9
    for (experiment, column, row), printed in PAPER.speedups.items():
        cpus = (PAPER.published.get((experiment, column, cpu)) for cpu in PAPER.cpu_rows)
        fastest = min(one.value for one in cpus if one)
        assert f"{fastest / PAPER.published[experiment, column, row].value:.1f}" == printed.text


def test_each_side_runs_the_algorithm_that_the_paper_ran_there(make_record: MakeRecord) -> None:
    records = [*sparse_coding_on_a_cpu(make_record), *every_case(make_record, 0.01, **GPU)]
    found = claims_of(records)["sparse-coding-speedup"]
    # The fastest program of all on the CPU is not the paper's.
    assert (found.speedup_low or 0) > 40


def test_a_total_is_the_cpus_seconds_over_the_gpus_and_theirs_is_over_the_faster_of_their_cpus(
    make_record: MakeRecord,
) -> None:
    fast, network = every_case(make_record, 0.02, **GPU), PAPER.experiments["dbn"].cases
    for record in fast:
        (case,) = record["cases"]
        if case["case"] == network[0].name:
            case["blocks"][0]["sample_seconds"] = [8 * time for time in case["blocks"][0]["sample_seconds"]]
    found = claims_of([*every_case(make_record, 1.0, **ALL), *fast])["network"]
    assert found.speedup == pytest.approx(50 * len(network) / (len(network) + 7), rel=1e-3)
    assert found.published_low == pytest.approx(their_total(make_record, "multi-cpu") / their_total(make_record, "gpu"))


def test_too_few_rounds_of_a_total_are_said_without_the_name_of_a_case(make_record: MakeRecord) -> None:
    records = [*every_case(make_record, 1.0, **ALL), *every_case(make_record, 0.02, **GPU)]
    found = claims_of([one for one in records if one["id"]["index"] <= 3])["network"]
    assert (found.verdict, found.reason) == ("not settled", "3 clean rounds; an interval needs 6")


def test_beside_each_row_of_the_paper_stands_the_algorithm_that_it_ran(make_record: MakeRecord) -> None:
    found = claims_of(sparse_coding_on_a_cpu(make_record))
    assert "each time with the algorithm that ran there" in found["sparse-coding-speedup"].instead
    # The better algorithm, which the paper has not, is 400 times as fast and would be far faster.
    # Five batches: five steps of 0.4 s, where the paper's GPU takes 37.0, 41.5 and 55.8 s.
    assert "is 19 to 28 times as fast as the paper's GPU" in found["sparse-coding-speedup"].instead
    # Five steps of 0.5 s, where its CPU takes 191 to 854 s.
    assert "and 76 to 342 times as fast as its CPU" in found["sparse-coding-speedup"].instead


def test_without_a_count_of_operations_growth_is_said_in_times(make_record: MakeRecord) -> None:
    records = sparse_coding_on_a_cpu(make_record)
    for record in records:
        ran = record["cases"][0]
        ran["flops"] = None
        if ran["case"] == "10-percent":
            ran["blocks"][0]["sample_seconds"] = [3 * time for time in ran["blocks"][0]["sample_seconds"]]
    assert claims_of(records)["sparse-coding-growth"].instead == (
        "With the algorithm of the paper's CPU, 10% takes 3.00 times as long as 3% here; on the paper's CPU 4.47 times "
        "as long."
    )


def test_of_the_network_the_fastest_row_stands_beside_the_faster_of_the_papers_cpus(make_record: MakeRecord) -> None:
    records = [*every_case(make_record, 0.1, **ALL), *every_case(make_record, 0.5, **ONE)]
    instead = claims_of(records)["network"].instead
    days = their_total(make_record, "multi-cpu") / their_total(make_record, "gpu")
    assert days > 1
    assert f"and its CPU in {format_duration(days * 86400)}, at the rates printed, takes" in instead
    assert "here (label of torch-all): " in instead
    assert instead.endswith(" times as fast as that GPU.")


SPEEDUP = {"claim": "rbm-speedup", "published": "12.9x to 72.6x", "here": "12.8x to 72.5x"}
UNTESTED = SPEEDUP | {
    "verdict": "not testable here", "reason": "no CUDA device", "instead": "It says this.", "here": "",
}  # fmt: skip


def summary(records: list[dict[str, Any]], *claims: dict[str, Any]) -> tuple[str, str]:
    return summarize("box", PAPER, frames_of(records)[0], claims_frame(*claims))


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        ([SPEEDUP, SPEEDUP | {"claim": "patches-speedup", "verdict": "larger", "published": "9.4x", "here": "30.0x"},
          SPEEDUP | {"claim": "rbm-largest", "verdict": "larger"}],
         "Of 3 claims, 1 is reproduced and 2 come out larger than claimed. "
         "Densely connected RBM: 12.8x to 72.5x here, 12.9x to 72.6x published. "
         "Overlapping patches: 30.0x here, 9.4x published."),
        # Single cases, other machines and other papers are not counted.
        ([SPEEDUP, SPEEDUP | {"case": "576x1024"}, SPEEDUP | {"machine": "hut"}, SPEEDUP | {"paper": "other"}],
         "Of 1 claim, 1 is reproduced. Densely connected RBM: 12.8x to 72.5x here, 12.9x to 72.6x published."),
        # Why claims cannot be tested is said once, with what the first of a table says instead.
        ([UNTESTED, UNTESTED | {"claim": "patches-speedup", "instead": "Not this."}],
         "Of 2 claims, 2 cannot be tested here (no CUDA device). Densely connected RBM: it says this."),
        ([UNTESTED, UNTESTED | {"claim": "network", "instead": "And this.", "reason": "the device ran out of memory"}],
         "Of 2 claims, 2 cannot be tested here (no CUDA device; others for other reasons). "
         "Densely connected RBM: it says this. Deep belief network of 100 million weights: and this."),
        ([], ""),
    ],
)  # fmt: skip
def test_claims_are_counted_by_their_verdict_and_what_came_out_follows(
    make_record: MakeRecord, claims: list[dict[str, Any]], text: str
) -> None:
    came_out, firm = summary(seven(make_record, 0.1), *claims)
    assert came_out == text
    assert firm.startswith("Of 1 cells (a case on one row) all are known to ±10 % or better, from 7 rounds")


@pytest.mark.parametrize(
    ("verdicts", "rows"), [(("reproduced",) * 4, 1), (("larger", "larger", "smaller", "larger"), 2)]
)
def test_a_range_and_its_largest_are_one_row_where_every_machine_has_one_verdict_for_both(
    verdicts: tuple[str, ...], rows: int
) -> None:
    places = [(name, machine) for name in ("rbm-speedup", "rbm-largest") for machine in ("box", "hut")]
    frame = claims_frame(
        *(SPEEDUP | {"claim": name, "machine": machine, "says": f"{name}.", "verdict": verdict}
          for (name, machine), verdict in zip(places, verdicts, strict=True))
    )  # fmt: skip
    found = fold_claims(frame, {"raina2009": PAPER})
    assert len(found) == 2 * rows
    assert any("up to 72.6" in says for says in found["says"]) == (rows == 1)


def test_two_speedups_that_are_printed_as_one_number_are_no_range(make_record: MakeRecord) -> None:
    alike = {place: Printed(10.0, "10") for place in PAPER.speedups if place[1] != "576x1024"}
    times = {(*place[:2], row): Printed(value, "") for place in PAPER.speedups for row, value in
             (("gpu", 1.0), *((cpu, 10.001 if place[1] == "576x1024" else 10.0) for cpu in CPUS))}  # fmt: skip
    paper = dataclasses.replace(PAPER, published=times, speedups=alike, claims=(claim("each"),))
    made = frames_of(like_the_paper(1, 1, 1, 1)(make_record), {"raina2009": paper})
    totals = make_totals(made.cells, made.samples, {"raina2009": paper}, smoke=False)
    assert make_claims(made.cells, made.samples, {"raina2009": paper}, totals)["published"].iat[0] in ("10x", "10.0x")


def test_a_machine_that_measured_nothing_says_so(make_record: MakeRecord) -> None:
    disturbed = seven(make_record, 0.1, run_delay=1.0)
    assert summary(disturbed, SPEEDUP) == ("Nothing of this paper has been measured on this machine yet.", "")


def test_a_wide_cell_has_an_interval_and_is_not_settled(make_record: MakeRecord) -> None:
    wide = seven(make_record, [0.1, 0.2, 0.1, 0.2, 0.15, 0.12, 0.3], **ALL)
    words = "Of 2 cells (a case on one row) 1 are known to ±10 % or better and 1 have a wider interval"
    assert words in summary([*seven(make_record, 0.1), *wide])[1]


def test_a_case_that_stands_in_two_tables_is_one_cell(make_record: MakeRecord) -> None:
    records = list(every_case(make_record, 0.1, **GPU))
    cells = frames_of(records)[0]
    measured = cells[cells["seconds"].notna()].drop_duplicates(ROUNDS_OF)
    assert summary(records)[1].startswith(f"Of {len(measured)} cells ")


def test_a_failed_cell_is_told_with_its_reason(make_record: MakeRecord) -> None:
    failed = make_record([0.1], case="1024x4096", status="failed", reason="a wrong sum")
    failed["cases"][0]["parameters"] |= {"visible": 1024, "hidden": 4096}
    assert summary([*seven(make_record, 0.1), failed])[1].endswith("1 failed: a wrong sum.")
