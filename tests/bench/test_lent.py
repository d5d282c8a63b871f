"""What is done on a lent machine, step by step: a step whose time was up says so, and is not taken for done."""

from pathlib import Path

import lent
import pytest
from stages import TIME_UP

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.profiles import load_profiles


def do(step: str, seconds: float = 600.0) -> int:
    config = load_config(overrides={"preset": "smoke", "profiles": ["openblas-1"]})
    return lent.STEPS[step](config, load_profiles(), "box", seconds)


def test_what_no_program_had_time_to_learn_is_left_to_the_next_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    learned: list[Path] = []
    monkeypatch.setattr(lent, "learning_path", lambda *where: tmp_path / "-".join(map(str, where)))
    monkeypatch.setattr(lent, "learn", learned.append)
    assert do("learning", seconds=1.0) == TIME_UP
    assert "not begun" in capsys.readouterr().out
    assert not learned
    assert do("learning") == 0
    assert learned
    for path in learned:
        path.touch()
    assert do("learning", seconds=1.0) == 0


def test_a_program_that_cannot_learn_fails_the_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def learn(path: Path) -> None:
        raise UserError("it ended with exit code 1")

    monkeypatch.setattr(lent, "learning_path", lambda *where: tmp_path / "-".join(map(str, where)))
    monkeypatch.setattr(lent, "learn", learn)
    assert do("learning") == 1
