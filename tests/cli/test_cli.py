"""The command `respeed`; doctor and check."""

import importlib
import inspect
import os
import re
import subprocess
import sys

import pytest

from respeed.cli import COMMANDS, build_parser, main
from tests.conftest import Project


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("status --all", "respeed: unrecognized arguments: --all"),
        ("export", "respeed: export: the following arguments are required: FILE"),
        ("measure --budget soon", "respeed: --budget: 'soon' is no duration; write it as 90s, 15min or 1.5h"),
        ("measure --wait 90", "respeed: --wait: '90' is no duration; write it as 90s, 15min or 1.5h"),
        ("measure --rounds 0", "respeed: --rounds: 0 is no number of rounds; give one from 1 to 99"),
        ("measure --only nothing/here", "respeed: --only: no cell on the rows that this machine can run has nothing/h"),
        ("measure --profiles torch-2", "respeed: --config: profiles.0: no hardware profile 'torch-2' (did you mean to"),
        ("measure --config preset", "respeed: --config: 'preset' must be of the form KEY=VALUE, such as preset=smoke"),
        ("new workload matmul", "respeed: new workload: workflow/respeed/workloads/matmul.py is there already"),
        ("new paper raina2009", "respeed: new paper: workflow/papers/raina2009 is there already"),
        ("new paper ../mine", "respeed: new paper: '../mine' cannot be the name of a paper; use small letters"),
        ("new workload my-a", "respeed: new workload: 'my-a' cannot be the name of a Python file; use small letters"),
        ("new wrokload mine", "respeed: new: no kind of file 'wrokload' (did you mean workload?)"),
        ("chek --all", "respeed: no command 'chek' (did you mean check?); there are: check, claims, compare, doctor"),
    ],
)
def test_a_wrong_argument_is_one_line_that_says_what_to_write_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: str, line: str
) -> None:
    assert main(words.split()) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(line)


def test_every_command_explains_itself_by_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (name for name, one in COMMANDS.items() if one.help):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        example = capsys.readouterr().out.partition("Example: respeed ")[2].split()
        assert example[0] == command
        options = vars(build_parser().parse_args(example))
        module, _, function = options.pop("function").partition(":")
        inspect.signature(getattr(importlib.import_module(f"respeed.{module}"), function)).bind(**options)


def test_check_finds_no_mistake_in_what_is_there_and_loads_no_numerical_library() -> None:
    code = "import sys; from respeed.cli import main; main(['check'])"
    heavy = "import atexit, sys; atexit.register(lambda: print({'torch', 'pandas', 'numba', 'numpy'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{heavy}\n{code}"], text=True, capture_output=True, check=True)
    assert done.stdout.startswith("no mistake; looked at config.yaml, ")
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.slow
def test_doctor_says_what_it_looked_at_and_what_to_do(project: Project) -> None:
    # Tests beside this one may hold the user's lock of measurements.
    done = project.run("respeed", "doctor", check=False, XDG_CACHE_HOME=str(project.folder / "cache"))
    assert done.returncode in (0, 1)
    for subject in (
        "CPU", "price", "CPU quota", "other programs", "memory", "reference probe", "threads",
        "torch-1 +PyTorch, one core +yes +1 thread", "accelerate-1 +Accelerate, one core +no +needs Accelerate",
    ):  # fmt: skip
        assert re.search(rf"^{subject}", done.stdout, flags=re.MULTILINE), done.stdout
    assert (done.stdout.splitlines()[-1] == "fit to measure") == (done.returncode == 0)


def test_a_reader_that_has_seen_enough_ends_a_command_without_a_word() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "respeed.cli", "check"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_check_tells_every_fault_of_every_file_at_once(project: Project) -> None:
    workflow = project.folder / "workflow"
    project.edit("workflow/hardware/torch-1.yaml", "PyTorch, one core", r'"\e[31mred\u202e"')
    os.mkfifo(workflow / "hardware/pipe.yaml")
    (workflow / "machines/My Box.yaml").write_text("")
    (workflow / "machines/box.yaml").write_text("price: !!int ''\n")
    project.edit("workflow/papers/bergstra2010/published.csv", "6573.73,ex", "6_573.73,ex")
    (workflow / "respeed/workloads/mine.py").write_text("def build(:\n")
    project.edit("config.yaml", "seed: 2009", "seed: !!int ''")
    seed = (project.folder / "config.yaml").read_text().partition("\nseed:")[0].count("\n") + 2
    done = project.run("respeed", "check", check=False)
    assert done.returncode == 1
    *lines, last = done.stdout.splitlines()
    profiles, papers = (len([*workflow.glob(kind)]) for kind in ("hardware/*.yaml", "papers/*/paper.yaml"))
    assert (
        last
        == f"{len(lines)} mistakes; looked at config.yaml, {profiles} hardware profiles, {papers} papers, 1 machine"
    )
    for unwanted in ("Traceback", str(project.folder), "\x1b"):
        assert unwanted not in done.stdout
    for line in (
        f"config.yaml:{seed}: tags (!!int) are not allowed",
        "workflow/hardware/torch-1.yaml:1: a text holds the character U+001B",
        "workflow/hardware/pipe.yaml: is no regular file",
        "workflow/machines/My Box.yaml: 'My Box' cannot be the name of a machine",
        "workflow/machines/box.yaml:1: tags (!!int) are not allowed",
        "workflow/papers/bergstra2010/published.csv:",
        "workflow/respeed/workloads/mine.py: is not Python",
    ):
        assert any(said.startswith(line) for said in done.stdout.splitlines()), f"{line}\n{done.stdout}"
