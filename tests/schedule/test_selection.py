"""What a run is about: the cells that it measures, and the papers, machines and files that are shown."""

from dataclasses import replace
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs.config import Config, Preset, load_config
from respeed.inputs.machines import MACHINE_FILES
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.paths import description_path
from respeed.records.store import write_json
from respeed.schedule import selection
from respeed.schedule.selection import FEW, Work, machines_in_full, make_work, papers_shown, told_shown
from respeed.schedule.workflow import Workflow
from tests.conftest import MakeRecord, description, write_machines


def work_of(*papers: str, profile: str = "torch-1") -> Work:
    preset = Preset("test", rounds=1, most=1, minutes=2, sizes="paper")
    config = replace(load_config(), preset=preset, papers=papers, profiles=(profile,))
    return make_work(config, load_papers(papers), load_profiles(), "box")


def test_a_preset_has_its_minutes_for_each_paper() -> None:
    assert load_config().papers == ("raina2009",)
    assert work_of("bergstra2010").seconds == 120
    assert work_of("bergstra2010", "theano-tutorials").seconds == 240


def test_only_profiles_are_measured_that_are_asked_for_and_that_the_machine_and_the_cases_can_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = {name for name, profile in load_profiles().items() if not profile.optional}
    assert set(load_config().profiles) == every
    assert load_config(overrides={"profiles": "cpu-bf16"}).profiles == ("cpu-bf16",)
    assert work_of("cnn-benchmarks").profiles == ["torch-1"]
    assert work_of("cnn-benchmarks", profile="openblas-1").cells == ()
    tf32 = {"reasons": {"tf32": "TF32 needs another GPU"}}
    for reason, found, profiles in (
        ("no CUDA device", {}, {}), (None, {}, {"gpu", "gpu-tf32"}), (None, tf32, {"gpu"}),
        (None, {"reason": "stuck"}, {}),
    ):  # fmt: skip
        monkeypatch.setattr("respeed.schedule.availability.missing_device", lambda device, reason=reason: reason)
        monkeypatch.setattr("respeed.schedule.availability.probe_device", lambda *asked, found=found: found)
        assert {name for one in ("gpu", "gpu-tf32") for name in work_of("raina2009", profile=one).profiles} == set(
            profiles
        )


def test_a_table_of_one_precision_is_measured_in_it_where_no_profile_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "why_not", lambda profile: None)
    config = replace(load_config(overrides={"papers": "check-blas,bergstra2010"}), preset=work_of("lectures").preset)
    known, papers = load_profiles(), load_papers(config.papers)

    def precisions_in(config: Config) -> dict[str, set[str]]:
        cells = make_work(config, papers, known, "box").cells
        return {
            name: {known[cell.profile].precision for cell in cells if cell.experiment == name}
            for name in ("threads", "single-2000", "mlp")
        }

    asked = precisions_in(config)
    assert asked["threads"] == {"fp64"}
    assert "fp64" not in asked["single-2000"] | asked["mlp"]
    one = precisions_in(load_config(overrides={"papers": "check-blas,bergstra2010", "profiles": "torch-1"}))
    assert one == {"threads": set(), "single-2000": {"fp32"}, "mlp": {"fp32"}}
    cells = make_work(config, papers, known, "box").cells
    assert {known[cell.profile].is_cpu for cell in cells if cell.experiment == "single-5000"} == {False}
    # Beside an accelerator, other precisions wait for the time that is left; a table's own does not.
    quick = load_config(overrides={"papers": "check-blas,bergstra2010"})
    waiting = {
        (one.experiment, known[one.profile].precision) for one in sum(make_work(quick, papers, known, "box").spare, ())
    }
    assert {which for table, which in waiting if table == "mlp"} == {"tf32", "bf16", "fp16"}
    assert ("threads", "fp64") not in waiting


def test_a_wrong_file_of_a_machine_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "price: {per_hour: 2.5, currency: EUR, source: a bill, date: 2026-11-01}\n"
    for name, text in (("box", told), ("bad", "price: 1\n"), ("My Box", told)):
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(selection, "MACHINE_FILES", replace(MACHINE_FILES, folder=tmp_path))
    assert list(told_shown()) == ["box"]
    lines = [line.partition(" is left out: ")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["respeed: the machine bad"]


def test_a_paper_that_there_is_not_is_a_mistake_and_none_left_out() -> None:
    with pytest.raises(UserError, match=r"no paper 'raina2008' \(did you mean raina2009\?\)"):
        papers_shown(smoke=False, chosen=["raina2009", "raina2008"])


def test_of_few_machines_all_are_shown_in_full_and_of_many_this_one_or_that_with_most_records(
    make_record: MakeRecord,
) -> None:
    write_machines(make_record, FEW, rounds=1)
    assert machines_in_full(smoke=False, machine="elsewhere") == [f"box-{number:02}" for number in range(FEW)]
    write_machines(make_record, 1, first=FEW, rounds=1)
    write_machines(make_record, 1, first=2, rounds=2)
    assert machines_in_full(smoke=False, machine="box-03") == ["box-03"]
    assert machines_in_full(smoke=False, machine="elsewhere") == ["box-02"]


@pytest.mark.parametrize("others", [0, FEW - 1, FEW, 12])
def test_the_workflow_expects_the_figures_that_are_drawn_once_this_machine_is_described(
    make_record: MakeRecord, others: int
) -> None:
    write_machines(make_record, others, rounds=1)
    workflow = Workflow(load_config(), {}, load_papers(["raina2009"]), load_profiles(), "this")
    expected = workflow.machines
    write_json(description_path("this", smoke=workflow.smoke), description())
    assert expected == machines_in_full(workflow.smoke, "this")
    assert "this" in expected
