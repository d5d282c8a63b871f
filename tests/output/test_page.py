"""Pages that begin with a finding: the results' README, one for a browser, and the front of Snakemake's report."""

import re
from pathlib import Path
from typing import Any

import pytest

from respeed.output import build_page, build_tables
from respeed.output.page import make_front, make_page, make_readme
from respeed.output.table import escape_markdown
from tests.browser import Browser
from tests.derived import ALL, GPU, claims_frame, every_case, seven, shown_of
from tests.made import write_machines


def test_a_page_asks_for_nothing_from_elsewhere_and_says_what_it_is() -> None:
    page = make_page(shown_of([*seven(0.1), *seven(0.1, **ALL)], claims=claims_frame({})))
    assert not re.search(r"https?:|src=|href=\"[^#]|@import|url\(", page)
    for wanted in (
        '<html lang="en">',
        "<title>Published speedup",
        "<caption>",
        'scope="col"',
        'scope="row"',
        "Densely",
    ):
        assert wanted in page
    assert page.index("A second core helps.") < page.index('class="theirs"') < page.index('class="ours"')
    assert "<tbody>\n</tbody>" not in page


def test_the_front_has_the_claims_and_no_other_table() -> None:
    claims = claims_frame({"reason": "the intervals meet"}, {"machine": "another", "says": "Not here."})
    front = make_front(shown_of(claims=claims))
    assert "<h1>Large-scale Deep" in front
    assert '<td class="verdict"><span data-sort>reproduced</span> <small>the intervals meet</small>' in front
    assert not re.search("As published|Not here", front)


@pytest.mark.parametrize("machine", ["box-00", "box-01"])
def test_what_was_built_begins_with_the_machine_and_names_what_is_there(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(2)
    build_tables(smoke=False, machine=machine)
    drawn = Path(f"results/figures/raina2009/rbm/{machine}-speedup.png")
    drawn.parent.mkdir(parents=True)
    drawn.write_bytes(b"\x89PNG")
    build_page(smoke=False, machine=machine)
    text, page = Path("results/README.md").read_text(), Path("results/tables.html").read_text()
    links = re.findall(r"\]\((tables[/.][^)]+)\)", text)
    assert len(links) > 10
    assert all((Path("results") / link).stat().st_size for link in links)
    assert text.count("-speedup.png)") == 2
    assert page.count('<img loading="lazy"') == 1
    for begun in (text, page, Path("results/front.html").read_text()):
        assert re.search(r"of (box-0\d)", begun.replace("\\", "")).group(1) == machine  # type: ignore[union-attr]


def test_whatever_a_claim_says_is_text() -> None:
    hostile = "a | b <b>*x*</b> [y](z) `{{ 6 * 7 }}` $1$"
    claim: dict[str, Any] = dict.fromkeys(("says", "published", "here", "verdict", "reason"), hostile)
    text = make_readme(shown_of(claims=claims_frame(claim)))
    assert text.count(escape_markdown(hostile)) == 5
    assert hostile not in text


def test_times_sort_in_any_unit_and_a_page_is_as_wide_as_a_window(tmp_path: Path) -> None:
    rows = {351e-6: {}, 7.1e-3: ALL, 3e-3: GPU}
    records = [record for seconds, row in rows.items() for record in every_case(seconds, **row)]
    (tmp_path / "one.html").write_text(make_page(shown_of(records)))
    table = "[...document.querySelectorAll('table.numbers')].at(-1)"
    with Browser() as browser:
        browser.open(tmp_path / "one.html")
        browser.evaluate(f"{table}.querySelectorAll('thead button')[1].click()")
        shown = browser.evaluate(
            f"[...{table}.querySelectorAll('.ours td:nth-child(2) span')].map(one => one.innerText)"
        )
        assert [time.split()[-1] for time in shown if time.endswith("s")] == ["µs", "ms", "ms"]
        assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
