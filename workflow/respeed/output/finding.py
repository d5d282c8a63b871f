"""The finding, which is the result on a machine in one sentence; the table behind it; and the factors of speedups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter

from respeed.analysis.cells import PAPER, words_of_unit
from respeed.analysis.estimates import Number
from respeed.analysis.tables import Cell, Factors, group_by
from respeed.analysis.why import COMPARISONS
from respeed.model import SECONDS, Experiment, Paper
from respeed.output.results import Results
from respeed.output.table import Line, Table, capitalized
from respeed.text import (
    NO_INTERVAL,
    NOTHING,
    Value,
    format_number,
    format_share,
    format_span,
    format_speedup,
    join_words,
)

OURS = COMPARISONS["ours"]
# The comparison that says most comes first; why.csv has others.
MAIN = ("ours", "cpu over their gpu", "cpu over their cpu", "gpu over their gpu")
# Rows of why.csv.
Rows = list[Factors]
# The headings of two factors.
HARDWARE = "hardware: peaks, GFLOP/s"
PROGRAMS = "efficiency: shares of peaks"
FACTORS = "Each speedup is the product of its factors. The paper's peaks are of data sheets, ours were measured."


def find(results: Results, paper: Paper, machine: str) -> str:
    """Return the finding on a machine: its main result in one sentence; empty if nothing can be compared.

    Numbers are the lowest and the highest end of our intervals.
    """
    measured = _compare_first(results, paper, machine)
    if not measured:
        return ""
    rows = _in_words(measured)
    first = rows[0]
    title = paper.experiments[first.experiment].title
    times = f"{_span(rows)} times as fast as"
    if first.comparison == "ours":
        finding = f"{title}: the GPU of {results.aliases[machine]} is {times} its CPU"
        published = _published(results, first)
        return f"{finding}; the paper's, {_span(published)} times" if published else finding
    labels = {row.row for row in measured}
    cells = results.rows(Cell, machine=machine, paper=paper.name, experiment=first.experiment)
    compared = [cell for cell in cells if cell.seconds and cell.label in labels]
    packages = sorted({cell.package for cell in compared})
    name, verb = _name_device(compared)
    side = f"{name} of {results.aliases[machine]} with {join_words(packages)}"
    if first.base in OURS:
        return f"{title}: {first.row} is {times} {side}"
    return f"{title}: {side} {verb} {times} {first.base}"


def _name_device(cells: Sequence[Cell]) -> tuple[str, str]:
    """Return what the cells of a machine ran on, and its verb.

    It is the GPU, the CPU, or if all ran on as many, one core or 2 cores.
    """
    if any(not cell.is_cpu for cell in cells):
        return "the GPU", "is"
    threads = {cell.threads for cell in cells}
    if len(threads) != 1 or None in threads:
        return "the CPU", "is"
    (number,) = threads
    return ("one core", "is") if number == 1 else (f"{number} cores", "are")


def _span(rows: Rows) -> str:
    """Return the range of speedups from the lowest to the highest end of intervals; "about" if one of ours has none."""
    ends = []
    for row in rows:
        ends.append(row.speedup_low or row.speedup)
        ends.append(row.speedup_high or row.speedup)
    is_sure = all(row.speedup_low or row.machine == PAPER for row in rows)
    span = format_span(ends, 2)
    return span if is_sure else f"about {span}"


def _published(results: Results, row: Factors) -> Rows:
    """Return the comparison of the paper's own rows in the table of a row of why.csv, with its sides in words."""
    return _in_words(results.rows(Factors, paper=row.paper, experiment=row.experiment, comparison="theirs"))


def _compare_first(results: Results, paper: Paper, machine: str) -> Rows:
    """Return the rows of why.csv behind a machine's finding.

    They are of the first measured table among those with the paper's numbers of both a CPU and an accelerator, or among
    all tables if the paper has no such numbers.
    """
    rows = results.rows(Factors, paper=paper.name)
    on_machine = [row for row in rows if row.machine == machine]
    published = {row.experiment for row in rows if row.machine == PAPER}
    if published:
        on_machine = [row for row in on_machine if row.experiment in published]
    measured = _main_comparison(on_machine)
    return [row for row in measured if row.experiment == measured[0].experiment]


def _in_words(rows: Rows) -> Rows:
    """Return the rows of one comparison with their sides in words, the faster over the slower.

    A machine's own accelerator is always over its CPU.
    """
    named = []
    for row in rows:
        side, base = COMPARISONS[row.comparison]
        named.append(replace(row, row=side, base=base))
    is_ours = any(row.comparison == "ours" for row in rows)
    are_slower = all(row.speedup_high and row.speedup_high < 1 for row in rows)
    return named if is_ours or not are_slower else list(map(_turned, named))


def _turned(row: Factors) -> Factors:
    """Return the comparison of the base with the row."""
    low = row.speedup_high and 1 / row.speedup_high
    high = row.speedup_low and 1 / row.speedup_low
    turned = replace(row, speedup=1 / row.speedup, speedup_low=low, speedup_high=high)
    turned = replace(turned, row=row.base, base=row.row)
    return replace(turned, seconds=row.base_seconds, base_seconds=row.seconds)


def _main_comparison(rows: Rows) -> Rows:
    """Return, of a machine's rows of why.csv, those of the comparison that says most; none if it has none."""
    groups = group_by(rows, attrgetter("comparison"))
    return next((groups[comparison] for comparison in MAIN if comparison in groups), [])


