"""A mistake in a file that people write is a line: file, key, what is allowed, the nearest name; and all are found."""

import re
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs import config, papers, profiles
from respeed.inputs.config import check_command_line, check_config, load_config, parse_settings
from respeed.inputs.files import overlooked
from respeed.inputs.papers import MAX_LINES, load_paper, load_papers, paper_names
from respeed.inputs.profiles import load_profile, load_profiles, read_profiles
from respeed.paths import STARTERS
from respeed.schedule.selection import profiles_shown
from tests.inputs.written import DRAFT, DRAFT_CSV, FILES, change, read

LIMITED = "test: limited, experiment: rbm, row: gpu-a, over_case: small, by: hidden"
FASTER = "test: faster, experiment: rbm, row: gpu-a, over: [cpu]"
CELL = "rbm,576x1024,gpu,38.6,seconds,38.6"
# The kind of file, a text of a right one, what stands there instead (or, without the first, behind), parts of the line.
WRONG = [
    ("config", "preset: quick", "preset: quik", ("preset", "did you mean quick?")),
    ("config", "preset: quick", "", ("'preset' is missing",)),
    ("config", "", "__use_yte__: true", ("unknown key '__use_yte__'",)),
    ("config", "profiles: all", "profiles: [torch1]", ("profiles", "did you mean torch-1?")),
    ("config", "papers: [raina2009]", "papers: [raina2008]", ("papers", "did you mean raina2009?")),
    ("config", "experiments: all", "experiments: [rbn]", ("experiments", "did you mean rbm?")),
    ("config", "experiments: all", "experiments: []", ("experiments: [] must be all, or a list",)),
    ("config", "machine: auto", "machine: ../../x", ("config.yaml: machine: '../../x' cannot be", "small letters")),
    ("config", "seed: 2009", "seed: -1", ("seed", "whole number")),
    ("config", "seed: 2009", "seed: 1.5", ("seed", "whole number")),
    ("config", "seed: 2009", "seed:", ("seed: nothing must be a whole number",)),
    ("config", "rounds: 6", "rounds: 0", ("presets.quick.rounds", "from 1 to 99")),
    ("config", "rounds: 6", "rounds: 012", ("presets.quick.rounds", "whole number")),
    ("config", "sizes: smoke", "sizes: smok", ("presets.smoke.sizes", "did you mean smoke?")),
    ("config", "", "preset: quick", ("stands twice",)),
    ("cpu", "threads: all", "threads: 0", ("threads", "at least 1, or all")),
    ("cpu", "threads: all", "threads: 1.5", ("threads", "at least 1, or all")),
    ("cpu", "backend: torch", "backend: torhc", ("backend", "did you mean torch?")),
    ("cpu", "backend: torch", "backend: ../torch", ("backend: no backend '../torch'",)),
    ("cpu", "device: cpu", "device: cdua", ("device", "did you mean cuda?")),
    ("cpu", "device: cpu", "device: gpu", ("device", "did you mean cuda?")),
    ("cpu", "precision: fp32", "precision: fp23", ("precision", "did you mean fp32?")),
    ("cpu", "precision: fp32", "precision: double", ("precision", "did you mean fp64?")),
    ("cpu", "architecture: multi-cpu", "architecture: cpu", ("architecture", "did you mean single-cpu or multi-cpu?")),
    ("cpu", "label: PyTorch, all cores", "label: ''", ("label", "text of 1 to 60")),
    ("cpu", "", "name: mine", ("unknown key 'name'; there are: architecture, backend",)),
    ("cpu", "", "cpus: 3-1", ("cpus: '3-1' must be a list of CPUs such as 0-3,8 or [0, 1], a socket such as",)),
    ("cpu", "", "cpus: socket", ("a socket such as socket 1",)),
    ("cpu", "", "cpus: []", ("cpus: [] must be a list of CPUs",)),
    ("cpu", "", "cpus: [0, 0]", ("cpus: [0, 0] must be a list of CPUs",)),
    ("cpu", "", "cpus: [a, true]", ("cpus: ['a', True] must be a list of CPUs",)),
    ("cpu", "", "cpus:", ("cpus: has no value; write one, or leave the key out",)),
    ("cpu", "", "smt: yes", ("smt: 'yes' must be true",)),
    ("cpu", "", "requires: {instructions: [avx512]}", ("requires.instructions.0", "did you mean avx512f?")),
    ("cpu", "", "requires: {memory: 64}", ("requires: unknown key 'memory' (did you mean memory_gb?)",)),
    ("cpu", "", "requires: {memory_gb: 0}", ("must be a number greater than 0",)),
    ("cpu", "", "requires: {library: acelerate}", ("did you mean accelerate?",)),
    ("cpu", "", "price_per_hour: 2.5", ("price_per_hour: a price is a machine's, and stands in workflow/machines/",)),
    ("gpu", "", "cpus: 0-3", ("cpus: is for the device cpu",)),
    ("gpu", "", "smt: true", ("smt: is for the device cpu",)),
    *(("gpu", "device: cuda", f"device: '{one}'", ("mine.yaml: device: ",)) for one in
      ("cpu:0", "cuda:", "cuda:one", "cuda:01", "cuda:-1", "cuda:1:2", "cdua:1")),
    ("gpu", "device: cuda", "device: 'mps:x'", ("'mps:x' must be mps or mps:0",)),
    ("machine", "", "prize: 1", ("did you mean price?",)),
    ("machine", ", date: 2026-11-01", "", ("price: the key 'date' is missing",)),
    ("machine", "per_hour: 2.5", "per_hour: 0", ("greater than 0",)),
    ("machine", "EUR", "dollars", ("three capital letters",)),
    ("machine", "2026-11-01", "2026-02-30", ("no day of the calendar",)),
    ("machine", "[gpu]", "[gpuu]", ("did you mean gpu?",)),
    ("machine", "{partition: gpu}", "{partition: 'gpu; rm x'}", ("as Slurm takes it",)),
    ("machine", "{partition: gpu}", "{minutes: 1}", ("slurm.minutes", "at least 5")),
    ("raina", "visible: 576, hidden", "visble: 576, hidden", ("experiments.rbm.cases.0", "did you mean visible?")),
    ("raina", "visible: 576,", "", ("experiments.rbm.cases.0", "'visible' is missing")),
    ("raina", "visible: 576,", "visible: 576.5,", ("visible", "whole number")),
    ("raina", "visible: 576,", "visible: true,", ("visible", "not negative")),
    ("raina", "visible: 576,", "visible: .nan,", ("visible", "'.nan' must be a number")),
    ("raina", "workload: rbm", "workload: rmb", ("workload", "did you mean rbm?")),
    ("raina", "192, learning_rate: 0.01", "192, learning_rat: 0.01", ("protocol", "did you mean learning_rate?")),
    ("raina", "case: 1024x4096", "case: 576x1024", ("stands twice",)),
    ("raina", "confidence: stated", "confidence: state", ("confidence", "did you mean stated?")),
    ("raina", "      sparse_parallel:\n", "      sparse_paralel:\n", ("algorithms", "did you mean sparse_parallel?")),
    ("raina", "published_for: [gpu]", "published_for: [gup]", ("published_for", "did you mean gpu?")),
    ("raina", "          3-percent: {pen", "          3-procent: {pen", ("published.cases", "did you mean 3-percent?")),
    ("raina", "3-percent: {penalty", "3-percent: {penalti", ("sparse-coding.cases", "did you mean penalty?")),
    ("raina", "whole_parameters: {timed", "whole_parameters: {timd", ("whole run", "did you mean timed?")),
    ("raina", "whole_parameters: {timed: 1000", "whole_parameters: {timed: 10.5", ("whole run", "whole number")),
    ("raina", "test: each", "test: eech", ("claims.rbm-speedup.test", "did you mean each?")),
    ("raina", "    experiment: rbm\n    row: gpu", "    experiment: rmb\n    row: gpu", ("did you mean rbm?",)),
    ("raina", "    row: gpu\n", "    row: gup\n", ("claims.rbm-speedup.row", "did you mean gpu?")),
    ("raina", "over: [single-cpu, multi-cpu]", "over: [single-cpu, multi-gpu]", ("claims", "over")),
    ("raina", "over: [single-cpu, multi-cpu]", "over: []", ("claims.rbm-speedup.over: [] must be a list of names",)),
    ("raina", "over: [single-cpu, multi-cpu]", "over: [gpu]", ("claims", "over", "own row")),
    ("raina", "test: total\n    experiment: dbn", "test: total\n    experiment: rbm", ("network.test", "no total")),
    ("raina", "flops_per_second: 25.3e+9", "flops_per_second: fast", ("hardware.flops_per_second", "'fast'")),
    ("raina", "case: 3-percent,", "case: 3-percent, workload: sparse_descent,", ("algorithms", "alone")),
    ("raina", "4096x11008, from: rbm", "4096x11008, from: rmb", ("no other experiment", "did you mean rbm?")),
    ("raina", "4096x11008, from: rbm", "4096x1108, from: rbm", ("rbm measures no case", "did you mean 4096x11008?")),
    ("raina", "from: rbm}", "from: rbm, visible: 4096}", ("cases.0: visible: must stand at the case in rbm",)),
    ("raina", "4096x11008, from: rbm", "3-percent, from: sparse-coding", ("tells several algorithms apart",)),
    ("raina", "4096x11008, from: rbm", "again, visible: 4096, hidden: 11008", ("again is the case 4096x11008 of rbm",)),
    ("printed", "value", "second", ("columns must be",)),
    ("printed", "rbm,576x1024,gpu,38.6", "rbm,576x1024,gpu,0", ("greater than 0",)),
    ("printed", "rbm,576x1024,gpu,38.6", "rbm,576x1042,gpu,38.6", ("did you mean 576x1024?",)),
    ("printed", "rbm,576x1024,gpu,38.6", "rbm,576x1024,gup,38.6", ("did you mean gpu?",)),
    ("printed", CELL, f"{CELL},1", ("csv:10: must have 6 values, has 7",)),
    ("printed", CELL, f"{CELL}\0", ("csv:10: holds the character U+0000",)),
    ("printed", CELL, CELL.replace("gpu,", "gpu,\u202e"), ("csv:10: holds the character U+202E (RIGHT-TO-LEFT",)),
    ("printed", CELL, CELL.replace("576", '"576'), ("csv:10: is no line of a CSV file: a quote does not end",)),
    ("printed", CELL, CELL.replace("576", '"57"6'), ("csv:10: is no line of a CSV file",)),
    ("printed", CELL, CELL.replace("576", "5" * 200_000), ("csv:10: ", "more than 500 characters")),
    ("printed", CELL, CELL.replace("38.6", "٣٨"), ("csv:10: value", "must be a number")),
    ("printed", CELL, "\n" * MAX_LINES, (f"more than {MAX_LINES} lines",)),
    ("printed", CELL, CELL.removesuffix(",38.6"), ("csv:10: must have 6 values, has 5",)),
    ("printed", "12.9,x,12.9x", "12.9,x,twelve", ("printed", "'twelve'")),
    ("printed", "12.9,x,12.9x", "12.9,x,12.8x", ("printed", "another number than the value, 12.9")),
    ("printed", "12.9,x,12.9x", "13.9,x,13.9x", ("contradicts the printed numbers", "12.9")),
    ("printed", "38.6,seconds", "38.6,milliseconds", ("unit", "'milliseconds'", "seconds, nor x")),
    ("printed", "rbm,576x1024,gpu,38.6", "rbm,576x1024,multi-cpu,38.6", ("stands twice",)),
    ("draft", "better: larger", "better: smaller", ("rbm.better", "the larger number is better; leave the key out")),
    ("draft", "beside: [gpu, tpu]", "beside: [gpu, multi-cpu]", ("rows.gpu-b.beside", "one kind")),
    ("draft", "beside: [gpu, tpu]", "beside: [gup]", ("rows.gpu-b.beside", "did you mean gpu?")),
    ("draft", "precision: fp32, year", "precision: single, year", ("rows.gpu-b.precision", "did you mean fp32?")),
    ("draft", "beside: [gpu]}", "beside: [gpu], name: it}", ("rows.gpu-a: unknown key 'name'",)),
    ("draft", "hidden: 500}", "hidden: tanh}", ("cases.0: hidden", "must be a number")),
    ("draft", "hidden: 5000, examples: 6000", "hidden: 500", ("rbm.cases: large and small are the same work",)),
    ("draft", "case: tiny", "case: small", ("rbm.smoke_cases: small is the name of one of the cases",)),
    ("draft", "over: [cpu]", "over: [gpu-b]", ("gpu-b stands beside the same rows of ours as gpu-a",)),
    ("draft", FASTER, LIMITED.replace("small", "large"), ("by: hidden must be a number that is larger in",)),
    ("draft", FASTER, LIMITED.replace("hidden", "visible"), ("by: visible must be a number that is larger in",)),
    ("draft", "examples: 6000", "examples: 0", ("cases.1.examples", "at least 1")),
    ("draft", "    workload: rbm", "    workload: rbm\n    repeats: 10", ("rbm.repeats", "counts examples")),
    ("draft", "    workload: rbm", "    workload: rbm\n    precision: double", ("rbm.precision", "did you mean fp64?")),
    ("draft", "facts: []", "facts: []\nhistory: {rbn: 1.0}", ("history: no experiment 'rbn'", "did you mean rbm?")),
    ("draft", "facts: []", "facts: []\nhistory: {rbm: 1.0}", ("history.rbm", "and null for a rate")),
    ("draft", "over: [cpu]", "over_case: small", ("claims.faster", "'over' is missing: the test faster needs it")),
    ("draft", "test: faster, ", "test: memory, ", ("claims.faster.over", "leave it out")),
    ("draft", FASTER, LIMITED.replace("small", "smal"), ("did you mean small?",)),
    ("draft", FASTER, LIMITED.replace("hidden", "hiden"), ("did you mean hidden?",)),
    ("draft", "year: 2010", "year: 2010\ndoi: https://doi.org/10.1/1", ("doi: 'https", "a DOI alone")),
    ("draft", "[A. Nother]", "[{organization: Lab}]", ("authors.0", "a name, or {organisation: NAME}")),
    ("printed", "row,value", "rows,value", ("csv:1: the columns must be", "may be left out")),
    ("printed", "row,value,unit,printed", "architecture,seconds", ("csv:2: must have 4 values, has 6",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "old", "new", "parts"), WRONG, ids=[f"{kind}: {new[:80]!r}" for kind, _, new, _ in WRONG]
)
def test_a_mistake_is_one_line(tmp_path: Path, kind: str, old: str, new: str, parts: tuple[str, ...]) -> None:
    value, lines = read(kind, tmp_path, change(kind, old, new))
    assert value is None
    line = next(line for line in lines if all(part in line for part in parts))
    assert line.startswith(str(tmp_path / FILES[kind].name))
    assert not any("\n" in line or len(line) > 700 or "pydantic" in line or "Input should" in line for line in lines)


ALL = [
    ("cpu", (("label: ", "lable: "), ("device: cpu", "device: gpu"), ("precision: fp32", "precision: fp23")),
     ("unknown key 'lable'", "the key 'label' is missing", "did you mean cuda?", "did you mean fp32?")),
    ("config", (("preset: quick\n", ""), ("profiles: all", "profiles: [torch1]"), ("seed: 2009", "seed: x")),
     ("the key 'preset' is missing", "did you mean torch-1?", "seed: 'x'")),
    ("machine", ((", date: 2026-11-01", ""), ("[gpu]", "[gpuu]"), ("{partition: gpu}", "{minutes: 1}")),
     ("'date' is missing", "did you mean gpu?", "slurm.minutes")),
    ("draft", (("year: 2010\n", ""), ("row: gpu-a, over", "row: gpu, over"), ("beside: [gpu, tpu]}", "beside: [gup]}")),
     ("the key 'year' is missing", "no row 'gpu'", "'gup'")),
    ("draft", (("title: A draft\n", ""), ("rows:", "rws:"), ("round_seconds: 1", "round_seconds: 0")),
     ("the key 'title' is missing", "unknown key 'rws'", "'rows' is missing", "round_seconds: 0 must be")),
    ("draft", (("unit: examples", "unit: exampels"), ("rate: 0.01}", "rat: 0.01}"), ("hidden: 500}", "hiden: 5, x: 3}"),
               ("experiment: rbm, row: gpu-a", "experiment: rmb, row: gpu-c"), ("over: [cpu]", "over: [cpu, cpus]")),
     ("rbm.unit: 'exampels a second'", "did you mean learning_rate?", "did you mean hidden?", "unknown key 'x'",
      "no experiment 'rmb' (did you mean rbm?)", "row: no row 'gpu-c'", "over: no row 'cpus'")),
    ("draft", (("claim: GPUs are fast.\n", ""), ("beside: [gpu]}", "beside: [gpu], hardware: }")),
     ("the key 'claim' is missing", "rows.gpu-a.hardware: has no value")),
    ("draft", (("workload: rbm", "workload: rmb"), ("    round_seconds: 1", "    round_secs: 1")),
     ("unknown key 'round_secs'", "did you mean rbm?")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "changes", "parts"), ALL, ids=range(len(ALL)))
def test_every_mistake_is_found_at_once_also_where_keys_are_missing(
    tmp_path: Path, kind: str, changes: tuple[tuple[str, str], ...], parts: tuple[str, ...]
) -> None:
    text = FILES[kind].text
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    _, lines = read(kind, tmp_path, text)
    assert [part for part in parts if not any(part in line for line in lines)] == []


def test_the_starter_tells_no_price_and_one_whose_source_is_still_its_own_is_refused(tmp_path: Path) -> None:
    starter = (STARTERS / "machine.yaml").read_text()
    told, lines = read("machine", tmp_path, starter)
    assert (told.price, lines) == (None, [])
    told, lines = read("machine", tmp_path, re.sub(r"^# (price:|  )", r"\1", starter, flags=re.MULTILINE))
    assert [line.partition("box.yaml: ")[2] for line in lines] == [
        "price.source: is the starter's own text; write who says so: an address, or a bill"
    ]
    assert told is None


def test_a_parameter_that_the_protocol_has_not_is_missing_in_every_case(tmp_path: Path) -> None:
    _, lines = read("draft", tmp_path, DRAFT.replace("batch: 60, ", ""))
    assert ["'batch' is missing" in line for line in lines] == [True] * 3


def test_a_case_that_answers_no_printed_column_gets_one_line(tmp_path: Path) -> None:
    text = FILES["raina"].text.replace("patch32, column: 20736x49152", "patch32, column: 20736x49125")
    (line,) = read("raina", tmp_path, text)[1]
    assert "published.csv: nothing is printed for the column '20736x49125'" in line
    assert "did you mean 20736x49152?" in line


def test_every_line_of_printed_numbers_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    csv = DRAFT_CSV.replace("rbm,small,numpy", "rbm,smal,numpy").replace("40000,examples", "0,examples")
    (tmp_path / "draft/published.csv").write_text(csv)
    lines = read("draft", tmp_path)[1]
    assert [line.split("published.csv:")[1][0] for line in lines] == ["3", "5"]


def test_a_draft_with_a_mistake_stops_only_who_asks_for_it(tmp_path: Path) -> None:
    read("draft", tmp_path / "x")
    (tmp_path / "x/draft").rename(tmp_path / "good")
    read("draft", tmp_path, DRAFT.replace("workload: rbm", "workload: rmb").replace("label: NumPy", "lable: NumPy"))
    assert paper_names(tmp_path) == ("draft", "good")
    assert list(load_papers(["good"], tmp_path)) == ["good"]
    with pytest.raises(UserError, match=r"\(and 2 more: respeed check lists them\)"):
        load_paper("draft", tmp_path)
    with pytest.raises(UserError, match="did you mean draft"):
        load_paper("draf", tmp_path)


def test_a_wrong_profile_leaves_the_others_as_they_are_and_all_are_not_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("good", "all"), ("bad", "al"), ("Bad name", "all")):
        (tmp_path / f"{name}.yaml").write_text(FILES["cpu"].text.replace("threads: all", f"threads: {text}"))
    right, wrong = read_profiles(tmp_path)
    assert (list(right), load_profile("good", tmp_path).name) == (["good"], "good")
    assert "threads: 'al' must be" in wrong["bad"][0]
    assert "small letters" in wrong["Bad name"][0]
    with pytest.raises(UserError, match="'Bad name' cannot be"):
        load_profiles(tmp_path)
    monkeypatch.setattr("respeed.schedule.selection.read_profiles", lambda: read_profiles(tmp_path))
    assert list(profiles_shown(["good"])) == ["good"]
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if line.startswith(f"respeed: the profile bad is left out: {tmp_path}/bad.yaml: ")]
    assert len(said) == 2
    with pytest.raises(UserError, match="threads"):
        profiles_shown(["good", "bad"])


