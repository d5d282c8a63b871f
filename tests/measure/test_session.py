"""A session of measuring by hand."""

import fcntl
from pathlib import Path

import pytest

from respeed.cli.main import main
from respeed.paths import record_paths


def test_who_measures_by_hand_beside_a_run_in_the_same_folder_is_refused_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records that appear while a run makes its tables would end it at its last step."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results/smoke"
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["measure", "--wait", "0", "--config", "preset=smoke", "machine=box"]) == 2
    assert "another run is at work in this folder" in capsys.readouterr().err
    assert not record_paths(True)
