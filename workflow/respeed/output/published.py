"""A table in the paper's shape: the paper's rows, then each machine's rows and speedups, and notes below.

A line without any number is left out and named in a note. In all other lines, a field without a number has the mark of
a note with the reason.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from respeed.analysis.cells import PAPER, across_precisions, in_unit, label_row, reference, words_of_unit
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.expected import SLOW, say_tensor_cores
from respeed.analysis.speedups import published_text
from respeed.analysis.tables import Cell, CellRow, Factors, Speedup, group_by
from respeed.model import SECONDS, Experiment, Paper
from respeed.output.results import Results
from respeed.output.table import Line, Table, capitalized
from respeed.text import (
    NOTHING,
    Value,
    format_number,
    format_share,
    group_thousands,
    in_words,
    join_words,
    measured_time,
    measured_value,
)

# At most this many cells with unexpected times are named for each reason.
NAMED = 4
# A time is shown as measured as well, if it was longer than this many times that at the quiet probe.
MUCH_LONGER = 1.2
# If a speedup differs by more than this from the ratio of the seconds shown, it looks like a mistake.
NOTICED = 0.005
DAY = 86400.0


def lay_out_published(results: Results, paper: Paper, experiment: Experiment) -> Table:
    """Return a table in the paper's shape. At tiny sizes, the paper's numbers have columns of their own."""
    cells = results.rows(Cell, paper=paper.name, experiment=experiment.name)
    speedups = results.rows(Speedup, paper=paper.name, experiment=experiment.name)
    # Until all are known, a line has the name of its machine as heading, its values by case, and reasons as marks.
    lines = _published_lines(paper, experiment)
    for machine in results.machines:
        on_machine = [cell for cell in cells if cell.machine == machine]
        lines += _measured_lines(paper, experiment, on_machine, speedups)
        lines += _fastest_line(paper, experiment, on_machine)
    filled = [line for line in lines if not line.is_empty]
    words = _headings(experiment)
    marks: dict[str, str] = {}
    finished = [_finished(results, paper, line, words, marks) for line in filled]
    notes = [Value(f"{reason.rstrip('.')}.", mark=mark) for reason, mark in marks.items()]
    remarks = [*_unmeasured(results, cells, [line for line in lines if line.is_empty])]
    if any(_lacks_interval(line) for line in filled):
        remarks.append("A number of ours without ± has no interval: too few clean rounds.")
    remarks += _remarks(cells, speedups)
    if paper.rows and not results.smoke:
        remarks += _unexpected(results, cells, words)
    remarks += _beside_neighbours(results, cells, words)
    remarks += _days(results, paper, experiment)
    return Table(
        experiment.title,
        _caption(paper, experiment),
        list(words.values()),
        finished,
        [*notes, *map(Value, remarks)],
        label=f"tab:{paper.name}-{experiment.name}",
        has_cases=True,
    )


def _finished(results: Results, paper: Paper, line: Line, words: Mapping[str, str], marks: dict[str, str]) -> Line:
    """Return a line with its heading, and in place of each reason a mark from `marks`; new reasons get new marks."""
    values = {}
    for case, value in line.values.items():
        if value.mark:
            value = Value(NOTHING, mark=marks.setdefault(value.mark, str(len(marks) + 1)))
        values[words[case]] = value
    if line.group == PAPER:
        return replace(line, group=f"As published: {reference(paper)}", values=values)
    return replace(line, group=f"On {results.describe(line.group)}", values=values)


def _headings(experiment: Experiment) -> dict[str, str]:
    """Return the headings of the cases; at tiny sizes, the paper's cases come first."""
    words = experiment.column_words()
    if experiment.original:
        words = experiment.original.column_words() | words
    if len({*words.values()}) < len(words):  # a tiny case may have a heading of another
        return {case: case for case in words}
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
    if paper.rows and not paper.prints(experiment.name):
        sentences.append(f"{reference(paper)} prints no such table.")
    return " ".join([*sentences, "±: 95 % intervals (of speedups, 97 %)."])


def _is_free(paper: Paper, experiment: Experiment) -> bool:
    """Return whether our times may be in any unit: the table is in seconds, and the paper prints no number of it."""
    return experiment.unit == SECONDS and not paper.prints(experiment.name)


def _own_precision(experiment: Experiment) -> str:
    """Return the precision of a table's rows: its own, or else fp32."""
    return experiment.precision or FULL_PRECISION


def _label_speedup(label: str, precisions: str) -> str:
    return f"Speedup over fastest CPU ({', '.join(filter(None, [label, precisions]))})"


