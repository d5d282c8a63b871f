"""`respeed trace`: a number down to the lines of records that it is made of."""

import json
import math
import shlex
import statistics
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.trace import measure_command
from respeed.cli import build_parser, main
from respeed.records import Replay, append_line, record_paths
from tests.derived import ALL, PAPER, derive, one, seven, sparse_coding_on_a_cpu
from tests.made import make_lines, write_lines

Capture = pytest.CaptureFixture[str]
CELL = "rbm/576x1024"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*seconds: float, **facts: Any) -> None:
    for number, time in enumerate(seconds, start=1):
        write_lines(*make_lines([time] * 2, number=number, **facts))


def trace(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["trace", *arguments, "--machine", "box", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["traces"]
    return found


def test_a_trace_ends_at_the_records_lines(capsys: Capture) -> None:
    """Each round has the line of its record and the number is their trimmed mean."""
    write(0.1, library="torch 1")  # of another library: no round
    write(*(0.1 + 0.001 * number for number in range(8)), started="2026-02-01T00:00:00+00:00")
    write(0.5, started="2026-02-01T00:10:00+00:00", minor_faults=10**6)
    found = trace(capsys, CELL, "torch-1")
    for row in found["rounds"]:
        path, _, line = row["record"].rpartition(":")
        blocks = json.loads(Path(path).read_text("utf-8").splitlines()[int(line) - 1])["blocks"]
        assert row["step_seconds"] in (None, pytest.approx(blocks[0]["sample_seconds"][0]))
    *kept, disturbed = found["rounds"]
    assert disturbed["step_seconds"] is None
    logs = sorted(math.log(row["step_seconds"]) for row in kept)[1:-1]
    assert found["cell"]["seconds"] == pytest.approx(found["cell"]["steps"] * math.exp(statistics.fmean(logs)))
    assert disturbed["causes"] == "page faults in 1"


def test_a_trace_shows_the_last_profiled_step(capsys: Capture) -> None:
    write(0.1)
    case = make_lines()[1]
    (path,) = record_paths(False, "box")
    sizes = {"inputs_bytes": 3_000_000, "weights_bytes": 1_000_000, "cache_bytes": 50_000_000}
    kernels = [{"name": "sgemm" * 30, "count": 4, "seconds": 2e-5}]
    facts = {"replay": case["workload"], "parameters": case["parameters"], "longest": kernels, **sizes}
    append_line(path, Replay, facts | {"reason": "no CUPTI"})
    assert trace(capsys, CELL, "torch-1")["replay"]["in_words"] == "not profiled: no CUPTI"
    append_line(path, Replay, facts | {"kernels": 17, "seconds": 4e-5, "busy_share": 0.93})
    assert main(["trace", CELL, "torch-1", "--machine", "box"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("Replay", "Longest"))]
    assert lines[0].split(maxsplit=1)[1] == (
        "17 kernels, the device busy for 93 % of 40.0 µs; inputs and weights, 4 MB, lie in its cache of 50 MB"
    )
    assert lines[1].startswith("Longest     20.0 µs 4 times: sgemmsgemm")
    assert len(lines[1]) < 100
    assert trace(capsys, "rbm/1024x4096", "torch-1")["replay"] is None


def test_an_unusable_line_counts_as_a_line(capsys: Capture) -> None:
    """A line that cannot be used is counted as a line."""
    start, result = make_lines()
    write_lines(start, result | make_lines(case="1024x4096")[1], result)
    (path,) = record_paths(False, "box")
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], "damaged", lines[2], ""]), "utf-8")
    assert [row["record"] for row in trace(capsys, CELL, "torch-1")["rounds"]] == [f"{path}:3"]


def test_a_cells_command_asks_for_more_rounds() -> None:
    """The command of a cell names it alone and asks for more rounds than there are."""
    cells = derive([*seven(0.1), *seven(0.1, **ALL), *sparse_coding_on_a_cpu()])[0]
    coding = next(cell for cell in cells if cell.algorithm == "sparse_descent" and cell.rounds)
    total = next(cell for cell in cells if (cell.experiment, cell.case, cell.profile) == ("dbn", "total", "torch-1"))
    for cell, only in (
        (one(cells, "torch-1"), "raina2009/rbm/576x1024"),
        (coding, f"raina2009/sparse-coding/{coding.case}/sparse_descent"),
        (total, "raina2009/dbn/"),
    ):
        command = measure_command(cell, PAPER.experiments[cell.experiment], cell.rounds, smoke=True)
        options = build_parser().parse_args(shlex.split(command)[2:])
        assert (options.only, options.profiles, options.rounds) == ([only], [cell.profile], cell.rounds + 3)
        assert options.config == ["papers=raina2009", "preset=smoke"]
    cannot = next(cell for cell in cells if cell.reason == "no CUDA device")
    assert measure_command(cannot, PAPER.experiments[cannot.experiment], 0, smoke=False) == ""
