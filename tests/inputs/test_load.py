"""A mistake in a file that people write is one line: file, key, what is allowed, the nearest name."""

from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profile, load_profiles
from respeed.paths import HARDWARE, PAPERS, ROOT

CONFIG = (ROOT / "config.yaml").read_text()
PROFILE = (HARDWARE / "torch-1.yaml").read_text()
PAPER = (PAPERS / "raina2009" / "paper.yaml").read_text()
PUBLISHED = (PAPERS / "raina2009" / "published.csv").read_text()


def one_line(error: pytest.ExceptionInfo[UserError], *parts: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("preset: quick", "preset: quik", ("preset", "did you mean quick?")),
        ("preset: quick", "preset: no", ("preset", "'no'")),
        ("preset: quick", "prest: quick", ("unknown key 'prest'", "did you mean preset?")),
        ("preset: quick", "", ("'preset' is missing",)),
        ("preset: quick", "__use_yte__: true\npreset: quick", ("unknown key '__use_yte__'",)),
        ("profiles: all", "profiles: [torch1]", ("profiles", "did you mean torch-1?")),
        ("papers: [raina2009]", "papers: [raina2008]", ("papers", "did you mean raina2009?")),
        ("experiments: all", "experiments: [rbn]", ("experiments", "did you mean rbm?")),
        ("experiments: all", "experiments: []", ("experiments",)),
        ("machine: auto", "machine: ../../x", ("machine", "small letters")),
        ("machine: auto", "machine: x;touch y", ("machine", "small letters")),
        ("seed: 2009", "seed: -1", ("seed", "whole number")),
        ("seed: 2009", "seed: 1.5", ("seed", "whole number")),
        ("seed: 2009", "seed: true", ("seed", "whole number")),
        ("rounds: 6", "rounds: 0", ("presets.quick.rounds", "from 1 to 99")),
        ("rounds: 6", "rounds: 012", ("presets.quick.rounds", "whole number")),
        ("sizes: smoke", "sizes: smok", ("presets.smoke.sizes", "did you mean smoke?")),
        ("preset: quick", "preset: quick\npreset: paper", ("stands twice",)),
    ],
)
def test_a_wrong_config_gets_one_line(tmp_path: Path, old: str, new: str, parts: tuple[str, ...]) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.replace(old, new, 1))
    with pytest.raises(UserError) as error:
        load_config(path)
    one_line(error, "config.yaml", *parts)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("threads: 1", "threads: 0", ("threads", "at least 1, or all")),
        ("threads: 1", "threads: 1.5", ("threads", "at least 1, or all")),
        ("threads: 1", "threads: no", ("threads", "at least 1, or all")),
        ("threads: 1", "thread: 1", ("'thread'", "did you mean threads?")),
        ("backend: torch", "backend: torhc", ("backend", "did you mean torch?")),
        ("backend: torch", "backend: ../torch", ("backend", "not offered")),
        ("device: cpu", "device: cdua", ("device", "did you mean cuda?")),
        ("precision: fp32", "precision: fp23", ("precision", "did you mean fp32?")),
        ("architecture: single-cpu", "architecture: cpu", ("architecture", "multi-cpu")),
        ("label: PyTorch, one core", "label: ''", ("label", "text of 1 to 60")),
    ],
)
def test_a_wrong_hardware_profile_gets_one_line(tmp_path: Path, old: str, new: str, parts: tuple[str, ...]) -> None:
    (tmp_path / "mine.yaml").write_text(PROFILE.replace(old, new, 1))
    with pytest.raises(UserError) as error:
        load_profile("mine", tmp_path)
    one_line(error, "mine.yaml", *parts)


