"""A profiled step: what is told of it, and that no profile costs a case its time."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from respeed.backends import Backend, make_backend
from respeed.measure import case as measuring
from respeed.measure import turn
from respeed.measure.replay import profile_case, summarize
from respeed.records import read_records
from tests.made import make_lines
from tests.measure.test_turn import WORKER, _in_a_folder_and_with_a_lock_of_its_own, take  # noqa: F401
from tests.orders import order_of

ORDER = order_of()
JOB = ORDER.cases[0]
SPANS = [("sum", 300, 500), ("product", 0, 100), ("product", 50, 250), ("copy", 900, 1000)]
PROFILED = {"replay": JOB.case.workload, "parameters": dict(JOB.case.parameters), "kernels": 17}


def on_device(**trace: Any) -> Backend:
    """Return a backend that tells of a device's kernels: on the CPU."""
    made = make_backend("numpy", device="cpu", precision="fp32", threads=1, seed=1)
    made.trace = Mock(**trace)
    made.has_profiler = True
    return made


def test_overlapping_kernels_count_once_as_busy() -> None:
    facts = summarize(SPANS)
    assert (facts["kernels"], facts["seconds"], facts["busy_share"]) == (4, pytest.approx(1e-6), pytest.approx(0.55))
    assert [(kernel["name"], kernel["count"]) for kernel in facts["longest"]] == [
        ("product", 2), ("sum", 1), ("copy", 1),
    ]  # fmt: skip


def test_the_longest_five_kernels_are_named() -> None:
    facts = summarize([(f"kernel {length}", 1000 * length, 1001 * length) for length in range(1, 9)])
    assert [kernel["name"] for kernel in facts["longest"]] == [f"kernel {length}" for length in (8, 7, 6, 5, 4)]


def test_a_replay_tells_its_arrays_bytes() -> None:
    facts = profile_case(JOB, on_device(return_value=SPANS))
    visible, hidden, batch = (JOB.case.parameters[name] for name in ("visible", "hidden", "batch"))
    assert facts["weights_bytes"] == 4 * (visible * hidden + visible + hidden)
    assert facts["inputs_bytes"] % (4 * batch * visible) == 0


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        ({"side_effect": RuntimeError("CUPTI is in use\nby another")}, "RuntimeError: CUPTI is in use"),
        ({"return_value": []}, "the profiler saw no kernel"),
    ],
)
def test_a_failing_profiler_is_a_reason(trace: dict[str, Any], reason: str) -> None:
    facts = profile_case(JOB, on_device(**trace))
    assert facts["reason"] == reason
    assert "kernels" not in facts


def test_replays_come_after_all_timed_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first round's short steps are profiled, and nothing is built for it where there is no profiler."""
    told: list[str] = []
    made = on_device(return_value=SPANS)
    monkeypatch.setattr(measuring, "make_backend", lambda *_, **__: made)
    for made.has_profiler, replays in ((True, 2), (False, 0)):
        order = order_of(cases=(JOB, ORDER.cases[1]))
        told.clear()
        measuring.measure_cases(order, lambda event, **_: told.append(event))
        assert told == ["ready", *["begin", "case"] * 2, *["replaying", "replay"] * replays]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGSEGV)", "time.sleep(600)"])
def test_a_profiler_that_crashes_costs_no_case(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was timed and profiled before is kept, and nothing fails."""
    made = {job.case.name: make_lines(case=job.case, source=job.source) for job in ORDER.cases}
    ready = {key: made[JOB.case.name][0][key] for key in ("backend", "energy", "ceilings")}
    after = "tell('replaying', case='rbm'); tell('replay', facts=json.loads(sys.argv[2])); "
    worker = f"{WORKER}{after}tell('replaying', case='rbm'); {end}"
    told = json.dumps([{}, ready, {name: result for name, (_, result) in made.items()}])
    start = partial(subprocess.Popen, [sys.executable, "-I", "-S", "-c", worker, told, json.dumps(PROFILED)])
    pretended = SimpleNamespace(PIPE=subprocess.PIPE, Popen=lambda _, **options: start(**options))
    monkeypatch.setattr(turn, "subprocess", pretended)
    monkeypatch.setattr(turn, "REPLAY_MINUTES", 0.03)
    (record,) = take(ORDER)
    assert {result.status for result in record.results} == {"measured"}
    (read,) = read_records(True, "box")
    assert [(replay.key, replay.kernels) for replay in read.replays] == [(JOB.case.key, 17)]
    lines = Path(read.path).read_text("utf-8").splitlines()
    assert [int(place.rpartition(":")[2]) for place in read.places()] == [*range(2, len(lines))]
