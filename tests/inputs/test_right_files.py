"""What right files mean, and the JSON Schemas that editors check them by."""

import json
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from respeed.analysis.cells import rows_beside
from respeed.analysis.tables import CellKey
from respeed.inputs.config import Config, load_config
from respeed.inputs.machines import Notes, Profile
from respeed.inputs.papers import HEAD, load_paper
from respeed.inputs.reader import json_schema, read_yaml
from respeed.model import UNITS, Paper
from respeed.paths import ROOT, STARTERS, WORKFLOW
from tests.inputs.written import DRAFT, DRAFT_CSV, FILES, draft, read
from tests.known import assert_known

# The models of the files that people write.
FORMS: dict[str, Any] = {"config": Config, "hardware": Profile, "machine": Notes, "paper": Paper}
WRITTEN = {
    "config": [ROOT / "config.yaml"],
    "hardware": [*WORKFLOW.glob("hardware/*.yaml"), STARTERS / "hardware.yaml"],
    "machine": [*WORKFLOW.glob("machines/*.yaml"), STARTERS / "machine.yaml"],
    "paper": [*WORKFLOW.glob("papers/*/paper.yaml"), STARTERS / "paper/paper.yaml"],
}


@pytest.mark.known
@pytest.mark.parametrize("name", FORMS)
def test_every_schema_is_current_and_files_fit(name: str) -> None:
    """The schema for editors is that of the model and all files fit it."""
    schema = json_schema(FORMS[name])
    assert_known(ROOT / "workflow/schemas" / f"{name}.schema.json", json.dumps(schema, indent=2) + "\n")
    Draft202012Validator.check_schema(schema)
    for path in WRITTEN[name]:
        assert [error.message for error in Draft202012Validator(schema).iter_errors(read_yaml(path) or {})] == []


# The kind of file, a text of a right one, what stands there instead (or, without the first, behind), and what it means.
RIGHT = [
    *(("cpu", "", f"cpus: {text}", "cpus", cpus) for text, cpus in (("8, 0-3", "0-3, 8"), ("[0, 1, 2]", "0-2"))),
    *(("cpu", "", "", key, value) for key, value in (
        ("name", "mine"), ("cpus", None), ("requires", {}), ("optional", False), ("is_cpu", True))),
    *(("gpu", "device: cuda", f"device: {device}", "device", device) for device in ("cuda", "cuda:0", "xpu:12")),
    ("gpu", "", "", "is_cpu", False),
    # Whole numbers may be written with a point or an exponent, and stay whole.
    ("config", "seed: 2009", "seed: 2e3", "seed", 2000),
    ("machine", "", "", "profiles", ("gpu",)),
    ("machine", "", "", "slurm", {"runtime": 60, "slurm_extra": "--exclusive", "slurm_partition": "gpu"}),
    ("machine", "{slurm_partition: gpu}", '{constraint: "[old|new]&big", runtime: 5}', "slurm",
     {"runtime": 5, "slurm_extra": "--exclusive", "constraint": "[old|new]&big"}),
    ("machine", FILES["machine"].text, "", "profiles", None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "old", "new", "key", "value"), RIGHT)
def test_what_is_written_is_what_is_meant(
    tmp_path: Path, kind: str, old: str, new: str, key: str, value: object
) -> None:
    text = FILES[kind].text
    found, mistakes = read(kind, tmp_path, text.replace(old, new, 1) if old else f"{text}{new}\n")
    assert mistakes == []
    assert repr(attrgetter(key)(found)) == repr(value)


@pytest.mark.parametrize(
    ("paper", "experiment", "words"),
    [
        ("raina2009", "sparse-coding", ["3 %", "6 %", "10 %"]),
        ("raina2009", "patches", ["20736x49152 patch24", "20736x49152 patch32"]),
        ("bergstra2010", "nets", ["784-10 batch 1", "784-500-10 batch 1"]),
        # The column mlp is answered by the case of that name, too.
        ("theano-tutorials", "programs", ["logistic sgd", "logistic cg", "mlp", "mlp cost read"]),
    ],
)
def test_a_column_has_its_printed_words(paper: str, experiment: str, words: list[str]) -> None:
    """A column has the printed words or those of its case."""
    assert [*load_paper(paper).experiments[experiment].column_words().values()][: len(words)] == words


def test_an_algorithms_parameters_override_the_cases(tmp_path: Path) -> None:
    """What an algorithm needs of its own stands above a case's and is not for what is tried."""
    algorithm = "{label: It, published_for: [cpu], parameters: {learning_rate: 0.5}}"
    text = DRAFT.replace("    workload: rbm\n", f"    workload: rbm\n    algorithms: {{rbm: {algorithm}}}\n")
    for old, new in (("hidden: 500}", "hidden: 500, learning_rate: 0.2}"), ("case: tiny", "case: tiny, column: small")):
        text = text.replace(old, new)
    table = draft(tmp_path, text).experiments["rbm"]
    assert [one.parameters["learning_rate"] for one in (*table.cases, *table.smoke_cases)] == [0.5, 0.5, 0.01]
    # Nor does what is tried answer a printed column.
    assert table.at_tiny_sizes().columns == {}


def configured(folder: Path, old: str = "", new: str = "", **overrides: object) -> Config:
    path = folder / "config.yaml"
    path.write_text(FILES["config"].text.replace(old, new), "utf-8")
    return load_config(path, overrides)


