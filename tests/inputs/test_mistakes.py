"""A mistake in a file that people write is a line: file, key, what is allowed, the nearest name; and all are found.

mistakes.yaml has most of them: what is written, and what is then said."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from respeed.errors import UserError
from respeed.inputs import config, papers, profiles
from respeed.inputs.config import check_command_line, check_config, load_config, parse_settings
from respeed.inputs.files import overlooked
from respeed.inputs.papers import MAX_LINES, load_paper, load_papers, paper_names
from respeed.inputs.profiles import load_profile, load_profiles, read_profiles
from respeed.paths import STARTERS
from respeed.schedule.selection import profiles_shown
from tests.inputs.written import DRAFT, DRAFT_CSV, FILES, read

KNOWN = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())


@pytest.mark.parametrize("known", KNOWN, ids=[f"{one['of']}: {list(one['change'].values())}" for one in KNOWN])
def test_each_mistake_is_a_known_line_and_all_are_found_at_once(tmp_path: Path, known: dict[str, Any]) -> None:
    kind, text = known["of"], FILES[known["of"]].text
    for old, new in known["change"].items():
        assert old in text
        text = text.replace(old, new, 1) if old else f"{text}{new}\n"
    value, lines = read(kind, tmp_path, text)
    said = {re.sub(r"(; there are: [^,]*).*", r"\1", line.removeprefix(f"{tmp_path}/")) for line in lines}
    assert (value, set(known["says"]) - said) == (None, set())
    assert kind in ("raina", "printed") or said == set(known["says"])
    assert not any("\n" in line or len(line) > 700 or "pydantic" in line or "Input should" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "part"), [("5" * 200_000, "more than 500 characters"), ("\n" * MAX_LINES, f"more than {MAX_LINES} lines")]
)
def test_printed_numbers_that_are_too_long_are_a_short_line(tmp_path: Path, text: str, part: str) -> None:
    _, lines = read("printed", tmp_path, FILES["printed"].text.replace("rbm,576x1024,gpu", text, 1))
    assert any(part in line for line in lines)
    assert max(map(len, lines)) < 700


def test_the_starter_tells_no_price_and_one_whose_source_is_still_its_own_is_refused(tmp_path: Path) -> None:
    starter = (STARTERS / "machine.yaml").read_text()
    told, lines = read("machine", tmp_path, starter)
    assert (told.price, lines) == (None, [])
    told, lines = read("machine", tmp_path, re.sub(r"^# (price:|  )", r"\1", starter, flags=re.MULTILINE))
    assert [line.partition("box.yaml: ")[2] for line in lines] == [
        "price.source: is the starter's own text; write who says so: an address, or a bill"
    ]
    assert told is None


def test_every_line_of_printed_numbers_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    csv = DRAFT_CSV.replace("rbm,small,numpy", "rbm,smal,numpy").replace("40000,examples", "0,examples")
    (tmp_path / "draft/published.csv").write_text(csv)
    lines = read("draft", tmp_path)[1]
    assert [line.split("published.csv:")[1][0] for line in lines] == ["3", "5"]


def test_every_mistake_of_a_line_of_printed_numbers_is_told(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    wrong = DRAFT_CSV.replace("small,cpu,6573.73,examples", "smal,cqu,0,exampels")
    (tmp_path / "draft/published.csv").write_text(wrong)
    said = [line.split("published.csv:2: ")[1] for line in read("draft", tmp_path)[1] if "published.csv:2: " in line]
    starts = ("no case 'smal'", "no row 'cqu'", "unit: 'exampels", "value: '0'")
    assert [text.startswith(start) for text, start in zip(said, starts, strict=True)] == [True] * 4


def test_a_draft_with_a_mistake_stops_only_who_asks_for_it(tmp_path: Path) -> None:
    read("draft", tmp_path / "x")
    (tmp_path / "x/draft").rename(tmp_path / "good")
    read("draft", tmp_path, DRAFT.replace("workload: rbm", "workload: rmb").replace("label: NumPy", "lable: NumPy"))
    assert paper_names(tmp_path) == ("draft", "good")
    assert list(load_papers(["good"], tmp_path)) == ["good"]
    with pytest.raises(UserError, match=r"\(and 2 more: respeed check lists them\)"):
        load_paper("draft", tmp_path)
    with pytest.raises(UserError, match="did you mean draft"):
        load_paper("draf", tmp_path)


def test_a_wrong_profile_leaves_the_others_as_they_are_and_all_are_not_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("good", "all"), ("bad", "al"), ("Bad name", "all")):
        (tmp_path / f"{name}.yaml").write_text(FILES["cpu"].text.replace("threads: all", f"threads: {text}"))
    right, wrong = read_profiles(tmp_path)
    assert (list(right), load_profile("good", tmp_path).name) == (["good"], "good")
    assert "threads: 'al' must be" in wrong["bad"][0]
    assert "small letters" in wrong["Bad name"][0]
    with pytest.raises(UserError, match="'Bad name' cannot be"):
        load_profiles(tmp_path)
    monkeypatch.setattr("respeed.schedule.selection.read_profiles", lambda: read_profiles(tmp_path))
    assert list(profiles_shown(["good"])) == ["good"]
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if line.startswith(f"respeed: the profile bad is left out: {tmp_path}/bad.yaml: ")]
    assert len(said) == 2
    with pytest.raises(UserError, match="threads"):
        profiles_shown(["good", "bad"])


def test_no_profiles_and_no_papers_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "profile_names", lambda: profiles.profile_names(tmp_path / "missing"))
    monkeypatch.setattr(config, "paper_names", lambda: papers.paper_names(tmp_path))
    lines = check_config()
    for line in ("hardware: has no profiles (NAME.yaml); respeed new", "papers: has no papers (NAME/paper.yaml); resp"):
        assert any(line in one for one in lines)
    with pytest.raises(UserError, match="has no papers"):
        load_config()


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["preset"], "--config: 'preset' must be of the form KEY=VALUE, such as preset=smoke"),
        (["=x"], "--config: '=x' must be of the form KEY=VALUE"),
        (["preset=smoke", "preset=quick"], "--config: preset stands twice; say it once"),
        (["preset=!!str smoke"], r"--config preset:1: tags \(!!str\) are not allowed"),
        (["presett=smoke"], r"--config: unknown key 'presett'.*did you mean preset\?"),
        (["machine=\"a\\a\""], r"--config: machine: holds the character U\+0007"),
    ],
)  # fmt: skip
def test_a_wrong_setting_of_the_command_line_is_one_line(settings: list[str], line: str) -> None:
    with pytest.raises(UserError, match=line):
        load_config(overrides=parse_settings(settings))


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
    check_command_line(["snakemake", "--config", "preset=smoke", "--set-threads", "a=1", "--set-resources", "a=1"])


def test_a_file_that_is_not_read_because_of_its_name_is_told_with_the_right_one(tmp_path: Path) -> None:
    for name in ("hardware/gpu.yml", "machines/box.YAML", "papers/draft/paper.yml", "papers/ok/paper.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a: 1\n")
    lines = overlooked(tmp_path / "hardware", tmp_path / "machines", tmp_path / "papers")
    assert [line.removeprefix(f"{tmp_path}/") for line in lines] == [
        "hardware/gpu.yml: is not read, because of its name; rename it to gpu.yaml",
        "machines/box.YAML: is not read, because of its name; rename it to box.yaml",
        "papers/draft/paper.yml: is not read, because of its name; rename it to paper.yaml",
    ]
    assert overlooked() == []
