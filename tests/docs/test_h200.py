"""The page of a GPU whose records the repository has: it is what the commands make of them now.

Written anew by: ./run python -m tests.docs.test_h200
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

from respeed.output import build_review, build_tables
from respeed.shown import Asked

HERE = Path(__file__).parents[2] / "docs/h200"
(MACHINE,) = (path for path in HERE.iterdir() if path.is_dir())
PAPERS = ["raina2009", "lee2010", "machine"]


def build(folder: Path) -> str:
    """Let respeed make the reviewer's page of these records in this folder."""
    shutil.copytree(MACHINE, folder / "results/records" / MACHINE.name)
    with contextlib.chdir(folder):
        build_tables(Asked(False, MACHINE.name, PAPERS))
        return build_review(Asked(False, MACHINE.name, PAPERS)).read_text("utf-8")


def test_the_page_of_the_gpu_is_what_its_records_say(tmp_path: Path) -> None:
    assert (HERE / "README.md").read_text("utf-8").splitlines() == build(tmp_path).splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        (HERE / "README.md").write_text(build(Path(name)), "utf-8")
