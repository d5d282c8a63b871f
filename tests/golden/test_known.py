"""Two made-up machines, on one of which all that can happen to a cell does, and the numbers and words that follow."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.build import make_tables
from respeed.analysis.claims import open_claims
from respeed.analysis.columns import rows_of
from respeed.analysis.speedups import Samples, add_totals, published_speedup
from respeed.analysis.tables import TABLES, Cell, dtypes_of
from respeed.analysis.trace import find_cells, trace_cell
from respeed.inputs.papers import load_papers
from respeed.paths import records_folder
from respeed.records import read_records, write_description
from tests.derived import ALL, GPU, OPENBLAS, PROFILES
from tests.known import assert_all_known
from tests.made import FIRST_DAY, LATER, description, make_lines

KNOWN = Path(__file__).with_name("known")
PAPERS = load_papers(["raina2009", "lee2010", "bergstra2010", "lectures", "machine"])
LEE = {"lee2010": PAPERS["lee2010"]}
SLOW = {"sm_mhz": 900.0, "highest_sm_mhz": 1800.0, "watts": 250.0, "celsius": 81.0, "reasons": 4}
# In how many rounds a cell is measured, by how much these differ, and what happens in them.
PLAIN: tuple[int, float, dict[str, Any]] = (4, 0.01, {})
HAPPENS = [
    PLAIN, (5, 0.01, {"errors": {"a": 3e-6, "b": None}}), (9, 0.04, {"joules": {"GPU": 3.0, "package-0": 1.0}}),
    PLAIN, (2, 0.01, {"settled": False}), (5, 0.2, {}), (4, 0.01, {"run_delay_seconds": 9.0}),
    (4, 0.01, {"blocks": [{}, {"quota_seconds": 9.0}, {"minor_faults": 10**7}]}), (4, 0.01, {"settled": False}),
    (4, 0.01, {"blocks": [{"device": [{}, SLOW]}, {"device": [SLOW | {"reasons": 36}]}]}),
    (4, 0.01, {"status": "failed", "reason": "no memory"}),
    (9, 0.01, {}), (4, 0.01, {"blocks": [{"probe_seconds": [0.004, 0.006]}, {}]}), (6, 0.05, {"graphs": "no: why"}),
]  # fmt: skip
ROWS = [
    (1.0, {"profile": "openblas-1", "backend": "numpy", "package": "OpenBLAS"}),
    (0.55, OPENBLAS | {"threads": 2, "package": "OpenBLAS"}), (1.1, {"profile": "torch-1", "package": "PyTorch"}),
    (0.5, ALL | {"threads": 2, "package": "PyTorch"}), (0.05, GPU | {"package": "PyTorch", "elementwise": "triton"}),
]  # fmt: skip
SOFTWARE = {
    "energy": {"reason": None},
    "versions": {"numpy": "2.1"},
    "libraries": [{"internal_api": "openblas", "version": "0.3", "architecture": "Zen"}],
}
HUT = {"energy": {"reason": None}, "multiprocessors": 40, "accelerator": {
    "name": "T4", "power_limit_watts": 60.0, "default_power_limit_watts": 70.0, "driver": "580.1"}}  # fmt: skip


def write_machine(machine: str, happens: Sequence[tuple[int, float, dict[str, Any]]], **of_all: Any) -> None:
    """Its GPU is as much faster than its CPU as the paper's was."""
    draw, place, lines = random.Random(machine), 0, dict[tuple[str, int], list[Any]]()
    for paper, table in [(one, table) for one in PAPERS.values() for table in one.experiments.values()]:
        for case in table.cases:
            theirs = published_speedup(paper, table, case.name, "gpu") if "gpu" in paper.rows else None
            seconds, flops, moved, ratio = (size * 2 ** draw.random() for size in (0.05, 2e9, 1e8, 0.5))
            seconds /= case.parameters.get("threads", case.parameters.get("replicas", 1)) ** 0.8
            for factor, facts in ROWS:
                place += 1
                rounds, noise, what = happens[place % len(happens)]
                own = {"ladder": True, "profile": f"{facts['profile']}-t2"} if table.ladder else {}
                if table.precision == "fp64":
                    own |= {"precision": "fp64", "profile": f"{facts['profile']}-fp64"}
                step = seconds / 2 / theirs.value if theirs and "cuda" in facts.values() else seconds * factor
                step *= ratio**5 if table.unit.counted and "cuda" in facts.values() and not theirs else 1.0
                for number in range(1, rounds + 1):
                    times = [step * draw.gauss(1, noise) for _ in range(3)]
                    when = {"number": number, "started": FIRST_DAY if number < 5 else LATER}
                    every = of_all | facts | own | what | when
                    start, result = make_lines(
                        times, case=case, flops=flops, traffic_bytes=moved, peak=1e11 / factor**2, **every
                    )
                    lines.setdefault((start["profile"]["name"], number), [start]).append(result)
    for (profile, number), mine in lines.items():
        path = records_folder(False) / machine / profile / f"20260101T00000{number}Z-made.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in mine))
    write_description(machine, False, description(not_measurable={"tpu": "no TPU"}))


SHOWN = {"rounds": 127, "cells": 11, "speedups": 7, "claims": 1, "why": 3, "facts": 1}


def make() -> dict[str, str]:
    """What follows, by the name of the file that has it; of a large table one row in so many."""
    write_machine("box", HAPPENS, **SOFTWARE)
    write_machine("hut", [PLAIN], **HUT)
    tables = make_tables(False, PAPERS, PROFILES)
    found, samples, cells = {}, Samples(tables["rounds"]), tables["cells"]
    for name, step in SHOWN.items():
        frame = tables[name][[*dtypes_of(TABLES[name])]].drop(columns=["says", "commit"], errors="ignore")
        told = frame[frame["reason"] != "not measured yet"] if name in ("cells", "speedups") else frame
        found[f"{name}.csv"] = told.iloc[::step].to_csv(index=False, float_format="%.6g", lineterminator="\n")
    left = open_claims(add_totals([*rows_of(cells[cells["case"] != "total"], Cell)], samples, PAPERS), samples, PAPERS)
    records = read_records(False, "hut")
    traced = [
        find_cells(cells[cells["machine"] == "hut"], *one)
        for one in (("dbn/total", "torch-all"), ("lee2010/fft/1024x4096", "gpu"))
    ]
    documents = {
        "open": [(f"{rounds:.6g}", len(keys)) for rounds, keys in left],
        "traces": [trace_cell(tables, records, one) for found in traced for one in found],
    }
    shorter = json.loads(json.dumps(documents), parse_float=lambda text: float(f"{float(text):.6g}"))
    return found | {f"{name}.json": json.dumps(one, indent=1) for name, one in shorter.items()}


@pytest.mark.known
def test_known_records_give_the_known_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of known records every number and word is the known one."""
    monkeypatch.chdir(tmp_path)
    assert_all_known(KNOWN, make())
