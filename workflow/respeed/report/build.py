"""Compiles the report."""

import datetime
from collections.abc import Collection
from pathlib import Path
from typing import Any

import typst

from respeed.errors import UserError
from respeed.records.store import replacing, write_json
from respeed.report.facts import gather_facts
from respeed.report.letters import with_letters_only
from respeed.schedule.selection import machines_in_full
from respeed.tables.build import make_tables
from respeed.tables.others import read_others

TEMPLATE = Path("report/report.typ")
# With no fonts but those that Typst carries.
FORM: dict[str, Any] = {"format": "pdf", "ignore_system_fonts": True, "pdf_standards": ["a-2a", "ua-1"]}


def build_report(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> Path:
    """Write report/report.pdf, or report/smoke.pdf, from the records and figures that exist; returns its path.

    All machines stand in it in full while they are few, or else `machine`, and all others in a row each
    (see schedule.selection)."""
    if not TEMPLATE.exists():
        raise UserError(f"{TEMPLATE}: not found; run this in the project's folder")
    name = "smoke" if smoke else "report"
    facts = Path("report/facts") / f"{name}.json"
    in_full = machines_in_full(smoke, machine)
    gathered = gather_facts(make_tables(smoke, in_full, papers), read_others(smoke, in_full))
    write_json(facts, with_letters_only(gathered, **FORM))
    output = TEMPLATE.parent / f"{name}.pdf"
    try:
        document = _compile(facts)
    except typst.TypstError as error:
        raise UserError(f"{TEMPLATE}: {error}; were the figures drawn? (respeed figures)") from None
    with replacing(output) as file:
        file.write(document)
    return output


def _compile(facts: Path) -> bytes:
    # The same records give the same bytes: no time of building.
    document: bytes = typst.compile(
        TEMPLATE,
        root=Path.cwd(),
        **FORM,
        sys_inputs={"facts": f"/{facts}"},
        timestamp=int(datetime.datetime(2009, 6, 14, tzinfo=datetime.UTC).timestamp()),
    )
    return document
