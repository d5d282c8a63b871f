"""The picture of the packages in CONTRIBUTING.md is that of the imports."""

import re
from itertools import permutations

import grimp
import pytest

from respeed.paths import ROOT
from tests.known import assert_known

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PICTURE = re.compile(r"(?<=```mermaid\n)flowchart TD\n.*?(?=```)", re.DOTALL)


def draw() -> str:
    """Draw an arrow from each package or module of the top to those that it imports, but for what others imply."""
    graph = grimp.build_graph("respeed", cache_dir=None)
    parts = sorted(graph.find_children("respeed"))
    for part in parts:
        graph.squash_module(part)
    below = {part: graph.find_modules_directly_imported_by(part) & {*parts} - {part} for part in parts}
    every = {part: graph.find_upstream_modules(part) for part in parts}
    arrows = [
        (part, one)
        for part, one in permutations(parts, 2)
        if one in below[part] and not any(one in every[other] - {other} for other in below[part] - {one})
    ]
    lines = (f"    {part.rpartition('.')[2]} --> {one.rpartition('.')[2]}\n" for part, one in arrows)
    return "flowchart TD\n" + "".join(lines)


@pytest.mark.known
def test_the_picture_shows_the_packages_imports() -> None:
    picture = draw()
    text, count = PICTURE.subn(lambda _: picture, CONTRIBUTING.read_text(encoding="utf-8"))
    assert count == 1
    assert_known(CONTRIBUTING, text)
