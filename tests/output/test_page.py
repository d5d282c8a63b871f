"""Pages that begin with a finding: the results' README, one for a browser, and the front of Snakemake's report."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.inputs.papers import load_paper
from respeed.output import build_page, build_tables
from respeed.output.layout import Shown, lay_out_published
from respeed.output.page import describe_paper, make_page, make_readme, make_review
from respeed.output.table import escape_markdown, to_latex
from respeed.schedule.work import Asked
from tests.browser import look
from tests.derived import ALL, GPU, PAPER, claims_frame, every_case, shown_of
from tests.known import assert_known, known_results, one_table_of
from tests.made import write_machines


def test_pages_of_known_tables_are_as_they_were_and_ask_for_nothing_from_elsewhere() -> None:
    shown = one_table_of(known_results("desk", "server"), "patches")
    known, (paper,) = Path(__file__).parent / "known", shown.papers.values()
    page = re.sub("(?s)(?<=<style>).*(?=</style>)|(?<=<script>).*(?=</script>)", "", make_page(shown))
    assert not re.search(r"https?:|src=|href=\"[^#]|@import|url\(", make_page(shown))
    assert_known(known / "page.html", page)
    assert_known(known / "readme.md", make_readme(shown))
    table = lay_out_published(shown, paper, paper.experiments["patches"])
    assert_known(known / "table.tex", to_latex(table, "No measurement."))


def test_what_was_built_begins_with_the_machine_and_names_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(2, cases=["576x1024", "1024x4096"])
    shown: dict[str, Any] = {"smoke": False, "machine": "box-01", "papers": ["raina2009"], "show": ["all"]}
    build_tables(Asked(**shown))
    drawn = Path("results/figures/raina2009/rbm/box-01-speedup.png")
    drawn.parent.mkdir(parents=True)
    drawn.write_bytes(b"\x89PNG")
    build_page(Asked(**shown))
    text, page = Path("results/README.md").read_text("utf-8"), Path("results/tables.html").read_text("utf-8")
    links = re.findall(r"\]\((tables[/.][^)]+)\)", text)
    assert len(links) > 10
    assert all((Path("results") / link).stat().st_size for link in links)
    assert text.count("-speedup.png)") == 2
    assert page.count('<img loading="lazy"') == 1
    assert ">Hardware<" in page
    for begun in (text, page, Path("results/front.html").read_text("utf-8")):
        assert re.findall(r"of (box-0\d)", begun.replace("\\", ""))[0] == "box-01"


@pytest.mark.parametrize("make", [make_readme, make_review])
def test_whatever_a_claim_says_is_text(make: Callable[[Shown], str]) -> None:
    hostile = "a | b <b>*x*</b> [y](z) `{{ 6 * 7 }}` $1$"
    claim: dict[str, Any] = dict.fromkeys(("says", "published", "here", "verdict", "reason"), hostile)
    text = make(shown_of(claims=claims_frame(claim)))
    assert text.count(escape_markdown(hostile)) == 5
    assert hostile not in text


OTHERS = {*PAPER.experiments} - {"rbm", "matmul"}


def test_a_click_on_a_number_shows_its_records_times_sort_in_any_unit_and_a_page_is_as_wide_as_a_window(
    tmp_path: Path,
) -> None:
    rows = {351e-6: {}, 7.1e-3: ALL, 3e-3: GPU}
    records = [one for seconds, row in rows.items() for one in every_case(seconds, *OTHERS, **row)]
    (tmp_path / "one.html").write_text(make_page(shown_of(records)), "utf-8")
    script = """
      const seen = () => [...document.querySelectorAll("pre")].some(one => one.checkVisibility());
      const before = [document.querySelectorAll(".theirs details").length, seen()];
      document.querySelector(".speedup summary").click();
      const shown = (await until(() => document.querySelector("details[open] pre"))).innerText;
      const table = [...document.querySelectorAll("table.numbers")].at(-1), page = document.documentElement;
      const sort = () => {
        table.querySelectorAll("thead button")[1].click();
        return [...table.querySelectorAll(".ours td:nth-child(2) span")].map(one => one.innerText);
      };
      return [...before, shown, sort(), sort(), sort(), page.scrollWidth <= page.clientWidth];
    """
    theirs, is_open, shown, times, falling, again, fits = look(tmp_path / "one.html", script)
    assert (theirs, is_open, fits) == (0, False, True)
    needs, trace, measure, *lines = shown.splitlines()
    assert needs.endswith(" that FLOP and bytes need here")
    assert trace == "./run respeed trace raina2009/rbm/576x1024 gpu --machine box"
    assert measure.startswith("./run respeed measure --only raina2009/rbm/576x1024 --profiles gpu --rounds 10")
    assert len(lines) == 7
    assert all(re.fullmatch(r"results/records/box/gpu/\d+\.jsonl:2", line) for line in lines)
    assert [time.split()[-1] for time in times if time.endswith("s")] == ["µs", "ms", "ms"]
    assert (times, falling) == (again, again[::-1])


@pytest.mark.parametrize("name", ["raina2009", "check-blas", "tensorflow-benchmarks"])
def test_whoever_adds_a_paper_reads_every_number_and_claim_of_it_before_anything_is_measured(name: str) -> None:
    paper = load_paper(name)
    text = describe_paper(paper)
    words = {*re.sub(r"[,\\]", "", text).split()}
    assert not {one.text.replace(",", "") for one in paper.published.values()} - words
    assert not {f"{one.text}x" for one in paper.speedups.values()} - words
    told = "".join(text.split())
    assert not [one.test for one in paper.claims.values() if "".join(one.says.split()[:2]) not in told]
    assert all(one.title in " ".join(text.split()) for one in paper.experiments.values() if paper.prints(one.name))
    compared = "as fast. | 1.13x to 1.85x | each | rbm: multi-cpu over single-cpu |\n"
    assert (compared in text) == (name == "raina2009")
