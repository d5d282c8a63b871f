"""Which machines are shown in full."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.paths import description_path
from respeed.records.store import write_json
from respeed.schedule.selection import FEW, machines_in_full
from respeed.schedule.workflow import Workflow
from tests.conftest import write_machines

MakeRecord = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_few_are_all_shown_whichever_this_one_is(make_record: MakeRecord) -> None:
    write_machines(make_record, FEW, rounds=1)
    assert machines_in_full(smoke=False, machine="elsewhere") == [f"box-{number:02}" for number in range(FEW)]


def test_of_many_it_is_this_one(make_record: MakeRecord) -> None:
    write_machines(make_record, FEW + 1, rounds=1)
    assert machines_in_full(smoke=False, machine="box-03") == ["box-03"]


def test_where_this_one_has_no_records_it_is_the_one_with_most(make_record: MakeRecord) -> None:
    write_machines(make_record, FEW + 1, rounds=1)
    write_machines(make_record, 1, first=2, rounds=2)
    assert machines_in_full(smoke=False, machine="elsewhere") == ["box-02"]


@pytest.mark.parametrize("others", [0, FEW - 1, FEW, 12])
def test_the_workflow_expects_the_figures_that_are_drawn_once_this_machine_is_described(
    make_record: MakeRecord, others: int
) -> None:
    write_machines(make_record, others, rounds=1)
    workflow = Workflow(load_config(), {}, load_papers(["raina2009"]), load_profiles(), "this")
    expected = workflow.machines
    write_json(description_path("this", smoke=workflow.smoke), {"hardware": {}, "not_measurable": {}})
    assert expected == machines_in_full(workflow.smoke, "this")
    assert "this" in expected
