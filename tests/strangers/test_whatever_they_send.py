"""Whatever a stranger sends, every command ends with 0 or one line: papers and bundles within the bounds, or beyond."""

import contextlib
import copy
import io
import json
import resource
import shutil
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respeed.cli import main
from respeed.errors import UserError
from respeed.inputs.papers import HEAD, PAPER_FILES
from respeed.model import Paper
from respeed.paths import WORKFLOW
from tests.made import description, make_lines

# A small paper with rows, claims of several tests, algorithms, a total, and facts.
ROWS = {
    "one": {"label": "One core", "package": "P", "beside": ["single-cpu"]},
    "gpu": {"label": "A GPU", "package": "P", "beside": ["gpu"], "precision": "fp32", "hardware": {
        "label": "GPU", "flops_per_second": 1e11, "bytes_per_second": 1e10, "source": "s", "confidence": "stated"}},
}  # fmt: skip
CASES = [{"case": name, "visible": size, "hidden": size} for name, size in (("small", 64), ("large", 128))]
NETS = {
    "title": "Nets", "workload": "rbm", "unit": "seconds", "axis": "units", "examples": 1000, "total": "all of it",
    "protocol": {"batch": 10, "learning_rate": 0.1}, "cases": CASES,
    "smoke_cases": [{"case": "tiny", "visible": 8, "hidden": 8}], "facts": [
        {"fact": "images", "value": "drawn", "confidence": "recalled"}],
}  # fmt: skip
CODES = {
    "title": "Codes", "workload": "sparse_parallel", "algorithms": {
        "sparse_parallel": {"label": "parallel", "published_for": ["gpu"]},
        "sparse_descent": {"label": "descent", "published_for": ["one"]}},
    "protocol": {"bases": 64, "side": 8, "patches": 40, "batch": 40, "timed": 40},
    "examples": 40,    "cases": [{"case": "three", "column": "3 %", "nonzero": 0.03, "penalty": 0.3}],
    "smoke_cases": [{"case": "six", "nonzero": 0.06, "penalty": 0.3}],
}  # fmt: skip
PAPER = {
    "title": "Loops", "authors": ["A", "B"], "venue": "V", "year": 2009, "claim": "C", "rows": ROWS,
    "claims": {
        "faster": {"says": "S", "test": "each", "experiment": "nets", "row": "gpu", "over": ["one"]},
        "grows": {"says": "S", "test": "growth", "experiment": "nets", "row": "gpu", "over": ["one"]},
        "mean": {"says": "S", "test": "mean", "of": ["faster"]},
    },
    "experiments": {"nets": NETS, "codes": CODES},
}  # fmt: skip
PRINTED = [
    "nets,small,one,10,seconds,10", "nets,small,gpu,1,seconds,1", "nets,large,one,20,seconds,20",
    "nets,large,gpu,1.5,seconds,1.5", "codes,3 %,one,9,seconds,9", "codes,3 %,gpu,2,seconds,~2",
]  # fmt: skip
# Words that anybody may write, and those that a file must not have.
WORDS = st.sampled_from([
    "x", "One core", "A GPU", "small", "parallel", "all of it", "=1+1", "<b>&", "$x$ \\input{a}", "#let a", "[a](b)",
    "x" * 99, "word " * 19, "é", "\U0001f4a5", "“ﬁ”", "0", "1e999", "nan", "%s", "{}", "{{ x }}", "a_b^c", "label",
    "group", "tiny", "'", '"',
    ",", "| a |",
])  # fmt: skip
ODD = st.sampled_from(
    ["", " ", "a  b", "\u202e", "\u3164", "\x1b[2J", "x" * 2000, None, True, -1, 1e999, [], {}, [[]], "../x"]
)
REALS = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 1e-12, 1e-9, 1e-3, 1e3, 1e8, 1e15, 1e24, 1e30]), st.floats(1e-12, 1e12)
)
WHOLES = st.one_of(st.sampled_from([0, 1, 2, 7, 100, 2009, 10**9, 10**15, 2**53]), st.integers(1, 10**6))
# Names that other parts of a file or another file refer to: to change one is mostly a mistake.
REFERRED = {
    "workload", "test", "experiment", "row", "over", "of", "beside", "unit", "precision", "confidence", "case",
    "published_for", "machine", "hardware", "smoke", "schema", "status", "name", "backend", "profile", "started",
}  # fmt: skip


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every mapping or list within the data, with each of its keys."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list) and key not in REFERRED:
            yield from places(data[key])


def change(data: Any, draw: st.DataObject) -> None:
    """Change a word or a number as a file may have it; or, one time in four, put anything anywhere."""
    every = [*places(data)]
    plain = [(inner, key) for inner, key in every if isinstance(inner[key], str | float | int) and key not in REFERRED]
    if plain and draw.draw(st.integers(0, 3)):
        inner, key = draw.draw(st.sampled_from(plain))
        kinds = {str: WORDS, float: REALS, int: WHOLES, bool: st.booleans()}
        inner[key] = draw.draw(kinds[type(inner[key])])
        return
    inner, key = draw.draw(st.sampled_from(every))
    how = draw.draw(st.integers(0, 3))
    if how == 0 and isinstance(inner, dict):
        del inner[key]
    elif how == 1 and isinstance(inner, list):
        inner.append(copy.deepcopy(inner[key]))
    elif how == 2 and isinstance(inner, dict):
        inner[draw.draw(WORDS)] = copy.deepcopy(inner[key])
    else:
        inner[key] = copy.deepcopy(draw.draw(st.one_of(ODD, WORDS, REALS, WHOLES)))


