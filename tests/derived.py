"""Tables derived from records that tests make up."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import make_claims
from respeed.analysis.columns import TABLES, make_frame, rows_of
from respeed.analysis.hardware import describe_machine
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, add_totals, make_speedups
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.model.paper import Paper, PublishedRow
from respeed.output.layout import Shown, lay_out_published
from respeed.output.table import Table

MakeRecord = Callable[..., dict[str, Any]]
PAPERS, PROFILES = load_papers(["raina2009"]), load_profiles()
PAPER = PAPERS["raina2009"]
STEPS = 1_000_000 / 192
SHEET = {"box": {"hardware": {}, "not_measurable": {"gpu": "no CUDA device"}}}
GPU = {"profile": "gpu", "architecture": "gpu", "device": "cuda"}
ALL = {"profile": "torch-all", "architecture": "multi-cpu"}
BF16 = {"profile": "cpu-bf16", "architecture": "multi-cpu", "precision": "bf16"}
FP64 = {"profile": "openblas-1-fp64", "precision": "fp64"}
GPU_BF16 = {"profile": "gpu-bf16", "architecture": "gpu", "device": "cuda", "precision": "bf16"}
NOISE = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998)
LATER = "2026-02-01T00:00:00+00:00"
Records = list[dict[str, Any]]


def derive(records: Iterable[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """The rows of cells and of speedups."""
    made, ratios, *_ = frames_of(records)
    return list(rows_of(made)), list(rows_of(ratios))


def one(rows: list[Any], profile: str, case: str = "576x1024") -> Any:
    return next(row for row in rows if (row.experiment, row.profile, row.case) == ("rbm", profile, case))


def seven(make_record: MakeRecord, times: float | list[float], **facts: Any) -> list[dict[str, Any]]:
    """A round of each of these seconds a step, or seven of the same."""
    every = times if isinstance(times, list) else [times] * 7
    return [make_record([time, time], index=index, **facts) for index, time in enumerate(every, start=1)]


def noisy(make_record: MakeRecord, seconds: float, **facts: Any) -> list[dict[str, Any]]:
    return seven(make_record, [seconds * noise for noise in NOISE], **facts)


def shown_of(
    records: Iterable[dict[str, Any]] = (),
    papers: Mapping[str, Paper] = PAPERS,
    on: Sequence[str] = ("box",),
    **tables: pd.DataFrame,
) -> Shown:
    """What is laid out of these records, and of other tidy tables as they are given."""
    made, ratios, rounds, _ = frames_of(records, papers)
    known = {"cells": made, "speedups": ratios, "rounds": rounds} | tables
    return Shown(papers, on, False, {name: make_frame([], name) for name in TABLES} | known)


def table_of(
    records: Iterable[dict[str, Any]], experiment: str = "rbm", paper: Paper = PAPER, machines: Sequence[str] = ("box",)
) -> Table:
    """In the paper's shape."""
    return lay_out_published(shown_of(records, {paper.name: paper}, machines), paper, paper.experiments[experiment])


def texts_of(table: Table) -> dict[str, list[str]]:
    """The texts of each line by what it is called."""
    labels = table.frame.index.get_level_values("label")
    return dict(zip(labels, table.frame.map(lambda value: value.text).to_numpy().tolist(), strict=True))


def of_case(records: Records, paper: Paper, experiment: str, case: str, **facts: Any) -> Records:
    """The records as of that case, with other facts of what ran."""
    there = paper.experiments[experiment].case(case)
    for record in records:
        record["id"] |= {"paper": paper.name, "experiment": experiment}
        ran = {"case": case, "workload": there.workload, "parameters": dict(there.parameters)}
        record["cases"][0] |= ran | facts
    return records


def every_case(make_record: MakeRecord, seconds: float, **facts: Any) -> list[dict[str, Any]]:
    """Seven rounds of every case of every table, on one profile; of a table of several algorithms, by each."""
    records = []
    for experiment in PAPER.experiments.values():
        for case in experiment.cases:
            for record in seven(make_record, [seconds * noise for noise in NOISE], case=case.name, **facts):
                record["id"]["experiment"] = experiment.name
                record["cases"][0] |= {"workload": case.workload, "parameters": dict(case.parameters)}
                records.append(record)
    return records


def claims_of(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The paper's own claims, by name, each as a whole."""
    made = frames_of(records)
    claims = make_claims(made.cells, made.samples, PAPERS)
    return {row.claim: row for row in rows_of(claims) if not row.case}


def sparse_coding_on_a_cpu(make_record: MakeRecord) -> list[dict[str, Any]]:
    """Of the three algorithms the paper's takes 0.5 s a step, its GPU's 0.4 s, and a better one 1 ms."""
    seconds = {"sparse_feature_sign": 0.5, "sparse_parallel": 0.4, "sparse_descent": 0.001}
    records = []
    for record in every_case(make_record, 1.0, profile="openblas-all", architecture="multi-cpu"):
        record["profile"]["backend"] = "numpy"
        ran = record["cases"][0]
        if ran["workload"] in seconds:
            ran["blocks"][0]["sample_seconds"] = [
                seconds[ran["workload"]] * time for time in ran["blocks"][0]["sample_seconds"]
            ]
            records.append(record)
    return records


class Made(NamedTuple):
    cells: pd.DataFrame
    speedups: pd.DataFrame
    rounds: pd.DataFrame
    samples: Samples


def frames_of(records: Iterable[dict[str, Any]], papers: Mapping[str, Paper] = PAPERS) -> Made:
    """Cells, speedups and rounds."""
    rounds = read_rounds(records)
    samples = Samples(rounds)
    made = add_totals(make_cells(rounds, papers, PROFILES, SHEET, smoke=False), samples, papers, smoke=False)
    return Made(made, make_speedups(made, samples, papers), rounds, samples)


def machine_of(records: list[dict[str, Any]], machine: str = "box") -> str:
    """What the machine is in a few words."""
    rows = describe_machine(machine, records, read_rounds(records), None)
    return next(row["value"] for row in rows if row["part"] == "summary")


VERDICT = {
    "machine": "box", "paper": "raina2009", "claim": "second-core", "case": "", "published_low": 1.13,
    "published_high": 1.85, "speedup_low": 1.6, "speedup_high": 1.9, "verdict": "reproduced", "profile": "torch-all",
    "base_profile": "torch-1", "says": "A second core helps.", "published": "1.13x to 1.85x", "here": "1.60x to 1.90x",
}  # fmt: skip


def claims_frame(*changed: Mapping[str, Any]) -> pd.DataFrame:
    """A row of claims.csv for each of these changes of VERDICT."""
    return make_frame([VERDICT | one for one in changed], "claims")


def changed(row: PublishedRow, **fields: Any) -> PublishedRow:
    """The published row with other facts; what its file left out is not asked for again."""
    other = copy.copy(row)
    for name, value in fields.items():
        object.__setattr__(other, name, value)
    return other
