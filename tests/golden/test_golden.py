"""The records of three machines, and what was made of them: a change of any number or word shows here.

records.tar.xz: `server` is a real machine after a default run. Two are synthetic, the rounds of another real one with
their times scaled and jittered: `desk` has an accelerator besides, its rounds those of PyTorch on all cores at a
multiple of their speed; `laptop` has the real one's hardware sheet.
"""

import contextlib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from pypdf import PdfReader

from respeed.output import build_review
from respeed.shown import Asked
from tests.known import assert_all_known, assert_known

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
# The records once more, as rows.
NOT_KEPT = {"rounds.csv"}
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
    tables = folder / "results/tables"
    paths = (path for ending in ("csv", "md") for path in tables.rglob(f"*.{ending}"))
    return {name: path.read_text("utf-8") for path in paths if (name := str(path.relative_to(tables))) not in NOT_KEPT}


def words_of(report: Path) -> str:
    return "".join(f"{' '.join(page.extract_text().split())}\n" for page in PdfReader(report).pages)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    build(folder)
    with contextlib.chdir(folder):
        build_review(Asked(smoke=False, machine="desk", show=["all"]))
    return folder


@pytest.mark.known
def test_known_records_make_the_known_tables(built: Path) -> None:
    assert_known(HERE / "REVIEW.md", (built / REVIEW).read_text("utf-8"))
    assert_all_known(HERE / "tables", made_tables(built))


@pytest.mark.known
def test_known_records_make_the_known_report(built: Path) -> None:
    assert b"<pdfaid:part>2" in (built / "report/report.pdf").read_bytes()  # for archives, and for who reads it aloud
    assert_known(HERE / "report.txt", words_of(built / "report/report.pdf"))
