"""Tables derived from records that tests make up."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.columns import make_frame
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, add_totals, make_speedups
from respeed.analysis.tables import TABLES, Cell, Speedup, dtypes_of
from respeed.inputs.machines import load_profiles
from respeed.inputs.papers import load_papers
from respeed.model import Case, Paper
from respeed.output.published import lay_out_published
from respeed.output.results import Results
from respeed.output.table import Table
from respeed.records import Description, Record
from tests.made import description, make_record

PAPERS, PROFILES = load_papers(["raina2009"]), load_profiles()
PAPER = PAPERS["raina2009"]
STEPS = 1_000_000 / 192
GPU = {"profile": "gpu", "architecture": "gpu", "device": "cuda"}
ALL = {"profile": "torch-all", "architecture": "multi-cpu"}
BF16 = {"profile": "cpu-bf16", "architecture": "multi-cpu", "precision": "bf16"}
FP64 = {"profile": "openblas-1-fp64", "precision": "fp64"}
GPU_BF16 = {"profile": "gpu-bf16", "architecture": "gpu", "device": "cuda", "precision": "bf16"}
OPENBLAS = {"profile": "openblas-all", "architecture": "multi-cpu", "backend": "numpy"}
NOISE = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998)
Records = list[Record]


def described(**facts: Any) -> Description:
    return Description.model_validate_json(json.dumps(description(**facts)))


NO_GPU = {"box": described(not_measurable={"gpu": "no CUDA device"})}


# Records


def seven(times: float | Sequence[float], **facts: Any) -> Records:
    """A round of each of these seconds a step, or seven of the same."""
    every = [times] * 7 if isinstance(times, int | float) else times
    return [make_record([time, time], number=number, **facts) for number, time in enumerate(every, start=1)]


def noisy(seconds: float, **facts: Any) -> Records:
    return seven([seconds * noise for noise in NOISE], **facts)


def case_of(experiment: str, name: str, workload: str = "", paper: Paper = PAPER) -> Case:
    """That case of a table; where a table has several algorithms, the first one's, or that of the workload."""
    cases = paper.experiments[experiment].cases
    return next(case for case in cases if case.name == name and workload in ("", case.workload))


def every_case(seconds: float, *but: str, **facts: Any) -> Records:
    """Seven rounds of every case of every table, by each of its algorithms, `but` of these tables; on one profile."""
    tables = [one for one in PAPER.experiments.values() if one.name not in but]
    cases = {repr(case.parameters) + case.workload: case for one in tables for case in one.cases}
    return [record for case in cases.values() for record in noisy(seconds, case=case, **facts)]


def sparse_coding_on_a_cpu() -> Records:
    """Of the three algorithms the paper's takes 0.5 s a step, its GPU's 0.4 s, and a better one 1 ms."""
    seconds = {"sparse_feature_sign": 0.5, "sparse_parallel": 0.4, "sparse_descent": 0.001}
    cases = [case for case in PAPER.experiments["sparse-coding"].cases if case.workload in seconds]
    return [record for case in cases for record in noisy(seconds[case.workload], case=case, **OPENBLAS)]


# Tables


def frame_of(rows: Sequence[Mapping[str, Any]], name: str) -> pd.DataFrame:
    """A tidy table whose rows have these fields; the others are empty."""
    dtypes = dtypes_of(TABLES[name])
    assert set().union(*rows) <= {*dtypes}
    missing = {"str": "", "int64": 0, "bool": False}
    empty = {column: missing[dtype] for column, dtype in dtypes.items() if dtype in missing}
    return pd.DataFrame(rows, columns=[*dtypes], dtype=object).fillna(empty).astype(dtypes)


class Made(NamedTuple):
    cells: list[Cell]
    speedups: list[Speedup]
    rounds: pd.DataFrame
    samples: Samples


def rounds_of(*records: Record) -> pd.DataFrame:
    return read_rounds(records, PAPERS)


def frames_of(
    records: Iterable[Record], papers: Mapping[str, Paper] = PAPERS, descriptions: Mapping[str, Description] = NO_GPU
) -> Made:
    """Cells, speedups and rounds."""
    rounds = read_rounds(records, papers)
    samples = Samples(rounds)
    cells = add_totals(make_cells(rounds, papers, PROFILES, descriptions), samples, papers)
    return Made(cells, make_speedups(cells, samples, papers), rounds, samples)


def cells_of(records: Iterable[Record], **described_as: Description) -> list[Cell]:
    """The rows of cells alone, without totals."""
    return make_cells(rounds_of(*records), PAPERS, PROFILES, described_as or NO_GPU)


def derive(records: Iterable[Record]) -> tuple[list[Cell], list[Speedup]]:
    """The rows of cells and of speedups."""
    made, ratios, *_ = frames_of(records)
    return made, ratios


def one(rows: list[Any], profile: str, case: str = "576x1024") -> Any:
    return next(row for row in rows if (row.experiment, row.profile, row.case) == ("rbm", profile, case))


def claims_of(records: Iterable[Record], papers: Mapping[str, Paper] = PAPERS) -> dict[tuple[str, str], Any]:
    """The papers' own claims: each as a whole, and by each of its cases."""
    made = frames_of(records, papers)
    claims = make_claims(made.cells, made.samples, papers)
    return {(row.claim, row.case): row for row in claims}


def shown_of(
    records: Iterable[Record] = (),
    papers: Mapping[str, Paper] = PAPERS,
    on: Sequence[str] = ("box",),
    **tables: pd.DataFrame,
) -> Results:
    """What is laid out of these records, and of other tidy tables as they are given."""
    made, ratios, rounds, _ = frames_of(records, papers)
    known = {"cells": make_frame(made, Cell), "speedups": make_frame(ratios, Speedup), "rounds": rounds} | tables
    return Results(papers, on, False, {name: make_frame([], declared) for name, declared in TABLES.items()} | known)


def table_of(
    records: Iterable[Record], experiment: str = "rbm", paper: Paper = PAPER, machines: Sequence[str] = ("box",)
) -> Table:
    """In the paper's shape."""
    return lay_out_published(shown_of(records, {paper.name: paper}, machines), paper, paper.experiments[experiment])


def texts_of(table: Table) -> dict[str, list[str]]:
    """The texts of each line by what it is called."""
    return {line.label: [value.text for value in table.fields(line)] for line in table.lines}


VERDICT = {
    "machine": "box", "paper": "raina2009", "claim": "second-core", "case": "", "published_low": 1.13,
    "published_high": 1.85, "speedup_low": 1.6, "speedup_high": 1.9, "verdict": "reproduced", "profile": "torch-all",
    "base_profile": "torch-1", "says": "A second core helps.", "published": "1.13x to 1.85x", "here": "1.60x to 1.90x",
}  # fmt: skip


def claims_frame(*changed: Mapping[str, Any]) -> pd.DataFrame:
    """A row of claims.csv for each of these changes of VERDICT."""
    return frame_of([VERDICT | one for one in changed], "claims")
