"""claims.yaml: nothing of it runs before it is allowed; its claims are judged, and their ratios kept."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

import pytest

from respeed.cli import main
from respeed.speedup import doubt
from respeed.speedup.claims import Claim, read_claims
from tests.speedup.test_speedup import _in_a_folder_of_its_own, given  # noqa: F401

Ask = Callable[..., tuple[int, str]]
FILE = Path("claims.yaml")
CLAIM = """\
claims:
  - says: "ours is 5x as fast"
    run: touch ran
    over: touch ran {other}
    published: 5
"""


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Gives `respeed speedup --claims claims.yaml` more words; returns the exit code and all that it says."""

    def give(*words: str, allow: bool = True) -> tuple[int, str]:
        allowed = ["--allow", read_claims(FILE)[1]] if allow else []
        code = main(["speedup", "--claims", str(FILE), *allowed, *words])
        told = capsys.readouterr()
        return code, told.out + told.err

    return give


def test_nothing_runs_before_it_is_allowed(ask: Ask) -> None:
    more = '    prepare: rm -rf caché\n    parameter: [other, "a,$(touch ran)"]\n    shell: true\n'
    FILE.write_text(CLAIM + more, "utf-8")
    code, text = ask(allow=False)
    assert code == 2
    assert read_claims(FILE)[1] == hashlib.sha256(FILE.read_bytes()).hexdigest()[:32]
    assert text.splitlines() == [
        "claims.yaml: 1 claim; nothing of it has run",
        "  ours is 5x as fast",
        "    at a, run: touch ran",
        "    at a, over: touch ran a",
        r"    at a, prepare: $'rm -rf cach\U000000e9'",
        "    at $(touch ran), run: touch ran",
        "    at $(touch ran), over: touch ran $(touch ran)",
        r"    at $(touch ran), prepare: $'rm -rf cach\U000000e9'",
        "    published: 5.0",
        "    parameter: ('other', 'a,$(touch ran)')",
        "    shell: True",
        f"if you trust these commands, and the programs that they name, add --allow {read_claims(FILE)[1]}",
    ]
    FILE.write_text(CLAIM)
    assert ask("--allow", "", allow=False)[0] == 2
    line = "respeed: --allow: claims.yaml is another file than the one with this checksum; look at it again\n"
    assert ask("--allow", "0" * 32, allow=False) == (2, line)
    assert not Path("ran").exists()


def test_each_claim_has_its_verdict(ask: Ask, given: Callable[..., None]) -> None:  # noqa: F811
    FILE.write_text(
        CLAIM + CLAIM.partition("\n")[2].replace("5", "9") + CLAIM.partition("\n")[2].replace("touch", "none-such")
    )
    given((1, 5, 1), (1, 5, 1))
    code, text = ask()
    lines = text.splitlines()
    assert code == 2
    assert lines[:2] == ["ours is 5x as fast", lines[1]]
    assert "reproduced (published 5x, off by up to 10 %)" in lines[1]
    assert "smaller (published 9x, off by up to 10 %)" in text
    assert "not measured: none-such: cannot be run: No such file or directory" in lines
    assert lines[-1] == "1 of 3 claims reproduced"


def test_every_setting_is_shown_before_it_is_allowed(ask: Ask) -> None:
    settings = {
        "cores": 1, "warmup": 2, "setup": "true", "prepare": "true", "startup": "true", "time_pattern": "x",
        "check": "same", "parameter": ["n", "1"], "shell": True, "ignore_failure": True, "without_startup": True,
        "tolerance": 5, "minutes": 2,
    }  # fmt: skip
    claim = {"says": "it is fast", "run": "a {n}", "over": "b", "published": 3} | settings
    assert {*claim} == {entry.name for entry in fields(Claim)}
    FILE.write_text(json.dumps({"claims": [claim]}))
    text = ask(allow=False)[1]
    assert [name for name in claim if f"{name}: " not in text] == ["says"]


def test_claims_that_hold_end_with_zero(ask: Ask, given: Callable[..., None]) -> None:  # noqa: F811
    FILE.write_text(CLAIM)
    given((1, 5, 1), (1, 5, 1), (1, 3, 1))
    assert ask()[0] == 0
    documents = json.loads(ask("--json")[1])
    assert [document["says"] for document in documents] == ["ours is 5x as fast"]
    code, text = ask("--markdown")
    assert (code, text.endswith(".\n\n0 of 1 claim reproduced\n")) == (1, True)


