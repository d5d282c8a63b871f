"""What the report says: of why, of prices and energy, and of many machines."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from respeed import output
from respeed.errors import UserError
from respeed.figures import build_figures
from respeed.figures.results import load_results
from respeed.inputs.machines import Price, Told
from respeed.output import build_tables
from respeed.paths import RoundId, round_path
from respeed.records.store import read_json, write_json, write_text
from respeed.report import build_report
from respeed.report.context import make_context
from tests.analysis.test_decomposition import two_that_iterate
from tests.conftest import ROOT, MakeRecord, write_machines
from tests.figures.machines import read_energy

Tell = Callable[..., None]
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
        monkeypatch.setattr(output, "told_shown", lambda: told)

    return tell


def context_of(machine: str | None = None) -> dict[str, Any]:
    build_tables(smoke=False, machine=machine)
    return make_context(load_results(smoke=False, machine=machine))


def text_of_report(machine: str | None = None) -> str:
    """Of the PDF, with an empty picture wherever a figure stands."""
    facts = json.dumps(context_of(machine))
    for path in re.findall(r'"path": "/([^"]+)"', facts):
        write_text(Path(path), EMPTY)
    build_report(smoke=False, machine=machine)
    return " ".join(" ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages).split())


def test_the_roofline_says_in_words_what_it_shows(make_record: MakeRecord) -> None:
    write_machines(make_record, 1, rounds=1)
    (found,) = context_of()["papers"][0]["rooflines"]
    assert "Roofs on box-00: PyTorch, one core, 10,000 GFLOP/s" in found["alt"]
    assert "GPU, 2009, 622 GFLOP/s and 142 Gbyte/s" in found["alt"]


def test_how_iterations_make_the_ratio_of_two_algorithms_stands_on_the_page_of_their_table(
    make_record: MakeRecord,
) -> None:
    for record in two_that_iterate(make_record):
        path = round_path(RoundId(**record["id"]))
        if path.exists():
            record["cases"] += read_json(path)["cases"]
        write_json(path, record)
    text = text_of_report()
    assert "the authors' algorithm, over parallel coordinates 3-percent 1.75x" in text
    assert "0.750 (30.0 over 40.0) 2.22 2.00 75 %" in text


def test_what_a_machine_without_a_gpu_can_say_stands_beside_the_verdict(make_record: MakeRecord) -> None:
    write_machines(make_record, 1)
    text = text_of_report()
    said = r"12.9x to 72.6x not settled \(not measured yet\). The CPU here is [\d.]+ times as fast as the paper's GPU"
    assert re.search(said, text)


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
    text = text_of_report("box-07")
    assert {path.name[:6] for path in Path("results/figures").rglob("*.svg")} == {"box-07"}
    for wanted in (
        *(f"box-{number:02}" for number in range(12)), "On box-07", "Where it stands among 12 machines",
        "The rows of 11 other machines are in results/tables/raina2009/rbm.csv", "the range over 12 machines",
        "stands here as soon as a price is told: ./run respeed new machine NAME",
    ):  # fmt: skip
        assert wanted in text, wanted
    assert "On box-08" not in text
    assert "What it costs" not in text


def test_another_machine_adds_a_row_and_nothing_else_and_the_one_in_full_comes_first(make_record: MakeRecord) -> None:
    for machines in (8, 9):
        write_machines(make_record, machines)
        context = context_of("box-03")
        assert context["many"]["rows"][0] == ["box-03", "A CPU, 2 cores", "25.0%"]
        assert len(context["many"]["rows"]) == machines
        assert [machine["name"] for machine in context["machines"]] == ["box-03"]
        assert {run["machine"] for one in context["papers"][0]["experiments"] for run in one["machines"]} == {"box-03"}


def test_without_the_tables_what_to_do_is_one_line(make_record: MakeRecord) -> None:
    write_machines(make_record, 1)
    for build_one in (build_figures, build_report):
        with pytest.raises(UserError, match="build the tables first"):
            build_one(smoke=False)
