"""Writes tables as HTML files that stand alone: for the report, which shows them, and for a browser.

Nothing in them comes from elsewhere, and all text is escaped.
"""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from respeed.numbers import NO_INTERVAL
from respeed.records.files import write_text

STYLE = Path(__file__).with_name("page.css")
SCRIPT = Path(__file__).with_name("page.js")

# How page.css calls the fields of a kind.
_FIELDS = {"number": "number", "open": "number", "range": "range"}


@dataclass(frozen=True)
class Entry:
    """One field: its text, and what stands behind it in small type. `kind` is number, open (a number that has no
    interval), range, verdict or words."""

    text: str
    small: str = ""
    kind: str = "words"


@dataclass(frozen=True)
class Line:
    """One row, the first entry of which names it. `kind` is theirs, ours, missing, claim or detail."""

    entries: tuple[Entry, ...]
    kind: str


@dataclass(frozen=True)
class Page:
    """A page with one table. `groups` are its rows under a heading each, which may be empty; `notes` stand below it,
    `data` is the name of the file that has the same for other programs."""

    title: str
    caption: str
    head: tuple[str, ...]
    groups: tuple[tuple[str, tuple[Line, ...]], ...]
    notes: tuple[str, ...] = ()
    data: str = ""
    is_sortable: bool = True


def split_number(text: str) -> Entry:
    """A formatted number, with its interval in small type: 69.5 ±3 %. A text without a number is a text."""
    found = re.fullmatch(r"([\d,.]+x?)(?: (.*))?", text)
    if not found:
        return Entry(text)
    number, interval = found.groups()
    if interval == NO_INTERVAL:
        return Entry(number, kind="open")
    return Entry(number, interval or "", kind="number")


def write_page(path: Path, page: Page, stamp: str) -> None:
    """Write the page; a `stamp` stands above all else. Without a row there is no table, only the notes."""
    table = render_table(page) if any(lines for _, lines in page.groups) else ""
    script = f"<script>\n{SCRIPT.read_text(encoding='utf-8')}</script>\n" if table and page.is_sortable else ""
    data = f"<p>The same for other programs: {escape(page.data)}.</p>\n" if page.data else ""
    write_text(
        path,
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n"
        f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
        f"<h1>{escape(page.title)}</h1>\n"
        + (f'<p class="stamp">{escape(stamp)}</p>\n' if stamp else "")
        + (f'<div class="scroll">\n{table}</div>\n' if table else "")
        + "".join(f"<p>{escape(note)}</p>\n" for note in page.notes)
        + f"{data}{script}</body>\n</html>\n",
    )


def render_table(page: Page) -> str:
    """The table alone, as a part of another page."""
    numbers = _number_columns(page)
    head = "".join(_heading(text, place in numbers, page.is_sortable) for place, text in enumerate(page.head))
    groups = "".join(_group(title, lines, len(page.head)) for title, lines in page.groups if lines)
    return f"<table>\n<caption>{escape(page.caption)}</caption>\n<thead>\n<tr>{head}</tr>\n</thead>\n{groups}</table>\n"


def _number_columns(page: Page) -> set[int]:
    return {
        place
        for _, lines in page.groups
        for line in lines
        for place, entry in enumerate(line.entries)
        if entry.kind in {"number", "open"}
    }


def _heading(text: str, is_number: bool, is_sortable: bool) -> str:
    name = f'<button type="button">{escape(text)}</button>' if is_sortable else escape(text)
    return f'<th scope="col"{_classed("number" if is_number else "")}>{name}</th>'


def _group(title: str, lines: tuple[Line, ...], columns: int) -> str:
    heading = f'<tr><th scope="rowgroup" colspan="{columns}">{escape(title)}</th></tr>\n' if title else ""
    return f"<tbody>\n{heading}{''.join(_row(line) for line in lines)}</tbody>\n"


def _row(line: Line) -> str:
    name, *fields = line.entries
    cells = "".join(f"<td{_classed(_FIELDS.get(entry.kind, ''))}>{_content(entry)}</td>" for entry in fields)
    return f'<tr{_classed(line.kind)}><th scope="row">{_content(name)}</th>{cells}</tr>\n'


def _content(entry: Entry) -> str:
    text = escape(entry.text)
    if entry.kind in {"open", "verdict"}:
        text = f'<span class="{entry.kind}">{text}</span>'
    if not entry.small:
        return text
    kind = "words" if entry.kind in {"words", "verdict"} else ""
    return f"<span data-sort>{text}</span> <small{_classed(kind)}>{escape(entry.small)}</small>"


def _classed(name: str) -> str:
    return f' class="{name}"' if name else ""
