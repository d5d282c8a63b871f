"""Files as people write them, and what reads each: tests change a part and look at the lines that come of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES
from respeed.inputs.papers import PAPER_FILES
from respeed.inputs.reader import Files
from respeed.model import Paper
from respeed.paths import ROOT, WORKFLOW

TOLD = """
profiles: [gpu]
slurm: {slurm_partition: gpu}
"""
DRAFT = """
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
DRAFT_CSV = """experiment,case,row,value,unit,printed
rbm,small,cpu,6573.73,examples a second,"6,573.73"
rbm,small,numpy,3579.84,examples a second,3579.84
rbm,small,gpu-a,38310,examples a second,38310.00
rbm,small,gpu-b,40000,examples a second,40000
rbm,small,gpu-a,5.83,x,5.83x
"""


def draft(folder: Path, text: str = DRAFT, csv: str | None = DRAFT_CSV) -> Paper:
    """The paper of this text, with its printed numbers, if any."""
    (folder / "draft").mkdir(parents=True)
    (folder / "draft/paper.yaml").write_text(text, "utf-8")
    if csv is not None:
        (folder / "draft/published.csv").write_text(csv, "utf-8")
    return replace(PAPER_FILES, folder=folder).load("draft")


class File(NamedTuple):
    """Its name, a right one's text, and what reads it."""

    name: str
    text: str
    read: Callable[[Path], Any]


def _one_of(files: Files[Any], name: str) -> Callable[[Path], Any]:
    return lambda path: replace(files, folder=path.parents[files.pattern.count("/")]).load(name)


def _paper(path: Path) -> Any:
    """Read the paper of either file; the other one is a right one."""
    for name, text in ((path.with_name("paper.yaml"), DRAFT), (path.with_name("published.csv"), DRAFT_CSV)):
        known = (folder / path.parent.name / name.name for folder in (WORKFLOW / "papers", ROOT / "docs"))
        if name != path and not name.exists():
            name.write_text(next((one.read_text("utf-8") for one in known if one.exists()), text), "utf-8")
    return _one_of(PAPER_FILES, path.parent.name)(path)


RAINA = WORKFLOW / "papers/raina2009"
FILES = {
    "config": File("config.yaml", (ROOT / "config.yaml").read_text("utf-8"), load_config),
    "cpu": File("mine.yaml", (WORKFLOW / "hardware/torch-all.yaml").read_text("utf-8"), _one_of(PROFILE_FILES, "mine")),
    "gpu": File("mine.yaml", (WORKFLOW / "hardware/gpu.yaml").read_text("utf-8"), _one_of(PROFILE_FILES, "mine")),
    "machine": File("box.yaml", TOLD, _one_of(MACHINE_FILES, "box")),
    "raina": File("raina2009/paper.yaml", (RAINA / "paper.yaml").read_text("utf-8"), _paper),
    "printed": File(
        "raina2009/published.csv", (WORKFLOW / "papers/raina2009/published.csv").read_text("utf-8"), _paper
    ),
    "program": File("three-loops/paper.yaml", (ROOT / "docs/three-loops/paper.yaml").read_text("utf-8"), _paper),
    "draft": File("draft/paper.yaml", DRAFT, _paper),
}


def read(kind: str, folder: Path, content: str | bytes | None = None) -> tuple[Any, list[str]]:
    """Return what comes of a file of that kind with this content, by default of a right one, and its mistakes."""
    path = folder / FILES[kind].name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = FILES[kind].text if content is None else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    try:
        return FILES[kind].read(path), []
    except UserError as error:
        return None, error.lines
