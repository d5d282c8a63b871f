"""Compiles the report."""

import datetime
from pathlib import Path

import typst

from respeed.model.errors import UserError
from respeed.record.files import write_json
from respeed.report.facts import gather_facts
from respeed.tables.build import make_tables

TEMPLATE = Path("report/report.typ")


def build_report(smoke: bool) -> Path:
    """Write report/report.pdf, or report/smoke.pdf, from the records and figures that exist; returns its path."""
    if not TEMPLATE.exists():
        raise UserError(f"{TEMPLATE}: not found; run this in the project's folder")
    name = "smoke" if smoke else "report"
    facts = Path("report/facts") / f"{name}.json"
    write_json(facts, gather_facts(make_tables(smoke)))
    output = TEMPLATE.parent / f"{name}.pdf"
    part = output.with_suffix(".pdf.part")
    try:
        _compile(facts, part)
    except typst.TypstError as error:
        raise UserError(f"{TEMPLATE}: {error}; were the figures drawn? (respeed figures)") from None
    part.replace(output)
    return output


def _compile(facts: Path, output: Path) -> None:
    # The same records give the same bytes: no time of building, no fonts but those that Typst carries.
    typst.compile(
        TEMPLATE,
        output=output,
        root=Path.cwd(),
        format="pdf",
        ignore_system_fonts=True,
        sys_inputs={"facts": f"/{facts}"},
        timestamp=int(datetime.datetime(2009, 6, 14, tzinfo=datetime.UTC).timestamp()),
        pdf_standards=["a-2a", "ua-1"],
    )
