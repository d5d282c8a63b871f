"""What the report says of why: theirs beside ours, one row a comparison and factor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.inputs.papers import load_paper
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json
from respeed.report.why_facts import roofline_facts, why_facts
from respeed.tables.build import Tables, make_tables

MakeRecord = Callable[..., dict[str, Any]]
PAPER = load_paper("raina2009")
RBM = PAPER.experiments["rbm"]
PROFILES: dict[str, tuple[float, float, dict[str, str]]] = {
    "torch-all": (0.05, 3e11, {"architecture": "multi-cpu"}),
    "gpu": (0.002, 5e13, {"architecture": "gpu", "device": "cuda"}),
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tables_of(make_record: MakeRecord, *profiles: str) -> Tables:
    for name in profiles:
        seconds, peak, facts = PROFILES[name]
        for index in range(1, 8):
            record = make_record([seconds] * 2, index=index, profile=name, peak=peak, **facts)
            record["cases"][0]["traffic_bytes"] = 2e7
            write_json(round_path(RoundId("box", "raina2009", "rbm", name, index)), record)
    return make_tables(smoke=False)


def test_theirs_and_ours_stand_next_to_one_another_for_each_factor(make_record: MakeRecord) -> None:
    facts = why_facts(PAPER, RBM, "box", tables_of(make_record, "torch-all", "gpu"))
    assert facts is not None
    assert facts["header"] == ["", "", "576x1024", "1024x4096", "2304x16000", "4096x11008"]
    assert [row[:3] for row in facts["rows"]] == [
        ["Speedup", "GPU there over CPU there", "12.9x"],
        ["Speedup", "GPU here over CPU here", "25.0x ±0.1 %"],
        ["Speedup", "CPU here over CPU there", "1.91x ±0.1 %"],
        ["Speedup", "CPU here over GPU there", "0.148x ±0.1 %"],
        ["Speedup", "GPU here over GPU there", "3.71x ±0.1 %"],
        ["= hardware (ratio of the peaks)", "GPU there over CPU there", "12.3x"],
        ["= hardware (ratio of the peaks)", "GPU here over CPU here", "167x"],
        ["= hardware (ratio of the peaks)", "CPU here over CPU there", "5.93x"],
        ["= hardware (ratio of the peaks)", "CPU here over GPU there", "0.482x"],
        ["= hardware (ratio of the peaks)", "GPU here over GPU there", "80.4x"],
        ["times use (ratio of the shares of the peak)", "GPU there over CPU there", "1.05x"],
        ["times use (ratio of the shares of the peak)", "GPU here over CPU here", "0.150x"],
        ["times use (ratio of the shares of the peak)", "CPU here over CPU there", "0.322x"],
        ["times use (ratio of the shares of the peak)", "CPU here over GPU there", "0.307x"],
        ["times use (ratio of the shares of the peak)", "GPU here over GPU there", "0.0461x"],
        ["Share of its peak", "GPU there", "22 %"],
        ["Share of its peak", "CPU there", "21 %"],
        ["Share of its peak", "GPU here", "1.0 %"],
        ["Share of its peak", "CPU here", "7 %"],
    ]
    assert {len(row) for row in facts["rows"]} == {6}


def test_what_a_machine_has_not_got_has_no_row(make_record: MakeRecord) -> None:
    facts = why_facts(PAPER, RBM, "box", tables_of(make_record, "torch-all"))
    assert facts is not None
    assert not any("GPU here" in row[1] for row in facts["rows"])
    (ours,) = [row for row in facts["rows"] if row[:2] == ["Speedup", "CPU here over GPU there"]]
    assert ours[3:] == ["–"] * 3


def test_the_largest_printed_speedup_is_explained_first_and_every_peak_says_how_it_is_known(
    make_record: MakeRecord,
) -> None:
    facts = why_facts(PAPER, RBM, "box", tables_of(make_record, "torch-all"))
    assert facts is not None
    assert facts["sentences"][0] == {
        "case": "4096x11008",
        "comparison": "GPU there over CPU there",
        "text": "72.6 = 12.3 of hardware (622 over 50.6 GFLOP/s) times 5.91 of use.",
    }
    assert [row[:3] for row in facts["peaks"]] == [
        ["GPU there", "GPU", "622"],
        ["CPU there", "Dual-core CPU", "50.6"],
        ["CPU here", "label of torch-all", "300"],
    ]
    assert facts["peaks"][0][3].startswith("GeForce GTX 280: ")
    assert facts["peaks"][0][3].endswith("(recalled)")
    assert facts["peaks"][2][3].startswith("measured")


def test_a_table_without_printed_seconds_has_nothing_to_explain(make_record: MakeRecord) -> None:
    assert why_facts(PAPER, PAPER.experiments["matmul"], "box", tables_of(make_record, "torch-all")) is None


def test_the_roofline_says_in_words_what_it_shows(make_record: MakeRecord) -> None:
    facts = roofline_facts(PAPER, "box", tables_of(make_record, "torch-all"))
    assert facts["path"] == "/results/figures/raina2009/box-roofline.svg"
    assert (
        "The cases of box reach 7 % of their roofs; the paper's reach 21 % to 37 % of their roofs."
        in (facts["caption"])
    )
    assert "Roofs on box: label of torch-all, 300 GFLOP/s and 10.0 Gbyte/s." in facts["alt"]
    assert "GPU, 2009, 622 GFLOP/s and 142 Gbyte/s" in facts["alt"]


def test_the_roofline_of_a_machine_without_measurements_has_no_roof_of_its_own(make_record: MakeRecord) -> None:
    facts = roofline_facts(PAPER, "other", tables_of(make_record, "torch-all"))
    assert "Roofs on other: none." in facts["alt"]
    assert "other reach" not in facts["caption"]
