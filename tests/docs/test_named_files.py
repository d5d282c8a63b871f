"""README, CONTRIBUTING and docs/*.md: every file, module and heading that they name is there, and every fault of
docs/faults.md has its answer and a test."""

import contextlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# What is in the project itself, not in what a run makes.
OURS = ("workflow", "tests", "bench", "docs", "profiles", ".ci")
# Where a short name such as `measure/case.py` is looked for.
FOLDERS = (ROOT, ROOT / "workflow/respeed", ROOT / "tests", ROOT / "bench")
SOURCES = {path.name for folder in ("workflow", "tests", "bench") for path in (ROOT / folder).rglob("*.py")}
# Files that a reader writes, or somebody else has.
OF_OTHERS = {
    *("workflow/hardware/torch-8.yaml", "workflow/machines/gpu-node.yaml", "bench/ours.py", "bench/pandas.py"),
}
# Where a reader puts in a name: NAME, <machine>, a star.
BLANK = re.compile(r"NAME|OLD|[<*]")


def named(text: str) -> Iterator[str]:
    """The words of code, in the text and in its blocks."""
    for code in re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL):
        yield from (word.rstrip(".,:") for word in re.findall(r"[\w.<>*/-]+", code))


def is_there(word: str) -> bool:
    if re.fullmatch(r"(respeed|tests)(\.\w+)+", word):
        with contextlib.suppress(ImportError, AttributeError):
            return bool(pkgutil.resolve_name(word))
        return False
    parts = word.split("/")
    if word.endswith(".py") or (parts[0] in OURS and len(parts) > 1):
        known = next((place for place, part in enumerate(parts) if BLANK.search(part)), len(parts))
        return word in SOURCES | OF_OTHERS or any(folder.joinpath(*parts[:known]).exists() for folder in FOLDERS)
    return True


def anchors(path: Path) -> set[str]:
    """The headings of a page, as a link names them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_file_and_heading_named_exists(path: Path) -> None:
    """Every file module and heading that a page names is there."""
    text = path.read_text(encoding="utf-8")
    assert [word for word in named(text) if not is_there(word)] == []
    for file, heading in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
        target = path.parent / file if file else path
        assert target.exists(), file
        assert not heading or heading in anchors(target), f"{file}#{heading}"


def test_every_fault_has_an_answer_and_test() -> None:
    for line in (ROOT / "docs/faults.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith(("| ---", "| fault")):
            fault, answer, test = (cell.strip() for cell in line.strip("|").split(" | "))
            assert fault
            assert answer
            # A clock that is set back between runs changes no number: there is nothing to test.
            assert test == "–" or re.search(r"`[\w/]*test_\w+\.py|bench/\w+\.py", test), fault
