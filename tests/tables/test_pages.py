"""Tables as HTML files that stand alone."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from respeed.inputs.papers import load_papers
from respeed.numbers import Value, format_measured
from respeed.tables.folded import FoldedTable, Group, Note
from respeed.tables.folded import Line as FoldedLine
from respeed.tables.html import Entry, Line, Page, render_table, split_number, write_page
from respeed.tables.pages import make_published_page
from respeed.tables.verdict_pages import NONE_YET, make_claims_page, make_front_tables
from tests.tables.derived import claims_frame

PAPERS = load_papers(["raina2009"])
RAINA = PAPERS["raina2009"]
PAGE = Page("A title", "A caption", ("Row", "Case"), (("", (Line((Entry("a row"), Entry("1.5")), "ours"),)),))
CLAIM = {"reason": "the intervals meet"}
OF_A_CASE = CLAIM | {
    "case": "576x1024",
    "published_high": 1.13,
    "speedup": 1.7,
    "published": "1.13x",
    "here": "1.70x ±3 %",
}


class Texts(HTMLParser):
    """All text outside of the style and the script; every element that is opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.opened: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)

    def handle_data(self, data: str) -> None:
        if self.opened[-1:] not in (["style"], ["script"]):
            self.texts.append(data)


def test_a_page_asks_for_nothing_from_elsewhere_and_says_what_it_is(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", replace(PAGE, data="page.csv"), "No measurement")
    html = (tmp_path / "page.html").read_text()
    assert not re.search(r"https?:|src=|href=|@import|url\(", html)
    for wanted in ('<html lang="en">', "<title>A title</title>", "<caption>A caption", 'scope="col"', 'scope="row"'):
        assert wanted in html
    assert "No measurement" in html
    assert "page.csv" in html


@given(st.text(alphabet="<>&\"'/{}=scriptb", min_size=1))
def test_whatever_a_label_holds_comes_out_as_text(label: str) -> None:
    line = Line((Entry(label, label), Entry(label, kind="verdict")), "ours")
    found = Texts(render_table(Page("", label, (label, label), ((label, (line,)),))))
    assert found.texts.count(label) == 1 + 2 + 1 + 3
    assert set(found.opened) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "span", "small", "button"}


@given(st.floats(1e-3, 1e6), st.floats(0.001, 0.9))
def test_a_number_and_its_interval_are_told_apart_and_none_is_lost(value: float, share: float) -> None:
    text = format_measured(value, value * (1 - share), value * (1 + share))
    entry = split_number(text)
    assert f"{entry.text} {entry.small}" == text
    assert entry.kind == "number"


def test_a_number_without_an_interval_is_marked_and_words_stay_words() -> None:
    assert split_number("69.5 (no interval)") == Entry("69.5", kind="open")
    assert split_number("72.6x") == Entry("72.6x", kind="number")
    assert split_number("failed: 3 arrays differ") == Entry("failed: 3 arrays differ")


def test_theirs_and_ours_are_told_apart_and_what_is_missing_is_said_once() -> None:
    theirs = Group("As published", (FoldedLine("Single CPU", "seconds", (Value("563"), Value("3,638"))),), True)
    ours = Group("On box", (FoldedLine("PyTorch", "seconds", (Value("44.9", "±3 %"), Value("–", mark="1"))),))
    notes = (Note("1", "failed: 3 arrays differ."), Note("", "Not measured: PyTorch, GPU (no CUDA device)."))
    folded = FoldedTable("", "RBM", "seconds", "Raina (2009)", ("576x1024", "1024x4096"), (theirs, ours), notes)
    page = make_published_page(folded, "rbm.csv")
    html = render_table(page)
    assert html.count('class="theirs"') == html.count('class="ours"') == 1
    assert "<span data-sort>44.9</span> <small>±3 %</small>" in html
    assert page.notes == ("1 failed: 3 arrays differ.", "Not measured: PyTorch, GPU (no CUDA device).")


def test_a_claim_stands_above_its_cases_and_the_front_has_the_claims_alone() -> None:
    html = render_table(make_claims_page(PAPERS, claims_frame(CLAIM, OF_A_CASE)))
    assert html.index("A second core helps.") < html.index("576x1024")
    assert '<span class="verdict">reproduced</span></span> <small class="words">The intervals meet.</small>' in html
    (front,) = make_front_tables(PAPERS, claims_frame(CLAIM, OF_A_CASE), "box")
    assert "1.60x to 1.90x" in render_table(front)
    assert "576x1024" not in render_table(front)


def test_the_machine_that_is_asked_for_comes_first() -> None:
    captions = [page.caption for page in make_front_tables(PAPERS, claims_frame(CLAIM, {"machine": "another"}), "box")]
    assert [caption.split()[-1] for caption in captions] == ["box", "another"]


def test_without_a_verdict_the_page_says_so() -> None:
    assert make_claims_page(PAPERS, claims_frame()).notes == (NONE_YET,)
    assert make_front_tables(PAPERS, claims_frame(), "box") == []
