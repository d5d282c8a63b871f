"""What right files mean, and the JSON Schemas that editors check them by."""

import json
import re
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from respeed.analysis.cells import reference
from respeed.inputs.__main__ import FORMS
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import Price
from respeed.inputs.reader import json_schema, read_yaml
from respeed.model import UNITS, Printed
from respeed.paths import HARDWARE, MACHINES, PAPERS, ROOT, SCHEMAS, STARTERS
from tests.inputs.written import DRAFT, DRAFT_CSV, FILES, draft, read

NUMBERS = st.floats(1e-6, 1e9)
WRITTEN = {
    "config": [ROOT / "config.yaml"],
    "hardware": [*HARDWARE.glob("*.yaml"), STARTERS / "hardware.yaml"],
    "machine": [*MACHINES.glob("*.yaml"), STARTERS / "machine.yaml"],
    "paper": [*PAPERS.glob("*/paper.yaml"), STARTERS / "paper/paper.yaml"],
}


@pytest.mark.parametrize("name", FORMS)
def test_the_schema_for_editors_is_that_of_the_model_and_all_files_fit_it(name: str) -> None:
    """If not: ./run python -m respeed.inputs"""
    text = (SCHEMAS / f"{name}.schema.json").read_text()
    schema = json.loads(text)
    assert schema == json_schema(FORMS[name])
    Draft202012Validator.check_schema(schema)
    for path in WRITTEN[name]:
        assert [error.message for error in Draft202012Validator(schema).iter_errors(read_yaml(path) or {})] == []


# The kind of file, a text of a right one, what stands there instead (or, without the first, behind), and what it means.
RIGHT = [
    *(("cpu", "", f"cpus: {text}", "cpus", cpus) for text, cpus in (
        ("0-3,8", "0-3, 8"), ("8, 0-3", "0-3, 8"), ("[0, 1, 2]", "0-2"), ("4", "4"))),
    *(("cpu", "", "", key, value) for key, value in (
        ("name", "mine"), ("cpus", None), ("requires", {}), ("optional", False), ("is_cpu", True))),
    *(("gpu", "device: cuda", f"device: {device}", "device", device) for device in ("cuda", "cuda:0", "xpu:12")),
    ("gpu", "", "", "is_cpu", False),
    # Whole numbers may be written with a point or an exponent, and stay whole.
    ("config", "rounds: 6", "rounds: 6.0", "preset.rounds", 6),
    ("config", "seed: 2009", "seed: 2e3", "seed", 2000),
    ("machine", "2.5", "2", "price", Price(2, "EUR", "a bill", "2026-11-01")),
    ("machine", "", "", "profiles", ("gpu",)),
    ("machine", "", "", "slurm", {"slurm_partition": "gpu", "runtime": 60}),
    *(("machine", "{slurm_partition: gpu}", str(asked).replace("'", '"'), "slurm", asked) for asked in (
        {"gres": "gpu:1", "cpus_per_task": 16, "runtime": 600},
        {"constraint": "[old|new]&big", "slurm_extra": "--nodelist=n[1-4] --qos=long", "runtime": 5})),
    ("machine", FILES["machine"].text, "", "price", None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "old", "new", "key", "value"), RIGHT)
def test_what_is_written_is_what_is_meant(
    tmp_path: Path, kind: str, old: str, new: str, key: str, value: object
) -> None:
    assert old in FILES[kind].text
    found, mistakes = read(
        kind, tmp_path, FILES[kind].text.replace(old, new, 1) if old else f"{FILES[kind].text}{new}\n"
    )
    assert mistakes == []
    assert repr(attrgetter(key)(found)) == repr(value)


def test_a_link_to_a_regular_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").symlink_to(HARDWARE / "torch-1.yaml")
    assert FILES["cpu"].read(tmp_path / "mine.yaml").name == "mine"


def configured(folder: Path, old: str = "", new: str = "", **overrides: object) -> Config:
    path = folder / "config.yaml"
    path.write_text(FILES["config"].text.replace(old, new))
    return load_config(path, overrides)


def test_one_profile_may_be_named_without_a_list_and_what_is_overridden_may_be_wrong(tmp_path: Path) -> None:
    config = configured(tmp_path, "profiles: all", "profiles: [gone]", profiles="torch-1", cluster="true")
    assert (config.profiles, config.cluster, config.all_profiles) == (("torch-1",), True, False)


def test_what_snakemake_hands_on_as_words_within_a_mapping_is_what_was_meant(tmp_path: Path) -> None:
    quick = {"rounds": "3", "most": "7", "minutes": "2.5", "sizes": "paper"}
    config = configured(tmp_path, preset="quick", machine="6", presets={"quick": quick})
    preset = config.preset
    assert (preset.rounds, preset.most, preset.minutes, config.machine) == (3, 7, 2.5, "6")


