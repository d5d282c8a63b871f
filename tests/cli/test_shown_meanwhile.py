"""respeed measure: what is made of the records while they are measured, and what it can do without."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.cli import measure
from respeed.cli.measure import Shown
from tests.conftest import Project

ASKED = ("--config", "preset=smoke", "profiles=openblas-1", "experiments=rbm")
# What a bare machine with torch lacks: it is imported as if it were not installed. There is no network either.
BARE = """
import sys
sys.modules |= dict.fromkeys(["snakemake", "seaborn", "matplotlib", "typst", "tabulate", "jinja2", "pygments"])
def offline(event, arguments):
    if event == "socket.getaddrinfo" or event == "socket.connect" and not isinstance(arguments[1], (str, bytes)):
        raise ConnectionError("offline")
sys.addaudithook(offline)
"""


def test_on_a_bare_machine_without_network_all_is_measured_and_packed_and_a_line_says_why_there_is_no_report(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BARE)
    bare = {"PYTHONPATH": f"{tmp_path}:{project.folder / 'workflow'}", "CUDA_VISIBLE_DEVICES": ""}
    said = project.run("python", "-m", "respeed", "measure", "--report", "--bundle", "b.zip", *ASKED, **bare).stdout
    assert said.count("no report yet: ModuleNotFoundError") == 1
    assert project.records()
    packed = (project.folder / "b.zip").read_bytes()
    project.run("python", "-m", "respeed", "export", "b.zip", "--smoke", **bare)
    assert (project.folder / "b.zip").read_bytes() == packed
    (project.folder / "b.zip").unlink()
    project.run("python", "-m", "respeed", "measure", "--bundle", "b.zip", *ASKED, **bare)
    assert (project.folder / "b.zip").read_bytes() == packed, "where nothing was left to measure"


@pytest.mark.slow
def test_a_report_is_made_meanwhile_and_where_nothing_is_left_if_there_is_none(project: Project) -> None:
    for _ in "once", "again":
        said = project.run("python", "-m", "respeed", "measure", "--report", *ASKED, CUDA_VISIBLE_DEVICES="").stdout
        assert said.count("what is measured so far is in report/smoke.pdf") == 1
        assert (project.folder / "report/smoke.pdf").read_bytes().startswith(b"%PDF")
        (project.folder / "report/smoke.pdf").unlink()


def test_a_report_is_made_of_the_first_table_then_in_a_twentieth_of_the_time_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, made, ran = 0.0, list[float](), list[str]()
    workflow: Any = SimpleNamespace(document="report/report", shown=[])

    def run(command: list[str], **_: Any) -> Any:
        nonlocal now
        now += 2.0
        ran.append(command[3])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(measure, "seconds_now", lambda: now)
    monkeypatch.setattr(measure.subprocess, "run", run)
    shown = Shown(workflow, report=True, bundle=None, say=lambda _: made.append(now))
    for turn in range(60):
        now += 10.0
        shown.after_turn(SimpleNamespace(left_of_first_table=["a cell"] if turn < 4 else []))  # type: ignore[arg-type]
    assert ran[:3] == ["tables", "figures", "report"]
    shown.end()
    assert made.pop() == now
    assert made[0] == 56.0  # at once after the fifth turn, within 6 s
    assert len(made) == len(ran) / 3 - 1
    assert {later - earlier for earlier, later in pairwise(made)} == {126.0}
    assert not shown.is_old
