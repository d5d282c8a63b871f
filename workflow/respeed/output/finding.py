"""The finding, which is the result on a machine in one sentence; the table behind it; and the factors of speedups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter

from respeed.analysis.cells import PAPER, words_of_unit
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
    measured_value,
)

OUR_CPU = "CPU here"
# Where the peaks of a comparison of why.csv come from; those of the other comparisons are of both kinds.
PEAKS = {"theirs": "data sheets", "ours": "measured"}


@dataclass(frozen=True)
class Compared:
    """A row of why.csv, and in words its two sides; `row` may be turned, so that the faster is over the slower."""

    row: Factors
    side: str
    base: str

    def turned(self) -> "Compared":
        """Return the base over the row."""
        row = self.row
        low = 1 / row.speedup_high if row.speedup_high else None
        high = 1 / row.speedup_low if row.speedup_low else None
        row = replace(
            row, speedup=1 / row.speedup, speedup_low=low, speedup_high=high,
            seconds=row.base_seconds, base_seconds=row.seconds,
        )  # fmt: skip
        return Compared(row, self.base, self.side)


def find(results: Results, paper: Paper, machine: str) -> str:
    """Return the finding on a machine: its main result in one sentence; empty if nothing can be compared.

    Numbers are the lowest and the highest end of our intervals.
    """
    measured, published = _compare_first(results, paper, machine)
    if not measured:
        return ""
    first = measured[0]
    title = paper.experiments[first.row.experiment].title
    times = f"{_span(measured)} times as fast as"
    if first.row.comparison == "ours":
        finding = f"{title}: the GPU of {results.aliases[machine]} is {times} its CPU"
        if published:
            finding += f"; the paper's, {_span(published)} times"
        return finding
    cells = _cells_behind(results, measured)
    threads = {cell.threads or 0 for cell in cells}
    packages = sorted({cell.package for cell in cells})
    cores = threads.pop() if len(threads) == 1 else 0
    cpu = f"{_name_cores(cores, results.aliases[machine])} with {join_words(packages)}"
    if first.base == OUR_CPU:
        return f"{title}: {first.side} is {times} {cpu}"
    verb = "are" if cores > 1 else "is"
    return f"{title}: {cpu} {verb} {times} {first.base}"


def _span(compared: Sequence[Compared]) -> str:
    """Return the range of speedups from the lowest to the highest end of intervals; "about" if one of ours has none."""
    ends = []
    about = ""
    for row in (side.row for side in compared):
        ends += [row.speedup_low or row.speedup, row.speedup_high or row.speedup]
        if not row.speedup_low and row.machine != PAPER:
            about = "about "
    return about + format_span(ends, 2)


def _cells_behind(results: Results, measured: Sequence[Compared]) -> list[Cell]:
    """Return the cells of our CPU rows that were compared."""
    first = measured[0].row
    labels = {(compared.row.case, compared.row.row) for compared in measured}
    cells = results.rows(Cell, machine=first.machine, paper=first.paper, experiment=first.experiment)
    return [cell for cell in cells if (cell.case, cell.label) in labels]


def _name_cores(threads: int, machine: str) -> str:
    """Return the cores of a machine in words, such as "2 cores of laptop"."""
    if threads == 0:
        return f"the CPU of {machine}"
    return f"one core of {machine}" if threads == 1 else f"{threads} cores of {machine}"


def _compare_first(results: Results, paper: Paper, machine: str) -> tuple[list[Compared], list[Compared]]:
    """Return the rows of why.csv behind a machine's finding, and the paper's own rows of the same table.

    They are of the first measured table among those with the paper's numbers of both a CPU and an accelerator, or among
    all tables if the paper has no such numbers. For a machine with an accelerator, they compare the machine's speedup
    with the paper's; for another machine, the CPU with the paper's accelerator, or else with the paper's CPU, the
    faster one over the slower.
    """
    rows = results.rows(Factors, paper=paper.name)
    published = [row for row in rows if row.comparison == "theirs"]
    tables = {row.experiment for row in published}
    candidates = [row for row in rows if row.machine == machine]
    if tables:
        candidates = [row for row in candidates if row.experiment in tables]
    measured = _main_comparison(candidates)
    if not measured:
        return [], []
    first = measured[0]
    measured = [row for row in measured if row.experiment == first.experiment]
    compared = [Compared(row, *COMPARISONS[row.comparison]) for row in measured]
    is_slower = all(row.speedup_high and row.speedup_high < 1 for row in measured)
    if is_slower and first.comparison != "ours":
        compared = [row.turned() for row in compared]
    published = [row for row in published if row.experiment == first.experiment]
    return compared, [Compared(row, *COMPARISONS[row.comparison]) for row in published]


def _main_comparison(rows: Sequence[Factors], *fallbacks: str) -> list[Factors]:
    """Return, of a machine's rows of why.csv, those of the comparison that says most; none if it has none.

    That is our GPU over our CPU; else our CPU over the paper's GPU, or over the paper's CPU; or one of `fallbacks`.
    """
    for comparison in ("ours", "cpu over their gpu", "cpu over their cpu", *fallbacks):
        chosen = [row for row in rows if row.comparison == comparison]
        if chosen:
            return chosen
    return []


def lay_out_answers(results: Results, paper: Paper) -> Iterator[Table]:
    """Yield the tables behind `find`, mostly one: the paper's seconds and the machines' by case, and all speedups."""
    rows = []
    for machine in results.machines:
        measured, published = _compare_first(results, paper, machine)
        rows += published + measured
    for name, compared in group_by(rows, lambda compared: compared.row.experiment).items():
        yield _answer(results, paper.experiments[name], compared)


def _answer(results: Results, experiment: Experiment, rows: Sequence[Compared]) -> Table:
    """Return the table of rows of `_compare_first`: the paper's seconds, then each machine's, and the speedups."""
    words = experiment.column_words()
    lines: dict[tuple[str, str], Line] = {}
    for compared in rows:
        case = compared.row.case
        # The paper's seconds stand once, whatever they are compared with.
        for line in _answer_lines(results, experiment, compared, case):
            merged = lines.setdefault((line.group, line.label), line)
            merged.values.setdefault(case, line.values[case])
    ordered = sorted(lines.values(), key=lambda line: line.look == "ours")
    filled = set(chain.from_iterable(line.values for line in ordered))
    cases = {case: heading for case, heading in words.items() if case in filled}
    caption = "in small type, the intervals (95 %; of one row here over another, 97 %), which the finding spans."
    if experiment.unit == SECONDS:
        caption = f"{words_of_unit(experiment)}; {caption}"
    return Table(f"{experiment.title}, then and now", capitalized(caption), cases, ordered)


def _answer_lines(results: Results, experiment: Experiment, compared: Compared, case: str) -> Iterator[Line]:
    """Yield the lines of one row: the seconds of its two sides, if the table has seconds, and the speedup."""
    row = compared.row
    group = capitalized(results.on(row.machine).strip())
    if experiment.unit == SECONDS:
        for side, seconds in ((compared.base, row.base_seconds), (compared.side, row.seconds)):
            values = {case: Value(format_number(seconds))}
            if side in COMPARISONS["theirs"]:
                yield Line("", capitalized(side), values, "theirs")
            else:
                yield Line(group, capitalized(side), values)
    look = "theirs" if row.machine == PAPER else "ours"
    label = capitalized(f"{compared.side} over {compared.base}")
    yield Line(group, label, {case: _from_low_to_high(row)}, look, is_ratio=True)


def _from_low_to_high(row: Factors) -> Value:
    """Return the speedup of a row of why.csv; ours has its interval from low to high in small type."""
    text = row.printed or format_speedup(row.speedup)
    if row.machine == PAPER:
        return Value(text)
    ends = [end for end in (row.speedup_low, row.speedup_high) if end]
    return Value(text, format_span(ends) if ends else NO_INTERVAL)


def explain_largest(results: Results, paper: Paper) -> str:
    """Say in two sentences of which factors the paper's largest speedup is made; empty if they are not known."""
    rows = results.rows(Factors, paper=paper.name, comparison="theirs")
    rows = [row for row in rows if row.peaks and row.shares and row.share and row.base_share]
    if not rows:
        return ""
    row = max(rows, key=attrgetter("speedup"))
    experiment = paper.experiments[row.experiment]
    title = f"{experiment.title} {experiment.column_words()[row.case]}"
    share = format_share(row.share or 0.0)
    base_share = format_share(row.base_share or 0.0)
    return (
        f"{title}, {_from_low_to_high(row).text}: {format_speedup(row.peaks)} is the hardware "
        f"({format_number(row.peak_gflops)} over {format_number(row.base_peak_gflops)} GFLOP/s, by data sheets). "
        f"{format_speedup(row.shares)} is the programs: the GPU's reached {share} of its peak, the CPU's {base_share}."
    )


