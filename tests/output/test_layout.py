"""What stands in the tables that people read, and the finding, which is made by rules."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from respeed.analysis.columns import make_frame
from respeed.analysis.tables import Factors
from respeed.analysis.why import make_why
from respeed.output.claims import lay_out_claims
from respeed.output.finding import explain_largest, find, lay_out_answers
from respeed.output.published import lay_out_published
from respeed.output.table import to_latex, to_markdown
from tests.derived import (
    ALL,
    GPU,
    PAPER,
    PAPERS,
    Records,
    case_of,
    claims_frame,
    frames_of,
    noisy,
    seven,
    shown_of,
    table_of,
    texts_of,
)
from tests.known import known_results
from tests.made import LATER

UNTESTED = {"claim": "rbm-speedup", "verdict": "not testable here", "reason": "no CUDA device", "here": ""}


def notes_of(records: Records, experiment: str = "rbm", **facts: Any) -> list[str]:
    table = table_of(records, experiment, **facts)
    return [*table.marks, *table.notes]


def why_of(records: Records) -> pd.DataFrame:
    made = frames_of(records)
    return make_frame(make_why(made.cells, made.samples, PAPERS), Factors)


def found(records: Records) -> str:
    return find(shown_of(records, why=why_of(records)), PAPER, "box")


def test_what_is_missing_is_said_once() -> None:
    """What is missing is said once with its reason and machine."""
    disturbed = seven(0.1, run_delay_seconds=0.1)
    texts = notes_of([*disturbed, *seven(0.1, **ALL)])
    assert any(text.startswith("Not measured (contaminated: no clean block of 7") for text in texts)
    assert "Not measured (no CUDA device): PyTorch, GPU." in texts
    records = [one for name in ("box", "hut") for one in seven(0.1, **GPU, machine=name)]
    texts = notes_of(records, machines=("box", "hut"))
    assert any(text.startswith("Not measured yet on hut: ") for text in texts)
    assert any("no CPU row in fp32 was measured to compare with" in text for text in texts)


def test_a_time_off_its_bound_has_a_note() -> None:
    """Above it, below it, and not near it; with the reason, where records tell one."""
    least = "the least that FLOP and bytes need: PyTorch, one core at 576x1024"
    for seconds, said in (
        (0.9, f"More than 3 times {least} (9.0x); no record tells why."),
        (0.09, f"Less than {least} (0.90x); memory: it reads more than it writes"),
        (0.12, ""),
    ):
        notes = [note for note in notes_of(noisy(seconds, traffic_bytes=1e9)) if "the least that FLOP" in note]
        assert [note[: len(said)] for note in notes] == [said] * bool(said)


def test_times_that_neighbours_made_much_longer_are_shown_as_measured_too() -> None:
    """The three that were slowed most, and how many others."""
    shown = known_results("desk")
    cells = shown.frames["cells"]
    is_rbm = (cells["experiment"] == "rbm") & (cells["machine"] == "desk") & cells["seconds"].notna()
    slowed = cells.assign(seconds_measured=(1.3 * cells["seconds"]).where(is_rbm, cells["seconds"]))
    for frame, others in ((cells, ""), (slowed, f"{is_rbm.sum() - 3} more (cells.csv)")):
        results = replace(shown, frames=shown.frames | {"cells": frame})
        notes = lay_out_published(results, PAPER, PAPER.experiments["rbm"]).notes
        (note,) = [note for note in notes if note.startswith("As measured beside neighbours")]
        assert others in note
    assert note.count("(") == 4
    notes = lay_out_published(shown, PAPER, PAPER.experiments["rbm"]).notes
    assert any("before the correction: OpenBLAS, all cores at 2304x16000 (3,760); " in note for note in notes)


def test_a_cpu_slower_than_the_papers_is_said_with_how_far() -> None:
    says = "The paper's CPU is faster than the CPU here: PyTorch, one core at 576x1024 (8.3"
    for seconds, is_said in ((0.9, True), (0.01, False)):
        notes = notes_of([*noisy(seconds), *noisy(0.001, **GPU)])
        assert any(note.startswith(says) for note in notes) == is_said


def test_a_speedup_off_the_ratio_says_why() -> None:
    """A speedup that is not the ratio of the seconds says why."""
    of_cpu = [*seven(0.1), *seven([0.2] * 3, started=LATER)]
    says = "Speedups compare means within sessions, seconds are means over all: their ratio is up to 19 % off."
    assert any(says == text for text in notes_of([*of_cpu, *seven(0.01, **GPU)]))
    assert not any(says[:30] in text for text in notes_of([*seven(0.1), *seven(0.01, **GPU)]))


def test_fp64_over_fp32_is_marked() -> None:
    wide = GPU | {"profile": "gpu-fp64", "precision": "fp64"}
    table = table_of([*noisy(0.1), *noisy(0.01, **GPU), *noisy(0.02, **wide)])
    assert any(label.endswith("fp64 over fp32)") for label in texts_of(table))


def test_a_tiny_table_has_columns_of_its_own() -> None:
    """A table of tiny sizes shows what was printed in columns of its own."""
    tiny = PAPER.at_tiny_sizes()
    table = table_of(seven(0.1, case="36x64", smoke=True), "patches", tiny)
    theirs = texts_of(table)["Speedup over fastest CPU (GPU)"]
    words = {*PAPER.experiments["patches"].column_words().values()}
    stand = [(text, name in words) for name, text in zip(table.columns.values(), theirs, strict=True)]
    assert [text for text, is_theirs in stand if is_theirs] == ["9.4x"] * 2 + ["10.1x"] * 2
    assert [text for text, is_theirs in stand if not is_theirs] == ["", ""]


def test_untestable_claims_are_one_line() -> None:
    """Claims that cannot be tested are one line and those of a machine that is not shown are left out."""
    claims = claims_frame(
        UNTESTED, UNTESTED | {"claim": "patches-speedup", "published": "9.4x"}, {"case": "576x1024", "here": ""}
    )
    table = lay_out_claims(shown_of(claims=claims), PAPER)
    assert not table.lines
    says = "Not tested here: Densely connected RBM (1.13x to 1.85x) and Overlapping patches (9.4x): no CUDA device."
    assert [*table.notes] == [f"{says} The same command on a machine with a GPU tests what needs one."]
    assert [*lay_out_claims(shown_of(seven(0.1, **GPU), claims=claims), PAPER).notes] == [says]
    assert "|" not in to_markdown(table)
    assert r"\begin" not in to_latex(table)


def test_a_claims_cases_stand_below_it() -> None:
    """A claim's cases stand below it and a number stands once."""
    of_case = {
        "case": "576x1024",
        "speedup": 2.0,
        "speedup_low": 1.8,
        "speedup_high": 2.2,
        "here": "2.00x (1.80 to 2.20)",
    }
    growth = {"claim": "rbm-growth", "says": "It grows."}
    claims = claims_frame({}, of_case, growth, of_case | growth, {"machine": "hut", "says": "Of another machine."})
    table = lay_out_claims(shown_of(claims=claims), PAPER)
    assert [*texts_of(table)] == ["A second core helps.", "576x1024", "It grows."]
    assert table.lines[1].values["here"].text == "2.00x (1.80 to 2.20)"


