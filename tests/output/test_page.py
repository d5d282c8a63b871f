"""Pages that begin with a finding: the results' README, and one for a browser."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.columns import rows_of
from respeed.analysis.tables import Round
from respeed.errors import UserError
from respeed.inputs.papers import load_paper
from respeed.output import build_tables, load_results, page
from respeed.output.page import describe_paper, make_page, make_readme, make_review, read_vega
from respeed.output.published import lay_out_published
from respeed.output.results import Results
from respeed.output.table import escape_markdown, to_latex
from respeed.shown import Asked
from tests.browser import look
from tests.derived import ALL, GPU, PAPER, claims_frame, every_case, seven, shown_of
from tests.known import assert_known, known_results, one_table_of
from tests.made import write_machines

# The style, scripts, what they read, and their checksums.
OWN = re.compile(r"(?s)(?<=<style>).*?(?=</style>)|(?<=<script)[^>]*>.*?(?=</script>)| 'sha256-[^']+'")


def data_of(shown: Results) -> dict[str, Any]:
    """What the page's script shows; each part of a tidy table as its rows."""
    (text,) = re.findall(r'(?s)id="data">(.*?)</script>', make_page(shown))
    data: dict[str, Any] = json.loads(text)
    data["cells"] = [dict(zip(data["cells"]["columns"], row, strict=True)) for row in data["cells"]["data"]]
    for cell in data["cells"]:
        cell["rounds"] = [dict(zip(data["rounds"], row, strict=True)) for row in cell["rounds"]]
    return data


@pytest.mark.known
def test_pages_of_known_tables_are_unchanged() -> None:
    """Pages of known tables are as they were and ask for nothing from elsewhere."""
    shown = one_table_of(known_results("desk", "server"), "patches")
    known, (paper,) = Path(__file__).parent / "known", shown.papers.values()
    text = OWN.sub("", make_page(shown))
    assert not re.search(r"https?:|src=|href=|@import|url\(", text)
    assert "default-src 'none'" in text
    assert_known(known / "page.html", text)
    assert_known(known / "readme.md", make_readme(shown))
    table = lay_out_published(shown, paper, paper.experiments["patches"])
    assert_known(known / "table.tex", to_latex(table, "No measurement."))


def test_the_page_has_every_cell_and_round() -> None:
    """The page has every number of the cells and each round of a cell."""
    shown = shown_of([*every_case(3e-7, *OTHERS), *every_case(7.1e-3, *OTHERS, **ALL)])
    data, cells = data_of(shown), shown.table("cells")
    for column in ("seconds", "seconds_low", "seconds_high", "gflops", "peak_share", "published_seconds"):
        numbers = [math.nan if cell[column] is None else cell[column] for cell in data["cells"]]
        assert numbers == pytest.approx([*cells[column]], rel=1e-6, nan_ok=True), column
    rounds = [cell | one for cell in data["cells"] for one in cell["rounds"]]
    there = {(one.record, one.experiment, one.case): one.step_seconds for one in rows_of(shown.table("rounds"), Round)}
    found = {(one["record"], one["experiment"], one["case"]): one["step_seconds"] for one in rounds}
    assert (len(rounds), found) == (len(there), pytest.approx(there))


def test_missing_libraries_of_the_page_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The libraries of the page are in this Snakemake or one line says what to install."""
    scripts, names = read_vega(), ("vega", "vegaLite", "vegaEmbed")
    assert all(f"global.{name} = " in script for name, script in zip(names, scripts, strict=True))
    assert all(script.startswith("/*\nCopyright") and "</script" not in script for script in scripts)
    monkeypatch.setattr(page, "files", lambda _: tmp_path)
    with pytest.raises(UserError, match="brings no Vega"):
        read_vega()


def test_an_index_begins_with_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was built begins with the machine and names what is there."""
    monkeypatch.chdir(tmp_path)
    write_machines(2, cases=["576x1024", "1024x4096"])
    build_tables(Asked(smoke=False, machine="box-01", papers=["raina2009"], show=["all"]))
    text, html = Path("results/README.md").read_text("utf-8"), Path("results/tables.html").read_text("utf-8")
    links = re.findall(r"\]\((tables[/.][^)]+)\)", text)
    assert len(links) > 10
    assert all((Path("results") / link).stat().st_size for link in links)
    assert text.count("-speedup.png)") == 2
    assert ">Hardware<" in html
    for begun in (text, html):
        assert re.findall(r"of (box-0\d)", begun.replace("\\", ""))[0] == "box-01"


