"""The front page of results."""

import re
from pathlib import Path
from typing import Any

import pytest

from respeed.output import build_tables, make_readme
from respeed.output.markdown_latex import escape_markdown
from tests.conftest import write_machines
from tests.derived import PAPERS, MakeRecord, claims_frame


def page(*verdicts: dict[str, Any], stamp: str = "") -> str:
    return make_readme(PAPERS, claims_frame(*verdicts), {}, ("box",), stamp)


UNTESTED = {"verdict": "not testable here", "reason": "no CUDA device", "instead": "Two cores do.", "here": ""}


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        ({}, "| A second core helps. | 1.13x to 1.85x | 1.60x to 1.90x | **reproduced** |"),
        (UNTESTED, "| Two cores do. | **not testable here**: no CUDA device |"),
    ],
)
def test_a_claim_stands_beside_what_was_published_and_what_came_out_or_why_nothing_did(
    verdict: dict[str, Any], line: str
) -> None:
    assert line in page(verdict)


def test_whatever_a_claim_says_is_text() -> None:
    hostile = "a | b <b>*x*</b> [y](z) `{{ 6 * 7 }}` $1$"
    text = page(dict.fromkeys(("says", "published", "here", "verdict", "reason", "instead"), hostile))
    assert text.count(escape_markdown(hostile)) == 6
    assert hostile not in text


def test_claims_with_an_answer_lead_and_cases_and_machines_that_are_not_shown_are_left_out() -> None:
    hidden = ({"case": "576x1024", "says": "One case."}, {"machine": "hut", "says": "H"})
    text = page({"here": "", "says": "Nobody knows."}, {}, *hidden)
    assert text.index("A second core helps.") < text.index("Nobody knows.")
    assert "One case." not in text
    assert "| H |" not in text


def test_a_smoke_run_says_so_first() -> None:
    assert page({}, stamp="No measurement.").split("\n\n")[1] == "> **No measurement.**"


def test_every_table_that_it_names_is_there(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(make_record, 2)
    build_tables(smoke=False)
    text = Path("results/README.md").read_text()
    links = re.findall(r"\]\((tables/[^)]+)\)", text)
    assert len(links) > 10
    assert all((Path("results") / link).stat().st_size for link in links)
    assert "### On box-00: A CPU, 2 cores" in text
    assert "](figures/raina2009/rbm/box-00-speedup.png)" in text
    assert text.count("-speedup.png)") == 2