def test_a_cpus_finding_is_beside_the_papers_gpu() -> None:
    """The finding of a CPU is how fast it is beside the paper's GPU."""
    assert (
        found(seven(0.001))
        == "Densely connected RBM: one core of box with PyTorch is 7.4 times as fast as the paper's GPU"
    )
    slow = "Densely connected RBM: the paper's GPU is 13 times as fast as one core of box with PyTorch"
    assert found(seven(0.1)) == slow
    # Faster in one case, slower in another: neither is the faster one.
    other = seven(0.1, case="1024x4096")
    both = found([*seven(0.001), *other])
    assert both == "Densely connected RBM: one core of box with PyTorch is 0.35 to 7.4 times as fast as the paper's GPU"
    assert found([]) == ""


def test_the_finding_spans_its_intervals() -> None:
    """The finding spans its intervals and is about a number without one."""
    assert "is 7.4 to 7.5 times as fast" in found(noisy(0.001))
    assert "is about 7.4 times as fast" in found(seven([0.001] * 2))


def test_the_first_page_factors_the_largest_speedup() -> None:
    """Raina et al.: 72.6 = 622 / 50.6 x 42 % / 7 %, as 10 V H FLOP of a million examples took."""
    large = noisy(1.0, case=case_of("rbm", "4096x11008"), flops=10.0 * 192 * 4096 * 11008)
    assert explain_largest(shown_of(large, PAPERS, why=why_of(large)), PAPER) == (
        "Densely connected RBM 4096x11008, 72.6x: 12.3x is the hardware (622 over 50.6 GFLOP/s, by data sheets), "
        "5.91x the programs (42 % over 7 % of these peaks)."
    )
    assert explain_largest(shown_of([], PAPERS, why=why_of([])), PAPER) == ""


@pytest.mark.parametrize(
    ("seconds", "ours"),
    [
        (0.1, ["CPU here", "The paper's GPU over CPU here"]),
        (0.001, ["CPU here", "CPU here over the paper's GPU"]),
    ],
)
def test_the_answer_goes_from_low_to_high(seconds: float, ours: list[str]) -> None:
    """The answer has seconds and the faster over the slower from low to high."""
    records = noisy(seconds, case=case_of("rbm", "576x1024"))
    (table,) = lay_out_answers(shown_of(records, PAPERS, why=why_of(records)), PAPER)
    theirs = ["The paper's CPU", "The paper's GPU", "The paper's GPU over the paper's CPU"]
    assert [line.label for line in table.lines] == [*theirs, *ours]
    values = [line.values["576x1024"] for line in table.lines]
    assert [value.text for value in values[:3]] == ["497", "38.6", "12.9x"]
    low, high = map(float, values[4].interval.split(" to "))
    assert low < float(values[4].text.removesuffix("x")) < high
    assert not [*lay_out_answers(shown_of([], PAPERS, why=why_of([])), PAPER)]


def test_the_answer_has_a_cpu_papers_seconds() -> None:
    """The answer beside a paper of CPUs alone has the paper's seconds."""
    experiments = {}
    for name, table in PAPER.experiments.items():
        published = {place: one for place, one in table.published.items() if place[-1] in PAPER.cpu_rows}
        experiments[name] = replace(table, published=published)
    alone = {PAPER.name: replace(PAPER, experiments=experiments)}
    records = noisy(0.1, case=case_of("rbm", "576x1024"))
    made, _, _, samples = frames_of(records, alone)
    shown = shown_of(records, alone, why=make_frame(make_why(made, samples, alone), Factors))
    (table,) = lay_out_answers(shown, alone[PAPER.name])
    assert [line.label for line in table.lines] == ["The paper's CPU", "CPU here", "The paper's CPU over CPU here"]
