"""A device in trouble, before and while a case is measured: reasons in the record, and no crash."""

import io
import json
from dataclasses import asdict
from typing import Any

import pytest

from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from respeed.measure.bench import make_bench
from respeed.measure.case import measure_case
from respeed.measure.worker import _run
from respeed.paths import RoundId
from respeed.schedule.spec import make_spec

ROUND = RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NotMeasurable("no such device"), "no such device"),
        (RuntimeError("CUDA error: out of memory\nmore"), "RuntimeError: CUDA error: out of memory more"),
    ],
)
def test_a_device_in_trouble_while_the_backend_is_set_up_is_a_reason_and_no_crash(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("respeed.measure.case.make_backend", refuse)
    monkeypatch.setattr("respeed.measure.worker.bind", lambda cpus: None)
    events = io.StringIO()
    _run(json.dumps({"specs": [asdict(make_spec(ROUND, 1))], "probes": []}), events)
    assert json.loads(events.getvalue()) == {"event": "not-run", "reason": reason}


def test_a_case_whose_steps_could_not_be_captured_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec(ROUND, 1)
    made = make_backend("openblas", device="cpu", precision="fp32", threads=1, seed=1)
    told = iter([None, "RuntimeError: a copy waited"])
    monkeypatch.setattr(made, "why_plain", lambda: next(told), raising=False)
    bench, _ = make_bench(made)
    assert measure_case(spec, 0, bench)["graphs"] == "no: RuntimeError: a copy waited"
