"""What a terminal would obey is not handed to it, whatever stands in a name; and a command to be pasted is quoted."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.records.conftest import write_box

NAME = "x\x1b[2J\x07\r\u202ezip.zip"


def say(*words: str) -> str:
    """What the command prints, byte by byte, on both of its streams."""
    done = subprocess.run([sys.executable, "-m", "respeed.cli", *words], capture_output=True, check=False)
    return (done.stdout + done.stderr).decode()


@pytest.mark.usefixtures("own_folder")
def test_no_files_name_reaches_the_terminal_raw() -> None:
    """No name of a file reaches the terminal as it is."""
    write_box()
    for words in (("export", NAME), ("check", NAME), ("import", "gone\x1b[2J"), ("\x1b[2J",)):
        said = say(*words)
        assert not {*said} & {"\x1b", "\x07", "\r", "\u202e"}, words
        assert r"\x1b[2J" in said


@pytest.mark.usefixtures("own_folder")
def test_a_pasted_command_names_the_written_file() -> None:
    """A command to be pasted names the file that was written."""
    write_box()
    name = "a b; $(touch ran) 'c'.zip"
    (line,) = (line for line in say("export", name).splitlines() if line.startswith("next"))
    assert shlex.split(line)[-1] == name
    shutil.rmtree("results")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", line.partition("./run ")[2]], check=False, env={**os.environ, "PATH": path})
    assert Path("results/imported/box/machine.json").exists()
    assert not Path("ran").exists()


def test_a_command_runs_with_closed_streams() -> None:
    for closed in (">&-", "2>&-"):
        done = subprocess.run(
            f"{shlex.quote(sys.executable)} -m respeed.cli --version {closed}", shell=True, check=False
        )
        assert done.returncode == 0
