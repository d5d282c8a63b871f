"""The command `respeed`; doctor, hardware and check."""

import argparse
import importlib
import inspect
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from respeed.cli import machine as cli_machine
from respeed.cli.main import FOR_PEOPLE, FOR_RULES, Command, main
from respeed.inputs.config import load_config
from respeed.inputs.profiles import read_profiles
from respeed.machine.cpu import Core, cores_as_facts
from respeed.paths import HARDWARE
from tests.conftest import Project


@pytest.mark.parametrize(
    "words", [["learn", "somewhere/learning.json"], ["measure", "--budget", "soon"], ["measure", "--config", "preset"]]
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(("word", "meant"), [("chek", "check"), ("statsu", "status"), ("run", "measure"), ("xyz", "")])
def test_a_word_that_is_no_command_is_one_line_with_the_nearest_one(
    capsys: pytest.CaptureFixture[str], word: str, meant: str
) -> None:
    assert main([word, "--all"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"respeed: no command {word!r}" + f" (did you mean {meant}?)" * bool(meant) + "; there are: "
    )


@pytest.mark.parametrize("command", [*FOR_PEOPLE, *FOR_RULES])
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
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


@pytest.mark.parametrize("command", ["check", "--help"])
def test_what_only_reads_files_loads_no_numerical_library(command: str) -> None:
    code = f"import sys; from respeed.cli import main; main.main(['{command}'])"
    heavy = "import atexit, sys; atexit.register(lambda: print({'torch', 'pandas', 'numba', 'numpy'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{heavy}\n{code}"], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("command", [*FOR_PEOPLE.values(), *FOR_RULES.values()], ids=lambda command: command.runs)
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


def test_hardware_says_what_the_machine_is_and_of_every_profile_whether_it_applies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("torch-1", "accelerate-1"):
        (tmp_path / f"{name}.yaml").write_text((HARDWARE / f"{name}.yaml").read_text())
    (tmp_path / "second-gpu.yaml").write_text((HARDWARE / "gpu.yaml").read_text() + "devise: cuda:1\n")
    monkeypatch.setattr(cli_machine, "read_profiles", lambda: read_profiles(tmp_path))
    cores = cores_as_facts([Core((n, n + 4), 0, "performance") for n in (0, 1)] + [Core((2,), 1, "efficiency")])
    kinds = {"performance": 2, "efficiency": 1}
    machine = cli_machine.describe_machine() | {"cores": cores, "core_kinds": kinds, "devices": {"cuda": 2}}
    monkeypatch.setattr(cli_machine, "describe_machine", lambda: machine)
    config = replace(load_config(strict=False), machine="my-desk")
    monkeypatch.setattr(cli_machine, "load_config", lambda **_: config)
    cli_machine.show_hardware()
    told = "\n".join(" ".join(line.split()) for line in capsys.readouterr().out.splitlines())
    for expected in (
        r"my-desk",
        r"memory \d+\.\d GiB",
        r"core kinds 2 performance cores, 1 efficiency cores",
        r"devices cuda: 2",
        r"socket 0 performance 2 usable, CPU 0-1, 4-5, 2 a core",
        r"socket 1 efficiency 1 usable, CPU 2",
        r"price none is told: ./run respeed new machine my-desk",
        r"energy \S.*",
        r"what tells it.*CPU, .*host",
        r"torch-1 PyTorch, one core yes 1 thread( on CPU \d+)?",
        r"accelerate-1 Accelerate, one core no needs Accelerate.*",
        r"second-gpu – wrong .*unknown key 'devise' \(did you mean device\?\).*",
    ):
        assert re.search(f"^{expected}$", told, re.MULTILINE), expected


def test_check_tells_every_fault_of_every_file_at_once(project: Project) -> None:
    workflow = project.folder / "workflow"
    project.edit("workflow/hardware/torch-1.yaml", "PyTorch, one core", r'"\e[31mred\u202e"')
    os.mkfifo(workflow / "hardware/pipe.yaml")
    (workflow / "hardware/gpu2.yml").write_text("label: GPU\n")
    (workflow / "machines/My Box.yaml").write_text("")
    (workflow / "machines/box.yaml").write_text("price: !!int ''\n")
    project.edit("workflow/papers/bergstra2010/published.csv", "6573.73,ex", "6_573.73,ex")
    project.edit("workflow/papers/cnn-benchmarks/paper.yaml", "title: ", "title: !!str ")
    (workflow / "papers/lectures").rename(workflow / "papers/My lectures")
    (workflow / "respeed/workloads/mine.py").write_text("def build(:\n")
    (workflow / "respeed/backends/mine.py").write_text('DEVICES = ("cpu",)\n')
    project.edit("config.yaml", "seed: 2009", "seed: !!int ''")
    seed = (project.folder / "config.yaml").read_text().partition("\nseed:")[0].count("\n") + 2
    done = project.run("respeed", "check", check=False)
    assert done.returncode == 1
    *lines, last = done.stdout.splitlines()
    profiles = len([*(workflow / "hardware").glob("*.yaml")])
    looked = f"{len(lines)} mistakes; looked at config.yaml, {profiles} hardware profiles, papers (My lectures, "
    assert last.startswith(looked)
    assert ", machines (My Box, box), " in last
    for unwanted in ("Traceback", str(project.folder), "\x1b"):
        assert unwanted not in done.stdout
    for line in (
        f"config.yaml:{seed}: tags (!!int) are not allowed",
        "workflow/hardware/torch-1.yaml: label: holds the character U+001B",
        "workflow/hardware/pipe.yaml: is no regular file",
        "workflow/hardware/gpu2.yml: is not read, because of its name; rename it to gpu2.yaml",
        "workflow/machines/My Box.yaml: 'My Box' cannot be the name of a machine",
        "workflow/machines/box.yaml:1: tags (!!int) are not allowed",
        "workflow/papers/bergstra2010/published.csv:",
        "workflow/papers/cnn-benchmarks/paper.yaml:",
        "workflow/papers/My lectures: 'My lectures' cannot be the name of a paper",
        "workflow/respeed/workloads/mine.py:1: is not Python",
        "workflow/respeed/backends/mine.py: has no PRECISIONS",
    ):
        assert any(said.startswith(line) for said in done.stdout.splitlines()), f"{line}\n{done.stdout}"