@pytest.mark.parametrize("make", [make_readme, make_review])
def test_whatever_a_claim_says_is_text(make: Callable[[Results], str]) -> None:
    hostile = "a | b <b>*x*</b> [y](z) `{{ 6 * 7 }}` $1$"
    claim: dict[str, Any] = dict.fromkeys(("says", "published", "here", "verdict", "reason"), hostile)
    text = make(shown_of(claims=claims_frame(claim)))
    assert text.count(escape_markdown(hostile)) == 5
    assert hostile not in text


OTHERS = {*PAPER.experiments} - {"rbm", "matmul"}


def page_of(shown: Results, folder: Path) -> Path:
    path = folder / "one.html"
    path.write_text(make_page(shown), "utf-8")
    return path


def test_what_cannot_be_tested_here_says_on_the_page_how_to_test_it(tmp_path: Path) -> None:
    untested = {"claim": "rbm-speedup", "verdict": "not testable here", "reason": "no CUDA device", "here": ""}
    page = page_of(shown_of(seven(0.1), claims=claims_frame({}, untested)), tmp_path)
    script = """
      await until(() => document.querySelector(".claims article"));
      location.hash = "measure=gflops";
      await until(() => document.querySelector("input[value=gflops]").checked);
      return [...document.querySelectorAll(".claims > .note")].map(one => one.innerText);
    """
    notes = look(page, script)
    assert [note.partition(": ")[0] for note in notes] == ["Not tested here"]
    assert notes[0].endswith("The same command on a machine with a GPU tests what needs one.")


def test_a_click_sorts_shows_and_fits(
    tmp_path: Path,
) -> None:
    """A click on a number shows its records times sort in any unit and a page is as wide as a window."""
    rows = {351e-6: {}, 7.1e-3: ALL, 3e-3: GPU}
    records = [one for seconds, row in rows.items() for one in every_case(seconds, *OTHERS, **row)]
    script = """
      const pane = document.querySelector("#pane");
      const before = [document.querySelectorAll(".theirs [data-cell]").length, pane.hidden];
      document.querySelector(".ours.speedup [data-cell]").click();
      const shown = [pane.querySelector("h2").innerText, pane.querySelector("pre").innerText];
      const lines = [...pane.querySelectorAll("td:last-child")].map(one => one.innerText);
      const table = [...document.querySelectorAll("table.numbers")].at(-1), page = document.documentElement;
      const sort = () => {
        table.querySelectorAll("thead button")[1].click();
        return [...table.querySelectorAll(".ours td:nth-child(2) span")].map(one => one.innerText);
      };
      return [before, shown, lines, sort(), sort(), sort(), page.scrollWidth <= page.clientWidth];
    """
    found = look(page_of(shown_of(records), tmp_path), script)
    before, (title, commands), lines, times, falling, again, fits = found
    assert (before, fits) == ([0, True], True)
    trace, measure = commands.splitlines()
    assert title == "Densely connected RBM, 576x1024"
    assert trace == "./run respeed trace raina2009/rbm/576x1024 gpu --machine box"
    assert measure.startswith("./run respeed measure --only raina2009/rbm/576x1024 --profiles gpu --rounds 10")
    assert len(lines) == 7
    assert all(re.fullmatch(r"results/records/box/gpu/\d+\.jsonl:2", line) for line in lines)
    assert [time.split()[-1] for time in times if time.endswith("s")] == ["µs", "ms", "ms"]
    assert (times, falling) == (again, again[::-1])


def test_the_address_keeps_what_is_shown(tmp_path: Path) -> None:
    """The address keeps what is shown and escape and a button end the pane."""
    records = [*every_case(5e-3, *OTHERS), *every_case(7e-3, *OTHERS, **ALL), *every_case(3e-3, *OTHERS, **GPU)]
    script = """
      const seen = query => [...document.querySelectorAll(query)].filter(one => one.checkVisibility());
      await until(() => document.querySelector("[data-table='raina2009/rbm'] .chart .mark-symbol path"));
      const drawn = [...document.querySelectorAll(".chart .mark-symbol path")];
      const marks = drawn.map(one => one.getAttribute("aria-label")), pane = document.querySelector("#pane");
      const begun = [
        seen("section.table").map(one => one.dataset.table), pane.querySelector("p").innerText,
        seen(".ours [data-cell]").filter(one => one.dataset.cell.includes("torch-all")).length,
        document.querySelector(".chart .role-axis-title text").textContent,
      ];
      dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
      const escaped = [pane.hidden, location.hash];
      document.querySelector("[data-cell]").click();
      const again = pane.hidden;
      pane.querySelector("button").click();
      document.querySelector("[value=times]").click();
      return [begun, marks, escaped, [again, pane.hidden], location.hash];
    """
    state = "machine=another&table=raina2009/rbm&measure=gflops&hide=torch-all&pin=box+raina2009+rbm+576x1024+rbm+gpu"
    begun, marks, escaped, closed, address = look(page_of(shown_of(records), tmp_path), script, state)
    assert begun == [["raina2009/rbm"], "PyTorch, GPU on box", 0, "GFLOP/s"]
    assert "PyTorch, GPU, 576x1024: 15.6 s" in marks
    # The paper's three rows, and two of ours.
    assert len(marks) == 4 * 5
    assert escaped == [True, "#table=raina2009%2Frbm&measure=gflops&hide=torch-all"]
    assert closed == [False, True]
    assert address == "#table=raina2009%2Frbm&measure=times&hide=torch-all"