def write_paper(folder: Path, draw: st.DataObject, changes: int) -> None:
    data, lines = copy.deepcopy(PAPER), list(PRINTED)
    for _ in range(changes):
        change(data, draw)
    for _ in range(draw.draw(st.integers(0, 1)) * changes):
        place = draw.draw(st.integers(0, len(lines) - 1))
        cells = lines[place].split(",")
        if draw.draw(st.integers(0, 3)):
            cells[3] = cells[5] = f"{draw.draw(REALS):f}"
        else:
            cells[draw.draw(st.integers(0, 5))] = str(draw.draw(st.one_of(WORDS, REALS)))
        lines[place] = ",".join(cells)
    folder.mkdir()
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    (folder / "paper.yaml").write_text(text, "utf-8", errors="backslashreplace")
    (folder / "published.csv").write_text("\n".join([HEAD, *lines, ""]), "utf-8", errors="backslashreplace")


def write_bundle(path: Path, paper: Paper | None, draw: st.DataObject, changes: int) -> None:
    """Three rows of one machine, which is like any other but for the changes."""
    rows = {"torch-1": ("single-cpu", "cpu"), "torch-all": ("multi-cpu", "cpu"), "gpu": ("gpu", "cuda")}
    files: dict[str, list[Any]] = {"box/machine.json": [description()]}
    for number, (profile, (architecture, device)) in enumerate(rows.items(), 1):
        lines: list[Any] = []
        for table in paper.experiments.values() if paper else ():
            for case in table.cases:
                facts = {"profile": profile, "architecture": architecture, "device": device, "number": number}
                start, result = make_lines([0.1 / number] * 2, case=case, flops=1e9, **facts)
                lines = lines or [start]
                lines.append(result)
        files[f"box/{profile}/20260101T00000{number}Z-aaaa.jsonl"] = lines or [make_lines(profile=profile)[0]]
    for _ in range(changes):
        change(draw.draw(st.sampled_from([*files.values()])), draw)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, lines in files.items():
            archive.writestr(name, "".join(json.dumps(line) + "\n" for line in lines))


COMMANDS = (
    "check", "check theirs.zip", "import theirs.zip", "import theirs.zip --as lab", "import theirs.zip --into lab",
    "status --machine all", "claims --machine lab", "trace raina2009/nets/small gpu --machine lab", "compare lab lab",
    "sessions --machine lab", "export all.zip", "export lab.zip --machine lab", "check --show raina2009",
    "report --only tables --show all", "report --only figures --show all", "report --only pdf --show all",
    "report --review --show all",
)  # fmt: skip
# Bytes that commands may take for what a few kilobytes say.
MOST_MEMORY = 200 * 2**20


def run(command: str) -> None:
    """Run a command as a user does: it ends with 0, or with a line that says why not."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main(command.split())
        except SystemExit as ended:
            code = int(ended.code or 0)
    lines = said.getvalue().splitlines()
    assert code in (0, 1, 2), command
    assert code != 2 or lines[-1].startswith("respeed: "), (command, lines)
    assert "Traceback" not in said.getvalue(), command


@pytest.mark.parametrize("examples", [10, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("own_folder")
def test_every_command_ends_with_nothing_or_a_line(examples: int, tmp_path: Path) -> None:
    """In the place of the first paper of config.yaml, with their bundle beside it."""
    papers = tmp_path / "papers"
    shutil.copytree(WORKFLOW / "papers/machine", papers / "machine")

    memory = list[int]()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(draw: st.DataObject) -> None:
        for old in (papers / "raina2009", Path("results"), Path("report")):
            shutil.rmtree(old, ignore_errors=True)
        Path("report").mkdir()
        for file in Path().glob("*.zip"):
            file.unlink()
        write_paper(papers / "raina2009", draw, draw.draw(st.integers(0, 3)))
        paper = None
        with contextlib.suppress(UserError):
            paper = PAPER_FILES.load("raina2009")
        write_bundle(Path("theirs.zip"), paper, draw, draw.draw(st.integers(0, 3)))
        signal.alarm(300)  # what waits for ever, or goes through all pairs of something
        for command in COMMANDS:
            run(command)
        signal.alarm(0)
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        assert memory[-1] - memory[0] < MOST_MEMORY  # the first loads libraries

    kept = PAPER_FILES.folder
    object.__setattr__(PAPER_FILES, "folder", papers)
    try:
        check()
    finally:
        object.__setattr__(PAPER_FILES, "folder", kept)
        signal.alarm(0)