def _published_lines(paper: Paper, experiment: Experiment) -> list[Line]:
    """Return the paper's lines: its printed numbers, then its speedups, printed or computed from printed numbers."""
    numbers = []
    speedups: dict[str, Line] = {}
    for row in paper.rows.values():
        label = with_package(label_row(paper, row), row.package)
        line = Line(PAPER, label, {}, "theirs")
        numbers.append(line)
        for case in (experiment.original or experiment).case_names():
            if printed := paper.printed(experiment.name, case, row.name):
                line.values[case] = Value(group_thousands(printed.text))
            text = published_text(paper, experiment.name, case, row.name)
            if text and not row.is_cpu:
                base = paper.fastest(experiment.name, case, paper.cpu_rows)
                over = _label_speedup(label, across_precisions(row.precision, [base.precision] if base else []))
                speedup = speedups.setdefault(over, Line(PAPER, over, {}, "theirs", is_ratio=True))
                speedup.values[case] = Value(text)
    return [line for line in (*numbers, *speedups.values()) if line.values]


def with_package(label: str, package: str) -> str:
    """Return the label of a row with its package, unless it names it."""
    return label if package in label else f"{label}, {package}"


def _measured_lines(
    paper: Paper, experiment: Experiment, cells: Sequence[Cell], speedups: Sequence[Speedup]
) -> list[Line]:
    """Return the lines of a machine: the times or rates of each row, then the speedups of those on an accelerator.

    A row in another precision than the table's is left out if it has no time.
    """
    by_key = {speedup.key: speedup for speedup in speedups}
    rows = group_by(cells, lambda cell: (cell.profile, cell.algorithm if experiment.algorithms else ""))
    times = []
    ratios = []
    for row in rows.values():
        first = row[0]
        if first.precision == _own_precision(experiment) or any(cell.seconds for cell in row):
            times.append(_time_line(paper, experiment, row))
        timed = [cell for cell in row if cell.seconds and not cell.is_cpu]
        compared = {cell.case: by_key[cell.key] for cell in timed}
        if compared:
            ratios.append(_ratio_line(experiment, first, compared))
    return times + ratios


def _time_line(paper: Paper, experiment: Experiment, cells: Sequence[Cell]) -> Line:
    """Return the times or rates of a row."""
    values = {}
    for cell in cells:
        if _is_free(paper, experiment):
            time = measured_time(cell.seconds, cell.seconds_low, cell.seconds_high)
        else:
            time = measured_value(*in_unit(cell, experiment.unit))
        reason = cell.reason
        if cell.seconds:
            reason = "not known: the work of this program is not counted"
        elif cell.status not in ("due", "cannot-run"):
            reason = f"{cell.status}: {cell.reason}"
        values[cell.case] = _field(time, cell, cell.seconds_low, reason)
    first = cells[0]
    return Line(first.machine, with_package(first.label, first.package), values)


def _ratio_line(experiment: Experiment, first: Cell, speedups: Mapping[str, Speedup]) -> Line:
    """Return the speedups of a row, of which `first` is a cell, over the fastest CPU row, by case."""
    values = {}
    for case, row in speedups.items():
        ratio = measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x")
        values[case] = _field(ratio, row, row.speedup_low, row.reason)
    precisions = across_precisions(first.precision, [_own_precision(experiment)])
    return Line(first.machine, _label_speedup(first.label, precisions), values, is_ratio=True)


def _field(value: Value, row: CellRow, low: float | None, reason: str) -> Value:
    """Return a number with its cell, and the reason for a missing one as a mark.

    Nothing stands in place of a missing interval, since a note says that for all.
    """
    if not value.text:
        return Value(mark=reason)
    return Value(value.text, value.interval if low else "", source=" ".join(row.key))


def _lacks_interval(line: Line) -> bool:
    numbers = [value for value in line.values.values() if value.text]
    return line.group != PAPER and not all(value.interval for value in numbers)


def _fastest_line(paper: Paper, experiment: Experiment, cells: Sequence[Cell]) -> Iterator[Line]:
    """Yield the speedups of a machine's fastest row over the paper's fastest row, if there are any.

    Ours is the fastest row in the table's precision.
    The speedup's interval is from our time alone.
    """
    timed = [cell for cell in cells if cell.seconds and cell.precision == _own_precision(experiment)]
    values = {}
    bases = set()
    # Of each case the fastest cell comes last, and stays.
    for cell in sorted(timed, key=attrgetter("seconds"), reverse=True):
        base = paper.fastest(experiment.name, cell.case, [*paper.rows])
        if base is None:
            continue
        seconds = paper.seconds(experiment.name, cell.case, base.name, cell.flops, cell.traffic_bytes)
        if seconds:
            speedup = cell.time.over(seconds)
            value = measured_value(speedup.value, speedup.low, speedup.high, unit="x")
            values[cell.case] = value if speedup.low else Value(value.text)
            precisions = across_precisions(cell.precision, [base.precision])
            bases.add(", ".join(filter(None, [label_row(paper, base), precisions])))
    if values:
        base_label = bases.pop() if len(bases) == 1 else "fastest row"
        yield Line(timed[0].machine, f"Fastest here over the paper's {base_label}", values, is_ratio=True)


