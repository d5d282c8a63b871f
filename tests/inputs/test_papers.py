"""The format of papers: free rows, units, texts as parameters, and every mistake at once."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs.papers import load_paper, load_papers, paper_names, read_paper
from respeed.model.paper import UNITS

NUMBERS = st.floats(1e-6, 1e9)

YAML = """
title: A draft
authors: [A. Nother]
venue: Somewhere
year: 2010
claim: GPUs are fast.
rows:
  cpu: {label: Theano, package: Theano, device: one core, precision: fp64, beside: [single-cpu]}
  numpy: {label: NumPy, package: NumPy, precision: fp64, beside: [single-cpu], algorithm: by hand}
  gpu-a: {label: Theano, package: Theano, device: GTX 285, precision: fp32, beside: [gpu]}
  gpu-b: {label: Theano, package: Theano, device: GTX 480, precision: fp32, year: 2011, beside: [gpu, tpu]}
claims:
  faster: {says: It is faster., test: faster, experiment: rbm, row: gpu-a, over: [cpu]}
facts: []
experiments:
  rbm:
    title: RBM
    unit: examples a second
    better: larger
    workload: rbm
    protocol: {batch: 60, learning_rate: 0.01}
    cases:
      - {case: small, visible: 784, hidden: 500}
      - {case: large, visible: 784, hidden: 5000, examples: 6000}
    smoke_cases: [{case: tiny, visible: 7, hidden: 5}]
    round_seconds: 1
    facts: []
    caveats: []
