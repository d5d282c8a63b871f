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
from respeed.inputs.config import load_config
from respeed.inputs.machines import PROFILE_FILES
from respeed.inputs.papers import PAPER_FILES
from tests.inputs.written import DRAFT, DRAFT_CSV, FILES, draft, read

KNOWN = [
    (kind, *known)
    for kind, all_known in yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_bytes()).items()
    for known in all_known
]


@pytest.mark.parametrize("known", KNOWN, ids=[f"{kind}: {list(change.values())}" for kind, change, *_ in KNOWN])
def test_each_mistake_is_a_known_line(tmp_path: Path, known: Any) -> None:
    """Each mistake is a known line and all are found at once."""
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


def test_tables_and_claims_are_checked_in_one_pass(tmp_path: Path) -> None:
    claim = "  else: {says: So., test: mean, of: [fastr]}\n"
    text = DRAFT.replace("workload: rbm", "workload: rmb").replace("claims:\n", f"claims:\n{claim}")
    with pytest.raises(UserError) as found:
        draft(tmp_path, text, DRAFT_CSV.replace("6573.73,", "0,"))
    said = [line.partition("draft/")[2].partition(";")[0] for line in found.value.lines]
    assert said == [
        "paper.yaml: experiments.rbm.workload: no workload 'rmb' (did you mean rbm?)",
        "paper.yaml: claims.else.of: no claim 'fastr' (did you mean faster?)",
        "published.csv:2: value: must be a number greater than 0, in digits with a point, such as 1234.5, not '0'",
    ]


def test_a_draft_stops_only_who_asks_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A draft with a mistake stops only who asks for it."""
    read("draft", tmp_path / "x")
    (tmp_path / "x/draft").rename(tmp_path / "good")
    wrong = DRAFT.replace("unit: examples a", "unit: examples per").replace("label: NumPy", "lable: NumPy")
    read("draft", tmp_path, wrong)
    papers = replace(PAPER_FILES, folder=tmp_path)
    assert papers.names() == ("draft", "good")
    assert list(papers.load_all(["good"])) == list(papers.load_all(chosen=["good"])) == ["good"]
    assert "respeed: the paper draft is left out: " in capsys.readouterr().err
    assert len(papers.check()) == 3
    with pytest.raises(UserError, match=r"\(and 2 more: respeed check lists them\)"):
        papers.load_all(chosen=["draft"])
    with pytest.raises(UserError, match="did you mean draft"):
        papers.load("draf")


def test_all_profiles_include_those_with_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All profiles are also those with mistakes which must not go without a word."""
    for name, text in (("good", "all"), ("bad", "al"), ("Bad name", "all")):
        (tmp_path / f"{name}.yaml").write_text(FILES["cpu"].text.replace("threads: all", f"threads: {text}"), "utf-8")
    profiles = replace(PROFILE_FILES, folder=tmp_path)
    monkeypatch.setattr(config, "profile_names", profiles.names)
    monkeypatch.setattr(config, "load_profile", profiles.load)
    assert load_config().profiles == ("bad", "good")
    assert any("'Bad name' cannot be the name" in line for line in profiles.check())


def test_numbers_in_a_misnamed_file_are_told(tmp_path: Path) -> None:
    read("draft", tmp_path)
    (tmp_path / "draft/published.csv").rename(tmp_path / "draft/Published.CSV.txt")
    (line,) = replace(PAPER_FILES, folder=tmp_path).check()
    assert line.endswith("Published.CSV.txt: is not read; a paper's printed numbers are in published.csv")
