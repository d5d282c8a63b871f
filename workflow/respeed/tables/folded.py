"""A table in the paper's shape, for people: under headings, and with what was not measured in notes below it."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from respeed.numbers import NO_INTERVAL, Value
from respeed.tables.origins import Origin
from respeed.tables.published import PAPER, PublishedTable, Row
from respeed.text import join_words

NOTHING = "–"
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Line:
    """One row of numbers; `kind` is seconds or speedup. A value without a number is a dash, and its mark a note's."""

    label: str
    kind: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Group:
    """The rows of the paper (`is_theirs`), or of one machine."""

    heading: str
    lines: tuple[Line, ...]
    is_theirs: bool = False


@dataclass(frozen=True)
class Note:
    """Stands under the table; `mark` is empty where it is about no single number."""

    mark: str
    text: str


@dataclass(frozen=True)
class FoldedTable:
    """No row is without a number; `columns` are the cases in words. `stamp` says that no number is a measurement,
    where that is so."""

    stamp: str
    title: str
    unit: str
    reference: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[Note, ...]


def fold(
    table: PublishedTable, origins: Mapping[str, Origin], only: Collection[str] | None = None, stamp: str = ""
) -> FoldedTable:
    """The table of all machines, or of `only` those."""
    shown = table if only is None else table.only(only)
    marks: dict[str, str] = {}
    groups, unmeasured = [], []
    for source in dict.fromkeys(row.source for row in shown.rows):
        rows = [row for row in shown.rows if row.source == source]
        lines = tuple(_line(row, marks) for row in rows if not row.is_missing)
        if lines:
            groups.append(Group(_heading(source, table, origins), lines, source == PAPER))
        unmeasured += _unmeasured(rows, f" on {source}" if len(shown.machines) > 1 else "")
    texts = list(unmeasured)
    if any(value.interval == NO_INTERVAL for row in shown.rows for value in row.values):
        texts.append("A number of ours without ± has no interval: too few clean rounds.")
    if left_out := len(table.machines) - len(shown.machines):
        texts.append(f"The rows of {left_out} other machine{'s' * (left_out > 1)} are in {table.experiment}.csv.")
    notes = [Note(mark, f"{reason.rstrip('.')}.") for reason, mark in marks.items()]
    return FoldedTable(
        stamp=stamp,
        title=table.title,
        unit=f"{table.unit}, larger is better" if table.better == "larger" else table.unit,
        reference=table.reference,
        columns=table.columns,
        groups=tuple(groups),
        notes=(*notes, *(Note("", text) for text in texts)),
    )


def describe_machine(machine: str, origins: Mapping[str, Origin]) -> str:
    """A machine in a few words: box: A CPU, 2 cores, one accelerator."""
    if machine not in origins:
        return machine
    origin = origins[machine]
    cores = f"{origin.usable_cores} core{'s' * (origin.usable_cores != 1)}"
    return f"{machine}: {', '.join(filter(None, [origin.cpu, cores, origin.accelerators]))}"


def _heading(source: str, table: PublishedTable, origins: Mapping[str, Origin]) -> str:
    return f"As published: {table.reference}" if source == PAPER else f"On {describe_machine(source, origins)}"


def _label(row: Row) -> str:
    """The row in words; its package where these do not name it."""
    return row.architecture if row.package in row.architecture else f"{row.architecture}, {row.package}"


def _line(row: Row, marks: dict[str, str]) -> Line:
    """The row with a mark for every reason, numbered in the order in which they come."""
    values = []
    for value in row.values:
        if value.reason:
            mark = marks.setdefault(value.reason, str(len(marks) + 1))
            values.append(Value(NOTHING, mark=mark))
        else:
            values.append(replace(value, interval=value.interval.replace(NO_INTERVAL, "")))
    return Line(_label(row), row.kind, tuple(values))


def _unmeasured(rows: list[Row], where: str) -> list[str]:
    """A sentence for every reason that rows of one source are missing."""
    missing = [row for row in rows if row.is_missing]
    seconds = {row.values for row in missing if row.kind == "seconds"}
    labels: dict[str, list[str]] = defaultdict(list)
    for row in missing:
        # That there is no speedup without seconds goes without saying.
        if row.kind == "seconds" or row.values not in seconds:
            labels[_why(row)].append(_label(row))
    if labels and len(missing) == len(rows):
        # Nothing was measured: a list of everything says no more than this.
        most = max(labels, key=lambda reason: len(labels[reason]))
        del labels[most]
        labels[most] = ["every other row" if labels else "every row"]
    return [_sentence(found, reason, where) for reason, found in labels.items()]


def _why(row: Row) -> str:
    reasons = list(dict.fromkeys(value.reason for value in row.values))
    return reasons[0] if len(reasons) == 1 else f"{reasons[0]}; in other columns for other reasons"


def _sentence(labels: list[str], reason: str, where: str) -> str:
    rows = join_words(labels)
    if reason == f"{NOT_MEASURED} yet":
        return f"Not measured yet{where}: {rows}."
    if reason.startswith(f"{NOT_MEASURED}: "):
        return f"Not measured{where}: {rows} ({reason.removeprefix(f'{NOT_MEASURED}: ')})."
    return f"Without a time{where}: {rows} ({reason})."
