"""Pages that begin with a finding: the results' README, one for a browser, and the front of Snakemake's report."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.inputs.papers import PAPER_FILES
from respeed.output import build_page, build_tables
from respeed.output.layout import Shown
from respeed.output.page import describe_paper, make_front, make_page, make_readme, make_review
from respeed.output.table import escape_markdown
from tests.browser import look
from tests.derived import ALL, GPU, PAPER, claims_frame, every_case, seven, shown_of
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
    assert ">Hardware<" in page
    for begun in (text, page, Path("results/front.html").read_text()):
        assert re.search(r"of (box-0\d)", begun.replace("\\", "")).group(1) == machine  # type: ignore[union-attr]


@pytest.mark.parametrize("make", [make_readme, make_review])
def test_whatever_a_claim_says_is_text(make: Callable[[Shown], str]) -> None:
    hostile = "a | b <b>*x*</b> [y](z) `{{ 6 * 7 }}` $1$"
    claim: dict[str, Any] = dict.fromkeys(("says", "published", "here", "verdict", "reason"), hostile)
    text = make(shown_of(claims=claims_frame(claim)))
    assert text.count(escape_markdown(hostile)) == 5
    assert hostile not in text


def test_a_click_on_a_number_of_ours_shows_the_commands_and_the_lines_of_its_records(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(make_page(shown_of([*seven(0.1), *seven(0.01, **GPU)])))
    script = """
      const seen = () => [...document.querySelectorAll("pre")].some(one => one.checkVisibility());
      const before = [document.querySelectorAll(".theirs details").length, seen()];
      document.querySelector(".speedup summary").click();
      return [...before, (await until(() => document.querySelector("details[open] pre"))).innerText];
    """
    theirs, is_open, shown = look(tmp_path / "one.html", script)
    assert (theirs, is_open) == (0, False)
    shown = shown.splitlines()
    assert shown.pop(0).endswith(" that FLOP and bytes need here")
    assert shown[0] == "./run respeed trace raina2009/rbm/576x1024 gpu --machine box"
    assert shown[1].startswith("./run respeed measure --only raina2009/rbm/576x1024 --profiles gpu --rounds 10")
    assert len(shown) == 2 + 7
    assert all(re.fullmatch(r"results/records/box/gpu/\d+\.jsonl:2", line) for line in shown[2:])


def test_a_reviewer_finds_claims_machine_steps_with_times_what_is_missing_and_what_was_chosen() -> None:
    records = [*seven(0.1), *seven(0.1, **ALL, machine="hut", wall_seconds=60.0)]
    page = make_review(shown_of(records, on=("box", "hut"), claims=claims_frame({})))
    for wanted in (
        "A second core helps. | 1.13x to 1.85x | 1.60x to 1.90x",
        "papers=raina2009`: measuring took 4 s on box and 7 min on hut.",
        "| Densely connected RBM | ./run respeed measure --only raina2009/rbm | 4 s on box and 7 min on hut |",
        "| Densely connected RBM | box | 4 | not-run | no CUDA device |",
        "- Densely connected RBM, learning rate: 0.01, no momentum, no weight decay\n",  # chosen
        "- Overlapping patches: The paper gives the sizes of its images and layers, not of its patches.",  # a caveat
    ):
        assert wanted in page, wanted
    assert not [line for line in page.splitlines() if "CPU clock" in line]  # recalled: not ours
    missing = page.partition("## What was not measured")[2]
    assert missing.index("| box |") < missing.index("| hut |") > missing.rindex("| box |")  # a machine's stand together


@pytest.mark.parametrize("name", PAPER_FILES.names())
def test_whoever_adds_a_paper_reads_every_number_and_claim_of_it_before_anything_is_measured(name: str) -> None:
    paper = PAPER_FILES.load(name)
    text = describe_paper(paper)
    words = {*re.sub(r"[,\\]", "", text).split()}
    assert not {one.text.replace(",", "") for one in paper.published.values()} - words
    assert not {f"{one.text}x" for one in paper.speedups.values()} - words
    told = "".join(text.split())
    assert not [one.test for one in paper.claims.values() if "".join(one.says.split()[:2]) not in told]
    assert all(one.title in " ".join(text.split()) for one in paper.experiments.values() if paper.prints(one.name))


def test_a_claim_to_proofread_has_its_printed_numbers_its_test_and_what_it_compares() -> None:
    line = "as fast. | 1.13x to 1.85x | each | rbm: multi-cpu over single-cpu |\n"
    assert line in describe_paper(PAPER)


def test_times_sort_in_any_unit_and_a_page_is_as_wide_as_a_window(tmp_path: Path) -> None:
    rows = {351e-6: {}, 7.1e-3: ALL, 3e-3: GPU}
    records = [record for seconds, row in rows.items() for record in every_case(seconds, **row)]
    (tmp_path / "one.html").write_text(make_page(shown_of(records)))
    script = """
      const table = [...document.querySelectorAll("table.numbers")].at(-1), page = document.documentElement;
      table.querySelectorAll("thead button")[1].click();
      const times = [...table.querySelectorAll(".ours td:nth-child(2) span")].map(one => one.innerText);
      return [times, page.scrollWidth <= page.clientWidth];
    """
    times, fits = look(tmp_path / "one.html", script)
    assert ([time.split()[-1] for time in times if time.endswith("s")], fits) == (["µs", "ms", "ms"], True)