@pytest.mark.parametrize("preset", ["quick", "smoke"])
def test_rounds_most_and_minutes_may_be_said_in_place_of_the_chosen_preset_s(tmp_path: Path, preset: str) -> None:
    whole = configured(tmp_path, preset=preset).preset
    said = configured(tmp_path, "seed:", "minutes: 7\nseed:", preset=preset, rounds="3").preset
    assert said == replace(whole, rounds=3, minutes=7)
    assert configured(tmp_path, "seed:", "minutes: 7\nseed:", most=9, minutes=0).preset.minutes == 0


def test_rows_are_free_and_several_stand_beside_one_architecture(tmp_path: Path) -> None:
    paper = draft(tmp_path)
    assert [row.name for row in paper.rows_beside("gpu")] == ["gpu-a", "gpu-b"]
    assert [row.name for row in paper.rows_beside("tpu")] == ["gpu-b"]
    assert (paper.cpu_rows, paper.device_rows) == (("cpu", "numpy"), ("gpu-a", "gpu-b"))
    assert (paper.row("gpu-a").year, paper.row("gpu-b").year) == (2010, 2011)
    assert paper.fastest("rbm", "small", paper.device_rows) == paper.row("gpu-b")
    assert paper.fastest("rbm", "large", paper.device_rows) is None


def test_a_rate_of_examples_becomes_seconds_by_the_batch_or_by_the_case_s_examples(tmp_path: Path) -> None:
    paper = draft(tmp_path, csv=f"{DRAFT_CSV}\nrbm,large,cpu,600,examples a second,600\n".replace("\n", "\r\n"))
    assert paper.seconds("rbm", "small", "gpu-a") == pytest.approx(60 / 38310)
    assert paper.seconds("rbm", "large", "cpu") == pytest.approx(10.0)
    assert paper.speedup("rbm", "small", "gpu-a", paper.cpu_rows) == pytest.approx(38310 / 6573.73)
    texts = [paper.published["rbm", "small", row].text for row in ("cpu", "gpu-a")]
    assert (texts, paper.speedups["rbm", "small", "gpu-a"].text) == (["6,573.73", "38310.00"], "5.83")


def test_a_rate_of_operations_needs_their_number_and_a_speedup_does_not(tmp_path: Path) -> None:
    text, csv = (one.replace("examples a second", "GFLOP/s") for one in (DRAFT, DRAFT_CSV))
    paper = draft(tmp_path, text, csv)
    assert paper.seconds("rbm", "small", "cpu") is None
    assert paper.seconds("rbm", "small", "cpu", flops=6573.73e9) == pytest.approx(1.0)
    assert paper.speedup("rbm", "small", "gpu-a", ["numpy"]) == pytest.approx(38310 / 3579.84)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
@given(value=NUMBERS, amount=NUMBERS)
def test_a_number_in_a_unit_is_the_same_after_it_was_seconds(unit: Any, value: float, amount: float) -> None:
    assert unit.value(unit.seconds(value, amount), amount) == pytest.approx(value)


def test_a_paper_may_leave_out_what_a_table_can_do_without(tmp_path: Path) -> None:
    text = DRAFT.replace("    protocol: {batch: 60, learning_rate: 0.01}\n", "")
    text = re.sub(r"hidden: \d+", r"\g<0>, batch: 60, learning_rate: 0.01", text)
    for line in ("facts: []\n", "    round_seconds: 1\n", "    facts: []\n", "    caveats: []\n"):
        text = text.replace(line, "", 1)
    paper = draft(tmp_path, text)
    assert (paper.facts, paper.experiments["rbm"].facts, paper.experiments["rbm"].caveats) == ((), (), ())
    assert paper.experiments["rbm"].round_seconds > 0
    assert paper.published["rbm", "small", "numpy"] == Printed(3579.84, "3579.84")


def test_of_a_person_the_last_name_stands_for_the_paper_and_of_an_organisation_all_of_it(tmp_path: Path) -> None:
    people = "[Ada B. First, {organisation: Some Laboratory}, Last]"
    paper = draft(tmp_path, DRAFT.replace("[A. Nother]", people))
    assert reference(paper) == "First, Some Laboratory and Last (Somewhere 2010)"


def test_a_paper_that_prints_nothing_needs_no_file_of_numbers(tmp_path: Path) -> None:
    paper = draft(tmp_path, csv=None)
    assert not paper.prints("rbm")
    assert [claim.test for claim in paper.claims] == ["faster"]


def test_a_case_may_leave_out_an_option_and_is_then_what_it_was_before_there_was_one(tmp_path: Path) -> None:
    text = DRAFT.replace("workload: rbm", "workload: autoencoder").replace("batch: 60,", "batch: 60, corruption: 0.1,")
    small, large = draft(tmp_path, text.replace("5000,", "5000, cost: computed,")).experiments["rbm"].cases
    assert (small.parameters.get("cost"), large.parameters["cost"]) == (None, "computed")
