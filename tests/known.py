"""What is made of known tables, those of tests/golden, and what was made of them before."""

import difflib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from respeed.analysis.columns import load_table, make_frame
from respeed.analysis.tables import TABLES
from respeed.inputs.papers import load_papers
from respeed.output.results import Results

GOLDEN = Path(__file__).parent / "golden/tables"


def known_results(*machines: str) -> Results:
    """The results of these machines, of which no round is kept."""
    frames = {name: make_frame([], name) if name == "rounds" else load_table(name, GOLDEN) for name in TABLES}
    return Results(load_papers(["raina2009", "machine"]), machines, False, frames)


def one_table_of(shown: Results, name: str) -> Results:
    """One table of raina2009 alone, of some rows."""
    paper = shown.papers["raina2009"]
    claims = {key: claim for key, claim in paper.claims.items() if claim.experiment == name}
    paper = replace(paper, experiments={name: paper.experiments[name]}, claims=claims)
    chosen = {"experiment": [name], "claim": claims, "part": ["summary", "hardware"]}
    chosen["profile"] = ["openblas-1", "torch-all", "gpu", "", "torch-all or openblas-all"]
    frames = {}
    for key, frame in shown.frames.items():
        kept = [frame[column].isin(list(some)) for column, some in chosen.items() if column in frame]
        frames[key] = frame[np.logical_and.reduce(kept)]
    return replace(shown, papers={paper.name: paper}, frames=frames)


def assert_known(path: Path, text: str) -> None:
    """It is what the file says; WRITE_KNOWN=1 ./run pytest ... writes the files anew."""
    if "WRITE_KNOWN" in os.environ:
        path.write_text(text, encoding="utf-8")
    known = path.read_text(encoding="utf-8").splitlines()
    assert text.splitlines() == known, "\n".join(difflib.unified_diff(known, text.splitlines(), str(path), "now"))
