"""The report: one JSON file of facts, typeset by Typst. Every number in the report comes from a data file."""

import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any

import typst

from respeed.errors import UserError
from respeed.output import load_results
from respeed.output.table import to_typst
from respeed.paths import ROOT, replacing, write_json
from respeed.report.context import make_context
from respeed.shown import Asked
from respeed.text import visible

TEMPLATE = ROOT / "report" / "report.typ"
# With Typst's own fonts alone.
FORM: dict[str, Any] = {"format": "pdf", "ignore_system_fonts": True, "pdf_standards": ["a-2a", "ua-1"]}
# A fixed date, so that the same tables give the same bytes.
NO_DAY = int(datetime.datetime(2009, 6, 14, tzinfo=datetime.UTC).timestamp())
# More different letters than this are not tried one by one.
MOST_TRIED = 100
PROBE = '#set document(title: "letters")\n#for one in json(bytes(sys.inputs.letters)) [#one ]\n'


def build_report(choice: Asked) -> Path:
    """Write report/report.pdf, or report/smoke.pdf, from the tables and figures that exist; return its path.

    Raises UserError if Typst fails.
    """
    document = Path("report/smoke.pdf" if choice.smoke else "report/report.pdf")
    facts = Path("report/facts") / f"{document.stem}.json"
    write_json(facts, with_letters_only(make_context(load_results(choice))))
    # Typst reads only below one folder. If this workflow is a module of another, results lie beside the other one.
    root = Path(os.path.commonpath([ROOT, Path.cwd()]))
    folder = Path("/") / Path.cwd().relative_to(root)
    inputs = {"here": str(folder), "facts": str(folder / facts)}
    try:
        content = typst.compile(TEMPLATE, root=root, sys_inputs=inputs, timestamp=NO_DAY, **FORM)
    except typst.TypstError as error:
        raise UserError(f"{TEMPLATE}: {error}; were the figures drawn? (respeed report --only figures)") from None
    with replacing(document) as file:
        file.write(content)
    return document


def with_letters_only(facts: Any) -> Any:
    """Return the facts with a question mark for every letter that the report's faces lack.

    PDF/UA allows only letters that a face has. If there are more than MOST_TRIED different letters beyond ASCII, all
    letters beyond ASCII are replaced.
    """
    text = json.dumps(facts, ensure_ascii=False, default=to_typst)
    doubtful = sorted({letter for letter in text if not letter.isascii()})
    if _are_shown(doubtful):  # as a rule
        return json.loads(text)
    if len(doubtful) <= MOST_TRIED:
        doubtful = [letter for letter in doubtful if not _are_shown([letter])]
    print(visible(f"respeed: ? in the report stands for each of {' '.join(doubtful)}"), file=sys.stderr)
    unknown = dict.fromkeys(map(ord, doubtful), "?")
    return json.loads(text.translate(unknown))


def _are_shown(letters: list[str]) -> bool:
    try:
        typst.compile(PROBE.encode(), sys_inputs={"letters": json.dumps(letters)}, **FORM)
    except typst.TypstError:
        return False
    return True