HOSTILE = """</script><script>hit()</script><!-- <script> <img src=x onerror=hit()> {"signal": "hit()"} '"+hit()+"'"""


def test_no_text_of_a_file_is_markup(tmp_path: Path) -> None:
    """No text of a file is markup or a part of a script or of a chart."""
    records = [*every_case(5e-3, *OTHERS), *every_case(3e-3, *OTHERS, **ALL)]
    known, rbm = shown_of(records, claims=claims_frame({"says": HOSTILE, "reason": HOSTILE})), PAPER.experiments["rbm"]
    frames = {name: frame.copy() for name, frame in known.frames.items()}
    for table, column in (("cells", "label"), ("cells", "work"), ("rounds", "causes"), ("rounds", "record")):
        frames[table] = frames[table].assign(**{column: HOSTILE})
    titled = replace(PAPER, title=HOSTILE, experiments=PAPER.experiments | {"rbm": replace(rbm, title=HOSTILE)})
    path = page_of(replace(known, papers={"raina2009": titled}, frames=frames), tmp_path)
    text = path.read_text("utf-8")
    assert (text.count("<script"), text.count("</script")) == (6, 6)
    script = """
      document.querySelector("[data-cell]").click();
      await until(() => document.querySelector(".chart .mark-symbol path"));
      const said = ["h1", "section.table h2", "article p", "#pane h2", "#pane td:last-child", ".legend"];
      const texts = said.map(query => document.querySelector(query).textContent);
      texts.push(document.querySelector(".chart .role-axis-title text").textContent);
      return [texts, document.images.length, document.scripts.length];
    """
    texts, images, scripts = look(path, script)
    assert [HOSTILE in text for text in texts] == [True] * 7
    # Six of the page, and the one that looks.
    assert (images, scripts) == (0, 7)


@pytest.mark.parametrize("name", ["raina2009", "check-blas", "tensorflow-benchmarks"])
def test_adding_a_paper_shows_all_of_it_first(name: str) -> None:
    """Whoever adds a paper reads every number and claim of it before anything is measured."""
    paper = load_paper(name)
    text = describe_paper(paper)
    words = {*re.sub(r"[,\\]", "", text).split()}
    for table in paper.experiments.values():
        assert not {one.text.replace(",", "") for one in table.published.values()} - words
        assert not {f"{one.text}x" for one in table.speedups.values()} - words
    told = "".join(text.split())
    assert not [one.test for one in paper.claims.values() if "".join(one.says.split()[:2]) not in told]
    assert all(one.title in " ".join(text.split()) for one in paper.experiments.values() if one.published)
    compared = "as fast. | 1.13x to 1.85x | each | rbm: multi-cpu over single-cpu |\n"
    assert (compared in text) == (name == "raina2009")


def test_outputs_show_only_the_papers_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Config.yaml names others, which a run with --config papers=NAME does not show."""
    monkeypatch.chdir(tmp_path)
    write_machines(1)
    build_tables(Asked(smoke=False, machine="box-00", papers=["lectures"], show=["all"]))
    for name in ("README.md", "tables.html"):
        text = Path("results", name).read_text("utf-8").replace("\\", "")
        assert load_paper("lectures").title in text
        assert PAPER.title not in text
    assert [path.name for path in Path("results/tables").iterdir() if path.is_dir()] == ["lectures"]


def test_tables_that_lack_a_machine_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder was renamed since they were built."""
    monkeypatch.chdir(tmp_path)
    write_machines(1)
    asked = Asked(smoke=False, papers=["raina2009"], show=["all"])
    build_tables(asked)
    Path("results/records/box-00").rename("results/records/renamed")
    with pytest.raises(UserError, match="results/tables: has nothing of renamed; build the tables first: respeed"):
        load_results(asked)
