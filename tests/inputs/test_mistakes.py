"""A mistake in a file that people write is a line: file, key, what is allowed, the nearest name; and all are found.

mistakes.yaml has most of them: what is written, and what is then said."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from respeed.errors import UserError
from respeed.inputs import config
from respeed.inputs.config import check_config, load_config, parse_settings
from respeed.inputs.machines import PROFILE_FILES
from respeed.inputs.papers import PAPER_FILES
from tests.inputs.written import DRAFT, DRAFT_CSV, FILES, read

KNOWN = [
    (kind, *known)
    for kind, all_known in yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text()).items()
    for known in all_known
]


@pytest.mark.parametrize("known", KNOWN, ids=[f"{kind}: {list(change.values())}" for kind, change, *_ in KNOWN])
def test_each_mistake_is_a_known_line_and_all_are_found_at_once(tmp_path: Path, known: Any) -> None:
    kind, change, *says = known
    file = FILES[kind]
    text = file.text
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new, 1) if old else f"{text}{new}\n"
    value, lines = read(kind, tmp_path, text)
    said = [re.sub("; there are: .*", "", line.removeprefix(f"{tmp_path}/")) for line in lines]
    said = [line.removeprefix(file.name).removeprefix(": ") for line in said]
    assert value is None
    assert all(line.startswith(str(tmp_path)) for line in lines)
    # Of Raina et al., which has many cases, the first of the lines that are said.
    assert (said[: len(says)] if kind == "raina" else said) == says
    assert not any("\n" in line or len(line) > 700 or "pydantic" in line or "nput should" in line for line in lines)


def test_every_line_of_printed_numbers_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    csv = DRAFT_CSV.replace("rbm,small,numpy", "rbm,smal,numpy").replace("40000,examples", "0,examples")
    (tmp_path / "draft/published.csv").write_text(csv)
    lines = read("draft", tmp_path)[1]
    assert [line.split("published.csv:")[1][0] for line in lines] == ["3", "5"]


def test_a_draft_with_a_mistake_stops_only_who_asks_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read("draft", tmp_path / "x")
    (tmp_path / "x/draft").rename(tmp_path / "good")
    read("draft", tmp_path, DRAFT.replace("workload: rbm", "workload: rmb").replace("label: NumPy", "lable: NumPy"))
    papers = replace(PAPER_FILES, folder=tmp_path)
    assert papers.names() == ("draft", "good")
    assert list(papers.load_all(["good"])) == list(papers.load_right(chosen=["good"])) == ["good"]
    assert "respeed: the paper draft is left out: " in capsys.readouterr().err
    assert len(papers.check()) == 3
    with pytest.raises(UserError, match=r"\(and 2 more: respeed check lists them\)"):
        papers.load_right(chosen=["draft"])
    with pytest.raises(UserError, match="did you mean draft"):
        papers.load("draf")


def test_all_profiles_are_also_those_with_mistakes_which_must_not_go_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("good", "all"), ("bad", "al"), ("Bad name", "all")):
        (tmp_path / f"{name}.yaml").write_text(FILES["cpu"].text.replace("threads: all", f"threads: {text}"))
    profiles = replace(PROFILE_FILES, folder=tmp_path)
    monkeypatch.setattr(config, "profile_names", profiles.names)
    monkeypatch.setattr(config, "load_profile", profiles.load)
    assert load_config().profiles == ("bad", "good")
    assert any("'Bad name' cannot be the name" in line for line in profiles.check())


def test_no_profiles_and_no_papers_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("profile_names", "paper_names"):
        monkeypatch.setattr(config, name, replace(PAPER_FILES, folder=tmp_path).names)
    lines = "\n".join(check_config())
    assert "papers: there is no paper; respeed new paper NAME writes one" in lines
    assert "profiles: there is no hardware profile; respeed new hardware NAME writes one" in lines


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["preset"], "--config: 'preset' must be of the form KEY=VALUE, such as preset=smoke"),
        (["=x"], "--config: '=x' must be of the form KEY=VALUE"),
        (["preset=!!str smoke"], r"--config preset:1: tags \(.*\) are not allowed"),
        (["presett=smoke"], r"--config: presett: unknown key.*did you mean preset\?"),
        (["minutes=x"], "--config: minutes: must be a whole number or a number, not 'x'"),
        (["round=3"], r"--config: round: unknown key.*did you mean rounds\?"),
        (["seed=x"], "--config: seed: must be a whole number, not 'x'"),
        (["machine=\"a\\a\""], r"--config machine:1: a text holds the character U\+0007"),
    ],
)  # fmt: skip
def test_a_wrong_setting_of_the_command_line_is_one_line(settings: list[str], line: str) -> None:
    with pytest.raises(UserError, match=line):
        load_config(overrides=parse_settings(settings))