# Notes.


def _unmeasured(results: Results, cells: Sequence[Cell], lines: Sequence[Line]) -> Iterator[str]:
    """Yield a sentence on lines without numbers for every pair of a machine and a reason."""
    due = {cell.reason for cell in cells if cell.status == "due"}
    groups = group_by(lines, lambda line: (line.group, next(iter(line.values.values())).mark))
    for (machine, reason), alike in groups.items():
        words = "yet" if reason in due else f"({reason.rstrip('.')})"
        labels = dict.fromkeys(line.label for line in alike)
        yield f"Not measured {words}{results.on(machine)}: {join_words([*labels])}."


def _days(results: Results, paper: Paper, experiment: Experiment) -> Iterator[str]:
    """Yield how long a day's work of the paper's GPU takes on every machine, for a table's total."""
    for row in results.rows(Factors, paper=paper.name, experiment=experiment.name, case=experiment.total_case):
        if row.comparison in ("cpu over their gpu", "gpu over their gpu"):
            duration = in_words(DAY / row.speedup)
            yield f"What the paper's GPU does in a day takes {duration} here ({row.row}{results.on(row.machine)})."


def _name_farthest(
    cells: Sequence[Cell], factor: Callable[[Cell], float], words: Mapping[str, str], digits: int
) -> str:
    """Return the NAMED cells whose factors are farthest from 1, in so many digits, and the number of the others."""
    is_slow = factor(cells[0]) > 1
    ordered = sorted(cells, key=factor, reverse=is_slow)
    names = [f"{cell.label} at {words[cell.case]} ({format_number(factor(cell), digits)}x)" for cell in ordered]
    if len(names) > NAMED:
        names[NAMED:] = [f"{len(names) - NAMED} more (cells.csv)"]
    return join_words(names)


def _slowdown(cell: Cell) -> float:
    return (cell.seconds_measured or 0.0) / cell.seconds if cell.seconds else 0.0


def _times_expected(cell: Cell) -> float:
    return (cell.seconds or 0.0) / (cell.expected_seconds or math.inf)


def _beside_neighbours(results: Results, cells: Sequence[Cell], words: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for every machine on cells whose times as measured are far above those at the quiet probe."""
    slowed = [cell for cell in cells if _slowdown(cell) > MUCH_LONGER]
    for machine, group in group_by(slowed, attrgetter("machine")).items():
        names = _name_farthest(group, _slowdown, words, 3)
        yield f"Neighbours on the host{results.on(machine)} made these take longer than the times shown: {names}."


def _unexpected(results: Results, cells: Sequence[Cell], words: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for every machine and reason, on times below or far above the expected times.

    The expected time is the least that FLOP and bytes need. A reason is of slow cells, or of fast ones.
    """
    odd = [cell for cell in cells if cell.unexpected]
    for (machine, reason), group in group_by(odd, attrgetter("machine", "unexpected")).items():
        distance = f"More than {SLOW:g} times" if _times_expected(group[0]) > 1 else "Less than"
        names = _name_farthest(group, _times_expected, words, 2)
        yield f"{distance} the least that FLOP and bytes need{results.on(machine)}: {names}; {reason}."


def _remarks(cells: Sequence[Cell], speedups: Sequence[Speedup]) -> Iterator[str]:
    """Yield remarks on numbers that would otherwise look like mistakes."""
    by_key = {cell.key: cell for cell in cells}
    off = 0.0
    for row in speedups:
        cell = by_key[row.key]
        base = by_key.get(row.key._replace(algorithm=row.base_algorithm, profile=row.base_profile))
        if cell.seconds and base and base.seconds and row.speedup and not cell.is_cpu:
            off = max(off, abs(row.speedup * cell.seconds / base.seconds - 1))
    if off > NOTICED:
        yield (
            "Speedups compare means within sessions, seconds are means over all: their ratio is up to "
            f"{format_share(off)} off."
        )
    if remark := say_tensor_cores(cells):
        yield remark
