"""Mistakes to plant into files of the package, as files say them: mistakes.txt, and on_a_gpu.txt for the pretended GPU.

`@ FILE: TEST ...` stands before the mistakes of a file; of each, lines with `- ` are a piece of the file, lines with
`+ ` what is planted in its place.
"""

import re
from pathlib import Path
from typing import NamedTuple


class Mistake(NamedTuple):
    """`old`, a piece of a file of the package, becomes `new`; one of the `tests` must fail then."""

    file: str
    old: str
    new: str
    tests: list[str]


def read_mistakes(name: str) -> list[Mistake]:
    text, found = Path(__file__).with_name(name).read_text(encoding="utf-8"), []
    for part in re.split(r"^@ ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        file, _, tests = head.partition(": ")
        for pieces in re.findall(r"((?:^- .*\n)+)((?:^\+ .*\n)+)", body, re.MULTILINE):
            old, new = ("\n".join(line[2:] for line in piece.splitlines()) for piece in pieces)
            found.append(Mistake(file, old, new, tests.split()))
    return found