def test_no_profiles_and_no_papers_are_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "profile_names", lambda: profiles.profile_names(tmp_path / "missing"))
    monkeypatch.setattr(config, "paper_names", lambda: papers.paper_names(tmp_path))
    lines = check_config()
    for line in ("hardware: has no profiles (NAME.yaml); respeed new", "papers: has no papers (NAME/paper.yaml); resp"):
        assert any(line in one for one in lines)
    with pytest.raises(UserError, match="has no papers"):
        load_config()


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["preset"], "--config: 'preset' must be of the form KEY=VALUE, such as preset=smoke"),
        (["=x"], "--config: '=x' must be of the form KEY=VALUE"),
        (["preset=smoke", "preset=quick"], "--config: preset stands twice; say it once"),
        (["preset=!!str smoke"], r"--config preset:1: tags \(!!str\) are not allowed"),
        (["presett=smoke"], r"--config: unknown key 'presett'.*did you mean preset\?"),
        (["machine=\"a\\a\""], r"--config: machine: holds the character U\+0007"),
    ],
)  # fmt: skip
def test_a_wrong_setting_of_the_command_line_is_one_line(settings: list[str], line: str) -> None:
    with pytest.raises(UserError, match=line):
        load_config(overrides=parse_settings(settings))


@pytest.mark.parametrize(
    "words",
    [
        ["snakemake", "--config", "preset=smoke", "preset=quick"],
        ["snakemake", "-C", "preset=smoke", "seed=1", "preset=smoke", "--cores", "1"],
        ["snakemake", "--config", "preset=smoke", "-n", "--config", "preset=quick"],
    ],
)
def test_a_key_that_snakemake_is_told_twice_is_one_line(words: list[str]) -> None:
    with pytest.raises(UserError, match="--config: preset stands twice"):
        check_command_line(words)
    check_command_line(["snakemake", "--config", "preset=smoke", "--set-threads", "a=1", "--set-resources", "a=1"])


def test_a_file_that_is_not_read_because_of_its_name_is_told_with_the_right_one(tmp_path: Path) -> None:
    for name in ("hardware/gpu.yml", "machines/box.YAML", "papers/draft/paper.yml", "papers/ok/paper.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a: 1\n")
    lines = overlooked(tmp_path / "hardware", tmp_path / "machines", tmp_path / "papers")
    assert [line.removeprefix(f"{tmp_path}/") for line in lines] == [
        "hardware/gpu.yml: is not read, because of its name; rename it to gpu.yaml",
        "machines/box.YAML: is not read, because of its name; rename it to box.yaml",
        "papers/draft/paper.yml: is not read, because of its name; rename it to paper.yaml",
    ]
    assert overlooked() == []
