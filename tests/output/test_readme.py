"""The front page of results."""

import re
from pathlib import Path
from typing import Any

import pytest

from respeed.output.build import build_tables, make_readme
from respeed.output.markdown_latex import escape_markdown
from tests.conftest import write_machines
from tests.derived import PAPERS, MakeRecord, claims_frame, machine_of, seven


def page(*verdicts: dict[str, Any], stamp: str = "") -> str:
    return make_readme(PAPERS, claims_frame(*verdicts), {}, ("box",), stamp)


def test_a_claim_stands_beside_what_was_published_and_what_came_out() -> None:
    assert "| A second core helps. | 1.13x to 1.85x | 1.60x to 1.90x | **reproduced** |" in page({})


def test_what_cannot_be_tested_says_what_is_missing_and_what_can_be_said_all_the_same() -> None:
    untested = {"verdict": "not testable here", "reason": "no CUDA device", "instead": "Two cores do.", "here": ""}
    assert "| – | **not testable here**: no CUDA device<br>Two cores do. |" in page(untested)


def test_whatever_a_claim_says_is_text() -> None:
    hostile = "a | b <b>*x*</b> [y](z) `{{ 6 * 7 }}` $1$"
    text = page(dict.fromkeys(("says", "published", "here", "verdict", "reason", "instead"), hostile))
    assert text.count(escape_markdown(hostile)) == 6
    assert hostile not in text


def test_what_the_machine_has_an_answer_to_leads() -> None:
    text = page({"here": "", "says": "Nobody knows."}, {})
    assert text.index("A second core helps.") < text.index("Nobody knows.")


def test_single_cases_and_machines_that_are_not_shown_are_left_out() -> None:
    text = page({}, {"case": "576x1024", "says": "One case."}, {"machine": "hut", "says": "H"})
    assert "One case." not in text
    assert "| H |" not in text


def test_the_front_page_says_what_the_machine_is_and_shows_its_speedups(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 7)
    origin = machine_of(records, "box")
    text = make_readme(PAPERS, claims_frame({}), {"box": origin}, ["box"], "")
    assert "### On box: A CPU, 2 cores" in text
    assert "](figures/raina2009/rbm/box-speedup.png)" in text


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
    assert text.count("-speedup.png)") == 2
