"""The command `respeed`; and check."""

import os
import subprocess
import sys

from respeed.cli import build_parser
from tests.conftest import Project


def test_check_is_clean_and_loads_no_numerical_library() -> None:
    """Check finds no mistake in what is there and loads no numerical library."""
    code = "import sys; from respeed.cli import main; main(['check'])"
    heavy = "import atexit, sys; atexit.register(lambda: print({'torch', 'pandas', 'numba', 'numpy'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{heavy}\n{code}"], text=True, capture_output=True, check=True)
    assert done.stdout.startswith("no mistake; looked at config.yaml, ")
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_closed_pipe_ends_a_command_silently() -> None:
    """A reader that has seen enough ends a command without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "respeed.cli", "check"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_check_tells_every_fault_at_once(project: Project) -> None:
    workflow = project.folder / "workflow"
    project.edit("workflow/hardware/torch-1.yaml", "PyTorch, one core", r'"\e[31mred\u202e"')
    os.mkfifo(workflow / "hardware/pipe.yaml")
    (workflow / "machines/My Box.yaml").write_text("")
    (workflow / "papers/other").mkdir()
    for name in ("hardware/mine.yml", "machines/far.yaml.txt", "papers/mine.yaml", "papers/other/Paper.yml"):
        (workflow / name).write_text("")
    for name in ("hardware/notes.md", "hardware/gpu.yaml~", "machines/.far.yaml.swp"):  # nobody means them to be read
        (workflow / name).write_text("")
    (workflow / "machines/box.yaml").write_text("profiles: !!int ''\n")
    project.edit("workflow/papers/bergstra2010/published.csv", "6573.73,ex", "6_573.73,ex")
    (workflow / "respeed/workloads/mine.py").write_text("def build(:\n")
    project.edit("config.yaml", "seed: 2009", "seed: !!int ''")
    seed = (project.folder / "config.yaml").read_text("utf-8").partition("\nseed:")[0].count("\n") + 2
    done = project.run("respeed", "check", check=False)
    assert done.returncode == 1
    *lines, last = done.stdout.splitlines()
    profiles, papers = (len([*workflow.glob(kind)]) for kind in ("hardware/*.yaml", "papers/*/paper.yaml"))
    assert (
        last
        == f"{len(lines)} mistakes; looked at config.yaml, {profiles} hardware profiles, {papers} papers, 1 machine"
    )
    for unwanted in ("Traceback", str(project.folder), "\x1b", "notes.md", "yaml~", ".swp"):
        assert unwanted not in done.stdout
    for line in (
        f"config.yaml:{seed}: tags (!!int) are not allowed",
        "workflow/hardware/torch-1.yaml:1: a text holds the character U+001B",
        "workflow/hardware/pipe.yaml: is no regular file",
        "workflow/machines/My Box.yaml: 'My Box' cannot be the name of a machine",
        "workflow/machines/box.yaml:1: tags (!!int) are not allowed",
        "workflow/hardware/mine.yml: is not read; a hardware profile's file here is named mine.yaml",
        "workflow/machines/far.yaml.txt: is not read; a machine's file here is named far.yaml",
        "workflow/papers/mine.yaml: is not read; a paper's file here is named mine/paper.yaml",
        "workflow/papers/other: is not read; a paper's file here is named other/paper.yaml",
        "workflow/papers/bergstra2010/published.csv:",
        "workflow/respeed/workloads/mine.py: is not Python",
    ):
        assert any(said.startswith(line) for said in done.stdout.splitlines()), f"{line}\n{done.stdout}"


def test_an_option_that_is_given_twice_adds_up() -> None:
    for command, flag in (
        ("measure", "--only"),
        ("measure", "--profiles"),
        ("measure", "--config"),
        ("report", "--papers"),
    ):
        options = vars(build_parser().parse_args([command, flag, "a", "b", flag, "c"]))
        assert options[flag.removeprefix("--")] == ["a", "b", "c"]
        assert not vars(build_parser().parse_args([command]))[flag.removeprefix("--")]


def test_a_command_names_the_folder_of_its_results(project: Project) -> None:
    """A command in a folder of the clone says which results are its own."""
    line = f"respeed: results are those in {project.folder}/workflow, not those in {project.folder}\n"
    assert project.run("sh", "-c", "cd workflow && respeed sessions --smoke", check=False).stdout.startswith(line)
    assert "results are" not in project.run("respeed", "sessions", "--smoke", check=False).stdout
