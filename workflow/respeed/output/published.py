"""A table in the paper's shape: the paper's rows, then each machine's rows and speedups, and notes below.

A line without any number is left out and named in a note. In all other lines, a field without a number has the mark of
a note with the reason.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from respeed.analysis.cells import across_precisions, in_unit, label_row, reference, words_of_unit
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.expected import SLOW
from respeed.analysis.pairs import times_least
from respeed.analysis.speedups import published_speedup
from respeed.analysis.tables import Cell, CellRow, Factors, Speedup, group_by
from respeed.analysis.why import OVER_THEIR_GPU
from respeed.model import SECONDS, Experiment, Paper
from respeed.output.results import Results
from respeed.output.table import Line, Table, capitalized
from respeed.text import (
    NOTHING,
    Value,
    format_number,
    format_share,
    format_speedup,
    group_thousands,
    in_words,
    join_words,
    measured_time,
    measured_value,
)

# At most this many cells are named for one reason.
NAMED = 3
# A time is shown as measured as well, if it was more than this many times the time beside a quiet probe.
MUCH_LONGER = 1.2
# If a speedup differs by more than this from the ratio of the seconds shown, it looks like a mistake.
NOTICED = 0.005
DAY = 86400.0
Cells = Sequence[Cell]


def lay_out_published(results: Results, paper: Paper, experiment: Experiment) -> Table:
    """Return a table in the paper's shape. At tiny sizes, the paper's numbers have columns of their own."""
    cells = results.rows(Cell, paper=paper.name, experiment=experiment.name)
    speedups = results.rows(Speedup, paper=paper.name, experiment=experiment.name)
    words = _headings(experiment)
    lines = _published_lines(paper, experiment)
    remarks: list[str] = []
    for machine in results.machines:
        on_machine = [cell for cell in cells if cell.machine == machine]
        group = f"On {results.describe(machine)}"
        without: list[Line] = []
        for line in _measured_lines(paper, experiment, group, on_machine, speedups):
            is_empty = all(value.reason for value in line.values.values())
            (without if is_empty else lines).append(line)
        on = results.on(machine)
        remarks += _unmeasured(on_machine, without, on)
        remarks += _beside_neighbours(paper, experiment, on_machine, on)
        if paper.rows and not results.smoke:
            remarks += _slower(experiment, on_machine, on)
            remarks += _unexpected(experiment, on_machine, on)
    remarks += _remarks(cells, speedups)
    remarks += _days(results, paper, experiment)
    label = f"tab:{paper.name}-{experiment.name}"
    caption = _caption(paper, experiment)
    return Table(experiment.title, caption, words, lines, remarks, label=label, has_cases=True)


def _headings(experiment: Experiment) -> dict[str, str]:
    """Return the headings of the cases; at tiny sizes, the paper's cases come first."""
    words = experiment.column_words()
    if experiment.original:
        words = experiment.original.column_words() | words
    return words


def _caption(paper: Paper, experiment: Experiment) -> str:
    """Return the caption of a table: the unit and work of its numbers, and what ± means."""
    unit = words_of_unit(experiment)
    if _is_free(paper, experiment):
        unit = unit.replace(SECONDS.name, "time", 1)
    if experiment.is_extrapolated:
        unit += ", scaled from the mean step"
    if experiment.unit.counted:
        unit += ", larger is better"
    sentences = [f"{capitalized(unit)}."]
    if experiment.axis:
        sentences.append(f"Cases: {experiment.axis}.")
    if paper.rows and not experiment.published:
        sentences.append(f"{reference(paper)} prints no such table.")
    sentences.append("±: 95 % intervals (of speedups, 97 %); ours without one had too few clean rounds.")
    return " ".join(sentences)


def _is_free(paper: Paper, experiment: Experiment) -> bool:
    """Return whether our times may be in any unit: the table is in seconds, and the paper prints no number of it."""
    return experiment.unit == SECONDS and not experiment.published


def _label_speedup(label: str, precisions: str) -> str:
    return f"Speedup over fastest CPU ({', '.join(filter(None, [label, precisions]))})"


