"""What the report says: of why, of prices and energy, and of many machines."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from respeed.errors import UserError
from respeed.figures.build import build_figures
from respeed.figures.results import load_results
from respeed.inputs.machines import Price, Told
from respeed.output import build
from respeed.output.build import build_tables
from respeed.paths import RoundId, round_path
from respeed.records.store import write_json, write_text
from respeed.report.build import build_report
from respeed.report.context import make_context
from tests.conftest import ROOT, write_machines
from tests.figures.machines import read_energy

MakeRecord = Callable[..., dict[str, Any]]
Tell = Callable[..., None]
PROFILES: dict[str, tuple[float, float, dict[str, str]]] = {
    "torch-all": (0.05, 3e11, {"architecture": "multi-cpu"}),
    "gpu": (0.002, 5e13, {"architecture": "gpu", "device": "cuda"}),
}
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Tell:
    """Tells prices of an hour in USD, by the number of the box."""

    def tell(**prices: float) -> None:
        told = {
            f"box-{name[1:]}": Told(f"box-{name[1:]}", price=Price(per_hour, "USD", "a bill", "2026-11-01"))
            for name, per_hour in prices.items()
        }
        monkeypatch.setattr(build, "told_shown", lambda: told)

    return tell


def context_of(machine: str | None = None) -> dict[str, Any]:
    build_tables(smoke=False, machine=machine)
    return make_context(load_results(smoke=False, machine=machine))


def text_of_report(machine: str | None = None, *, drawn: bool = False) -> str:
    """Of the PDF, with an empty picture wherever a figure stands that is not `drawn`."""
    facts = json.dumps(context_of(machine))
    if drawn:
        build_figures(smoke=False, machine=machine)
    for path in () if drawn else re.findall(r'"path": "/([^"]+)"', facts):
        write_text(Path(path), EMPTY)
    build_report(smoke=False, machine=machine)
    return " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())


def write_profiles(make_record: MakeRecord, *profiles: str) -> None:
    for name in profiles:
        seconds, peak, facts = PROFILES[name]
        for index in range(1, 8):
            record = make_record([seconds] * 2, index=index, profile=name, peak=peak, **facts)
            record["cases"][0]["traffic_bytes"] = 2e7
            write_json(round_path(RoundId("box", "raina2009", "rbm", name, index)), record)


def why_of(experiment: str) -> Any:
    (paper,) = context_of()["papers"]
    found = next(one for one in paper["experiments"] if one["name"] == experiment)
    return found["machines"][0]["why"]


def test_theirs_and_ours_stand_next_to_one_another_for_each_factor(make_record: MakeRecord) -> None:
    write_profiles(make_record, "torch-all", "gpu")
    why = why_of("rbm")
    assert why["header"] == ["", "", "576x1024", "1024x4096", "2304x16000", "4096x11008"]
    sides = ["GPU there over CPU there", "GPU here over CPU here", "CPU here over CPU there",
             "CPU here over GPU there", "GPU here over GPU there"]  # fmt: skip
    wanted = {
        "Speedup": ["12.9x", "25.0x ±0.1 %", "1.91x ±0.1 %", "0.148x ±0.1 %", "3.71x ±0.1 %"],
        "= hardware (ratio of the peaks)": ["12.3x", "167x", "5.93x", "0.482x", "80.4x"],
        "times use (ratio of the shares of the peak)": ["1.05x", "0.150x", "0.322x", "0.307x", "0.0461x"],
    }
    assert [row[:3] for row in why["rows"]] == [
        *([title, side, text] for title, texts in wanted.items() for side, text in zip(sides, texts, strict=True)),
        ["Share of its peak", "GPU there", "22 %"],
        ["Share of its peak", "CPU there", "21 %"],
        ["Share of its peak", "GPU here", "1 %"],
        ["Share of its peak", "CPU here", "7 %"],
    ]
    assert {len(row) for row in why["rows"]} == {6}


def test_what_a_machine_has_not_got_has_no_row_and_every_peak_says_how_it_is_known(make_record: MakeRecord) -> None:
    write_profiles(make_record, "torch-all")
    why = why_of("rbm")
    assert not any("GPU here" in row[1] for row in why["rows"])
    (ours,) = [row for row in why["rows"] if row[:2] == ["Speedup", "CPU here over GPU there"]]
    assert ours[3:] == ["–"] * 3
    # The largest printed speedup is explained first.
    assert why["sentences"][0] == {
        "case": "4096x11008",
        "comparison": "GPU there over CPU there",
        "text": "72.6 = 12.3 of hardware (622 over 50.6 GFLOP/s) times 5.91 of use.",
    }
    assert [row[:3] for row in why["peaks"]] == [
        ["GPU there", "GPU", "622"],
        ["CPU there", "Dual-core CPU", "50.6"],
        ["CPU here", "label of torch-all", "300"],
    ]
    assert why["peaks"][0][3].startswith("GeForce GTX 280: ")
    assert why["peaks"][0][3].endswith("(recalled)")
    assert why["peaks"][2][3].startswith("measured")
    assert why_of("matmul") is None  # a table without printed seconds has nothing to explain


def test_the_roofline_says_in_words_what_it_shows(make_record: MakeRecord) -> None:
    write_profiles(make_record, "torch-all")
    write_machines(make_record, 1, rounds=1)
    box, other = (context_of()["papers"][0]["rooflines"][place] for place in (0, 1))
    assert box["path"] == "/results/figures/raina2009/box-roofline.svg"
    reach = "The cases of box reach 7 % of their roofs; the paper's reach 21 % to 37 % of their roofs."
    assert reach in box["caption"]
    assert "Roofs on box: label of torch-all, 300 GFLOP/s and 10.0 Gbyte/s." in box["alt"]
    assert "GPU, 2009, 622 GFLOP/s and 142 Gbyte/s" in box["alt"]
    assert "Roofs on box-00: PyTorch, one core, 10,000 GFLOP/s" in other["alt"]


def test_the_report_says_what_the_work_costs_who_says_so_and_who_is_cheapest(
    make_record: MakeRecord, tell: Tell
) -> None:
    write_machines(make_record, 3)
    for index in range(1, 8):
        record = make_record([0.1] * 2, index=index, machine="box-00")
        read_energy(record, {"package-0": 80.0})
        write_json(round_path(RoundId("box-00", "raina2009", "rbm", "torch-1", index)), record)
    tell(_00=4.0, _01=1.0)
    text = text_of_report()
    for wanted in (
        "What it costs",
        "4.00 USD an hour a bill 2026-11-01",
        "box-02: no price is told: ./run respeed new machine box-02",
        "box-01 is the cheapest. On box-00 the same work costs 2.00 times as much, more than rounds and sessions vary.",
        "joules for 1 million examples",
        "41,667",
        "80.0 W",
        "Energy not measured: box-01 (the records were made before energy was read)",
    ):
        assert wanted in text, wanted


def test_without_prices_and_energy_there_is_nothing_to_show_but_how_to_tell_a_price(make_record: MakeRecord) -> None:
    write_machines(make_record, 2)
    found = context_of()["cost"]
    assert found["prices"] == found["tables"] == found["energy"] == []
    assert found["sheets"]["box-00"] == [
        ["price", "no price is told: ./run respeed new machine box-00"],
        ["energy", "not measured: the records were made before energy was read"],
    ]


def test_a_machine_alone_has_its_costs_after_the_tables_and_is_compared_with_none(
    make_record: MakeRecord, tell: Tell
) -> None:
    write_machines(make_record, 1)
    tell(_00=4.0)
    text, found = text_of_report(), context_of()["cost"]
    ((_, (cell,)),) = found["tables"][0]["rows"]
    assert (cell["small"], cell["is_cheapest"]) == ("torch-1", False)
    assert found["tables"][0]["says"] == ""
    assert found["sheets"]["box-00"][0] == ["price", "4.00 USD an hour (a bill, 2026-11-01)"]
    assert "An hour of the whole machine box-00 costs 4.00 USD (a bill, 2026-11-01), whichever row runs" in text
    assert text.index("What it costs") > text.index("Densely connected RBM")
    assert "Who says so" not in text


def test_of_many_machines_the_cheapest_of_all_stands_beside_the_one_in_full(
    make_record: MakeRecord, tell: Tell
) -> None:
    write_machines(make_record, 12)
    tell(**{f"_{number:02}": 1.0 for number in range(11)}, _11=0.001)
    found = context_of("box-05")["cost"]
    assert found["machines"] == [["box-05", "USD"], ["box-11", "USD"]]
    assert "box-11 is the cheapest." in found["tables"][0]["says"]
    assert [name for name, _ in found["not_measured"]] == ["box-05"]


def test_the_report_of_twelve_machines_names_all_and_shows_the_cells_of_one(make_record: MakeRecord) -> None:
    write_machines(make_record, 12)
    text = text_of_report("box-07", drawn=True)
    names = {
        path.name.removesuffix("-slide.svg").removesuffix(".svg") for path in Path("results/figures").rglob("*.svg")
    }
    assert {name.rsplit("-", 1)[0] for name in names} == {"box-07"}
    assert all(f"box-{number:02}" in text for number in range(12))
    assert "On box-07" in text
    assert "On box-08" not in text
    assert "Where it stands among 12 machines" in text
    assert "The rows of 11 other machines are in results/tables/raina2009/rbm.csv" in text
    assert "the range over 12 machines" in text
    assert "What it costs" not in text
    assert "stands here as soon as a price is told: ./run respeed new machine NAME" in text


def test_another_machine_adds_a_row_and_nothing_else_and_the_one_in_full_comes_first(make_record: MakeRecord) -> None:
    sizes = []
    for machines in (8, 9, 10):
        write_machines(make_record, machines)
        context = context_of("box-03")
        rows = context["many"]["rows"]
        assert rows[0] == ["box-03", "A CPU, 2 cores", "25.0%"]
        sizes.append(len(rows))
        assert [machine["name"] for machine in context["machines"]] == ["box-03"]
        assert {run["machine"] for one in context["papers"][0]["experiments"] for run in one["machines"]} == {"box-03"}
    assert sizes == [8, 9, 10]


def test_a_few_machines_are_all_in_the_report_in_full(make_record: MakeRecord) -> None:
    write_machines(make_record, 4)
    there = [f"box-{number:02}" for number in range(4)]
    context = context_of("box-00")
    assert context["many"] is None
    assert [machine["name"] for machine in context["machines"]] == there
    assert [one["machines"] for one in context["across"]] == [there]
    assert not any(one["others"] or one["spread"] for one in context["papers"][0]["experiments"])


def test_without_the_tables_what_to_do_is_one_line(make_record: MakeRecord) -> None:
    write_machines(make_record, 1)
    for build_one in (build_figures, build_report):
        with pytest.raises(UserError, match="build the tables first"):
            build_one(smoke=False)