def test_one_claims_cores_are_not_the_nexts(
    ask: Ask,
    given: Callable[..., None],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound: list[Sequence[int]] = []
    monkeypatch.setattr(doubt, "usable_cores", lambda: (0, 1, 2))
    monkeypatch.setattr(doubt, "allowed_cpus", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(doubt, "bind", bound.append)
    FILE.write_text(CLAIM + "    cores: 1\n" + CLAIM.partition("\n")[2])
    given((1, 5, 1), (1, 5, 1))
    assert ask()[0] == 0
    assert bound == [(0,), [0, 1, 2, 3], (0, 1, 2), [0, 1, 2, 3]]


def test_who_stops_a_claim_stops_all(ask: Ask, given: Callable[..., None]) -> None:  # noqa: F811
    FILE.write_text(CLAIM + CLAIM.partition("\n")[2])
    given((1, 5, 1), trouble="it was stopped in round 6", is_stopped=True)
    code, text = ask()
    assert (code, text.splitlines()[-1]) == (75, "0 of 2 claims reproduced")


def test_a_claim_has_options_of_its_own(ask: Ask) -> None:
    FILE.write_text(CLAIM)
    line = "respeed: --claims: the file says how each of its claims is measured; leave out: minutes and over\n"
    assert ask("--over", "true", "--minutes", "0") == (2, line)


def test_history_shows_what_has_changed(ask: Ask, given: Callable[..., None]) -> None:  # noqa: F811
    FILE.write_text(CLAIM)
    words = "--history", "kept/history.jsonl"
    given((1, 5, 1), (1, 5, 1), (1, 3, 1), (1, 3, 1.5))
    assert "before" not in ask(*words)[1]
    text = ask(*words)[1]
    assert "\nnote: before: 5.00x (4.8" in text
    assert "changed since" not in text
    text = ask(*words)[1]
    assert "; 5.00x (4.8" in text
    assert "\nnote: changed since 20" in text
    # A ratio that cannot be trusted is not kept.
    ask(*words)
    given((1, 4, 1), (1, 2, 1))
    ask(*words)
    # The last three are shown, and no ratio of other commands.
    assert [float(ratio) for ratio in re.findall(r"([0-9.]+)x [^;\n]* on 20", ask(*words)[1])] == [5.0, 3.0, 4.0]
    for changed in (CLAIM.replace("touch ran\n", "touch run\n"), CLAIM + "    shell: true\n"):
        FILE.write_text(changed)
        given((1, 4, 1))
        assert "before" not in ask(*words)[1]
    kept = Path(words[1]).read_text().splitlines()
    assert [round(json.loads(line)["ratio"]) for line in kept] == [5, 5, 3, 4, 2, 4, 4]
    for bad in ('"low": 0', '"day": "today\\nor not"', '"machine": "a b"'):
        entry = json.loads(kept[0]) | json.loads(f"{{{bad}}}")
        Path(words[1]).write_text(json.dumps(entry) + "\n")
        assert ask(*words)[0] == 2
    Path(words[1]).write_text("no\n")
    assert ask(*words) == (
        2,
        "respeed: kept/history.jsonl:1: is no line of a history; remove it, or name another file\n",
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("published: 5", "published: fast", "claims.0.published: must be a number, not 'fast'"),
        ("    published: 5\n", "", "claims.0.published: is missing"),
        ("run: touch ran", "run: \"'\"", "claims.0.run: ': no closing quotation"),
        ("    published", "    setup: ' '\n    published", "claims.0.setup: has no command, but ' '"),
        ("    published", "    parameter: [other, \"1,'\"]\n    published", "parameter: other ': Value error, "),
        ("    published", "    parameter: [other, '1,1']\n    published", "parameter: other has a value twice"),
        ("    published", "    tolerance: 100\n    published", "claims.0.tolerance: must be less than 100"),
        ("run:", "command:", "claims.0.command: unknown key"),
        (CLAIM, "claims: []", "claims: must have at least 1 item"),
    ],
)  # fmt: skip
def test_check_finds_mistakes_in_claims(old: str, new: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    FILE.write_text(CLAIM)
    assert main(["check", str(FILE)]) == 0
    assert capsys.readouterr().out == "no mistake; looked at 1 claim in claims.yaml\n"
    FILE.write_text(CLAIM.replace(old, new))
    assert main(["check", str(FILE)]) == 1
    assert line in capsys.readouterr().out
    assert doubt.COMMANDS[:2] == ("run", "over")
