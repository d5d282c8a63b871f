"""What cannot be learned on a machine is left out with its reason, and all else is as ever."""

import dataclasses
import json
from pathlib import Path

import pytest

from respeed import backends
from respeed.errors import NotMeasurable
from respeed.figures.learning import draw_curves, draw_pictures
from respeed.inputs.papers import load_paper
from respeed.measure import learning
from respeed.paths import learning_path
from respeed.records.store import read_learning, write_record

REASON = "threadpoolctl does not find this SciPy's OpenBLAS, and cannot set its threads"


def test_a_library_whose_threads_cannot_be_set_is_a_reason_in_what_was_learned_and_in_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another OpenBLAS is loaded before SciPy's own."""

    def refuse(name: str, **_: object) -> None:
        raise NotMeasurable(REASON)

    monkeypatch.setattr(backends, "make_backend", refuse)
    monkeypatch.chdir(tmp_path)
    experiment = load_paper("raina2009").experiments["sparse-coding"]
    cases = [dataclasses.asdict(case) for case in experiment.learning]
    found = json.loads(json.dumps(learning._run({"cases": cases, "threads": 1, "seconds": 0.1})))
    assert found["programs"] == []
    assert [one["reason"] for one in found["absent"]] == [REASON] * len(cases)
    where = {"machine": "box", "paper": "raina2009", "experiment": "sparse-coding", "smoke": True}
    record = {"schema": 1, **where, "started": "2026-01-01T00:00:00+00:00", **found}
    write_record(learning_path("box", "raina2009", "sparse-coding", smoke=True), record)
    (read,) = read_learning(smoke=True)
    for draw in (draw_curves, draw_pictures):
        figure = draw(experiment, read, "")
        assert any(REASON in text.get_text() for text in figure.texts)
