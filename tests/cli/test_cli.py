"""The command `respeed`; doctor, hardware and check."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from respeed.cli import machine as doctor
from respeed.cli.main import build_parser, main
from respeed.inputs.profiles import PROFILE_FILES
from respeed.paths import HARDWARE, RoundId, round_path
from tests.conftest import MakeRecord, Project
from tests.records.conftest import write_box

COMMANDS = ["measure", "report", "status", "claims", "doctor", "check", "new", "export", "import"]


@pytest.mark.parametrize(
    "words",
    [
        ["status", "--all"],
        ["report", "--only", "html"],
        ["export"],
        ["measure", "--budget", "soon"],
        ["measure", "--config", "preset"],
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(("word", "meant"), [("chek", "check"), ("statsu", "status"), ("xyz", "")])
def test_a_word_that_is_no_command_is_one_line_with_the_nearest_one(
    capsys: pytest.CaptureFixture[str], word: str, meant: str
) -> None:
    assert main([word, "--all"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"respeed: no command {word!r}{f' (did you mean {meant}?)' * bool(meant)}; there are: ")


def test_help_has_the_nine_commands_and_fits_a_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert re.findall(r"^    ([a-z]+) ", "\n".join(lines), re.MULTILINE) == COMMANDS
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_by_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    example = capsys.readouterr().out.partition("Example: respeed ")[2].split()
    options = vars(build_parser().parse_args(example))
    module, _, function = options.pop("function").partition(":")
    inspect.signature(getattr(importlib.import_module(f"respeed.{module}"), function)).bind(**options)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert re.fullmatch(r"respeed \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("command", ["check", "--help"])
def test_what_only_reads_files_loads_no_numerical_library(command: str) -> None:
    code = f"import sys; from respeed.cli import main; main.main(['{command}'])"
    heavy = "import atexit, sys; atexit.register(lambda: print({'torch', 'pandas', 'numba', 'numpy'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{heavy}\n{code}"], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.slow
def test_doctor_says_what_it_looked_at_and_what_to_do(project: Project) -> None:
    # Tests beside this one may hold the user's lock of measurements.
    done = project.run("respeed", "doctor", check=False, XDG_CACHE_HOME=str(project.folder / "cache"))
    assert done.returncode in (0, 1)
    for subject in ("CPU", "price", "CPU quota", "other programs", "memory", "reference probe", "threads", "torch-1"):
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


def test_doctor_says_of_every_profile_whether_it_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch-1", "accelerate-1"):
        (tmp_path / f"{name}.yaml").write_text((HARDWARE / f"{name}.yaml").read_text())
    monkeypatch.setattr(doctor, "PROFILE_FILES", replace(PROFILE_FILES, folder=tmp_path))
    lines = [" ".join(row) for row in doctor._profiles()]
    for line, expected in zip(lines, (
        r"accelerate-1 Accelerate, one core no needs Accelerate.*",
        r"torch-1 PyTorch, one core yes 1 thread( on CPU \d+)?",
    ), strict=True):  # fmt: skip
        assert re.fullmatch(expected, line)


def test_check_tells_every_fault_of_every_file_at_once(project: Project) -> None:
    workflow = project.folder / "workflow"
    project.edit("workflow/hardware/torch-1.yaml", "PyTorch, one core", r'"\e[31mred\u202e"')
    os.mkfifo(workflow / "hardware/pipe.yaml")
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
    assert last == f"{len(lines)} mistakes; looked at config.yaml, {profiles} hardware profiles, 7 papers, 1 machine"
    for unwanted in ("Traceback", str(project.folder), "\x1b"):
        assert unwanted not in done.stdout
    for line in (
        f"config.yaml:{seed}: tags (!!int) are not allowed",
        "workflow/hardware/torch-1.yaml:1: a text holds the character U+001B",
        "workflow/hardware/pipe.yaml: is no regular file",
        "workflow/machines/My Box.yaml: 'My Box' cannot be the name of a machine",
        "workflow/machines/box.yaml:1: tags (!!int) are not allowed",
        "workflow/papers/bergstra2010/published.csv:",
        "workflow/papers/cnn-benchmarks/paper.yaml:",
        "workflow/papers/My lectures/paper.yaml: 'My lectures' cannot be the name of a paper",
        "workflow/respeed/workloads/mine.py: is not Python",
        "workflow/respeed/backends/mine.py: PRECISIONS: is missing",
    ):
        assert any(said.startswith(line) for said in done.stdout.splitlines()), f"{line}\n{done.stdout}"


def test_check_lists_records_that_are_not_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_box(make_record)
    assert main(["check", "results/records"]) == 0
    right = capsys.readouterr().out
    assert re.fullmatch(r"no mistake; looked at \d+ files in results/records\n", right)
    path = round_path(RoundId("box", "raina2009", "rbm", "torch-1", 1))
    path.write_text("{")
    for asked in ("results/records", "results/records/box"):
        assert main(["check", asked]) == 1
        assert capsys.readouterr().out.startswith(f"{path}: is damaged")
