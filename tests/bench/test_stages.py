"""A job in stages on a machine that may be gone any minute: what comes back, whatever happens to a stage."""

import json
import sys
import time
from pathlib import Path

import pytest
from stages import FAILED, LATE, PASSED, SKIPPED, Stage, Stages


class Job:
    """Its stages, and how often it was saved."""

    def __init__(self, folder: Path, seconds: float = 60.0) -> None:
        self.saved = 0
        self.stages = Stages(folder / "records.zip", time.monotonic() + seconds, self.save)

    def save(self) -> None:
        self.saved += 1

    def run(self, name: str, code: str, seconds: float = 30.0) -> None:
        self.stages.run(Stage(name, ["-c", code], seconds))

    def ended(self) -> dict[str, str]:
        return {one["stage"]: one["ended"] for one in json.loads(self.stages.log.read_text())}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_a_stage_that_fails_or_crashes_does_not_stop_the_next_and_tells_why(job: Job) -> None:
    job.run("first", "print('so far'); raise ValueError('no such thing')")
    job.run("second", "import os; os.abort()")
    job.run("third", "print('well')")
    assert job.ended() == {"first": FAILED, "second": FAILED, "third": PASSED}
    first, second, third = json.loads(job.stages.log.read_text())
    assert (first["exit_code"], first["last_lines"][-1]) == (1, "ValueError: no such thing")
    assert second["exit_code"] == -6
    assert third["last_lines"] == ["well"]
    assert job.stages.output("first").read_text().startswith("so far\n")
    assert job.saved == 3
    assert not job.stages.all_passed


def test_a_stage_that_hangs_is_ended_with_all_it_started_and_says_where_it_stood(job: Job) -> None:
    wait = "import time; time.sleep(60)"
    job.run("first", f"import subprocess as s; print('on'); s.run([{sys.executable!r}, '-c', {wait!r}])", 4)
    job.run("second", "print('well')")
    assert job.ended() == {"first": LATE, "second": PASSED}
    told = job.stages.output("first").read_text()
    assert told.startswith("on\n")
    assert "Fatal Python error: Aborted" in told


def test_a_stage_that_passed_is_not_run_again_and_another_is(job: Job, tmp_path: Path) -> None:
    job.run("first", "print(1)")
    job.run("second", "raise SystemExit(2)")
    again = Job(tmp_path)
    again.run("first", "raise SystemExit(3)")
    again.run("second", "print(2)")
    assert again.ended() == {"first": PASSED, "second": PASSED}


def test_a_stage_for_which_no_time_is_left_is_not_begun_and_says_so(tmp_path: Path) -> None:
    job = Job(tmp_path, seconds=1.0)
    job.run("first", "print(1)")
    assert job.ended() == {"first": SKIPPED}


def test_a_log_that_was_cut_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "records-stages.json").write_text('[{"stage": "fi')
    job = Job(tmp_path)
    job.run("first", "print(1)")
    assert job.ended() == {"first": PASSED}
