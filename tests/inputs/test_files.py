"""A file that people write is a regular one of bounded size, whatever its name leads to; nothing waits for another."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.files import from_here, read_bounded
from respeed.inputs.machines import read_told
from respeed.inputs.papers import read_paper
from respeed.inputs.profiles import read_profile
from respeed.inputs.registry import WorkloadFacts, read_facts
from respeed.paths import HARDWARE, ROOT
from respeed.records.store import read_json, why_no_learning


def config(path: Path) -> str:
    with pytest.raises(UserError) as error:
        load_config(path)
    return str(error.value)


def learning(path: Path) -> str:
    return why_no_learning(path, smoke=False) or ""


def record(path: Path) -> str:
    with pytest.raises(UserError) as error:
        read_json(path)
    return str(error.value)


def workload(path: Path) -> str:
    with pytest.raises(UserError) as error:
        read_facts(path, WorkloadFacts)
    return str(error.value)


def published(path: Path) -> str:
    (path.parent / "paper.yaml").write_text((ROOT / "workflow/papers/bergstra2010/paper.yaml").read_text())
    return read_paper(path.parent.name, path.parent.parent)[1][0]


READERS: dict[str, Callable[[Path], str]] = {
    "config.yaml": config,
    "mine.yaml": lambda path: read_profile("mine", path.parent)[1][0],
    "box.yaml": lambda path: read_told("box", path.parent)[1][0],
    "paper.yaml": lambda path: read_paper(path.parent.name, path.parent.parent)[1][0],
    "published.csv": published,
    "mine.py": workload,
    "round-01.json": record,
    "learning.json": learning,
}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def silent(path: Path) -> None:
    path.symlink_to("/dev/null")


def piped(path: Path) -> None:
    os.mkfifo(path.with_suffix(".pipe"))
    path.symlink_to(path.with_suffix(".pipe"))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("make", [pipe, piped, folder, endless, silent])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    path = tmp_path / "draft" / name
    path.parent.mkdir()
    make(path)
    line = READERS[name](path)
    assert name in line
    assert "no regular file" in line
    assert "\n" not in line


@pytest.mark.parametrize("name", READERS)
def test_no_more_is_read_of_a_huge_file_than_any_needs(tmp_path: Path, name: str) -> None:
    path = tmp_path / "draft" / name
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(2**40)  # without a byte on the disk
    assert "larger than" in READERS[name](path)


def test_a_link_to_a_regular_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").symlink_to(HARDWARE / "torch-1.yaml")
    profile, mistakes = read_profile("mine", tmp_path)
    assert profile is not None, mistakes


def test_a_link_to_nothing_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").symlink_to(tmp_path / "nowhere")
    assert "cannot be read: No such file" in read_profile("mine", tmp_path)[1][0]


def test_a_file_that_nobody_may_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be the name of a file"):
        read_bounded(tmp_path / "a\0b", 10)


def test_messages_name_files_from_where_the_user_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert str(from_here(HARDWARE / "gpu.yaml")) == "workflow/hardware/gpu.yaml"
    monkeypatch.chdir(ROOT / "workflow")
    assert str(from_here(HARDWARE / "gpu.yaml")) == "hardware/gpu.yaml"
    monkeypatch.chdir(tmp_path)
    assert not from_here(HARDWARE / "gpu.yaml").is_absolute()
    assert from_here(HARDWARE / "gpu.yaml").samefile(HARDWARE / "gpu.yaml")