# The factors of speedups.


def lay_out_why(results: Results, paper: Paper, experiment: Experiment) -> Table | None:
    """Return a table of the factors of the paper's speedup and of ours (`_main_comparison`); None if we have none.

    why.csv has the other comparisons. Factors that no row has are left out.
    """
    rows = results.rows(Factors, paper=paper.name, experiment=experiment.name)
    chosen = [row for row in rows if row.machine == PAPER]
    if len(chosen) == len(rows):
        return None
    for machine in results.machines:
        chosen += _main_comparison([row for row in rows if row.machine == machine], "gpu over their gpu")
    words = experiment.column_words()
    lines = []
    for row in chosen:
        sides = " over ".join(COMPARISONS[row.comparison])
        peaks = PEAKS.get(row.comparison, "measured, data sheet")
        group = capitalized(f"{sides}{results.on(row.machine)} (peaks: {peaks})")
        look = "theirs" if row.machine == PAPER else "ours"
        lines.append(Line(group, words[row.case], _factors(row), look))
    columns = {}
    for column in lines[0].values:
        if any(line.values[column].text != NOTHING for line in lines):
            columns[column] = column
    caption = "Each speedup is the product of its factors."
    return Table(f"{experiment.title}: why", caption, columns, lines, head=experiment.title)


def _factors(row: Factors) -> dict[str, Value]:
    """Return the speedup of a row of why.csv, and the factors whose product it is."""
    speedup = measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x")
    if row.machine == PAPER:
        speedup = Value(row.printed or format_speedup(row.speedup))
    peaks = _sides(row.peak_gflops, row.base_peak_gflops, format_number)
    shares = _sides(row.share, row.base_share, format_share)
    return {
        "Speedup": speedup,
        "hardware: ratio of peaks, GFLOP/s": _factor(row.peaks, peaks),
        "algorithm, on one CPU here": _factor(row.algorithm),
        "efficiency ratio: shares of peaks": _factor(row.shares, shares),
        "unexplained": _factor(row.rest),
    }


def _factor(ratio: float | None, sides: str = "") -> Value:
    """Return a factor and, in small type, the two numbers whose ratio it is."""
    return Value(format_speedup(ratio), sides) if ratio else Value(NOTHING)


def _sides(number: float | None, base: float | None, write: Callable[[float], str]) -> str:
    return " over ".join(write(side) for side in (number, base) if side)
