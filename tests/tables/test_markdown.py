"""Tables in Markdown, read by a real renderer of it."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.tables.folded import fold
from respeed.tables.markdown import escape_markdown, pipe_table, write_markdown
from respeed.text import printable
from tests.tables.derived import GPU, MakeRecord, every_case, seven, table_of

markdown_it = pytest.importorskip("markdown_it")


def render(text: str) -> str:
    return str(markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


@given(st.text(st.one_of(st.characters(), st.sampled_from("\\`*_{}[]<>()#+-.!|~&$=\"'"))))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    shown = " ".join(f"x{printable(text)}x".split(" "))
    page = render(pipe_table(["head", ""], [[f"x{escape_markdown(text)}x", "number"]], "lr"))
    cell = page.split('<td style="text-align:left">')[1].split("</td>")[0]
    assert html.unescape(cell.replace("<span>$</span>", "$")) == shown


def test_addresses_in_a_label_are_no_links() -> None:
    assert escape_markdown("https://a.b www.a.b") == r"https:\//a.b www\.a.b"


def test_the_table_of_all_has_headings_numbers_and_notes(make_record: MakeRecord) -> None:
    records = [*seven(make_record, [0.06, 0.061] * 4), *seven(make_record, [0.002] * 7, **GPU)]
    text = write_markdown(fold(table_of(records), {}))
    page = render(text)
    assert "<strong>As published: Raina, Madhavan and Ng (ICML 2009)</strong>" in page
    assert "<strong>On box</strong>" in page
    assert " <sub>±" in page
    assert "–<sup>1</sup>" in page
    assert page.count("<table>") == 1


def test_a_wide_table_is_turned_so_that_it_has_at_most_four_columns(make_record: MakeRecord) -> None:
    page = render(write_markdown(fold(table_of(every_case(make_record, 0.01), "matmul"), {})))
    assert '<td style="text-align:left">cd1 576x1024</td>' in page
    assert page.count("<th") == 1 + 1 + 1  # <thead>, the corner and the only row that was measured


def test_a_smoke_table_says_that_it_is_none(make_record: MakeRecord) -> None:
    text = write_markdown(fold(table_of(seven(make_record, [0.1] * 7)), {}, stamp="No measurement: tiny."))
    assert text.splitlines()[0] == "**No measurement: tiny.**"
