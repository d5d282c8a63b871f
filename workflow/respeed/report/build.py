"""Compiles the report."""

import datetime
import json
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import typst

from respeed.errors import UserError
from respeed.figures.results import load_results
from respeed.records.store import replacing, write_json
from respeed.report.context import make_context

TEMPLATE = Path("report/report.typ")
# With no fonts but those that Typst carries.
FORM: dict[str, Any] = {"format": "pdf", "ignore_system_fonts": True, "pdf_standards": ["a-2a", "ua-1"]}


def build_report(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> Path:
    """Write report/report.pdf, or report/smoke.pdf, from the tables and figures that exist; returns its path.

    All machines stand in it in full while they are few, or else `machine`, and all others in a row each
    (see schedule.selection)."""
    if not TEMPLATE.exists():
        raise UserError(f"{TEMPLATE}: not found; run this in the project's folder")
    name = "smoke" if smoke else "report"
    facts = Path("report/facts") / f"{name}.json"
    write_json(facts, with_letters_only(make_context(load_results(smoke, machine, papers))))
    output = TEMPLATE.parent / f"{name}.pdf"
    try:
        document = _compile(facts)
    except typst.TypstError as error:
        raise UserError(f"{TEMPLATE}: {error}; were the figures drawn? (respeed figures)") from None
    with replacing(output) as file:
        file.write(document)
    return output


def _compile(facts: Path) -> bytes:
    # The same tables give the same bytes: no time of building.
    document: bytes = typst.compile(
        TEMPLATE,
        root=Path.cwd(),
        **FORM,
        sys_inputs={"facts": f"/{facts}"},
        timestamp=int(datetime.datetime(2009, 6, 14, tzinfo=datetime.UTC).timestamp()),
    )
    return document


# Beyond so many different letters they are not tried one by one.
MOST_TRIED = 100
# What stands for a letter that no face has, as in the LaTeX tables.
INSTEAD = "?"
_PROBE = '#set document(title: "letters")\n#for one in json("letters.json") [#one ]\n'


def with_letters_only(facts: Any) -> Any:
    """The facts with a question mark for every letter that the report's faces have not got: a PDF that can be read
    aloud may hold no other."""
    doubtful = sorted({letter for letter in json.dumps(facts, ensure_ascii=False) if not letter.isascii()})
    if not doubtful:
        return facts
    with tempfile.TemporaryDirectory() as folder:
        missing = _missing(doubtful, Path(folder)) if len(doubtful) <= MOST_TRIED else doubtful
    return _replace(facts, str.maketrans(dict.fromkeys(missing, INSTEAD))) if missing else facts


def _missing(letters: list[str], folder: Path) -> list[str]:
    """Halved until those that fail are alone: as a rule there is none."""
    if _shows(letters, folder):
        return []
    if len(letters) == 1:
        return letters
    middle = len(letters) // 2
    return [*_missing(letters[:middle], folder), *_missing(letters[middle:], folder)]


def _shows(letters: Iterable[str], folder: Path) -> bool:
    (folder / "letters.typ").write_text(_PROBE, encoding="utf-8")
    (folder / "letters.json").write_text(json.dumps(list(letters)), encoding="utf-8")
    try:
        typst.compile(folder / "letters.typ", **FORM)
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
