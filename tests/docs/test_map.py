"""The picture of the packages in CONTRIBUTING.md is that of the imports. `python -m tests.docs.test_map` draws it."""

import re
from itertools import permutations

import grimp

from respeed.paths import ROOT

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


def test_the_picture_of_the_packages_is_that_of_the_imports() -> None:
    found = PICTURE.search(CONTRIBUTING.read_text(encoding="utf-8"))
    assert found, "no picture"
    assert found[0] == draw(), "draw it again: ./run python -m tests.docs.test_map"


if __name__ == "__main__":
    text = CONTRIBUTING.read_text(encoding="utf-8")
    CONTRIBUTING.write_text(PICTURE.sub(lambda _: draw(), text), encoding="utf-8")
