"""The HTML report that a run leaves, as Snakemake makes it and as a reader's browser shows it."""

import shutil

import pytest

from tests.browser import look
from tests.conftest import Project

SMOKE = ("--config", "preset=smoke")
HTML = "report/smoke.html"
# Opens a file of a category, as a reader does: home, the folder, the eye in the row of that title.
SCRIPT = """
  const picture = await until(() => document.querySelector("#app .prose figure svg"));
  const [prose, app] = [document.querySelector("#app .prose"), document.querySelector("#app")];
  // It begins at its top, however long it is.
  const begins = prose.querySelector("h1").getBoundingClientRect().top >= 0;
  const graph = !!app.querySelector("#rulegraph") || app.innerText.includes("System Message");
  const front = [prose.innerText, picture.getBoundingClientRect().width, begins, graph];

  const named = (kind, text) => [...document.querySelectorAll(kind)].find(one => one.innerText.includes(text));
  const open = async (category, title) => {
    for (const make of [() => document.querySelector("nav nav a"), () => named("a", category)])
      (await until(make)).click();
    (await until(() => named("nav tbody tr", title))).querySelector("a").click();
  };
  await open("1 Tables", "tables");
  const tables = atob((await until(() => document.querySelector("iframe"))).src.split(",")[1]);
  await open("2 Figures", "raina2009/rbm/");
  await until(() => (document.querySelector("#app .p-3 > img") || {}).naturalWidth > 300);
  return [...front, tables, document.querySelector("nav").innerText];
"""


def test_a_browser_shows_claims_and_a_picture_first_and_then_tables_with_their_numbers_and_figures(
    measured: Project,
) -> None:
    text, width, begins_at_its_top, has_graph, tables, figures = look(measured.folder / HTML, SCRIPT)
    # At tiny sizes no claim can be tested: the tables that they are about stand in one line.
    for wanted in ("Raina, Madhavan and Ng (ICML 2009)", "No measurement", "Large-scale Deep", "Not tested here"):
        assert wanted in text
    assert (width > 300, begins_at_its_top, has_graph) == (True, True, False)
    lines = (measured.folder / "results/smoke/tables/raina2009/rbm.csv").read_text("utf-8").splitlines()
    ours = next(line for line in lines if "OpenBLAS, one core" in line)
    number = ours.rsplit('"', 1)[-1].split(",")[1]
    assert all(wanted in tables for wanted in (number, "OpenBLAS, one core", "No measurement", '<tr class="ours"'))
    assert "results/" not in figures


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
    assert "rbm/lab-box-speedup.svg" in (copy.folder / HTML).read_text("utf-8")


def test_one_by_hand_goes_where_it_is_told_and_where_none_can_be_made_one_line_says_why(copy: Project) -> None:
    records = copy.records()
    (copy.folder / HTML).unlink()
    copy.snakemake("--report", "mine.html", *SMOKE)
    assert copy.records() == records
    assert not (copy.folder / HTML).exists()
    text = (copy.folder / "mine.html").read_text("utf-8")
    wanted = ("rbm.csv", "cells.csv", "tables.html", "Densely connected RBM", "-speedup.svg")
    assert [word for word in wanted if word not in text] == []

    copy.edit("report/captions/tables.rst", "Theirs and ours", "{% nonsense %}")
    done = copy.snakemake(*SMOKE, check=False)
    assert done.returncode == 1
    told = [line for line in done.stdout.splitlines() if line.startswith("respeed: report")]
    assert told == ["respeed: report/smoke.html was not made; results/smoke/logs/html.log says why"]
    assert "nonsense" in (copy.folder / "results/smoke/logs/html.log").read_text("utf-8")
    assert (copy.folder / "report/smoke.pdf").exists()
