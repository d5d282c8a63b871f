"""What the report says: of why, of prices, and of many machines."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from respeed import output
from respeed.analysis.columns import load_table
from respeed.errors import UserError
from respeed.figures import build_figures
from respeed.figures.results import load_results
from respeed.inputs.machines import Price, Told
from respeed.output import build_tables
from respeed.records.store import write_text
from respeed.report import build_report
from respeed.report.context import make_context
from respeed.text import format_number
from tests.conftest import ROOT, MakeRecord, write_machines

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


def test_what_a_machine_without_a_gpu_can_say_stands_beside_the_verdict(make_record: MakeRecord) -> None:
    write_machines(make_record, 1)
    text = text_of_report()
    said = r"12.9x to 72.6x not settled \(not measured yet\). The CPU here is [\d.]+ times as fast as the paper's CPU"
    assert re.search(said, text)


def test_what_work_costs_is_its_seconds_at_the_price_of_the_machine_and_who_says_so(
    make_record: MakeRecord, tell: Tell
) -> None:
    write_machines(make_record, 3)
    tell(_00=4.0, _01=1.0)
    found, text = context_of()["cost"], text_of_report()
    seconds = load_table("cells", Path("results/tables")).set_index("machine")["seconds"].dropna()
    (row,) = found[0]["rows"]
    assert row[1].startswith(f"{format_number(4 * seconds['box-00'] / 3600)} USD for ")
    assert row[3] == "–"
    for wanted in ("What it costs", "4 USD an hour (a bill, 2026-11-01)", "Machines beside one another"):
        assert wanted in text, wanted


def test_the_report_of_twelve_machines_shows_one_beside_the_fastest(make_record: MakeRecord) -> None:
    write_machines(make_record, 12)
    text = text_of_report("box-07")
    assert {path.name[:6] for path in Path("results/figures").rglob("*.svg")} == {"box-07"}
    assert "On box-07" in text
    assert "box-08" not in text
    assert re.search(r"576x1024 0\.125x", text)
    assert "What it costs" not in text


def test_without_the_tables_what_to_do_is_one_line(make_record: MakeRecord) -> None:
    write_machines(make_record, 1)
    for build_one in (build_figures, build_report):
        with pytest.raises(UserError, match="build the tables first"):
            build_one(smoke=False)
