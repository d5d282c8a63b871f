"""respeed status, over machines, papers and profiles."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.cli.main import main
from respeed.machine.description import machine_slug
from respeed.paths import description_path
from respeed.records.store import write_json
from tests.conftest import write_machines

MakeRecord = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _two_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    write_machines(make_record, 2, cases=("576x1024", "1024x4096"))
    write_json(
        description_path("box-01", False),
        {"machine": "box-01", "hardware": {}, "not_measurable": {"gpu": "no CUDA device"}},
    )


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["status", *arguments]) == 0
    return capsys.readouterr().out


def test_every_machine_with_records_has_a_line_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys)
    assert [line for line in text.splitlines() if line.startswith("box-")] == ["box-00", "box-01"]
    assert len(re.findall(r"^raina2009 rbm  ", text, re.MULTILINE)) == 2
    assert re.search(r"^raina2009 rbm +2 .* 32 +7 +2026-01-01 00:00$", text, re.MULTILINE)
    assert f"nothing has been measured on {machine_slug()} yet" in text


def test_what_a_run_would_measure_next_is_said_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "--config", "profiles=torch-1", "experiments=[rbm, patches]")
    assert re.search(r"respeed: .*\n  raina2009 rbm: 4 of 4 cells .*\n  raina2009 patches: 4 of 4 cells .*\n", text)


def test_a_cell_that_a_machine_cannot_run_is_told_from_one_that_waits(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {}
    for machine in ("box-00", "box-01"):
        text = told(capsys, "--machine", machine, "--config", "profiles=[torch-1, gpu]", "experiments=rbm")
        counts[machine] = re.findall(r"^raina2009 rbm (.*)", text, re.MULTILINE)[0].split()[:7]
    assert counts == {"box-00": ["2", "–", "–", "–", "6", "–", "8"], "box-01": ["2", "–", "–", "–", "2", "4", "8"]}


def test_only_what_is_asked_for_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "--machine", "box-01", "--config", "papers=bergstra2010", "profiles=openblas-1")
    assert "box-00" not in text
    assert "raina2009" not in text
    assert "bergstra2010 mlp" in text


def test_with_all_there_is_a_line_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "--all", "--machine", "box-01", "--config", "experiments=rbm")
    assert re.search(r"raina2009 rbm +torch-1 +576x1024 +7 +settled ", text)
    assert re.search(r"raina2009 rbm +gpu +576x1024 +0 +not-run +no CUDA device", text)


def test_a_machine_without_records_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--machine", "box-1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "did you mean box-0" in line


def test_where_a_run_would_be_refused_the_tables_are_there_and_the_line_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["status", "--config", "machine=box-00"]) == 2
    shown = capsys.readouterr()
    assert "box-00 (this machine)" in shown.out
    assert "its records were made on another machine" in shown.err.splitlines()[-1]
