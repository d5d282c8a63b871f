"""A table in the paper's own shape, theirs and then ours: one long frame, with a row for each number.

    row           of the table, counted from 0: the paper's first, then of each machine times and speedups
    source        paper, or the machine
    kind          seconds, in whatever unit these are shown, or speedup
    package, architecture    what the row is called
    case          its column
    text, interval           the number; both empty where there is none
    reason        why there is none; empty where the paper just prints none

results/tables/<paper>/<experiment>.csv has all of it. `fold` makes of it what people read: rows without any number
become notes, and so do single reasons.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.analysis.cells import PAPER, across_precisions, in_unit, label_row, reference, words_of_unit
from respeed.analysis.columns import TABLES, rows_of, write_csv
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.speedups import published_speedup
from respeed.model.paper import Experiment, Paper
from respeed.text import NO_INTERVAL, NOTHING, Value, format_speedup, group_thousands, join_words, measured_value

NOT_MEASURED = "not measured"
COLUMNS = ["row", "source", "kind", "package", "architecture", "case", "text", "interval", "reason"]


def make_published(
    paper: Paper, experiment: Experiment, cells: pd.DataFrame, speedups: pd.DataFrame, smoke: bool
) -> pd.DataFrame:
    """The table of one experiment, of cells.csv and speedups.csv, whatever else is in them. A row in another precision
    than fp32 is there if any of it was measured."""
    cases = experiment.case_names(smoke)
    cells, speedups = (
        frame[(frame["paper"] == paper.name) & (frame["experiment"] == experiment.name)] for frame in (cells, speedups)
    )
    both = cells.merge(speedups, on=TABLES["cells"].key, suffixes=("", "_speedup"), validate="1:1")
    ours = sorted(_ours(experiment, both), key=lambda row: row[2:4])
    rows = pd.DataFrame([*_theirs(paper, experiment, cases), *ours], columns=["name", "precision", *COLUMNS[1:]])
    rows["row"] = rows.groupby(["source", "kind", "name", "architecture"], sort=False).ngroup()
    rows = rows[rows["precision"].isin(["", FULL_PRECISION]) | _is_measured(rows)]
    place = rows["case"].map({case: place for place, case in enumerate(cases)})
    return rows.assign(place=place).sort_values(["row", "place"])[COLUMNS]


def _is_measured(table: pd.DataFrame) -> pd.Series:
    """Whether the row that a number belongs to has any."""
    return (table["text"] != "").groupby(table["row"]).transform("any")


def _theirs(paper: Paper, experiment: Experiment, cases: Collection[str]) -> Iterator[tuple[str, ...]]:
    """As it was printed; a speedup that was not, as what the printed numbers come to."""
    for row in paper.rows:
        label = label_row(paper, row)
        for case in cases:
            if printed := paper.printed(experiment.name, case, row.name):
                yield row.name, "", PAPER, "seconds", row.package, label, case, group_thousands(printed.text), "", ""
    bases = (paper.fastest(experiment.name, case, paper.cpu_rows) for case in cases)
    precisions = list(dict.fromkeys(base.precision for base in bases if base))
    for row in (row for row in paper.rows if not row.is_cpu):
        words = filter(None, [label_row(paper, row), across_precisions(row.precision, precisions)])
        label = f"Speedup over fastest CPU ({', '.join(words)})"
        for case in cases:
            ratio = paper.printed_speedup(experiment.name, case, row.name)
            made = published_speedup(paper, experiment.name, case, row.name)
            if text := f"{ratio.text}x" if ratio else format_speedup(made):
                yield row.name, "", PAPER, "speedup", "", label, case, text, "", ""


def _ours(experiment: Experiment, cells: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    for cell in rows_of(cells):
        name = f"{cell.profile} {cell.algorithm}" if experiment.algorithms else cell.profile
        time, why = measured_value(*in_unit(cell, experiment.unit)), _why_no_time(cell)
        yield (name, cell.precision, cell.machine, "seconds", cell.package, cell.label, cell.case, time.text,
               time.interval, "" if time.text else why)  # fmt: skip
        if not cell.is_cpu:
            ratio = measured_value(cell.speedup, cell.speedup_low, cell.speedup_high, unit="x")
            why = _not_measured(cell.reason_speedup) if cell.seconds else why
            label = f"Speedup over fastest CPU ({cell.label})"
            yield (name, cell.precision, cell.machine, "speedup", "", label, cell.case, ratio.text, ratio.interval,
                   "" if ratio.text else why)  # fmt: skip


def _why_no_time(cell: Any) -> str:
    if cell.seconds:
        return "not known: nobody counts what this program does"
    return _not_measured(cell.reason) if cell.status == "not-run" else f"{cell.status}: {cell.reason}"


def _not_measured(reason: str) -> str:
    return reason if reason.startswith(NOT_MEASURED) else f"{NOT_MEASURED}: {reason}"


def _wide(
    table: pd.DataFrame, index: list[str], cases: Collection[str], values: Iterable[Any], missing: Any
) -> pd.DataFrame:
    """A row for each row of the table, which `index` tells of, and a column a case."""
    keyed = table.assign(value=pd.Series(list(values), table.index, dtype=object))
    found = keyed.set_index(["row", *index, "case"])["value"].unstack().reindex(columns=list(cases))
    return found.where(found.notna(), missing).droplevel("row")


def write_published_csv(table: pd.DataFrame, path: Path, cases: Collection[str]) -> None:
    """Write the table: number and interval as one text, or the reason that there is none."""
    plain = (table["text"] + " " + table["interval"]).str.strip().where(table["text"] != "", table["reason"])
    write_csv(_wide(table, ["source", "package", "architecture"], cases, plain, "").reset_index(), path)


@dataclass(frozen=True)
class Note:
    """Stands under a table; `mark` is empty where it is about no single number."""

    mark: str
    text: str


@dataclass(frozen=True)
class FoldedTable:
    """A table for people. `numbers` is a frame of Values: columns are the cases in words, the index has source,
    heading, kind and label; no row is without a number. `stamp` says that none is a measurement, where that is so."""

    stamp: str
    title: str
    unit: str
    reference: str
    numbers: pd.DataFrame
    notes: tuple[Note, ...]

    def as_json(self) -> dict[str, Any]:
        """For the report, which sets it in types of its own."""
        names = ("kind", "label", "values")
        return {
            "reference": self.reference,
            "has_theirs": PAPER in self.numbers.index.get_level_values("source"),
            "columns": list(self.numbers),
            "groups": [
                {"heading": heading, "lines": [dict(zip(names, line, strict=True)) for line in lines]}
                for heading, lines in groups_of(self.numbers.map(asdict))
            ],
            "notes": [asdict(note) for note in self.notes],
        }


def groups_of(numbers: pd.DataFrame) -> list[tuple[str, list[tuple[str, str, list[Any]]]]]:
    """Kind, label and values of each line under its heading."""
    lines = zip(numbers.index, numbers.to_numpy(dtype=object).tolist(), strict=True)
    return [
        (heading, [(kind, label, values) for (_, _, kind, label), values in mine])
        for (_, heading), mine in groupby(lines, key=lambda line: line[0][:2])
    ]


def fold(
    table: pd.DataFrame,
    paper: Paper,
    experiment: Experiment,
    smoke: bool,
    summaries: Mapping[str, str],
    only: Collection[str] | None = None,
    stamp: str = "",
) -> FoldedTable:
    """The table of all machines, or of `only` those, for people: rows without a number are notes."""
    shown = table if only is None else table[table["source"].isin([PAPER, *only])]
    shown = shown.assign(
        label=[
            label if package in label else f"{label}, {package}"
            for label, package in zip(shown["architecture"], shown["package"], strict=True)
        ],
        heading=[
            f"As published: {reference(paper)}" if source == PAPER else f"On {describe_machine(source, summaries)}"
            for source in shown["source"]
        ],
    )
    measured = _is_measured(shown)
    fields = shown.loc[measured, ["text", "interval", "reason"]].itertuples(index=False, name=None)
    marks: dict[str, str] = {}
    values = [
        Value(NOTHING, mark=marks.setdefault(reason, str(len(marks) + 1)))
        if reason
        else Value(text, interval.replace(NO_INTERVAL, ""))
        for text, interval, reason in fields
    ]
    cases, named = experiment.case_names(smoke), ["source", "heading", "kind", "label"]
    numbers = _wide(shown[measured], named, cases, values, Value()).set_axis(_columns(experiment, cases), axis=1)
    notes = [Note(mark, f"{reason.rstrip('.')}.") for reason, mark in marks.items()]
    larger = ", larger is better" if experiment.unit.better == "larger" else ""
    return FoldedTable(
        stamp=stamp,
        title=experiment.title,
        unit=f"{words_of_unit(experiment)}{larger}",
        reference=reference(paper),
        numbers=numbers,
        notes=(*notes, *(Note("", text) for text in _remarks(shown, measured))),
    )


def summaries_of(facts: pd.DataFrame) -> dict[str, str]:
    """Return of each machine of facts.csv what it is in a few words: A CPU, 2 cores, one accelerator."""
    summary = facts[facts["part"] == "summary"]
    return dict(zip(summary["machine"], summary["value"], strict=True))


def describe_machine(machine: str, summaries: Mapping[str, str]) -> str:
    """Return a machine with what it is: box: A CPU, 2 cores, one accelerator."""
    return f"{machine}: {summaries[machine]}" if machine in summaries else machine


def _columns(experiment: Experiment, cases: Iterable[str]) -> list[str]:
    """The printed column that a case answers, or if several answer one, the case's own name."""
    printed = {case: experiment.columns.get(case, "") for case in cases}
    many = Counter(printed.values())
    # Between two numbers a hyphen is a part of the size, as in 784-500-10.
    words = {case: re.sub(r"(?<!\d)-|-(?!\d)", " ", case) for case in printed}
    return [column if column and many[column] == 1 else words[case] for case, column in printed.items()]


