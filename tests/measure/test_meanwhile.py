"""What happens to records and code while a session measures is told in its last line, and in that of a run."""

import fcntl
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.cli.main import main
from respeed.measure import session
from respeed.paths import RoundId, record_paths
from respeed.schedule.messages import _happened_to
from respeed.schedule.spec import RoundSpec
from respeed.schedule.workflow import resolve_workflow
from tests.conftest import MakeRecord

SETTINGS = {"preset": "smoke", "experiments": "rbm", "profiles": ["openblas-1", "openblas-all"], "machine": "box"}


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> Any:
    """A session of two turns. During the second one somebody removes the first one's record and commits a change."""
    monkeypatch.chdir(tmp_path)

    def pretend(specs: Sequence[RoundSpec], *_: object) -> Iterator[tuple[RoundId, dict[str, Any]]]:
        (before, *_) = [*record_paths(True), None]
        for spec in specs:
            cases = [make_record([0.1])["cases"][0] | {"case": case.name} for case in spec.cases]
            record = make_record([0.1], smoke=True, machine="box", digest=spec.digest) | {"cases": cases}
            record["id"] |= {"profile": spec.profile.name}
            record["provenance"]["commit"] = "b" * 12 if before else "a" * 12
            yield spec.id, record
        if before:
            before.unlink()

    monkeypatch.setattr(session, "measure_turn", pretend)
    return session.measure_session(resolve_workflow(SETTINGS).targets[0].work)


def test_a_session_says_in_its_last_line_what_happened_meanwhile(outcome: Any) -> None:
    told = str(outcome)
    assert told.startswith("2 turns in ")
    assert "; 1 record was removed meanwhile, and will be measured again" in told
    assert told.endswith(f"; the code changed meanwhile: rounds were made of {'a' * 12} and {'b' * 12}")


def test_a_run_says_it_of_what_was_there_and_of_what_its_session_made(outcome: Any, tmp_path: Path) -> None:
    target = resolve_workflow(SETTINGS).targets[0]
    made = outcome.facts(target.work)["records"]
    assert [path.split("/")[2] for path in made] == ["openblas-1", "openblas-all"] or len(made) == 2
    (left,) = record_paths(True)
    session_file = tmp_path / "results/smoke/records/box/session-001.json"
    session_file.write_text(f'{{"records": {str(made).replace(chr(39), chr(34))}}}')
    before = SimpleNamespace(records={})
    run = SimpleNamespace(plan=before, is_left=True, session=session_file)
    assert _happened_to(run, target.read_plan()) == ["1 record was removed meanwhile, and will be measured again"]
    left.unlink()
    assert _happened_to(run, target.read_plan()) == ["2 records were removed meanwhile, and will be measured again"]


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
