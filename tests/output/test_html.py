"""The tables as one page for a browser, and the beginning of Snakemake's report."""

import re
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from respeed.inputs.papers import load_papers
from respeed.output import make_front
from respeed.output.html import (
    Section,
    cells_section,
    claims_section,
    published_section,
    render_page,
    words,
)
from respeed.text import Value
from tests.derived import ALL, MakeRecord, claims_frame, folded_of, frames_of, seven

PAPERS = load_papers(["raina2009"])
CLAIM = {"reason": "the intervals meet"}
OF_A_CASE: dict[str, Any] = CLAIM | {
    "case": "576x1024", "published_high": 1.13, "speedup": 1.7, "published": "1.13x", "here": "1.70x ±3 %",
}  # fmt: skip


class Texts(HTMLParser):
    """All text outside of the style and the script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.opened: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)

    def handle_data(self, data: str) -> None:
        if self.opened[-1:] not in (["style"], ["script"]):
            self.texts.append(data.strip())


def test_a_page_asks_for_nothing_from_elsewhere_and_says_what_it_is() -> None:
    section = Section("A table", "A caption", ["Row", "Time"], [("A group", [("ours", "a row", [Value("69.5")])])])
    html = render_page("A title", "No measurement", [section])
    assert not re.search(r"https?:|src=|href=\"[^#]|@import|url\(", html)
    for wanted in ('<html lang="en">', "<title>A title</title>", "<caption>A caption", 'scope="col"', 'scope="row"'):
        assert wanted in html
    assert "No measurement" in html


@given(st.text(alphabet="<>&\"'/{}=scriptb", min_size=1))
def test_whatever_a_label_holds_comes_out_as_text(label: str) -> None:
    fields = [words(label, label), words(label, kind="verdict")]
    section = Section(label, label, [label, label, label], [(label, [("ours", label, fields)])], [label])
    found = Texts(render_page(label, label, [section]))
    # Title, heading, stamp, the list and heading of tables, caption, three heads, group, name, three texts and a note.
    assert found.texts.count(label.strip()) == 15


def test_theirs_and_ours_are_told_apart_and_what_is_missing_is_said_once(make_record: MakeRecord) -> None:
    section = published_section(folded_of(seven(make_record, [0.0499, 0.0501] * 4)))
    html = render_page("", "", [section])
    assert (html.count('class="theirs"'), html.count('class="ours"')) == (4, 1)
    assert html.count('<th scope="rowgroup" colspan="5">') == 2
    assert "<span data-sort>–</span> <small>1</small>" in html
    assert section.notes[0] == "1 not measured yet."
    assert "Not measured: PyTorch, GPU (no CUDA device)." in section.notes


def test_every_cell_that_was_tried_is_a_row_with_its_speedup(make_record: MakeRecord) -> None:
    records = [*seven(make_record, [0.1] * 7), *seven(make_record, [0.05] * 7, **ALL)]
    made = frames_of(records)
    ((heading, lines),) = cells_section(PAPERS, made.cells, made.speedups).groups
    assert heading == "Densely connected RBM, on box"
    shown = {name: [fields[place].text for place in (0, 1, 2, 3, 6, 9)] for _, name, fields in lines}
    assert shown == {
        "PyTorch, one core": ["576x1024", "521", "563", "7", "0.500x", "settled"],
        "label of torch-all": ["576x1024", "260", "497", "7", "1.00x", "settled"],
    }


def test_a_claim_stands_above_its_cases_and_the_front_has_the_claims_alone(make_record: MakeRecord) -> None:
    html = render_page("", "", [claims_section(PAPERS, claims_frame(CLAIM, OF_A_CASE))])
    assert html.index("A second core helps.") < html.index("576x1024")
    assert '<td class="verdict"><span data-sort>reproduced</span> <small>the intervals meet</small>' in html
    cells = frames_of(seven(make_record, 0.1)).cells
    verdicts = claims_frame(CLAIM, OF_A_CASE, {"machine": "another", "says": "Not here."})
    front = make_front(PAPERS, cells, verdicts, {"box": "A CPU"}, "box", "")
    assert "1.60x to 1.90x" in front
    assert "What came out on box, A CPU" in front
    assert not re.search(r"576x1024|Not here", front)
    assert "No claim has been tested yet." in make_front(PAPERS, cells, claims_frame(), {}, "", "")


def test_what_can_be_said_without_a_number_stands_in_its_place() -> None:
    untested = {"verdict": "not testable here", "reason": "no CUDA device", "here": "", "instead": "Two cores do."}
    ((_, ((_, _, (_, here, verdict)),)),) = claims_section(PAPERS, claims_frame(untested)).groups
    assert (here.text, verdict.text, verdict.interval) == ("Two cores do.", "not testable here", "no CUDA device")
