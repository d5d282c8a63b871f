"""A row on a device that cannot be used is begun once in a session, and the last line says that none was measured."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respeed.measure import session
from respeed.paths import RoundId
from respeed.schedule import availability
from respeed.schedule.messages import without_devices
from respeed.schedule.spec import RoundSpec
from respeed.schedule.workflow import Target, resolve_workflow
from tests.conftest import MakeRecord

SETTINGS = {"preset": "smoke", "experiments": "rbm", "profiles": ["openblas-1", "gpu"], "machine": "box"}


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that a moment's trial finds nothing wrong with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(availability, "missing_device", lambda device: None)
    monkeypatch.setattr(availability, "probe_device", lambda *asked, **how: {})


def target() -> Target:
    return resolve_workflow(SETTINGS).targets[0]


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("begins", "turns"), [(False, {"openblas-1": 3, "gpu": 1}), (True, {"openblas-1": 3, "gpu": 3})]
)
def test_a_row_whose_process_never_began_is_not_begun_again_in_the_session(
    monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord, begins: bool, turns: dict[str, int]
) -> None:
    begun: list[str] = []
    said: list[str] = []

    def pretend(specs: Sequence[RoundSpec], *_: object) -> Iterator[tuple[RoundId, dict[str, Any]]]:
        begun.append(specs[0].profile.name)
        dead = {"status": "not-run", "reason": "the device is lost", "blocks": []} if begun[-1] == "gpu" else {}
        for spec in specs:
            record = make_record([0.1], smoke=True, machine="box", digest=spec.digest, index=spec.id.index)
            record["cases"] = [record["cases"][0] | dead | {"case": case.name} for case in spec.cases]
            record["id"]["profile"] = record["profile"]["name"] = spec.profile.name
            if dead and not begins:
                del record["provenance"]["backend"]
            yield spec.id, record

    monkeypatch.setattr(session, "measure_turn", pretend)
    work = target().work
    session.measure_session(replace(work, preset=replace(work.preset, rounds=3, most=3)), say=said.append)
    assert {name: begun.count(name) for name in turns} == turns
    assert any("gpu: not tried again in this session: the device is lost" in line for line in said) != begins
    # Records without any time are measured again by the next run, which says why.
    assert without_devices(target(), target().read_plan()) == (
        "no row of a GPU or TPU was measured: gpu: the device is lost"
    )


@pytest.mark.usefixtures("there")
def test_the_last_line_is_of_devices_that_are_there_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = target()
    assert without_devices(asked, asked.plan) == "no row of a GPU or TPU was measured: gpu: not yet"
    reason = "driver 550.54 (CUDA 12.4) is too old"
    monkeypatch.setattr(availability, "probe_device", lambda *asked, **how: {"reasons": {"fp32": reason}})
    asked = target()
    assert without_devices(asked, asked.plan) == f"no row of a GPU or TPU was measured: gpu: {reason}"
    every = replace(asked, config=replace(asked.config, all_profiles=True))
    assert without_devices(every, asked.plan)
    with monkeypatch.context() as patched:
        patched.setattr(Target, "why_not", lambda target, profile: "no CUDA device")
        assert without_devices(every, asked.plan) is None
    low = "bf16 needs an NVIDIA GPU of 2020 or later"
    answer = {"reasons": {"fp32": reason, "bf16": low}}
    monkeypatch.setattr(availability, "probe_device", lambda *asked, **how: answer)
    both = replace(asked, config=replace(asked.config, profiles=("gpu-bf16", "gpu")))
    assert without_devices(both, asked.plan) == f"no row of a GPU or TPU was measured: gpu: {reason}"
    only_cpu = replace(asked, config=replace(asked.config, profiles=("openblas-1",)))
    assert without_devices(only_cpu, asked.plan) is None
