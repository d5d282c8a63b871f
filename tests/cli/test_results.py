"""respeed status and respeed claims, over machines, papers and profiles."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from respeed.cli.main import main
from respeed.cli.results import _lines
from respeed.paths import description_path
from respeed.records.store import write_json
from tests.conftest import MakeRecord, description, write_machines

Capture = pytest.CaptureFixture[str]
BOXES = ("box-00", "box-01")


@pytest.fixture(autouse=True)
def _two_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    write_machines(make_record, 2, cases=("576x1024", "1024x4096"))
    write_json(description_path("box-01", False), description(not_measurable={"gpu": "no CUDA device"}))


def told(capsys: Capture, *arguments: str) -> str:
    """What `respeed status` prints."""
    assert main(["status", *arguments]) == 0
    return capsys.readouterr().out


def test_every_machine_with_records_has_a_line_a_table(capsys: Capture) -> None:
    text = told(capsys)
    assert [line for line in text.splitlines() if line.startswith("box-")] == ["box-00", "box-01"]
    assert len(re.findall(r"^raina2009 rbm +2 .* 2026-01-01 00:00$", text, re.MULTILINE)) == 2


def test_what_a_run_would_measure_next_is_said_at_the_end(capsys: Capture) -> None:
    text = told(capsys, "--config", "profiles=torch-1", "experiments=[rbm, patches]")
    assert re.search(r"respeed: .*\n  raina2009 rbm: 4 of 4 cells .*\n  raina2009 patches: 4 of 4 cells .*\n", text)


def test_a_cell_that_a_machine_cannot_run_is_told_from_one_that_waits(capsys: Capture) -> None:
    counts = [re.findall(r"^raina2009 rbm (.*)", told(capsys, "--machine", box), re.M)[0].split() for box in BOXES]
    (_, *_, waits, cannot, every, _, _), (*_, fewer, more, same, _, _) = counts
    assert every == same
    assert (int(waits) - int(fewer), int(more)) == (4, 4)
    assert cannot == "–"


def test_where_a_run_would_be_refused_the_tables_are_there_and_the_line_says_why(capsys: Capture) -> None:
    assert main(["status", "--config", "machine=box-00"]) == 2
    shown = capsys.readouterr()
    assert "box-00\n" in shown.out
    assert "box-00 was measured on another machine (CPU, A CPU, not " in shown.err.splitlines()[-1]


@pytest.mark.parametrize("command", ["status", "claims"])
def test_a_machine_without_records_is_named_with_the_nearest(capsys: Capture, command: str) -> None:
    assert main([command, "--machine", "box-1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no records of 'box-1' (did you mean box-0" in line


def test_each_claim_stands_with_its_verdict(capsys: Capture) -> None:
    assert main(["claims", "--machine", "box-01"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert ", on box-01 A GPU trains a densely connected RBM" in printed
    assert "published 12.9x to 72.6x" in printed


def test_a_claim_of_which_nothing_was_printed_says_no_number() -> None:
    claim = SimpleNamespace(
        says="It is faster.", verdict="not testable here", published="", here="", reason="no CUDA device"
    )
    assert _lines(claim)[1].strip() == "not testable here"