def lay_out_answers(results: Results, paper: Paper) -> Iterator[Table]:
    """Yield the tables behind `find`, mostly one: the paper's seconds and the machines' by case, and all speedups."""
    rows = []
    for machine in results.machines:
        measured = _compare_first(results, paper, machine)
        if measured:
            rows += [*_published(results, measured[0]), *_in_words(measured)]
    for name, compared in group_by(rows, attrgetter("experiment")).items():
        yield _answer(results, paper.experiments[name], compared)


def _answer(results: Results, experiment: Experiment, rows: Rows) -> Table:
    """Return the table of rows in words: the paper's seconds, then each machine's, and the speedups."""
    lines: dict[tuple[str, str], Line] = {}
    for compared in group_by(rows, attrgetter("machine", "comparison")).values():
        for line in _answer_lines(results, experiment, compared):
            # The paper's seconds stand once, whatever they are compared with.
            merged = lines.setdefault((line.group, line.label), line)
            merged.values.update(line.values)
    ordered = sorted(lines.values(), key=lambda line: line.look == "ours")
    filled = set(chain.from_iterable(line.values for line in ordered))
    words = experiment.column_words()
    cases = {case: words[case] for case in words if case in filled}
    caption = "in small type, the intervals (95 %; of one row here over another, 97 %), which the finding spans."
    if experiment.unit == SECONDS:
        caption = f"{words_of_unit(experiment)}; {caption}"
    return Table(f"{experiment.title}, then and now", capitalized(caption), cases, ordered)


def _answer_lines(results: Results, experiment: Experiment, rows: Rows) -> Iterator[Line]:
    """Yield the lines of one comparison: the seconds of its two sides, if the table has seconds, and the speedups."""
    first = rows[0]
    group = capitalized(results.on(first.machine).strip())
    if experiment.unit == SECONDS:
        for side, name in ((first.base, "base_seconds"), (first.row, "seconds")):
            values = {row.case: Value(format_number(getattr(row, name))) for row in rows}
            is_theirs = side in COMPARISONS["theirs"]
            yield Line("" if is_theirs else group, capitalized(side), values, "theirs" if is_theirs else "ours")
    look = "theirs" if first.machine == PAPER else "ours"
    speedups = {row.case: _write_speedup(row) for row in rows}
    label = f"{first.row} over {first.base}"
    yield Line(group, capitalized(label), speedups, look, is_ratio=True)


def _write_speedup(row: Factors) -> Value:
    """Return the speedup of a row of why.csv; ours has its interval from low to high in small type."""
    text = row.printed or format_speedup(row.speedup)
    if row.machine == PAPER:
        return Value(text)
    ends = [end for end in (row.speedup_low, row.speedup_high) if end]
    return Value(text, format_span(ends) if ends else NO_INTERVAL)


def explain_largest(results: Results, paper: Paper) -> str:
    """Say in a sentence of which factors the paper's largest speedup is made; empty if they are not known."""
    rows = results.rows(Factors, paper=paper.name, comparison="theirs")
    rows = [row for row in rows if row.peaks and row.share and row.base_share]
    if not rows:
        return ""
    row = max(rows, key=attrgetter("speedup"))
    experiment = paper.experiments[row.experiment]
    case = f"{experiment.title} {experiment.column_words()[row.case]}"
    factors = _factors(row)
    hardware = factors[HARDWARE]
    programs = factors[PROGRAMS]
    return (
        f"{case}, {row.printed}: {hardware.text} is the hardware ({hardware.interval} GFLOP/s, by data sheets), "
        f"{programs.text} the programs ({programs.interval} of these peaks)."
    )


# The factors of speedups.


def lay_out_why(results: Results, paper: Paper, experiment: Experiment) -> Iterator[Table]:
    """Yield a table of the factors of the paper's speedup and of ours (`_main_comparison`), if there is any of ours.

    why.csv has the other comparisons. Factors that no row has are left out.
    """
    measured = []
    for machine in results.machines:
        rows = results.rows(Factors, paper=paper.name, experiment=experiment.name, machine=machine)
        measured += _main_comparison(rows)
    if not measured:
        return
    words = experiment.column_words()
    lines = []
    for row in (*_published(results, measured[0]), *measured):
        sides = " over ".join(COMPARISONS[row.comparison])
        group = capitalized(sides + results.on(row.machine))
        look = "theirs" if row.machine == PAPER else "ours"
        lines.append(Line(group, words[row.case], _factors(row), look))
    columns = {}
    for name in lines[0].values:
        if any(line.values[name].text != NOTHING for line in lines):
            columns[name] = name
    yield Table(f"{experiment.title}: why", FACTORS, columns, lines, head=experiment.title)


def _factors(row: Factors) -> dict[str, Value]:
    """Return the speedup of a row of why.csv, and the factors whose product it is."""
    return {
        "Speedup": _write_speedup(row),
        HARDWARE: _factor(row.peaks, (row.peak_gflops, row.base_peak_gflops), format_number),
        "algorithm, on one CPU here": _factor(row.algorithm),
        PROGRAMS: _factor(row.shares, (row.share, row.base_share), format_share),
        "unexplained": _factor(row.rest),
    }


def _factor(ratio: Number, sides: Sequence[Number] = (), write: Callable[[float], str] = format_number) -> Value:
    """Return a factor and, in small type, the two numbers whose ratio it is."""
    if not ratio:
        return Value(NOTHING)
    return Value(format_speedup(ratio), " over ".join(write(side) for side in sides if side))