"""
CSV = """experiment,case,row,value,unit,printed
rbm,small,cpu,6573.73,examples a second,"6,573.73"
rbm,small,numpy,3579.84,examples a second,3579.84
rbm,small,gpu-a,38310,examples a second,38310.00
rbm,small,gpu-b,40000,examples a second,40000
rbm,small,gpu-a,5.83,x,5.83x
"""


def written(folder: Path, yaml: str = YAML, csv: str | None = CSV) -> Path:
    (folder / "draft").mkdir(parents=True)
    (folder / "draft/paper.yaml").write_text(yaml)
    if csv is not None:
        (folder / "draft/published.csv").write_text(csv)
    return folder


def mistakes_of(folder: Path) -> list[str]:
    return list(read_paper("draft", folder)[1])


def test_rows_are_free_and_several_stand_beside_one_architecture(tmp_path: Path) -> None:
    paper = load_paper("draft", written(tmp_path))
    assert [row.name for row in paper.rows_beside("gpu")] == ["gpu-a", "gpu-b"]
    assert [row.name for row in paper.rows_beside("tpu")] == ["gpu-b"]
    assert (paper.cpu_rows, paper.device_rows) == (("cpu", "numpy"), ("gpu-a", "gpu-b"))
    assert (paper.row("gpu-a").year, paper.row("gpu-b").year) == (2010, 2011)
    assert paper.fastest("rbm", "small", paper.device_rows) == paper.row("gpu-b")
    assert paper.fastest("rbm", "large", paper.device_rows) is None


def test_a_rate_of_examples_becomes_seconds_by_the_batch_or_by_the_case_s_examples(tmp_path: Path) -> None:
    csv = f"{CSV}rbm,large,cpu,600,examples a second,600\n"
    paper = load_paper("draft", written(tmp_path, csv=csv))
    assert paper.seconds("rbm", "small", "gpu-a") == pytest.approx(60 / 38310)
    assert paper.seconds("rbm", "large", "cpu") == pytest.approx(10.0)
    assert paper.speedup("rbm", "small", "gpu-a", paper.cpu_rows) == pytest.approx(38310 / 6573.73)


def test_a_rate_of_operations_needs_their_number_and_a_speedup_does_not(tmp_path: Path) -> None:
    yaml = YAML.replace("unit: examples a second", "unit: GFLOP/s")
    paper = load_paper("draft", written(tmp_path, yaml, CSV.replace("examples a second", "GFLOP/s")))
    assert paper.seconds("rbm", "small", "cpu") is None
    assert paper.seconds("rbm", "small", "cpu", flops=6573.73e9) == pytest.approx(1.0)
    assert paper.speedup("rbm", "small", "gpu-a", ["numpy"]) == pytest.approx(38310 / 3579.84)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
@given(value=NUMBERS, amount=NUMBERS)
def test_a_number_in_a_unit_is_the_same_after_it_was_seconds(unit: object, value: float, amount: float) -> None:
    assert unit.value(unit.seconds(value, amount), amount) == pytest.approx(value)  # type: ignore[attr-defined]


def test_a_printed_text_keeps_its_digits_and_may_have_commas(tmp_path: Path) -> None:
    paper = load_paper("draft", written(tmp_path))
    texts = [paper.published["rbm", "small", row].text for row in ("cpu", "gpu-a")]
    assert texts == ["6,573.73", "38310.00"]
    assert paper.speedups["rbm", "small", "gpu-a"].text == "5.83"


def test_a_paper_that_prints_nothing_needs_no_file_of_numbers(tmp_path: Path) -> None:
    paper = load_paper("draft", written(tmp_path, csv=None))
    assert not paper.prints("rbm")
    assert [claim.test for claim in paper.claims] == ["faster"]


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("better: larger", "better: smaller", ("rbm.better", "the larger number is the better one")),
        ("beside: [gpu, tpu]", "beside: [gpu, multi-cpu]", ("rows.gpu-b.beside", "one kind")),
        ("beside: [gpu, tpu]", "beside: [gup]", ("rows.gpu-b.beside", "did you mean gpu?")),
        ("precision: fp32, year", "precision: single, year", ("rows.gpu-b.precision", "fp32")),
        ("batch: 60, ", "", ("cases.0", "'batch' is missing")),
        ("hidden: 500}", "hidden: tanh}", ("cases.0: hidden", "must be a number")),
        ("examples: 6000", "examples: 0", ("cases.1.examples", "at least 1")),
        ("over: [cpu]", "over_case: small", ("claims.faster", "'over' is missing: the test faster needs it")),
        ("test: faster, ", "test: memory, ", ("claims.faster.over", "leave it out")),
        ("test: faster, experiment: rbm, row: gpu-a, over: [cpu]",
         "test: limited, experiment: rbm, row: gpu-a, over_case: smal, by: hidden", ("did you mean small?",)),
        ("test: faster, experiment: rbm, row: gpu-a, over: [cpu]",
         "test: limited, experiment: rbm, row: gpu-a, over_case: small, by: hiden", ("did you mean hidden?",)),
    ],
)  # fmt: skip
def test_a_mistake_in_the_new_keys_gets_one_line(tmp_path: Path, old: str, new: str, parts: tuple[str, ...]) -> None:
    assert old in YAML
    lines = mistakes_of(written(tmp_path, YAML.replace(old, new, 1)))
    # A parameter that the protocol has not is missing in every case.
    assert len(lines) == (3 if new == "" else 1)
    line = lines[0]
    for part in (str(tmp_path / "draft/paper.yaml"), *parts):
        assert part in line


def test_every_mistake_of_all_kinds_is_found_at_once(tmp_path: Path) -> None:
    yaml = YAML.replace("year: 2010\n", "year: MMX\n").replace("row: gpu-a, over", "row: gpu, over")
    yaml = yaml.replace("beside: [gpu]}", "beside: [gup]}")
    csv = CSV.replace("rbm,small,numpy", "rbm,smal,numpy").replace("40000,examples a second,40000", "0,seconds,zero")
    lines = mistakes_of(written(tmp_path, yaml, csv))
    assert [any(part in line for line in lines) for part in ("'MMX'", "no row 'gpu'", "'gup'")] == [True] * 3
    lines = mistakes_of(written(tmp_path / "other", csv=csv))
    assert len(lines) == 2
    assert "published.csv:3" in lines[0]
    assert "published.csv:5" in lines[1]


def test_a_draft_with_a_mistake_stops_only_who_asks_for_it(tmp_path: Path) -> None:
    written(tmp_path, YAML.replace("workload: rbm", "workload: rmb"))
    written(tmp_path / "x")
    (tmp_path / "x/draft").rename(tmp_path / "good")
    assert paper_names(tmp_path) == ("draft", "good")
    assert list(load_papers(["good"], tmp_path)) == ["good"]
    with pytest.raises(UserError, match="did you mean rbm"):
        load_papers(folder=tmp_path)


def test_the_first_mistake_says_how_many_more_there_are(tmp_path: Path) -> None:
    written(tmp_path, YAML.replace("label: NumPy", "lable: NumPy").replace("round_seconds: 1", "round_seconds: 0"))
    with pytest.raises(UserError, match=r"and \d more: respeed check lists them"):
        load_paper("draft", tmp_path)
