"""The HTML report that a run leaves, as Snakemake makes it and as a reader's browser shows it."""

import shutil

import pytest

from tests.browser import look
from tests.conftest import Project

SMOKE = ("--config", "preset=smoke")
HTML = "report/smoke.html"
# Looks at what comes first; opens a file of a category, as a reader does: home, the folder, the eye in its row.
SCRIPT = """
  const app = document.querySelector("#app");
  const first = await until(() => document.querySelector("#app #page[src^=blob]"));
  // A frame's document is a stranger to the one around it, but its address is not.
  const read = async frame => (await fetch(frame.src)).text();
  const box = first.getBoundingClientRect();
  const graph = !!app.querySelector("#rulegraph") || app.innerText.includes("System Message");
  const front = [await read(first), box.top, box.width / innerWidth > 0.7, box.height === innerHeight, graph];

  const named = (kind, text) => [...document.querySelectorAll(kind)].find(one => one.innerText.includes(text));
  const open = async (category, title) => {
    for (const make of [() => document.querySelector("nav nav a"), () => named("a", category)])
      (await until(make)).click();
    (await until(() => named("nav tbody tr", title))).querySelector("a").click();
  };
  await open("1 Tables", "tables");
  const tables = await read(await until(() => document.querySelector("iframe:not(#page)[src^=blob]")));
  await open("2 Figures", "raina2009/rbm/");
  await until(() => (document.querySelector("#app .p-3 > img") || {}).naturalWidth > 300);
  return [front, tables, document.querySelector("nav").innerText];
"""


def test_snakemakes_report_opens_the_tables_first(measured: Project) -> None:
    """A browser shows the page of all tables first and opens it and figures from the menu."""
    (text, *places, has_graph), tables, figures = look(measured.folder / HTML, SCRIPT)
    # At tiny sizes no claim can be tested: the tables that they are about stand in one line.
    for wanted in ("Raina, Madhavan and Ng (ICML 2009)", "No measurement", "Large-scale Deep", "Not tested here"):
        assert wanted in text
    assert (places, has_graph) == ([0, True, True], False)
    lines = (measured.folder / "results/smoke/tables/raina2009/rbm.csv").read_text("utf-8").splitlines()
    ours = next(line for line in lines if "OpenBLAS, one core" in line)
    number = ours.rsplit('"', 1)[-1].split(",")[1]
    assert all(wanted in tables for wanted in (number, "OpenBLAS, one core", "No measurement"))
    assert "results/" not in figures


@pytest.mark.slow
def test_the_report_target_measures_nothing(copy: Project) -> None:
    """The target report makes both of what was imported alone and measures nothing."""
    copy.run("respeed", "export", "--smoke", "records.zip")
    shutil.rmtree(copy.folder / "results")
    for kind in ("html", "pdf"):
        (copy.folder / "report/smoke").with_suffix(f".{kind}").unlink()
    told = copy.run("respeed", "import", "--smoke", "records.zip", "--as", "lab-box").stdout
    assert "next: snakemake --cores all report --config preset=smoke" in told
    records = copy.records()
    told = copy.snakemake("report", *SMOKE).stdout
    assert "respeed: the report is report/smoke.pdf, for a browser report/smoke.html" in told
    assert copy.records() == records
    assert "rbm/lab-box-speedup.svg" in (copy.folder / HTML).read_text("utf-8")


def test_an_impossible_html_report_says_why(copy: Project) -> None:
    """One by hand goes where it is told and where none can be made one line says why."""
    records = copy.records()
    (copy.folder / HTML).unlink()
    copy.snakemake("--report", "mine.html", *SMOKE)
    assert copy.records() == records
    assert not (copy.folder / HTML).exists()
    text = (copy.folder / "mine.html").read_text("utf-8")
    wanted = ("rbm.csv", "cells.csv", "tables.html", "-speedup.svg")
    assert [word for word in wanted if word not in text] == []

    copy.edit("report/captions/tables.rst", "Theirs and ours", "{% nonsense %}")
    done = copy.snakemake(*SMOKE, check=False)
    assert done.returncode == 1
    told = [line for line in done.stdout.splitlines() if line.startswith("respeed: report")]
    assert told == ["respeed: report/smoke.html was not made; results/smoke/logs/html.log says why"]
    assert "nonsense" in (copy.folder / "results/smoke/logs/html.log").read_text("utf-8")
    assert (copy.folder / "report/smoke.pdf").exists()
