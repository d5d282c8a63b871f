"""What is wrong is left out of what is shown, with a line."""

from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs import machines
from respeed.inputs.machines import read_told
from respeed.schedule import selection
from respeed.schedule.selection import papers_shown, told_shown

TOLD = "price: {per_hour: 2.5, currency: EUR, source: a bill, date: 2026-11-01}\n"


def test_a_wrong_file_of_a_machine_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("box", TOLD), ("bad", "price: 1\n"), ("My Box", TOLD)):
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(selection, "told_machines", lambda: machines.told_machines(tmp_path))
    monkeypatch.setattr(selection, "read_told", lambda machine: read_told(machine, tmp_path))
    assert list(told_shown()) == ["box"]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" is left out: ")[0] for line in lines] == [
        "respeed: what is told of My Box", "respeed: what is told of bad",
    ]  # fmt: skip


def test_a_paper_that_there_is_not_is_a_mistake_and_none_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"no paper 'raina2008' \(did you mean raina2009\?\)"):
        papers_shown(smoke=False, chosen=["raina2009", "raina2008"])
