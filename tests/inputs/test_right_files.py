"""What right files mean, and the JSON Schemas that editors check them by."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from respeed.inputs.__main__ import FORMS, json_schema
from respeed.inputs.config import load_config
from respeed.inputs.files import read_yaml
from respeed.inputs.machines import Price, SlurmNode, load_told
from respeed.inputs.papers import load_paper
from respeed.inputs.profiles import read_profile
from respeed.model.paper import UNITS
from respeed.paths import HARDWARE, MACHINES, PAPERS, ROOT, SCHEMAS, STARTERS
from tests.inputs.written import DRAFT, DRAFT_CSV, FILES, read

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
    assert text == json_schema(FORMS[name])
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    for path in WRITTEN[name]:
        assert [error.message for error in Draft202012Validator(schema).iter_errors(read_yaml(path) or {})] == []


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", "0-3, 8"), ("8, 0-3", "0-3, 8"), ("[0, 1, 2]", "0-2"), ("4", "4"), ("socket 1", "socket 1"),
        ("performance cores", "performance cores"), ("efficiency  cores", "efficiency cores"),
    ],
)  # fmt: skip
def test_cpus_are_a_list_a_socket_or_a_kind_of_cores(tmp_path: Path, text: str, cpus: str) -> None:
    profile, _ = read("cpu", tmp_path, f"{FILES['cpu'].text}cpus: {text}\n")
    assert profile.cpus == cpus


def test_a_profile_that_says_nothing_more_is_as_it_always_was(tmp_path: Path) -> None:
    profile, _ = read("cpu", tmp_path)
    assert (profile.name, profile.cpus, profile.smt, profile.requires, profile.optional) == (
        "mine",
        None,
        False,
        {},
        False,
    )


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:1", "xpu:12"])
def test_a_device_may_have_a_number(tmp_path: Path, device: str) -> None:
    profile, _ = read("gpu", tmp_path, FILES["gpu"].text.replace("device: cuda", f"device: {device}"))
    assert (profile.device, profile.is_cpu) == (device, False)


def test_a_link_to_a_regular_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").symlink_to(HARDWARE / "torch-1.yaml")
    profile, mistakes = read_profile("mine", tmp_path)
    assert profile is not None, mistakes


def test_whole_numbers_may_be_written_with_a_point_or_an_exponent(tmp_path: Path) -> None:
    text = FILES["config"].text.replace("rounds: 6", "rounds: 6.0").replace("seed: 2009", "seed: 2e3")
    config, _ = read("config", tmp_path, text)
    assert (repr(config.preset.rounds), repr(config.seed)) == ("6", "2000")


def test_one_profile_may_be_named_without_a_list_and_what_is_overridden_may_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FILES["config"].text.replace("profiles: all", "profiles: [gone]"))
    config = load_config(path, {"profiles": "torch-1", "cluster": "true"})
    assert (config.profiles, config.cluster, config.all_profiles) == (("torch-1",), True, False)


def test_price_profiles_and_nodes_are_told_of_a_machine_or_nothing(tmp_path: Path) -> None:
    text = FILES["machine"].text.replace("2.5", "2").replace("{partition: gpu}", "{gres: 'gpu:1', cpus: 16}")
    told, _ = read("machine", tmp_path, text)
    assert (told.price, repr(told.price.per_hour)) == (Price(2, "EUR", "a bill", "2026-11-01"), "2")
    assert (told.profiles, told.slurm) == (("gpu",), SlurmNode(gres="gpu:1", cpus=16))
    read("machine", tmp_path, "")
    assert load_told(tmp_path)["box"].price is None


def draft(folder: Path, text: str = DRAFT, csv: str = DRAFT_CSV) -> Any:
    (folder / "draft").mkdir()
    (folder / "draft/paper.yaml").write_text(text)
    (folder / "draft/published.csv").write_text(csv)
    return load_paper("draft", folder)


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


def test_a_paper_that_prints_nothing_needs_no_file_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft/paper.yaml").write_text(DRAFT)
    paper = load_paper("draft", tmp_path)
    assert not paper.prints("rbm")
    assert [claim.test for claim in paper.claims] == ["faster"]
