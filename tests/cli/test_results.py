"""respeed status, claims and report, over machines, papers and profiles."""

import json
import re
from pathlib import Path

import pytest

from respeed.cli import main
from respeed.errors import UserError
from respeed.records import write_description
from respeed.schedule.work import Work
from tests.made import HARDWARE, description, write_machines

Capture = pytest.CaptureFixture[str]
BOXES = ("box-00", "box-01")


@pytest.fixture(autouse=True)
def _two_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    write_machines(2, cases=("576x1024", "1024x4096"))
    write_description("box-01", False, description(not_measurable={"gpu": "no CUDA device"}))


def told(capsys: Capture, *arguments: str, code: int = 0) -> str:
    """What `respeed` prints; its one line, if it refuses."""
    assert main([*arguments]) == code
    out, said = capsys.readouterr()
    return said if code else out


def test_status_has_every_table_of_every_machine_and_then_what_a_run_would_measure(capsys: Capture) -> None:
    text = told(capsys, "status", "--config", "profiles=torch-1", "experiments=[rbm, patches]")
    assert [line for line in text.splitlines() if line.startswith("box-")] == [*BOXES]
    assert len(re.findall(r"^raina2009 +rbm +2 .* 2026-01-01 00:06$", text, re.MULTILINE)) == 2
    assert re.search(r"respeed: .*\n  raina2009 rbm: 4 of 4 cells .*\n  raina2009 patches: 4 of 4 cells .*\n", text)


def test_a_cell_that_a_machine_cannot_run_is_told_from_one_that_waits(capsys: Capture) -> None:
    lines = [re.findall(r"^raina2009 +rbm (.*)", told(capsys, "status", "--machine", box), re.M)[0] for box in BOXES]
    # settled, wide, contaminated, failed, not measured, cannot run, of, last measured
    (*_, waits, none, every, _, _), (*_, fewer, cannot, same, _, _) = map(str.split, lines)
    assert (none, every) == ("–", same)
    assert (int(waits) - int(fewer), int(cannot)) == (4, 4)


def test_where_a_run_would_be_refused_the_tables_are_there_and_the_line_says_why(capsys: Capture) -> None:
    assert main(["status", "--config", "machine=box-00"]) == 2
    shown = capsys.readouterr()
    assert "box-00\n" in shown.out
    assert "box-00 was measured on another machine (CPU, A CPU, not " in shown.err.splitlines()[-1]


def test_a_machine_without_records_is_named_with_the_nearest(capsys: Capture) -> None:
    for command in ("status", "claims"):
        (line,) = told(capsys, command, "--machine", "box-1", code=2).splitlines()
        assert "no records of 'box-1' (did you mean box-0" in line


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        ("status --config profiles=torch-1", {"machine", "machines", "says"}),
        ("claims --machine box-01", {"smoke", "machine", "controls", "papers", "claims"}),
        ("trace rbm/576x1024 torch-1 --machine box-00", {"smoke", "traces"}),
        ("compare box-00 box-01", {"smoke", "a", "b", "confidence", "cells", "only_a", "only_b"}),
    ],
)
def test_as_json_a_command_prints_one_document_and_nothing_else(capsys: Capture, command: str, keys: set[str]) -> None:
    found = json.loads(told(capsys, *command.split(), "--json"))
    assert set(found) == keys
    if "machines" in keys:
        table = next(one for one in found["machines"]["box-00"] if one["experiment"] == "rbm")
        assert (table["settled"], table["last_measured"]) == (2, "2026-01-01 00:06")
    if "claims" in keys:
        assert "not testable here" in {claim["verdict"] for claim in found["claims"]}


def test_each_claim_stands_once_with_its_verdict_what_was_published_and_why(capsys: Capture) -> None:
    printed = " ".join(told(capsys, "claims", "--machine", "box-01").split())
    assert [printed.count(says) for says in ("A second core makes", "A GPU trains a densely")] == [1, 1]
    assert ", on box-01 A GPU trains a densely connected RBM 12.9 to 72.6 times as fast as a dual-core CPU." in printed
    assert "not testable here: published 12.9x to 72.6x no CUDA device The larger" in printed


def test_by_hand_as_many_rounds_are_measured_as_are_asked_for_and_no_more(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(work: Work, *_: object) -> None:
        raise UserError(f"{work.preset.rounds} and at most {work.preset.most}")

    monkeypatch.setattr("respeed.commands.measure_session", measure)
    said = told(capsys, "measure", "--rounds", "3", "--profiles", "openblas-1", "--config", "machine=new", code=2)
    assert said == "respeed: 3 and at most 3\n"


def test_the_page_for_a_reviewer_is_of_tables_as_records_are_now(capsys: Capture) -> None:
    assert told(capsys, "report", "--review", "--papers", "raina2009") == "report/REVIEW.md\n"
    assert "box-01" in Path("report/REVIEW.md").read_text()


def test_tables_of_records_that_cannot_be_used_at_all_are_one_line(capsys: Capture) -> None:
    for path in Path("results/records").glob("*/*/*.jsonl"):
        path.write_text(f"{HARDWARE}\n")
    *skipped, line = told(capsys, "report", "--only", "tables", code=2).splitlines()
    assert line == "respeed: results/records: none of the 14 records can be used; the lines above say why"
    assert len(skipped) == 14


def test_claims_are_predicted_over_the_cpu_that_was_measured_or_over_a_data_sheet(capsys: Capture) -> None:
    """An H100 has 67,000 GFLOP/s, EPYC 7763 5,017.6; the machine moves at most 1.02 GB a step, at 10 GB/s."""
    for cpu, speedup in (((), "79.1x to 141x"), (("--cpu", "EPYC 7763"), "13.4x")):
        printed = " ".join(told(capsys, "claims", "--machine", "box-01", "--on", "H100 SXM", *cpu).split())
        assert f"the larger the speedup. predicted {speedup}; published 12.9x to 72.6x predicted" in printed
        assert printed.count("predicted, not measured: ") == 7
        assert "reproduced" not in printed


def test_hardware_without_a_data_sheet_is_named_with_the_nearest(capsys: Capture) -> None:
    for options, says in (
        (("--on", "H100 SMX"), "--on: no data sheet of a GPU 'H100 SMX' (did you mean H100 SXM?); there are: A100"),
        (("--cpu", "EPYC 7763"), "--on: no data sheet of a GPU ''; there are: A100"),
        (("--on", "T4", "--cpu", "T4"), "--cpu: no data sheet of a CPU 'T4'; there are: Core 2 Duo"),
    ):
        assert says in told(capsys, "claims", *options, code=2)
