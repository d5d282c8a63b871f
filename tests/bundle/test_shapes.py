"""What a bundle may say of energy."""

from collections.abc import Callable
from typing import Any

import pytest

from respeed.records.shape import misfit
from respeed.records.shapes import RECORD

RUN = {"steps": 9, "seconds": 1.1, "joules": {"GPU": 300.0}}


@pytest.mark.parametrize(
    ("run", "place"),
    [
        (RUN, None),
        (RUN | {"steps": 0}, "steps"),
        (RUN | {"steps": True}, "steps"),
        (RUN | {"seconds": 0.0}, "seconds"),
        (RUN | {"joules": {"GPU": -1.0}}, "joules.GPU"),
        (RUN | {"joules": [300.0]}, "joules"),
    ],
)
def test_a_run_for_energy_has_steps_seconds_and_joules(
    make_record: Callable[..., dict[str, Any]], run: dict[str, Any], place: str | None
) -> None:
    record = make_record([0.1])
    assert misfit(record, RECORD) is None
    record["cases"][0]["energy_run"] = run
    assert misfit(record, RECORD) == (place and f"cases.0.energy_run.{place}")
