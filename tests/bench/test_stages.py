"""A job in stages on a machine that may be gone any minute: what comes back, whatever happens to a stage."""

import json
import sys
import time
from pathlib import Path

import pytest
from stages import FAILED, LATE, PASSED, SKIPPED, TIME_UP, UNFINISHED, Stage, Stages


class Job:
    """Its stages, and how often it was saved."""

    def __init__(self, folder: Path, seconds: float = 60.0, machine: str = "box", preset: str = "standard") -> None:
        self.saved = 0
        job = {"machine": machine, "preset": preset}
        self.stages = Stages(folder / "records.zip", time.monotonic() + seconds, self.save, job)

    def save(self) -> None:
        self.saved += 1

    def run(self, name: str, code: str, seconds: float = 30.0) -> None:
        self.stages.run(Stage(name, ["-c", code], seconds))

    def ended(self) -> dict[str, str]:
        return {one["stage"]: one["ended"] for one in json.loads(self.stages.log.read_text())}

    def printed(self, stage: str) -> list[str]:
        return self.stages.output(stage).read_text().split()


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
    assert job.stages.exit_code == 1


@pytest.mark.slow
def test_a_stage_that_hangs_is_ended_with_all_it_started_and_says_where_it_stood(job: Job) -> None:
    wait = "import time; time.sleep(60)"
    job.run("first", f"import subprocess as s; print('on'); s.run([{sys.executable!r}, '-c', {wait!r}])", 4)
    job.run("second", "print('well')")
    assert job.ended() == {"first": LATE, "second": PASSED}
    told = job.stages.output("first").read_text()
    assert told.startswith("on\n")
    assert "Fatal Python error: Aborted" in told


def test_a_stage_is_run_again_until_it_passes_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    runs = ((2, FAILED, 1), (TIME_UP, UNFINISHED, TIME_UP), (0, PASSED, 0), (1, PASSED, 0))
    for code, ended, exit_code in runs:
        job = Job(tmp_path)
        job.run("first", f"print({code}); raise SystemExit({code})")
        job.run("second", "print('well')")
        assert job.ended() == {"first": ended, "second": PASSED}
        assert job.stages.exit_code == exit_code
    assert job.printed("first") == ["2", str(TIME_UP), "0"]
    assert job.printed("second") == ["well"]
    assert json.loads(job.stages.log.read_text())[0]["last_lines"] == ["0"]


@pytest.mark.parametrize("other", [{"preset": "smoke"}, {"machine": "another"}])
def test_what_passed_in_a_trial_or_elsewhere_is_run_here_and_stays_in_the_log(
    tmp_path: Path, other: dict[str, str]
) -> None:
    Job(tmp_path, **other).run("first", "print('there')")
    job = Job(tmp_path)
    job.run("first", "raise SystemExit(1)")
    assert [(one["job"], one["ended"]) for one in json.loads(job.stages.log.read_text())] == [
        ({"machine": "box", "preset": "standard"} | other, PASSED),
        ({"machine": "box", "preset": "standard"}, FAILED),
    ]
    again = Job(tmp_path, **other)
    again.run("first", "raise SystemExit(1)")
    assert again.stages.exit_code == 0


def test_a_stage_for_which_no_time_is_left_is_not_begun_and_a_log_that_was_cut_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "records-stages.json").write_text('[{"stage": "fi')
    for seconds, ended, exit_code in ((1.0, SKIPPED, TIME_UP), (60.0, PASSED, 0)):
        job = Job(tmp_path, seconds)
        job.run("first", "print(1)")
        assert (job.ended(), job.stages.exit_code) == ({"first": ended}, exit_code)
