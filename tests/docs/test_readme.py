"""Every command of README's table works in a fresh copy, in README's order, on any machine.

./run python -m tests.docs.test_readme     runs them as they stand, and prints how long each took
"""

import re
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, Project

HEADLINE = "./run snakemake --cores all"
# What a test adds, so that it measures little: rows and rounds, never another command.
LITTLE = {
    HEADLINE: "--config experiments=rbm profiles=[torch-1,torch-all] rounds=1 most=1",
    f"{HEADLINE} --config preset=look": "rounds=1 most=1",
    "./run respeed speedup 'sleep 0.1' --over 'sleep 0.6' --published 6x": "--minutes 0.1",
}
# Exit codes that tell something of the machine: one that is not quiet is no mistake of README.
TELLING = {"./run respeed doctor": {0, 1}, "./run respeed measure": {0, 75}, "./run respeed speedup": {0, 75}}


def commands() -> Iterator[str]:
    """Yield the headline, and each command of the table."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (headline,) = re.findall(r"```sh\n(\./run .*)\n```", text)
    yield headline
    yield from re.findall(r"^\| `(\./run .*?)` \|", text, re.MULTILINE)


def right_codes(command: str) -> set[int]:
    return next((codes for begin, codes in TELLING.items() if command.startswith(begin)), {0})


def fresh_copy(folder: Path) -> Project:
    """A copy of the project, with the records that it ships."""
    project = Project(folder)
    project.run("cp", "-r", str(ROOT / "results"), ".")
    return project


def test_readme_says_what_the_lock_loads() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    (size,) = re.findall(r"^# Linux x86_64: (loads up to .* GB, takes up to .* GB on the disk)$", lock, re.MULTILINE)
    assert f"on Linux x86_64 it {size}." in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.slow
def test_every_command_of_readme_works_in_its_order(tmp_path: Path) -> None:
    project = fresh_copy(tmp_path)
    (other,) = (path for path in (ROOT / "docs/h200").iterdir() if path.is_dir())
    project.run("respeed", "import", str(other))
    for command in commands():
        words = shlex.split(f"{command} {LITTLE.get(command, '')}".removeprefix("./run "))
        done = project.run(*words, check=False, CUDA_VISIBLE_DEVICES="", HOME=str(tmp_path))
        assert done.returncode in right_codes(command), f"{command}\n{done.stdout}"
    assert (tmp_path / "report/REVIEW.md").exists()


@pytest.mark.slow
def test_the_headline_measures_after_whatever_came_before(tmp_path: Path) -> None:
    project = fresh_copy(tmp_path)
    little = shlex.split("--config experiments=rbm profiles=openblas-1 rounds=1 most=1 machine=box papers=raina2009")

    def records() -> int:
        return len([*project.folder.glob("results/records/box/*/*.jsonl")])

    for before in (
        ["respeed", "report"], ["snakemake", "--cores", "all", "report", *little], ["snakemake", "-n", *little],
        ["respeed", "status"],
    ):  # fmt: skip
        project.run(*before, CUDA_VISIBLE_DEVICES="")
        assert records() == 0
    project.snakemake("--cores", "all", *little)
    assert records() == 1
    # A session that was set aside is measured anew, and a named table alone is no excuse.
    (session,) = re.findall(r"^(\S+T\S+) ", project.run("respeed", "sessions", "--machine", "box").stdout, re.MULTILINE)
    project.run("respeed", "sessions", "--machine", "box", "--set-aside", session)
    assert records() == 0
    project.snakemake("--cores", "all", *little)
    assert records() == 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        project = fresh_copy(Path(home))
        for command in commands():
            began = time.monotonic()
            done = project.run(*shlex.split(command.removeprefix("./run ")), check=False, HOME=home)
            print(f"{time.monotonic() - began:7.1f} s  exit code {done.returncode}  {command}", flush=True)
            sys.stderr.write("" if done.returncode in right_codes(command) else done.stdout)
