"""The command `respeed`."""

import argparse
import importlib
import inspect
import os
import re
import subprocess
import sys

import pytest

from respeed.cli.main import FOR_PEOPLE, FOR_RULES, Command, main
from tests.conftest import Project


def test_hardware_says_what_the_machine_is_and_which_profiles_apply(project: Project) -> None:
    told = project.run("respeed", "hardware", CUDA_VISIBLE_DEVICES="").stdout
    assert re.search(r"gpu .*no +no CUDA device", told)
    assert re.search(r"torch-1 .*yes +1 thread on CPU \d", told)
    assert "GiB" in told
    assert re.search(r"price +none is told: ./run respeed new machine \S+\n +energy +\S", told)
    assert re.search(r"fingerprint.*CPU, .*host$", told, re.MULTILINE)


def test_status_lists_cells_rounds_and_what_is_missing(measured: Project) -> None:
    told = measured.run("respeed", "status", "--all", "--smoke", CUDA_VISIBLE_DEVICES="").stdout
    assert re.search(r"raina2009 rbm +torch-1 +36x64 +[0-1]/1 +(wide|contaminated)", told)
    assert re.search(r"raina2009 rbm +gpu +36x64 +0 +not-run +no CUDA device", told)
    assert "0 of 16 cells to measure" in told


def test_status_before_any_measurement_says_so(project: Project) -> None:
    assert "nothing has been measured" in project.run("respeed", "status", CUDA_VISIBLE_DEVICES="").stdout


def test_a_wrong_argument_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "somewhere/learning.json"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["measure", "--budget", "soon"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["measure", "--config", "preset"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (*FOR_PEOPLE, *FOR_RULES):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert command in capsys.readouterr().out


def test_help_shows_what_people_ask_for_first_and_apart_from_it_what_a_run_calls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    first, last = capsys.readouterr().out.split("called by the rules of a run:")
    assert re.findall(r"^  ([a-z]+) ", first.partition("commands:")[2], re.MULTILINE) == [*FOR_PEOPLE]
    assert re.findall(r"^  ([a-z]+) ", last, re.MULTILINE) == [*FOR_RULES]


@pytest.mark.parametrize("command", [*FOR_PEOPLE.values(), *FOR_RULES.values()])
def test_a_command_takes_what_its_function_asks_for(command: Command) -> None:
    module, _, function = command.runs.partition(":")
    asked = inspect.signature(getattr(importlib.import_module(f"respeed.{module}"), function)).parameters
    parser = argparse.ArgumentParser()
    for names, facts in command.arguments:
        parser.add_argument(*names, **facts)
    assert {action.dest for action in parser._actions} - {"help"} == set(asked)


@pytest.mark.slow
def test_doctor_says_what_it_looked_at_and_what_to_do(project: Project) -> None:
    done = project.run("respeed", "doctor", check=False)
    assert done.returncode in (0, 1)
    for subject in ("cores", "CPU quota", "other programs", "memory", "reference probe", "threads"):
        assert re.search(rf"^{subject} ", done.stdout, flags=re.MULTILINE), done.stdout
    assert (done.stdout.splitlines()[-1] == "fit to measure") == (done.returncode == 0)


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_ends_a_command_without_a_word() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "respeed", "doctor"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
