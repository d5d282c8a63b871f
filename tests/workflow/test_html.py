"""The HTML report that a run leaves, as Snakemake makes it and as a reader's browser shows it."""

import csv
import json
import re
import shutil
from collections.abc import Iterator

import pytest

from tests.browser import Browser
from tests.conftest import Project

SMOKE = ("--config", "preset=smoke")
HTML = "report/smoke.html"
SIZE_BYTES = 10_000_000


@pytest.fixture
def page(measured: Project) -> Iterator[Browser]:
    """The report of the measured project, open; nothing that it does may be an error or ask for anything elsewhere."""
    with Browser() as browser:
        browser.open(measured.folder / HTML)
        browser.wait_for("!!document.querySelector('#app nav')")
        yield browser
        assert browser.errors == []
        assert {re.split("[:,]", address)[0] for address in browser.asked} <= {"file", "data", "about"}


def show(page: Browser, category: str, title: str) -> None:
    """Open a file of a category, as a reader does: home, the folder, the eye in the row of that title."""
    page.evaluate("document.querySelector('nav nav a').click()")
    page.click(category)
    row = f"[...document.querySelectorAll('nav tbody tr')].find(row => row.innerText.includes({json.dumps(title)}))"
    page.wait_for(f"!!{row}")
    page.evaluate(f"{row}.querySelector('a').click()")


def test_a_run_leaves_a_report_for_a_browser_that_is_no_larger_than_can_be_mailed(measured: Project) -> None:
    assert 1_000_000 < (measured.folder / HTML).stat().st_size < SIZE_BYTES
    assert not (measured.folder / "report/report.html").exists()


@pytest.mark.slow
def test_it_is_left_alone_where_nothing_is_to_do_or_only_the_pdf_is_asked_for_and_made_again_if_it_is_gone(
    copy: Project,
) -> None:
    path, records = copy.folder / HTML, copy.records()
    before = path.stat().st_mtime_ns
    assert "Nothing to be done" in copy.snakemake(*SMOKE).stdout
    # After the target `pdf` it is older than what the tables say, and is not named.
    told = copy.snakemake("pdf", *SMOKE).stdout.splitlines()
    assert "respeed: the report is report/smoke.pdf; tables are in results/smoke/tables" in told
    assert path.stat().st_mtime_ns == before
    path.unlink()
    told = copy.snakemake(*SMOKE).stdout
    assert path.exists()
    assert copy.records() == records
    assert told.count("the report is") == 1
    assert told.count("rbm: 0 of 16 cells to measure") == 1  # the announcement once, not that of a Snakemake within


@pytest.mark.slow
def test_the_target_report_makes_both_of_what_was_imported_alone_and_measures_nothing(copy: Project) -> None:
    copy.run("respeed", "export", "--smoke", "records.zip")
    shutil.rmtree(copy.folder / "results")
    for kind in ("html", "pdf"):
        (copy.folder / "report/smoke").with_suffix(f".{kind}").unlink()
    told = copy.run("respeed", "import", "--smoke", "records.zip", "--as", "lab-box").stdout
    assert "next: ./run snakemake --cores all report --config preset=smoke" in told
    records = copy.records()
    told = copy.snakemake("report", *SMOKE).stdout
    assert "respeed: the report is report/smoke.pdf, for a browser report/smoke.html" in told
    assert copy.records() == records
    assert "rbm/lab-box-speedup.svg" in (copy.folder / HTML).read_text()


def test_one_by_hand_goes_where_it_is_told_and_runs_nothing(copy: Project) -> None:
    records = copy.records()
    (copy.folder / HTML).unlink()
    copy.snakemake("--report", "mine.html", *SMOKE)
    assert copy.records() == records
    assert not (copy.folder / HTML).exists()
    text = (copy.folder / "mine.html").read_text()
    wanted = ("rbm.csv", "cells.csv", "tables.html", "Densely connected RBM", "-speedup.svg")
    assert [word for word in wanted if word not in text] == []


def test_where_it_cannot_be_made_one_line_says_why_and_the_rest_is_there(copy: Project) -> None:
    (copy.folder / HTML).unlink()
    copy.edit("report/captions/tables.rst", "Theirs and ours", "{% nonsense %}")
    done = copy.snakemake(*SMOKE, check=False)
    assert done.returncode == 1
    told = [line for line in done.stdout.splitlines() if line.startswith("respeed: report")]
    assert told == ["respeed: report/smoke.html was not made; results/smoke/logs/html.log says why"]
    assert "nonsense" in (copy.folder / "results/smoke/logs/html.log").read_text()
    assert (copy.folder / "report/smoke.pdf").exists()


def test_it_begins_with_the_claims_and_a_picture_and_not_with_the_graph_of_rules(
    measured: Project, page: Browser
) -> None:
    page.wait_for("!!document.querySelector('#app .prose figure svg')")
    text = page.evaluate("document.querySelector('#app .prose').innerText")
    assert "Raina, Madhavan and Ng (ICML 2009)" in text
    assert "No measurement" in text
    assert "Large-scale Deep Unsupervised Learning" in text
    with (measured.folder / "results/smoke/tables/claims.csv").open() as file:
        claims = [row for row in csv.DictReader(file) if not row["case"]]
    # At tiny sizes no claim can be tested: the tables that they are about stand in one line.
    assert {claim["verdict"] for claim in claims} == {"not testable here"}
    assert "Not testable here" in text
    assert page.evaluate("document.querySelector('#app .prose figure svg').getBoundingClientRect().width") > 300
    assert not page.evaluate("!!document.querySelector('#app #rulegraph')")
    assert page.evaluate("document.querySelector('#app').innerText").count("System Message") == 0
    # It begins at its top, however long it is.
    assert page.evaluate("document.querySelector('#app .prose h1').getBoundingClientRect().top") >= 0


def test_a_table_is_shown_as_a_table_with_its_numbers(measured: Project, page: Browser) -> None:
    show(page, "1 Tables", "tables")
    page.wait_for("document.querySelectorAll('tr.ours').length > 1", framed=True)
    text = page.evaluate("document.body.innerText", framed=True)
    lines = (measured.folder / "results/smoke/tables/raina2009/rbm.csv").read_text().splitlines()
    ours = next(line for line in lines if "OpenBLAS, one core" in line)
    number = ours.rsplit('"', 1)[-1].split(",")[1]
    assert number in text
    assert "OpenBLAS, one core" in text
    assert "No measurement" in text


def test_figures_are_listed_and_shown(page: Browser) -> None:
    show(page, "2 Figures", "raina2009/rbm/")
    page.wait_for("(document.querySelector('#app .p-3 > img') || {}).naturalWidth > 300")
    assert "results/" not in page.evaluate("document.querySelector('nav').innerText")
