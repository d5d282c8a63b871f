"""A paper's programs run once a user has allowed just these: every command and every file, as they were shown."""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

from respeed.errors import UserError
from respeed.inputs import config, consent
from respeed.inputs.consent import find_consent, say_denied, why_denied
from respeed.inputs.papers import PAPER_FILES
from respeed.measure.turn import measure_turn
from respeed.model import Case
from tests.conftest import ROOT
from tests.orders import order_of

EXAMPLE = ROOT / "docs/three-loops"
SAID = (ROOT / "config.yaml").read_text("utf-8")


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the paper `loops`, where config.yaml allows nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(consent, "PAPER_FILES", replace(PAPER_FILES, folder=tmp_path))
    monkeypatch.setattr(consent, "STUDY", tmp_path)
    (tmp_path / "config.yaml").write_text(SAID, "utf-8")
    shutil.copytree(EXAMPLE, tmp_path / "loops")
    return tmp_path / "loops"


def allow(paper: Path, said: str) -> None:
    (paper.parent / "config.yaml").write_text(SAID.replace("allow: []", f"allow: [{said}]"), "utf-8")


def first_case() -> Case:
    return consent.PAPER_FILES.load("loops").experiments["products"].cases[0]


def change(paper: Path, old: str, new: str) -> None:
    path = paper / "paper.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def shown() -> list[str]:
    """The commands that a user is shown."""
    return [line.strip() for line in say_denied("loops") if line.startswith("    ")]


def test_what_was_shown_is_allowed_once_written(paper: Path) -> None:
    """What a user is shown allows it once it is written down."""
    *_, last = lines = say_denied("loops")
    assert lines[0] == "loops: its programs are not allowed to run"
    assert shown() == [f"./multiply {order} {n}" for order in ("columns", "rows") for n in (1024, 512, 64)]
    said = re.fullmatch(r".* and all files of that folder, write in config.yaml: allow: \[(loops@[0-9a-f]{32})\]", last)
    assert "programs of loops are not allowed" in why_denied(first_case())
    for wrong in ("loops", "loops@0", f"other{said[1][5:]}"):
        allow(paper, wrong)
        assert why_denied(first_case())
    allow(paper, said[1])
    assert why_denied(first_case()) is None
    assert say_denied("loops") == []


def test_every_command_is_shown_whole(paper: Path) -> None:
    long = "--sizes 512,1024,2048 " * 20
    change(paper, "[./multiply, rows,", f"[sh, -c, 'touch asked; : {long}', '{long}',")
    change(paper, 'smoke_cases: [{case: "64", n: 64,', 'smoke_cases: [{case: "64", n: 64, what: touch unasked,')
    change(paper, "[./multiply, columns,", '[./multiply, "{what}",')
    change(paper, "n: 512,", "n: 512, what: echo,")
    change(paper, "n: 1024,", "n: 1024, what: echo,")
    asked = [f"sh -c 'touch asked; : {long}' '{long}' {n}" for n in (1024, 512, 64)]
    assert shown() == ["./multiply 'touch unasked' 64", "./multiply echo 1024", "./multiply echo 512", *asked]


@pytest.mark.parametrize(
    ("word", "seen"),
    [
        ("a b", "'a b'"),
        ("$(x)", "'$(x)'"),
        ("it's", "'it'\"'\"'s'"),
        ("\u0440\u0430th", r"$'\U00000440\U00000430th'"),
        ("é'", r"$'\U000000e9\''"),
    ],
)
def test_no_letter_of_a_command_passes_for_another(paper: Path, word: str, seen: str) -> None:
    change(paper, "[./multiply, rows,", f"[./multiply, {yaml.safe_dump(word, allow_unicode=True).splitlines()[0]},")
    assert f"./multiply {seen} 64" in shown()


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a command": (lambda paper: change(paper, "rows,", "away,"), "changed: ./multiply away 1024"),
    "a command less": (lambda paper: change(paper, "rows,", "columns,"), "changed: paper.yaml"),
    "a source": (lambda paper: (paper / "multiply.c").write_text("int main;"), "multiply.c"),
    "a file more": (lambda paper: (paper / "multiply").write_text("x"), "multiply"),
    "a file below": (lambda paper: ((paper / "a").mkdir(), (paper / "a/b.py").write_text("x")), "a/b.py"),
    "compiled code": (
        lambda paper: ((paper / "__pycache__").mkdir(), (paper / "__pycache__/a.pyc").write_text("x")), "a.pyc"),
    "a link": (lambda paper: (paper / "more").symlink_to("multiply.c"), "more"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_has_changed_since_is_asked_for_anew(paper: Path, what: str) -> None:
    say_denied("loops")
    allow(paper, find_consent("loops"))
    changing, said = CHANGES[what]
    changing(paper)
    assert say_denied("loops")[0].startswith("loops: its programs are not allowed to run, as they have changed: ")
    assert said in say_denied("loops")[0]
    assert why_denied(first_case())


UNSEEN: dict[str, Callable[[Path], object]] = {
    "a link that leads out": lambda paper: (paper / "bin").symlink_to("/usr/bin"),
    "a link that leads out, and back by another one": lambda paper: [
        (paper.parent / "hop").symlink_to(paper / "paper.yaml"),
        (paper / "back").symlink_to("../hop"),
    ],
    "a link that leads out by one that stays": lambda paper: [
        (paper.parent / "hop").touch(),
        (paper / "here").symlink_to("."),
        (paper / "away").symlink_to("here/../hop"),
    ],
    "an endless file": lambda paper: (paper / "x").symlink_to("/proc/self/pagemap"),
    "a pipe": lambda paper: os.mkfifo(paper / "x"),
    "a huge file": lambda paper: ((paper / "x").touch(), os.truncate(paper / "x", 2**32)),
}


@pytest.mark.parametrize("what", UNSEEN)
def test_what_could_change_unseen_cannot_be_allowed(paper: Path, what: str) -> None:
    UNSEEN[what](paper)
    (line,) = say_denied("loops")
    assert "is no file, or leads out" in line or "has too much to be looked at" in line
    assert why_denied(first_case())


def test_no_name_of_a_file_forges_another(paper: Path) -> None:
    """The target of a link is a text that a stranger chooses."""
    consents = set()
    for target in ("link", "x", "x\ny 1", "x\\ny 1"):
        (paper / "link").unlink(missing_ok=True)
        (paper / "link").symlink_to(target)
        consents.add(find_consent("loops"))
        assert all(line.isprintable() for line in consent._lines(consent._find_files("loops")))
    assert len(consents) == 4


def test_what_changes_during_a_run_is_not_run(paper: Path) -> None:
    asked = replace(order_of().cases[0], case=first_case())
    order = order_of(profile="program-1", cases=(asked,))
    with pytest.raises(UserError, match="programs of loops are not allowed"):
        measure_turn(order, "box", True, (), Mock())


def test_no_setting_and_no_snakemake_profile_allows_anything(paper: Path) -> None:
    why = r"^--config cannot set allow: list the papers whose programs may run in .*config.yaml$"
    with pytest.raises(UserError, match=why):
        config.load_config(paper.parent / "config.yaml", {"allow": [find_consent("loops")]})