def test_one_profile_needs_no_list(tmp_path: Path) -> None:
    """One profile may be named without a list and what is overridden may be wrong."""
    config = configured(tmp_path, "profiles: all", "profiles: [gone]", profiles="torch-1", cluster="true")
    assert (config.profiles, config.cluster, config.all_profiles) == (("torch-1",), True, False)
    # As words, which Snakemake hands on of what is within a mapping.
    quick = {"rounds": "3", "most": "7", "minutes": "2.5", "sizes": "paper"}
    preset = configured(tmp_path, preset="quick", presets={"quick": quick}).preset
    assert (preset.rounds, preset.most, preset.minutes) == (3, 7, 2.5)


def test_rounds_and_minutes_override_the_preset(tmp_path: Path) -> None:
    """Rounds most and minutes may be said in place of the chosen preset's."""
    whole = configured(tmp_path).preset
    assert configured(tmp_path, "seed:", "minutes: 7\nseed:", rounds="3").preset == replace(whole, rounds=3, minutes=7)
    assert configured(tmp_path, "seed:", "minutes: 7\nseed:", most=9, minutes=0).preset.minutes == 0


def test_several_rows_stand_beside_one_architecture(tmp_path: Path) -> None:
    paper = draft(tmp_path)
    cell = CellKey("box", "paper", "rbm", "576x1024", "rbm", "gpu")
    assert rows_beside(paper, cell, "gpu") == ["gpu-a", "gpu-b"]
    assert rows_beside(paper, cell, "tpu") == ["gpu-b"]
    assert (paper.cpu_rows, paper.device_rows) == (("cpu", "numpy"), ("gpu-a", "gpu-b"))
    table = paper.experiments["rbm"]
    assert [table.fastest(case, paper.device_rows) for case in ("small", "large")] == ["gpu-b", ""]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HEAD, '"experiment","case","row","value","unit","printed"'),
        (HEAD, '\ufeff"experiment","case","row","value","unit","printed"'),
        (DRAFT_CSV, DRAFT_CSV.replace(",", ", ").replace("6, 573", "6,573")),
        (DRAFT_CSV, f"{DRAFT_CSV},,,,,\n"),
        ("rbm,small,numpy,3579.84", '"rbm","small", "numpy" ,3579.84'),
    ],
)
def test_numbers_from_spreadsheets_are_the_same(tmp_path: Path, old: str, new: str) -> None:
    right = draft(tmp_path / "right").experiments["rbm"]
    saved = draft(tmp_path / "saved", csv=DRAFT_CSV.replace(old, new)).experiments["rbm"]
    assert (saved.published, saved.speedups) == (right.published, right.speedups)


@pytest.mark.parametrize("words", ["Out of memory", "n/a", "-", "> one day"])
def test_words_for_a_number_count_as_none(tmp_path: Path, words: str) -> None:
    """Words in place of a number are printed and count as no number."""
    line = "rbm,large,{},{},examples a second,{}\n"
    csv = f"{DRAFT_CSV}{line.format('cpu', '', words)}{line.format('gpu-a', 5, 5)}"
    paper = draft(tmp_path, csv=csv)
    table = paper.experiments["rbm"]
    printed = table.printed("large", "cpu")
    assert (printed.text, printed.is_number) == (words, False)
    assert table.seconds("large", "cpu") is None
    assert table.fastest("large", paper.cpu_rows) == ""
    assert table.speedup("large", "gpu-a", paper.cpu_rows) is None
    assert table.speedup_rounding("large", "gpu-a", paper.cpu_rows) == 0.0
    assert table.has_figure
    alone = draft(tmp_path / "alone", csv=f"{DRAFT_CSV}{line.format('cpu', '', words)}")
    assert not alone.experiments["rbm"].has_figure


def test_a_rate_becomes_seconds_by_its_count(tmp_path: Path) -> None:
    """A rate becomes seconds by the batch or the case's examples or by what is counted."""
    paper = draft(tmp_path, csv=f"{DRAFT_CSV}\nrbm,large,cpu,600,examples a second,600\n".replace("\n", "\r\n"))
    table = paper.experiments["rbm"]
    assert table.seconds("small", "gpu-a") == pytest.approx(60 / 38310)
    assert table.seconds("large", "cpu") == pytest.approx(10.0)
    assert table.speedup("small", "gpu-a", paper.cpu_rows) == pytest.approx(38310 / 6573.73)
    texts = [table.published["small", row].text for row in ("cpu", "gpu-a")]
    assert (texts, table.speedups["small", "gpu-a"].text) == (["6,573.73", "38310.00"], "5.83")
    # Of operations their number must be known, and for a speedup need not be.
    rates = draft(tmp_path / "x", *(one.replace("examples a second", "GFLOP/s") for one in (DRAFT, DRAFT_CSV)))
    table = rates.experiments["rbm"]
    assert table.seconds("small", "cpu") is None
    assert table.seconds("small", "cpu", flops=6573.73e9) == pytest.approx(1.0)
    assert table.speedup("small", "gpu-a", ["numpy"]) == pytest.approx(38310 / 3579.84)


def test_every_unit_turns_counts_into_seconds() -> None:
    """Four thousand million of what is counted at two of each unit take their time."""
    seconds = {"seconds": 2.0, "milliseconds": 0.002, "GFLOP/s": 2.0, "GB/s": 2.0}
    seconds |= dict.fromkeys(("examples a second", "images a second"), 2e9)
    seconds |= dict.fromkeys(("million pixels a second", "million elements a second"), 2000.0)
    seconds |= {"billion paths a second": 2.0}
    assert {name: unit.seconds(2.0, 4e9) for name, unit in UNITS.items()} == seconds
    assert {unit.value(seconds[name], 4e9) for name, unit in UNITS.items()} == {2.0}
