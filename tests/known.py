"""What is made of known tables, those of tests/golden, and what was made of them before.

./run python -m tests.known             writes every known text anew
./run python -m tests.known tests/cli   writes those of these tests
"""

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from respeed.analysis.columns import load_table, make_frame
from respeed.analysis.tables import TABLES, Round
from respeed.inputs.papers import load_papers
from respeed.output.results import Results

GOLDEN = Path(__file__).parent / "golden/tables"
# Set while known texts are written anew.
WRITE = "WRITE_KNOWN"


def known_results(*machines: str) -> Results:
    """The results of these machines, of which no round is kept."""
    frames = {name: make_frame([], Round) if name == "rounds" else load_table(name, GOLDEN) for name in TABLES}
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
    """It is what the file says. A test that asks this has the mark `known`, by which it is found to write the text."""
    if WRITE in os.environ:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    known = path.read_text(encoding="utf-8").splitlines()
    diff = difflib.unified_diff(known, text.splitlines(), str(path), "now", lineterm="")
    assert text.splitlines() == known, "\n".join([*diff, "./run python -m tests.known writes it anew"])


def assert_all_known(folder: Path, texts: Mapping[str, str]) -> None:
    """These are the files of a folder, and each is what it was."""
    for path in folder.rglob("*.*"):
        if WRITE in os.environ and str(path.relative_to(folder)) not in texts:
            path.unlink()
    for name, text in texts.items():
        assert_known(folder / name, text)
    assert sorted(texts) == sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))


if __name__ == "__main__":
    os.environ[WRITE] = "1"
    sys.exit(pytest.main(["-q", "-m", "known", *sys.argv[1:]]))
