"""`respeed compare`: which cells became faster or slower, and which cannot be told apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from respeed.cli import main
from tests.derived import NOISE
from tests.made import FIRST_DAY, LATER, make_lines, write_lines

Capture = pytest.CaptureFixture[str]
OLD, NEW = {"commit": "0" * 12}, {"commit": "1" * 12}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(seconds: float, *, case: str = "576x1024", machine: str = "box", rounds: int = 7, **facts: Any) -> None:
    for number, noise in enumerate(NOISE[:rounds], start=1):
        write_lines(*make_lines([seconds * noise] * 2, number=number, case=case, **facts), machine=machine)


def compare(capsys: Capture, a: str, b: str) -> dict[str, Any]:
    assert main(["compare", a, b, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def cells_of(found: dict[str, Any], experiment: str = "rbm") -> list[dict[str, Any]]:
    return [cell for cell in found["cells"] if cell["experiment"] == experiment]


@pytest.mark.parametrize(
    ("seconds", "day", "verdict"),
    [
        # What differs by 6 % is known within a session, and may be the other day if it was measured then.
        (0.094, FIRST_DAY, "faster"),
        (0.094, LATER, "indistinguishable"),
        (0.106, FIRST_DAY, "slower"),
        (0.130, LATER, "slower"),
        (0.100, FIRST_DAY, "indistinguishable"),
    ],
)
def test_commits_differ_only_beyond_rounds_and_days(capsys: Capture, seconds: float, day: str, verdict: str) -> None:
    """Two commits are told apart beyond the noise of rounds and of days."""
    write(0.1, **OLD)
    write(seconds, started=day, **NEW)
    (cell,) = cells_of(compare(capsys, "box@0000000", "box@111111111111"))
    assert cell["verdict"] == verdict
    assert cell["speedup"] == pytest.approx(0.1 / seconds)
    assert cell["together"] == (day == FIRST_DAY)


def test_a_session_is_named_by_number_or_day(capsys: Capture) -> None:
    write(0.1)
    write(0.05, started=LATER)
    found = [compare(capsys, a, b) for a, b in (("box@0", "box@1"), ("box@2026-01-01", "box@2026-02-01"))]
    for one in found:
        assert (one["a"]["session"], one["b"]["session"]) == ([0], [1])
        assert [(cell["verdict"], cell["speedup"]) for cell in cells_of(one)] == [("faster", pytest.approx(2))]


def test_cells_without_both_sides_are_not_counted(capsys: Capture) -> None:
    """What has no time on a side or is only there is said and not counted."""
    write(0.1)
    write(0.1, case="1024x4096", rounds=2)
    write(0.1, case="4096x11008")
    write(0.1, machine="lab", status="wrong", reason="off by 3", threads=1)
    write(0.1, machine="lab", case="1024x4096")
    found = compare(capsys, "box", "lab")
    assert [cell["verdict"] for cell in cells_of(found)] == ["not compared", "unproven"]
    assert cells_of(found)[0]["reason"] == "B failed, off by 3"
    assert "raina2009/rbm/4096x11008/rbm/torch-1" in found["only_a"]
    assert cells_of(found)[0]["speedup"] is None
    assert main(["compare", "box", "lab"]) == 0
    assert "1 not compared, 1 unproven, 2 only in A, 0 only in B." in capsys.readouterr().out


def test_another_number_of_threads_is_said(capsys: Capture) -> None:
    write(0.1, threads=1)
    write(0.05, threads=2, machine="lab")
    (cell,) = cells_of(compare(capsys, "box", "lab"))
    assert (cell["verdict"], cell["reason"], cell["together"]) == ("faster", "1 and 2 threads", False)
