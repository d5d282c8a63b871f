"""What the report says: its first page, prices, and many machines."""

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
from respeed.inputs.machines import Notes, Price
from respeed.output import build_tables, load_shown
from respeed.paths import write_text
from respeed.report import build_report
from respeed.report.context import make_context
from respeed.text import format_number
from tests.conftest import ROOT
from tests.made import write_machines

Tell = Callable[..., None]
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="4"/>'


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Tell:
    """Tells prices of an hour in USD, by the number of the box; of box-02 something else."""

    def tell(**prices: float) -> None:
        told = {
            f"box-{name[1:]}": Notes(f"box-{name[1:]}", price=Price(per_hour, "USD", "a bill", "2026-11-01"))
            for name, per_hour in prices.items()
        } | {"box-02": Notes("box-02")}
        monkeypatch.setattr(output, "notes_shown", lambda: told)

    return tell


def context_of(machine: str | None = None) -> dict[str, Any]:
    build_tables(smoke=False, machine=machine)
    return make_context(load_shown(smoke=False, machine=machine))


def pages_of_report(machine: str | None = None) -> list[str]:
    """Of the PDF, with an empty picture wherever a figure stands."""
    facts = json.dumps(context_of(machine))
    for path in re.findall(r'"path": "/?([^"]+)"', facts):
        write_text(Path(path), EMPTY)
    build_report(smoke=False, machine=machine)
    return [" ".join(page.extract_text().split()) for page in PdfReader("report/report.pdf").pages]


def test_what_work_costs_is_its_seconds_at_the_price_of_the_machine_and_who_says_so(tell: Tell) -> None:
    write_machines(3)
    tell(_00=4.0, _01=1.0)
    found, text = context_of()["machines"], " ".join(pages_of_report())
    seconds = load_table("cells", Path("results/tables")).set_index("machine")["seconds"].dropna()
    machines, cost = found
    ((_, ((_, _, values),)),) = cost["parts"][0]["groups"]
    assert values[0]["text"] == f"{format_number(4 * seconds['box-00'] / 3600)} USD"
    assert values[2]["text"] == ""
    assert machines["title"] == "Machines beside one another"
    for wanted in ("What it costs", "4 USD an hour (a bill, 2026-11-01)", "Machines beside one another"):
        assert wanted in text, wanted


def test_the_report_of_twelve_machines_shows_one_beside_the_fastest() -> None:
    write_machines(12)
    text = " ".join(pages_of_report("box-07"))
    assert {path.name[:6] for path in Path("results/figures").rglob("*-*.svg")} == {"box-07"}
    assert "On box-07" in text
    assert "box-08" not in text
    assert re.search(r"576x1024 0\.125x", text)
    assert "What it costs" not in text