def test_a_profile_whose_name_is_no_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "My GPU.yaml").write_text(PROFILE)
    with pytest.raises(UserError, match="small letters"):
        load_profiles(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("visible: 576, hidden", "visble: 576, hidden", ("experiments.rbm.cases.0", "did you mean visible?")),
        ("visible: 576,", "", ("experiments.rbm.cases.0", "'visible' is missing")),
        ("visible: 576,", "visible: 576.5,", ("visible", "whole number")),
        ("visible: 576,", "visible: 0,", ("visible", "at least 1")),
        ("visible: 576,", "visible: true,", ("visible", "not negative")),
        ("visible: 576,", "visible: .nan,", ("visible", "'.nan' must be a number")),
        ("workload: rbm", "workload: rmb", ("workload", "did you mean rbm?")),
        (
            "batch: 192, learning_rate: 0.01",
            "batch: 192, learning_rat: 0.01",
            ("protocol", "did you mean learning_rate?"),
        ),
        ("case: 1024x4096", "case: 576x1024", ("stands twice",)),
        ("confidence: stated", "confidence: state", ("confidence", "did you mean stated?")),
        ("year: 2009", "year: MMIX", ("year",)),
        ("      sparse_parallel:\n", "      sparse_paralel:\n", ("algorithms", "did you mean sparse_parallel?")),
        ("published_for: [gpu]", "published_for: [gup]", ("published_for", "did you mean gpu?")),
        ("whole_parameters: {timed", "whole_parameters: {timd", ("whole run", "did you mean timed?")),
        ("whole_parameters: {timed: 1000", "whole_parameters: {timed: 10.5", ("whole run", "whole number")),
        ("test: each", "test: eech", ("claims.rbm-speedup.test", "did you mean each?")),
        ("    experiment: rbm\n    row: gpu", "    experiment: rmb\n    row: gpu", ("claims", "did you mean rbm?")),
        ("    row: gpu\n", "    row: gup\n", ("claims.rbm-speedup.row", "did you mean gpu?")),
        ("over: [single-cpu, multi-cpu]", "over: [single-cpu, multi-gpu]", ("claims", "over")),
        ("over: [single-cpu, multi-cpu]", "over: []", ("claims.rbm-speedup.over: [] must be a list of names",)),
        ("over: [single-cpu, multi-cpu]", "over: [gpu]", ("claims", "over", "own row")),
        ("test: total\n    experiment: dbn", "test: total\n    experiment: rbm", ("claims.network.test", "no total")),
        ("flops_per_second: 25.3e+9", "flops_per_second: fast", ("hardware.flops_per_second", "'fast'")),
        ("case: 3-percent,", "case: 3-percent, workload: sparse_descent,", ("algorithms", "alone")),
    ],
)
def test_a_wrong_paper_gets_one_line(tmp_path: Path, old: str, new: str, parts: tuple[str, ...]) -> None:
    write_paper(tmp_path, PAPER.replace(old, new, 1), PUBLISHED)
    with pytest.raises(UserError) as error:
        load_papers(folder=tmp_path)
    one_line(error, "paper.yaml", *parts)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("value", "second", ("columns must be",)),
        ("rbm,576x1024,gpu,38.6", "rbm,576x1024,gpu,0", ("greater than 0",)),
        ("rbm,576x1024,gpu,38.6", "rbm,576x1024,gpu,nan", ("greater than 0",)),
        ("rbm,576x1024,gpu,38.6", "rbm,576x1024,gpu,fast", ("'fast'",)),
        ("rbm,576x1024,gpu,38.6", "rbm,576x1042,gpu,38.6", ("did you mean 576x1024?",)),
        ("rbm,576x1024,gpu,38.6", "rbm,576x1024,gup,38.6", ("did you mean gpu?",)),
        ("gpu,38.6,seconds,38.6", "gpu,38.6,seconds", ("must have 6 values",)),
        ("12.9,x,12.9x", "12.9,x,twelve", ("printed", "'twelve'")),
        ("12.9,x,12.9x", "12.9,x,12.8x", ("printed", "another number than the value, 12.9")),
        ("12.9,x,12.9x", "13.9,x,13.9x", ("contradicts the printed numbers", "12.9")),
        ("38.6,seconds", "38.6,milliseconds", ("unit", "'milliseconds'", "seconds, nor x")),
        ("rbm,576x1024,gpu,38.6", "rbm,576x1024,multi-cpu,38.6", ("stands twice",)),
    ],
)
def test_a_wrong_published_table_gets_one_line(tmp_path: Path, old: str, new: str, parts: tuple[str, ...]) -> None:
    write_paper(tmp_path, PAPER, PUBLISHED.replace(old, new, 1))
    with pytest.raises(UserError) as error:
        load_papers(folder=tmp_path)
    one_line(error, "published.csv", *parts)


def test_a_case_that_answers_no_printed_column_gets_one_line(tmp_path: Path) -> None:
    write_paper(tmp_path, PAPER.replace("patch32, column: 20736x49152", "patch32, column: 20736x49125"), PUBLISHED)
    with pytest.raises(UserError) as error:
        load_papers(folder=tmp_path)
    one_line(error, "published.csv", "20736x49125", "did you mean 20736x49152?")


def write_paper(folder: Path, paper: str, published: str) -> None:
    (folder / "raina2009").mkdir()
    (folder / "raina2009" / "paper.yaml").write_text(paper)
    (folder / "raina2009" / "published.csv").write_text(published)


def test_whole_numbers_may_be_written_with_a_point_or_an_exponent(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.replace("rounds: 6", "rounds: 6.0").replace("seed: 2009", "seed: 2e3"))
    config = load_config(path)
    assert (repr(config.preset.rounds), repr(config.seed)) == ("6", "2000")


def test_overrides_are_checked_as_the_file_is() -> None:
    with pytest.raises(UserError, match=r"--config: unknown key 'presett'.*did you mean preset\?"):
        load_config(overrides={"presett": "smoke"})


def test_one_profile_may_be_named_without_a_list() -> None:
    assert load_config(overrides={"profiles": "torch-1"}).profiles == ("torch-1",)
