"""respeed claims: what each paper claims, and whether it holds on a machine."""

import shutil
import textwrap
from typing import Any

from respeed.analysis.claims import summarize
from respeed.analysis.columns import rows_of
from respeed.errors import UserError, nearest
from respeed.inputs.config import load_config
from respeed.machine.description import machine_slug
from respeed.protocol import SMOKE_STAMP
from respeed.records.store import recorded_machines
from respeed.tables.build import make_tables

# Lines are as wide as the terminal, but not so wide that nobody reads them.
WIDEST = 100


def show_claims(smoke: bool, machine: str | None) -> None:
    """Print each claim with what was published, what came out, and the verdict; then how firm the numbers are."""
    there = recorded_machines(smoke)
    if machine and machine not in there:
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    name = machine or load_config(strict=False).machine or machine_slug()
    if name not in there:
        print(f"nothing has been measured on {name} yet: ./run snakemake --cores all")
        return
    tables = make_tables(smoke, [name])
    if smoke:
        print(SMOKE_STAMP)
    for paper in tables.papers.values():
        judged = [one for one in rows_of(tables.claims) if one.paper == paper.name and not one.case]
        came_out, firmness = summarize(name, paper, tables.cell_frame, tables.claims)
        print(f"\n{paper.title} ({paper.venue} {paper.year}), on {name}\n")
        # What this machine has an answer to leads.
        for one in sorted(judged, key=lambda one: not one.here):
            print("\n".join(_lines(one)))
        print(_wrapped(firmness or came_out))


def _lines(one: Any) -> list[str]:
    numbers = ", ".join(f"{who} {text}" for who, text in (("published", one.published), ("here", one.here)) if text)
    lines = [_wrapped(one.says), _wrapped(": ".join(filter(None, [one.verdict, numbers])), "    ")]
    lines += [_wrapped(text, "    ") for text in (one.reason, one.instead) if text]
    return [*lines, ""]


def _wrapped(text: str, indent: str = "") -> str:
    width = min(WIDEST, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
