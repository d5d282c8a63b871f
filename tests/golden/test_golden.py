"""The records of three machines, and what was made of them: a change of any number or word shows here.

records.tar.xz: `server` is a real machine after a default run. Two are synthetic, the rounds of another real one with
their times scaled and jittered: `desk` has an accelerator besides, its rounds those of PyTorch on all cores at a
multiple of their speed; `laptop` has the real one's hardware sheet.
What this code makes of them is written anew by: ./run python -m tests.golden.test_golden
"""

import contextlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from pypdf import PdfReader

from respeed.output import build_review
from respeed.shown import Asked

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
# The records once more, as rows.
NOT_KEPT = {"tables/rounds.csv"}
REVIEW = "report/REVIEW.md"
BUILT = shutil.ignore_patterns("*.pdf", "*.html", "REVIEW*", "facts")


def build(folder: Path) -> None:
    """Let respeed make a report of the records, in this folder, as a user does."""
    with tarfile.open(HERE / "records.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    shutil.copytree(ROOT / "report", folder / "report", ignore=BUILT, dirs_exist_ok=True)
    command = [sys.executable, "-m", "respeed.cli", "report", "--machine", "desk", "--show", "all"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def made_tables(folder: Path) -> dict[str, str]:
    results = folder / "results"
    paths = (path for ending in ("csv", "md") for path in (results / "tables").rglob(f"*.{ending}"))
    return {name: path.read_text("utf-8") for path in paths if (name := str(path.relative_to(results))) not in NOT_KEPT}


def words_of(report: Path) -> str:
    return "".join(f"{' '.join(page.extract_text().split())}\n" for page in PdfReader(report).pages)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    build(folder)
    with contextlib.chdir(folder):
        build_review(Asked(smoke=False, machine="desk", show=["all"]))
    return folder


def test_the_tables_and_the_reviewers_page_of_known_records_are_the_known_ones(built: Path) -> None:
    assert (built / REVIEW).read_text("utf-8").splitlines() == (HERE / "REVIEW.md").read_text("utf-8").splitlines()
    made = made_tables(built)
    assert sorted(made) == sorted(str(path.relative_to(HERE)) for path in (HERE / "tables").rglob("*.*"))
    for name, text in made.items():
        if text != (HERE / name).read_text("utf-8") and name.count("/") == 1:
            # Says which rows and columns; what it lets pass, a last digit, say, the texts below do not.
            before, now = (pd.read_csv(folder / name) for folder in (HERE, built / "results"))
            pd.testing.assert_frame_equal(now, before, obj=name)
        assert text.splitlines() == (HERE / name).read_text("utf-8").splitlines(), name


def test_the_report_of_known_records_has_the_known_words(built: Path) -> None:
    assert b"<pdfaid:part>2" in (built / "report/report.pdf").read_bytes()  # for archives, and for who reads it aloud
    assert words_of(built / "report/report.pdf").splitlines() == (HERE / "report.txt").read_text("utf-8").splitlines()


def write_anew() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        shutil.rmtree(HERE / "tables", ignore_errors=True)
        for name, text in made_tables(folder).items():
            path = HERE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        with contextlib.chdir(folder):
            shutil.copy(build_review(Asked(smoke=False, machine="desk", show=["all"])), HERE)
        (HERE / "report.txt").write_text(words_of(folder / "report/report.pdf"), "utf-8")


if __name__ == "__main__":
    write_anew()