def _published_lines(paper: Paper, experiment: Experiment) -> list[Line]:
    """Return the paper's lines: its printed numbers, then its speedups, printed or computed from printed numbers."""
    group = f"As published: {reference(paper)}"
    numbers = []
    speedups: dict[str, Line] = {}
    for row in paper.rows.values():
        label = with_package(label_row(paper, row), row.package)
        line = Line(group, label, {}, "theirs")
        numbers.append(line)
        for case in (experiment.original or experiment).case_names():
            if printed := experiment.printed(case, row.name):
                line.values[case] = Value(group_thousands(printed.text))
            published = published_speedup(paper, experiment, case, row.name)
            if published and not row.is_cpu:
                base = experiment.fastest(case, paper.cpu_rows)
                over = _label_speedup(
                    label, across_precisions(row.precision, paper.rows[base].precision if base else "")
                )
                speedup = speedups.setdefault(over, Line(group, over, {}, "theirs", is_ratio=True))
                speedup.values[case] = Value(published.text)
    return [line for line in (*numbers, *speedups.values()) if line.values]


def with_package(label: str, package: str) -> str:
    """Return the label of a row with its package, unless it names it."""
    return label if package in label else f"{label}, {package}"


def _measured_lines(
    paper: Paper, experiment: Experiment, group: str, cells: Cells, speedups: Sequence[Speedup]
) -> list[Line]:
    """Return the lines of a machine: the times or rates of each row, then the speedups of those on an accelerator.

    A row in another precision than the table's is left out if it has no time. The last line has the speedups of the
    machine's fastest row over the paper's.
    """
    precision = experiment.precision or FULL_PRECISION
    by_key = {speedup.key: speedup for speedup in speedups}
    lines = []
    ratios = []
    for (_, label), row in group_by(cells, attrgetter("profile", "label")).items():
        first = row[0]
        timed = [cell for cell in row if cell.seconds]
        if timed or first.precision == precision:
            times = {cell.case: _time(paper, experiment, cell) for cell in row}
            lines.append(Line(group, with_package(label, first.package), times))
        if timed and not first.is_cpu:
            over = _label_speedup(label, across_precisions(first.precision, precision))
            values = {cell.case: _ratio(by_key[cell.key]) for cell in timed}
            ratios.append(Line(group, over, values, is_ratio=True))
    alike = [cell for cell in cells if cell.seconds and cell.precision == precision]
    fastest = _fastest_line(paper, experiment, group, alike)
    return [*lines, *ratios, *fastest]


def _time(paper: Paper, experiment: Experiment, cell: Cell) -> Value:
    """Return the time or rate of a cell."""
    if _is_free(paper, experiment):
        value = measured_time(cell.seconds, cell.seconds_low, cell.seconds_high)
    else:
        value = measured_value(*in_unit(cell, experiment.unit))
    reason = cell.reason
    if cell.seconds:
        reason = "not known: the work of this program is not counted"
    elif cell.status not in ("due", "cannot-run"):
        reason = f"{cell.status}: {reason}"
    return _field(value, cell, cell.seconds_low, reason)


def _ratio(row: Speedup) -> Value:
    """Return the speedup of a cell over the fastest CPU row."""
    value = measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x")
    return _field(value, row, row.speedup_low, row.reason)


def _field(value: Value, row: CellRow, low: float | None, reason: str) -> Value:
    """Return a number with its cell, or the reason for a missing one.

    Nothing stands in place of a missing interval, since the caption says that for all.
    """
    if not value.text:
        return Value(NOTHING, reason=f"{reason.rstrip('.')}.")
    return Value(value.text, value.interval if low else "", source=" ".join(row.key))


def _fastest_line(paper: Paper, experiment: Experiment, group: str, cells: Cells) -> Iterator[Line]:
    """Yield the speedups of the fastest of a machine's cells over the paper's fastest row, if there are any.

    The speedup's interval is from our time alone.
    """
    values = {}
    bases = set()
    # Of each case the fastest cell comes last, and stays.
    for cell in sorted(cells, key=attrgetter("seconds"), reverse=True):
        fastest = experiment.fastest(cell.case, paper.rows)
        seconds = experiment.seconds(cell.case, fastest, cell.flops, cell.traffic_bytes)
        if seconds:
            base = paper.rows[fastest]
            speedup = cell.time.over(seconds)
            value = measured_value(speedup.value, speedup.low, speedup.high, unit="x")
            values[cell.case] = value if speedup.low else Value(value.text)
            precisions = across_precisions(cell.precision, base.precision)
            bases.add(", ".join(filter(None, [label_row(paper, base), precisions])))
    if values:
        base_label = bases.pop() if len(bases) == 1 else "fastest row"
        yield Line(group, f"Fastest here over the paper's {base_label}", values, is_ratio=True)


# Notes.


