"""The page of a GPU whose records the repository has: it is what the commands make of them now."""

import contextlib
import shutil
from pathlib import Path

import pytest

from respeed.output import build_review, build_tables
from respeed.shown import Asked
from tests.known import assert_known

HERE = Path(__file__).parents[2] / "docs/h200"
(MACHINE,) = (path for path in HERE.iterdir() if path.is_dir())
PAPERS = ["raina2009", "lee2010", "machine"]


def build(folder: Path) -> str:
    """Let respeed make the reviewer's page of these records in this folder."""
    shutil.copytree(MACHINE, folder / "results/records" / MACHINE.name)
    with contextlib.chdir(folder):
        build_tables(Asked(False, MACHINE.name, PAPERS))
        return build_review(Asked(False, MACHINE.name, PAPERS)).read_text("utf-8")


def test_a_clones_report_shows_no_other_machine() -> None:
    """The GPU's records lie where no report looks for records, and the page's first lines say what measured them."""
    assert not [path for path in HERE.parents[1].glob("results/*/*") if path.name == MACHINE.name]
    page = (HERE / "README.md").read_text("utf-8")
    assert "a program that no commit has" in page.partition("\n## ")[0]


@pytest.mark.known
def test_the_gpus_page_follows_from_its_records(tmp_path: Path) -> None:
    assert_known(HERE / "README.md", build(tmp_path))
