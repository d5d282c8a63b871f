"""Settings of the command line, and what a configuration needs to be there."""

from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs import config, papers, profiles
from respeed.inputs.config import check_command_line, check_config, load_config, parse_settings


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["preset"], "--config: 'preset' must be of the form KEY=VALUE, such as preset=smoke"),
        (["=x"], "--config: '=x' must be of the form KEY=VALUE"),
        (["preset=smoke", "preset=quick"], "--config: preset stands twice; say it once"),
        (["preset=!!str smoke"], r"--config preset:1: tags \(!!str\) are not allowed"),
    ],
)
def test_a_wrong_setting_is_one_line(settings: list[str], line: str) -> None:
    with pytest.raises(UserError, match=line):
        parse_settings(settings)


@pytest.mark.parametrize(
    "words",
    [
        ["snakemake", "--config", "preset=smoke", "preset=quick"],
        ["snakemake", "-C", "preset=smoke", "seed=1", "preset=smoke", "--cores", "1"],
        ["snakemake", "--config", "preset=smoke", "-n", "--config", "preset=quick"],
    ],
)
def test_a_key_that_snakemake_is_told_twice_is_one_line(words: list[str]) -> None:
    with pytest.raises(UserError, match="--config: preset stands twice"):
        check_command_line(words)


def test_other_words_of_a_command_line_are_no_settings() -> None:
    check_command_line(["snakemake", "--config", "preset=smoke", "--set-threads", "a=1", "--set-resources", "a=1"])


def test_no_profiles_and_no_papers_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "profile_names", lambda: profiles.profile_names(tmp_path / "missing"))
    with pytest.raises(UserError, match=r"hardware: has no profiles \(NAME.yaml\); respeed new hardware NAME writes"):
        load_config()
    assert any("has no profiles" in line for line in check_config())
    monkeypatch.setattr(config, "paper_names", lambda: papers.paper_names(tmp_path))
    with pytest.raises(UserError, match=r"papers: has no papers \(NAME/paper.yaml\); respeed new paper NAME writes"):
        load_config()
    assert any("has no papers" in line for line in check_config())