def _unmeasured(cells: Cells, lines: Sequence[Line], on: str) -> Iterator[str]:
    """Yield a sentence for every reason why a machine's `lines` have no number; `on` says on which machine."""
    due = {f"{cell.reason}." for cell in cells if cell.status == "due"}
    for reason, alike in group_by(lines, lambda line: next(iter(line.values.values())).reason).items():
        words = "yet" if reason in due else f"({reason.rstrip('.')})"
        labels = dict.fromkeys(line.label for line in alike)
        yield f"Not measured {words}{on}: {join_words([*labels])}."


def _days(results: Results, paper: Paper, experiment: Experiment) -> Iterator[str]:
    """Yield how long a day's work of the paper's GPU takes on every machine, for a table's total."""
    for row in results.rows(Factors, paper=paper.name, experiment=experiment.name, case=experiment.total_case):
        if row.comparison in OVER_THEIR_GPU:
            duration = in_words(DAY / row.speedup)
            yield f"What the paper's GPU does in a day takes {duration} here ({row.row}{results.on(row.machine)})."


def _beside_neighbours(paper: Paper, experiment: Experiment, cells: Cells, on: str) -> Iterator[str]:
    """Yield a sentence on the cells of a machine that took much longer than the times shown, with these times."""
    measured = {}
    for cell in cells:
        if slowdown(cell) > MUCH_LONGER:
            time = _time(paper, experiment, replace(cell, seconds=cell.seconds_measured))
            measured[_name_cell(experiment, cell, time.text)] = slowdown(cell)
    if measured:
        yield f"As measured beside neighbours{on}, before the correction: {_name_farthest(measured)}."


def slowdown(cell: Cell) -> float:
    """Return the time of a cell as measured over the time shown; 0 if there is none."""
    return (cell.seconds_measured or 0.0) / (cell.seconds or 1.0)


def _slower(experiment: Experiment, cells: Cells, on: str) -> Iterator[str]:
    """Yield a sentence on the CPU rows of a machine that are slower than the published row beside them, and how far."""
    ratios = {}
    for cell in cells:
        if cell.is_cpu and cell.published_seconds and cell.time.is_above(cell.published_seconds):
            ratio = cell.time.value / cell.published_seconds
            ratios[_name_cell(experiment, cell, format_speedup(ratio))] = ratio
    if ratios:
        yield f"The paper's CPU is faster than the CPU here{on}: {_name_farthest(ratios)}."


def _unexpected(experiment: Experiment, cells: Cells, on: str) -> Iterator[str]:
    """Yield a sentence for every reason, on times of a machine below or far above the expected times.

    The expected time is the least that FLOP and bytes need. A reason is of slow cells, or of fast ones.
    """
    odd = [cell for cell in cells if cell.unexpected]
    for reason, group in group_by(odd, attrgetter("unexpected")).items():
        ratios = {}
        for cell in group:
            ratio = times_least(cell)
            ratios[_name_cell(experiment, cell, f"{format_number(ratio, 2)}x")] = ratio
        distance = f"More than {SLOW:g} times" if max(ratios.values()) > 1 else "Less than"
        yield f"{distance} the least that FLOP and bytes need{on}: {_name_farthest(ratios)}; {reason}."


def _name_cell(experiment: Experiment, cell: Cell, number: str) -> str:
    return f"{cell.label} at {experiment.column_words()[cell.case]} ({number})"


def _name_farthest(ratios: Mapping[str, float]) -> str:
    """Return those names whose ratios are farthest from 1, and how many others there are."""
    farthest = sorted(ratios, key=lambda name: -abs(math.log(ratios[name])))
    names = farthest[:NAMED]
    if len(farthest) > NAMED:
        names.append(f"{len(farthest) - NAMED} more (cells.csv)")
    return join_words(names)


def _remarks(cells: Cells, speedups: Sequence[Speedup]) -> Iterator[str]:
    """Yield remarks on numbers that would otherwise look like mistakes."""
    by_key = {cell.key: cell for cell in cells}
    off = 0.0
    for row in speedups:
        cell = by_key[row.key]
        base = by_key.get(row.base_key)
        if cell.seconds and base and base.seconds and row.speedup and not cell.is_cpu:
            ratio = base.seconds / cell.seconds
            off = max(off, abs(row.speedup / ratio - 1))
    if off > NOTICED:
        yield (
            "Speedups compare means within sessions, seconds are means over all: their ratio is up to "
            f"{format_share(off)} off."
        )
