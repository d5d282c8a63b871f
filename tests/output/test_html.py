"""Tables as HTML files that stand alone."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from respeed.inputs.papers import load_papers
from respeed.output.html import (
    NONE_YET,
    OPEN,
    Page,
    make_cells_page,
    make_claims_page,
    make_front_tables,
    make_published_page,
    make_speedups_page,
    make_table,
    render_table,
    write_page,
)
from respeed.text import NO_INTERVAL, Value
from tests.derived import ALL, MakeRecord, claims_frame, folded_of, frames_of, seven

PAPERS = load_papers(["raina2009"])
PAGE = Page("A title", "A caption", make_table([(("", "", "ours", "a row"), {"Case": Value("1.5")})]))
CLAIM = {"reason": "the intervals meet"}
OF_A_CASE: dict[str, Any] = CLAIM | {
    "case": "576x1024", "published_high": 1.13, "speedup": 1.7, "published": "1.13x", "here": "1.70x ±3 %",
}  # fmt: skip


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
    fields = {label: Value(label, label, kind="words"), f"{label} ": Value(label, kind="verdict")}
    found = Texts(render_table(Page("", label, make_table([(("", label, "ours", label), fields)]))))
    assert [text.strip() for text in found.texts].count(label.strip()) == 1 + 2 + 1 + 4
    assert set(found.opened) <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "span", "small", "button"}


def test_a_number_without_an_interval_is_marked_and_words_stay_words() -> None:
    fields = {
        "Time": Value("69.5", NO_INTERVAL),
        "Interval": Value("72.6x", "±3 %"),
        "Status": Value("failed", "3 arrays differ", kind="words"),
    }
    html = render_table(Page("", "", make_table([(("", "", "ours", "a row"), fields)])))
    assert '<td class="number"><span class="open">69.5</span></td>' in html
    assert '<td class="number"><span data-sort>72.6x</span> <small>±3 %</small></td>' in html
    assert '<td><span data-sort>failed</span> <small class="words">3 arrays differ</small></td>' in html
    assert html.count('<th scope="col" class="number">') == 2


def test_theirs_and_ours_are_told_apart_and_what_is_missing_is_said_once(make_record: MakeRecord) -> None:
    page = make_published_page(folded_of(seven(make_record, [0.0499, 0.0501] * 4)), "rbm.csv")
    html = render_table(page)
    assert (html.count('class="theirs"'), html.count('class="ours"')) == (4, 1)
    assert html.count('<th scope="rowgroup" colspan="5">') == 2
    assert "<span data-sort>–</span> <small>1</small>" in html
    assert page.notes[0] == "1 not measured yet."
    assert "Not measured: PyTorch, GPU (no CUDA device)." in page.notes


def test_every_cell_that_was_tried_is_a_row_and_every_other_a_word_below(make_record: MakeRecord) -> None:
    cells, _, _ = frames_of(seven(make_record, [0.1] * 3))
    page = make_cells_page(PAPERS, cells, 2, smoke=False)
    ((case, seconds, published, *_, status),) = page.table.to_numpy().tolist()
    assert (page.table.index[0][-1], case.text, seconds, published.text) == (
        "PyTorch, one core", "576x1024", Value("521", NO_INTERVAL), "563",
    )  # fmt: skip
    assert (status.text, status.interval) == ("wide", "3 clean rounds; an interval needs 6")
    assert "Not run on box: gpu (no CUDA device)." in page.notes
    assert page.notes[-2:] == [OPEN, "The rows of 2 other machines are in the file below."]


def test_every_speedup_names_the_row_that_it_is_over(make_record: MakeRecord) -> None:
    records = [*seven(make_record, [0.1] * 7), *seven(make_record, [0.05] * 7, **ALL)]
    page = make_speedups_page(PAPERS, frames_of(records)[1], 0, smoke=False)
    shown = page.table.drop(columns="Case").map(lambda value: value.text).droplevel(["group", "heading", "look"])
    assert shown.T.to_dict("list") == {
        "PyTorch, one core": ["0.500x", "label of torch-all", "0.883x", "slower"],
        "label of torch-all": ["1.00x", "label of torch-all", "1.00x", "base"],
    }


def test_tables_of_one_title_stay_apart_and_name_their_machines_where_these_are_several(
    make_record: MakeRecord,
) -> None:
    records = [record for name in ("box", "hut") for record in seven(make_record, [0.1] * 7, machine=name)]
    html = render_table(make_cells_page(PAPERS, frames_of(records)[0], 0, smoke=False))
    assert re.findall(r"rowgroup[^>]*>([^<]*)<", html) == [
        "Densely connected RBM, on box", "Densely connected RBM, on hut",
    ]  # fmt: skip


def test_a_claim_stands_above_its_cases_and_the_front_has_the_claims_alone() -> None:
    html = render_table(make_claims_page(PAPERS, claims_frame(CLAIM, OF_A_CASE)))
    assert html.index("A second core helps.") < html.index("576x1024")
    assert '<span class="verdict">reproduced</span></span> <small class="words">The intervals meet.</small>' in html
    (front,) = make_front_tables(PAPERS, claims_frame(CLAIM, OF_A_CASE), "box")
    assert "1.60x to 1.90x" in render_table(front)
    assert "576x1024" not in render_table(front)


def test_what_can_be_said_without_a_number_stands_in_its_place() -> None:
    untested = {"verdict": "not testable here", "reason": "no CUDA device", "here": "", "instead": "Two cores do."}
    (front,) = make_front_tables(PAPERS, claims_frame(untested), "box")
    fields = re.findall(r"<td[^>]*>(.*?)</td>", render_table(front))
    assert fields[1] == "Two cores do."
    assert "no CUDA device" in fields[2].replace("No ", "no ")
    assert "Two cores" not in fields[2]


def test_the_machine_that_is_asked_for_comes_first() -> None:
    captions = [page.caption for page in make_front_tables(PAPERS, claims_frame({}, {"machine": "another"}), "box")]
    assert [caption.split()[-1] for caption in captions] == ["box", "another"]


def test_without_a_verdict_the_page_says_so() -> None:
    assert make_claims_page(PAPERS, claims_frame()).notes == (NONE_YET,)
    assert make_front_tables(PAPERS, claims_frame(), "box") == []