def _remarks(shown: pd.DataFrame, measured: pd.Series) -> Iterator[str]:
    """Notes about no single number: what is not there, and why."""
    machines = set(shown["source"]) - {PAPER}
    for source, mine in shown[~measured].groupby("source", sort=False):
        rows = [
            (str(row["kind"].iat[0]), str(row["label"].iat[0]), tuple(row["reason"])) for _, row in mine.groupby("row")
        ]
        is_all = not (shown.loc[measured, "source"] == source).any()
        yield from _unmeasured(rows, is_all, f" on {source}" if len(machines) > 1 else "")
    if (shown["interval"] == NO_INTERVAL).any():
        yield "A number of ours without ± has no interval: too few clean rounds."


def _unmeasured(rows: list[tuple[str, str, tuple[str, ...]]], is_all: bool, where: str) -> Iterator[str]:
    """A sentence for every reason that rows of one source are missing, of each its kind, label, and reason a case."""
    seconds = {reasons for kind, _, reasons in rows if kind == "seconds"}
    labels: dict[str, list[str]] = defaultdict(list)
    for kind, label, reasons in rows:
        # That there is no speedup without seconds goes without saying.
        if kind == "seconds" or reasons not in seconds:
            others = "; in other columns for other reasons" if len(set(reasons)) > 1 else ""
            labels[reasons[0] + others].append(label)
    if labels and is_all:
        # Nothing was measured: a list of everything says no more than this.
        most = max(labels, key=lambda reason: len(labels[reason]))
        del labels[most]
        labels[most] = ["every other row" if labels else "every row"]
    for reason, found in labels.items():
        what, why = "Not measured", f" ({reason.removeprefix(f'{NOT_MEASURED}: ')})"
        if reason == f"{NOT_MEASURED} yet":
            what, why = "Not measured yet", ""
        elif not reason.startswith(f"{NOT_MEASURED}: "):
            what = "Without a time"
        yield f"{what}{where}: {join_words(found)}{why}."
