"""The letters that the report's faces have: a PDF that can be read aloud may hold no other."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typst

# Beyond so many different ones they are not tried one by one.
MOST_TRIED = 100
# What stands for a letter that no face has, as in the LaTeX tables.
INSTEAD = "?"
_PROBE = '#set document(title: "letters")\n#for one in json("letters.json") [#one ]\n'


def with_letters_only(facts: Any, **how: Any) -> Any:
    """The facts with a question mark for every letter that Typst, told `how` to compile, has no picture of."""
    doubtful = sorted({letter for letter in json.dumps(facts, ensure_ascii=False) if not letter.isascii()})
    if not doubtful:
        return facts
    with tempfile.TemporaryDirectory() as folder:
        missing = _missing(doubtful, Path(folder), how) if len(doubtful) <= MOST_TRIED else doubtful
    return _replace(facts, str.maketrans(dict.fromkeys(missing, INSTEAD))) if missing else facts


def _missing(letters: list[str], folder: Path, how: dict[str, Any]) -> list[str]:
    """Halved until those that fail are alone: as a rule there is none."""
    if _shows(letters, folder, how):
        return []
    if len(letters) == 1:
        return letters
    middle = len(letters) // 2
    return [*_missing(letters[:middle], folder, how), *_missing(letters[middle:], folder, how)]


def _shows(letters: Iterable[str], folder: Path, how: dict[str, Any]) -> bool:
    (folder / "letters.typ").write_text(_PROBE, encoding="utf-8")
    (folder / "letters.json").write_text(json.dumps(list(letters)), encoding="utf-8")
    try:
        typst.compile(folder / "letters.typ", **how)
    except typst.TypstError:
        return False
    return True


def _replace(facts: Any, table: dict[int, str]) -> Any:
    match facts:
        case str():
            return facts.translate(table)
        case dict():
            return {key: _replace(value, table) for key, value in facts.items()}
        case list() | tuple():
            return [_replace(value, table) for value in facts]
    return facts
