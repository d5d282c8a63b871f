"""Tables for people, laid out from the tidy tables: a paper's table with ours below, claims, factors, machines, facts.

Sentences about results are made only here, by fixed rules.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote

import pandas as pd

from respeed.analysis.cells import PAPER, across_precisions, in_unit, label_row, reference, words_of_unit
from respeed.analysis.claims import count_results
from respeed.analysis.columns import any_rows_of as rows_of
from respeed.analysis.columns import rows_of as typed_rows_of
from respeed.analysis.controls import count_controls, say_failed
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.expected import SLOW, say_tensor_cores
from respeed.analysis.neighbours import SLOWED
from respeed.analysis.rounds import CELL
from respeed.analysis.speedups import CASE, Samples, published_text
from respeed.analysis.tables import Cell
from respeed.analysis.why import COMPARISONS
from respeed.model import SECONDS, Experiment, Paper, Papers
from respeed.output.table import LINE, Table, spread, with_fields
from respeed.paths import results_folder
from respeed.protocol import SMOKE_STAMP
from respeed.text import (
    NO_INTERVAL,
    NOTHING,
    Value,
    format_number,
    format_share,
    format_span,
    format_speedup,
    group_thousands,
    in_words,
    join_words,
    measured_time,
    measured_value,
)

OUR_CPU = "CPU here"
# A verdict of machines.csv.
SAME = "indistinguishable"
# At most this many cells with unexpected times are named for each reason.
NAMED = 4
# A time is shown as measured as well, if it was longer than this many times that at the quiet probe.
MUCH_LONGER = 1.2
# If a speedup differs by more than this from the ratio of the seconds shown, it looks like a mistake.
NOTICED = 0.005
DAY = 86400.0
# How well a fact is known that no paper states and no code of its authors shows.
DOUBTFUL = ("recalled", "inferred")
# Where the peaks of a comparison of why.csv come from; those of the other comparisons are of both kinds.
PEAKS, MIXED = {"theirs": "data sheets", "ours": "measured"}, "measured, data sheet"
# A name that was made of the hardware (`machine_slug`); its maker and its hash are left out in headings.
MADE_NAME = re.compile(r"(?:amd-|intel-)?(.+-\d+c(?:-.+)?)-[0-9a-f]{4}")
# The parts of facts.csv but for the summary.
FACTS = ("hardware", "rounds", "software", "measured", "profiles")
# A function that writes a table in one format.
Write = Callable[[Table], Any]


@dataclass(frozen=True)
class Shown:
    """The results to lay out: papers, machines, and the tidy tables by name, which may contain other machines too."""

    papers: Papers
    machines: Sequence[str]
    smoke: bool
    frames: Mapping[str, pd.DataFrame]

    @cached_property
    def stamp(self) -> str:
        """Return the warning above all results: a smoke run measures nothing, or controls failed; empty if neither."""
        return (
            SMOKE_STAMP
            if self.smoke
            else say_failed(typed_rows_of(self.table("cells"), Cell), Samples(self.table("rounds")))
        )

    def table(self, name: str, **places: str) -> pd.DataFrame:
        """Return a tidy table's lines for the machines and papers shown; `places` maps columns to values to select."""
        frame = self.frames[name]
        frame = frame[frame["machine"].isin([PAPER, *self.machines])]
        frame = frame[frame["paper"].isin(self.papers)] if "paper" in frame else frame
        for column, value in places.items():
            frame = frame[frame[column] == value]
        return frame

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Return the short name of each machine, such as epyc-2c; if two would be the same, both names stay whole."""
        short = {name: made[1] if (made := MADE_NAME.fullmatch(name)) else name for name in self.machines}
        count = Counter(short.values())
        return {name: alias if count[alias] == 1 else name for name, alias in short.items()}

    def on(self, machine: object) -> str:
        """Return " on " and a machine's short name; nothing for the paper, or if no other machine is shown."""
        name = self.aliases.get(str(machine))
        return f" on {name}" if name and len(self.machines) > 1 else ""

    def describe(self, machine: str) -> str:
        """Return a machine's short name and summary, such as "box: A CPU, 2 cores, one accelerator"."""
        summary = self.table("facts", machine=machine, part="summary")["value"]
        return ": ".join([self.aliases[machine], *summary])

    def has_figure(self, paper: Paper, experiment: Experiment, machine: str) -> bool:
        """Return whether a table has a figure of a machine: several of its cases were measured there."""
        cells = self.table("cells", machine=machine, paper=paper.name, experiment=experiment.name)
        return paper.has_figure(experiment) and cells.loc[cells["seconds"] > 0, "case"].nunique() > 1


# The paper's table, with ours below.


def lay_out_published(shown: Shown, paper: Paper, experiment: Experiment) -> Table:
    """Return a table in the paper's shape: the paper's rows, then each machine's rows and speedups.

    A line without any number is left out and named in a note. In all other lines, a field without a number has the mark
    of a note with the reason. At tiny sizes, the paper's numbers have columns of their own.
    """
    where = {"paper": paper.name, "experiment": experiment.name}
    cells = shown.table("cells", **where)
    both = cells.merge(shown.table("speedups", **where), on=CELL, suffixes=("", "_speedup"), validate="1:1")
    lines = [
        *_theirs(paper, experiment),
        *(line for cell in rows_of(both) for line in _ours(paper, experiment, cell)),
        *_fastest(paper, experiment, cells),
    ]
    rows = pd.DataFrame(lines, columns=["machine", "look", "label", "key", "precision", "case", "value", "reason"])
    heads = {name: f"On {shown.describe(name)}" for name in shown.machines}
    rows["group"] = rows["machine"].map({PAPER: f"As published: {reference(paper)}"} | heads)
    order = {place: number for number, place in enumerate([PAPER, *shown.machines])}
    rows = rows.assign(place=rows["machine"].map(order)).sort_values(["place", "look"], kind="stable")
    has_number = rows["value"].map(lambda value: value.text != "").astype(bool)
    is_shown = has_number.groupby([rows[name] for name in (*LINE, "key")]).transform("any").astype(bool)
    words = (experiment.original or experiment).column_words() | experiment.column_words()
    if len({*words.values()}) < len(words):  # a tiny case may have a heading of another
        words = dict(zip(words, words, strict=True))
    there, missing = rows[is_shown], rows[~is_shown]
    marks = {reason: str(mark) for mark, reason in enumerate(filter(None, there["reason"].unique()), 1)}
    values = [
        replace(value, text=NOTHING, mark=marks[reason]) if reason else value
        for value, reason in zip(there["value"], there["reason"], strict=True)
    ]
    there = there.assign(column=there["case"].map(words), value=pd.Series(values, there.index, dtype=object))
    frame = spread(there, list(words.values()))
    notes = [Value(f"{reason.rstrip('.')}.", mark=mark) for reason, mark in marks.items()]
    others = [*_unmeasured(shown, missing)]
    if any(value.interval == NO_INTERVAL for value in values):
        others.append("A number of ours without ± has no interval: too few clean rounds.")
    others += _remarks(both)
    others += _unexpected(shown, cells, words) if paper.rows and not shown.smoke else []
    others += _beside_neighbours(shown, cells, words)
    others += _days(shown, paper, experiment)
    frame = frame.map(lambda value: replace(value, interval=value.interval.replace(NO_INTERVAL, "")))
    label, caption = f"tab:{paper.name}-{experiment.name}", _caption(paper, experiment)
    return Table(experiment.title, caption, frame, (*notes, *map(Value, others)), label=label, has_cases=True)


def _caption(paper: Paper, experiment: Experiment) -> str:
    """Return the caption of a table: the unit and work of its numbers, and what ± means."""
    unit, axis = words_of_unit(experiment), experiment.axis
    unit = unit.replace(SECONDS.name, "time", 1) if _is_free(paper, experiment) else unit
    better = ", larger is better" * bool(experiment.unit.counted)
    cases = f" Cases: {axis}." * bool(axis)
    silent = f" {reference(paper)} prints no such table." * bool(paper.rows and not paper.prints(experiment.name))
    scaled = ", scaled from the mean step" * experiment.is_extrapolated
    return f"{unit[0].upper()}{unit[1:]}{scaled}{better}.{cases}{silent} ±: 95 % intervals (of speedups, 97 %)."


def _is_free(paper: Paper, experiment: Experiment) -> bool:
    """Return whether our times may be in any unit: the table is in seconds, and the paper prints no number of it."""
    return experiment.unit == SECONDS and not paper.prints(experiment.name)


def _theirs(paper: Paper, experiment: Experiment) -> Iterator[tuple[Any, ...]]:
    """Yield the paper's lines: its printed numbers, and its speedups, printed or computed from printed numbers."""
    for row in paper.rows.values():
        label = with_package(label_row(paper, row), row.package)
        for case in (experiment.original or experiment).case_names():
            if printed := paper.printed(experiment.name, case, row.name):
                yield PAPER, "theirs", label, row.name, "", case, Value(group_thousands(printed.text)), ""
            if row.is_cpu:
                continue
            base = paper.fastest(experiment.name, case, paper.cpu_rows)
            across = across_precisions(row.precision, [base.precision] if base else [])
            if text := published_text(paper, experiment.name, case, row.name):
                over = f"Speedup over fastest CPU ({', '.join(filter(None, [label, across]))})"
                yield PAPER, "theirs speedup", over, row.name, "", case, Value(text), ""


def with_package(label: str, package: str) -> str:
    """Return the label of a row with its package, unless it names it."""
    return label if package in label else f"{label}, {package}"


def _ours(paper: Paper, experiment: Experiment, cell: Any) -> Iterator[tuple[Any, ...]]:
    """Yield a cell's lines: its time or rate and, on an accelerator, its speedup; or the reason for a missing one."""
    if _is_free(paper, experiment):
        time = measured_time(cell.seconds, cell.seconds_low, cell.seconds_high)
    else:
        time = measured_value(*in_unit(cell, experiment.unit))
    why = cell.reason if cell.status in ("due", "cannot-run") else f"{cell.status}: {cell.reason}"
    why = "not known: the work of this program is not counted" if cell.seconds else why
    label, key = with_package(cell.label, cell.package), cell.profile
    if experiment.algorithms:
        key = f"{key} {cell.algorithm}"
    source = " ".join(getattr(cell, name) for name in CELL)
    time = replace(time, source=source)
    yield cell.machine, "ours", label, key, cell.precision, cell.case, time, "" if time.text else why
    if cell.seconds and not cell.is_cpu:
        ratio = measured_value(cell.speedup, cell.speedup_low, cell.speedup_high, unit="x")
        across = across_precisions(cell.precision, [experiment.precision or FULL_PRECISION])
        over = f"Speedup over fastest CPU ({', '.join(filter(None, [cell.label, across]))})"
        why = "" if ratio.text else cell.reason_speedup
        yield cell.machine, "ours speedup", over, key, cell.precision, cell.case, replace(ratio, source=source), why


def _fastest(paper: Paper, experiment: Experiment, cells: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield, by case, the speedup of each machine's fastest row in fp32 over the paper's fastest row.

    The speedup's interval is from our time alone.
    """
    full = cells[(cells["seconds"] > 0) & (cells["precision"] == FULL_PRECISION)]
    best = full.loc[full.groupby(["machine", "case"], sort=False)["seconds"].idxmin()]
    names = [*paper.rows]
    found = []
    for cell in rows_of(best):
        row = paper.fastest(experiment.name, cell.case, names)
        if row and (there := paper.seconds(experiment.name, cell.case, row.name, cell.flops, cell.traffic_bytes)):
            low, high = (end and there / end for end in (cell.seconds_high, cell.seconds_low))
            label = ", ".join(filter(None, [label_row(paper, row), across_precisions(cell.precision, [row.precision])]))
            found.append((cell, label, measured_value(there / cell.seconds, low, high, unit="x")))
    labels = {label for _, label, _ in found}
    over = f"Fastest here over the paper's {labels.pop() if len(labels) == 1 else 'fastest row'}"
    yield from ((cell.machine, "ours speedup", over, "", FULL_PRECISION, cell.case, one, "") for cell, _, one in found)


def _unmeasured(shown: Shown, missing: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence on missing lines for every pair of a machine and a reason why lines are missing.

    Missing lines in another precision than fp32 are not reported.
    """
    lines = missing[missing["precision"].isin(["", FULL_PRECISION])].drop_duplicates(LINE)
    for machine, reason in lines[["machine", "reason"]].drop_duplicates().itertuples(index=False, name=None):
        mine = lines[(lines["machine"] == machine) & (lines["reason"] == reason)]
        why = "yet" if reason == "not measured yet" else f"({reason.rstrip('.')})"
        yield f"Not measured {why}{shown.on(machine)}: {join_words([*mine['label']])}."


def _days(shown: Shown, paper: Paper, experiment: Experiment) -> Iterator[str]:
    """Yield how long a day's work of the paper's GPU takes on every machine, for a table's total."""
    why = shown.table("why", paper=paper.name, experiment=experiment.name, case=experiment.total_case)
    for row in rows_of(why[why["comparison"].isin(["cpu over their gpu", "gpu over their gpu"])]):
        took = in_words(DAY / row.speedup)
        yield f"What the paper's GPU does in a day takes {took} here ({row.row}{shown.on(row.machine)})."


def _beside_neighbours(shown: Shown, cells: pd.DataFrame, words: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for every machine on cells whose times as measured are far above those at the quiet probe."""
    far = cells[cells["seconds_measured"] > MUCH_LONGER * cells["seconds"]]
    for machine, mine in far.assign(over=far["seconds_measured"] / far["seconds"]).groupby("machine", sort=False):
        most = rows_of(mine.sort_values("over", ascending=False, kind="stable"))
        named = [f"{one.label} at {words[one.case]} ({format_number(one.over, 3)}x)" for one in most]
        more = [f"{len(named) - NAMED} more (cells.csv)"] * (len(named) > NAMED)
        first = join_words(named[:NAMED] + more)
        yield f"Neighbours on the host{shown.on(machine)} made these take longer than the times shown: {first}."


def _unexpected(shown: Shown, cells: pd.DataFrame, words: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for every machine and reason, on times below or far above the expected times.

    The expected time is the least that FLOP and bytes need. The sentence names the cells that are farthest from it.
    """
    odd = cells[cells["unexpected"] != ""].assign(over=cells["seconds"] / cells["expected_seconds"])
    for (machine, why), mine in odd.groupby(["machine", "unexpected"], sort=False):  # a reason is of slow ones, or fast
        is_slow = bool(mine["over"].iloc[0] > 1)
        farthest = mine.sort_values("over", ascending=not is_slow, kind="stable")
        named = [f"{one.label} at {words[one.case]} ({format_number(one.over, 2)}x)" for one in rows_of(farthest)]
        more = [f"{len(named) - NAMED} more (cells.csv)"] * (len(named) > NAMED)
        what = f"More than {SLOW:g} times" if is_slow else "Less than"
        where, named_first = shown.on(machine), join_words(named[:NAMED] + more)
        yield f"{what} the least that FLOP and bytes need{where}: {named_first}; {why}."


def _remarks(cells: pd.DataFrame) -> Iterator[str]:
    """Yield remarks on numbers that would otherwise look like mistakes."""
    over = ["machine", "case", "base_algorithm", "base_profile"]
    bases = cells[["machine", "case", "algorithm", "profile", "seconds"]].set_axis([*over, "base"], axis=1)
    rows = cells[~cells["is_cpu"]].merge(bases, on=over)
    off = (rows["speedup"] * rows["seconds"] / rows["base"] - 1).abs().max()
    if off > NOTICED:
        yield f"Speedups compare means within sessions, seconds are means over all: their ratio is up to {off:.1%} off."
    if remark := say_tensor_cores(typed_rows_of(cells, Cell)):
        yield remark


# Claims, and the finding: the result in one sentence.


def answered_claims(shown: Shown, paper: Paper) -> pd.DataFrame:
    """Return the rows of claims.csv that have an answer: every claim, and below it its cases, each number once."""
    claims = shown.table("claims", paper=paper.name)
    order = {name: place for place, name in enumerate(shown.machines)}
    claims = claims[claims["here"] != ""].sort_values("machine", key=lambda names: names.map(order), kind="stable")
    # A claim about growth has the cases of another claim; of a claim with one measured case, both rows have its number.
    again = claims.duplicated(["machine", "profile", "base_profile", "speedup"])
    return claims[~again | (claims["case"] == "")]


def name_claim(paper: Paper, row: Any) -> str:
    """Return the name of a row of claims.csv for people: what the claim says, or the heading of one of its cases."""
    if not row.case:
        return str(row.says)
    return paper.experiments[paper.claims[row.claim].experiment].column_words()[row.case]


def lay_out_claims(shown: Shown, paper: Paper) -> Table:
    """Return a table with a line for each claim that was tested and for its cases, and a note on the other claims."""
    claims = answered_claims(shown, paper)
    rows = list(rows_of(claims))
    looks = ["case" if row.case else "claim" for row in rows]
    names = [name_claim(paper, row) for row in rows]
    lines = claims.assign(group=claims["machine"].map(shown.describe), look=looks, label=names)
    fields = {
        "Published": [Value(row.published or NOTHING, kind="words") for row in rows],
        "Here": [_say_here(row) for row in rows],
        "Verdict": [Value(row.verdict, _say_why(row), kind="verdict") for row in rows],
    }
    every = shown.table("claims", paper=paper.name, case="")
    notes = tuple(_untested(shown, paper, every[every["here"] == ""]))
    return Table(f"Claims of {reference(paper)}", "", with_fields(lines, fields), notes, head="Claim")


def _say_here(row: Any) -> Value:
    """Return our number of a row of claims.csv, with the profiles of our rows if it is of the claim as a whole."""
    profiles = "" if row.case else " over ".join(dict.fromkeys([row.profile, row.base_profile]))
    return Value(row.here, profiles, kind="words")


def _say_why(row: Any) -> str:
    return "; ".join(filter(None, [row.reason, row.doubt]))


def _untested(shown: Shown, paper: Paper, claims: pd.DataFrame) -> Iterator[Value]:
    """Yield a note for each machine: the tables whose claims have no answer, and why not."""
    tables = {name: paper.experiments[claim.experiment].title if claim.experiment else f"their {claim.mean} mean"
              for name, claim in paper.claims.items()}  # fmt: skip
    claims = claims.assign(table=claims["claim"].map(tables))
    for machine, mine in claims.drop_duplicates(["machine", "reason", "table"]).groupby("machine", sort=False):
        titles: dict[str, list[str]] = {}
        for row in rows_of(mine):
            title = f"{row.table} ({row.published})".removesuffix(" ()")
            titles.setdefault(row.reason, []).append(title)
        reasons = "; ".join(f"{join_words(tables)}: {reason}" for reason, tables in titles.items())
        yield Value(f"Not tested{shown.on(machine) or ' here'}: {reasons}.")


def find(shown: Shown, paper: Paper, machine: str) -> str:
    """Return the finding on a machine: its main result in one sentence; empty if nothing can be compared."""
    found, theirs = _compare_first(shown, paper, machine)
    if found.empty:
        return ""
    side, base = str(found["side"].iat[0]), str(found["base_side"].iat[0])
    title, ours = paper.experiments[str(found["experiment"].iat[0])].title, format_span(found["speedup"], 2)
    if found["comparison"].iat[0] == "ours":
        than = f"its CPU; the paper's, {format_span(theirs['speedup'], 2)} times" if len(theirs) else "its CPU"
        return f"{title}: the GPU of {shown.aliases[machine]} is {ours} times as fast as {than}"
    cpu, verb = _cores(shown, machine, found)
    if base == OUR_CPU:
        return f"{title}: {side} is {ours} times as fast as {cpu}"
    return f"{title}: {cpu} {verb} {ours} times as fast as {base}"


def lay_out_answers(shown: Shown, paper: Paper) -> Iterator[Table]:
    """Yield the tables behind `find`, mostly one: the paper's seconds and the machines' by case, and all speedups."""
    behind: dict[str, list[Any]] = {}
    for machine in shown.machines:
        found, theirs = _compare_first(shown, paper, machine)
        for row in [*rows_of(theirs), *rows_of(found)]:
            behind.setdefault(row.experiment, []).append(row)
    for name, rows in behind.items():
        yield _answer(shown, paper.experiments[name], rows)


def _answer(shown: Shown, experiment: Experiment, rows: Sequence[Any]) -> Table:
    """Return the table of rows of `_compare_first`: the paper's seconds, then each machine's, and the speedups."""
    words, lines = experiment.column_words(), []
    for row in rows:
        case, of_machine = words[row.case], shown.on(row.machine).strip().capitalize()
        for side, seconds in ((row.base_side, row.base_seconds), (row.side, row.seconds)):
            if experiment.unit == SECONDS:
                # The paper's seconds stand once, whatever they are compared with.
                place = ("", "theirs") if side in COMPARISONS["theirs"] else (of_machine, "ours")
                lines.append((*place, side, case, Value(format_number(seconds))))
        place = ("", "theirs speedup") if row.machine == PAPER else (of_machine, "ours speedup")
        lines.append((*place, f"{row.side} over {row.base_side}", case, _from_low_to_high(row)))
    made = pd.DataFrame(lines, columns=[*LINE, "column", "value"]).drop_duplicates([*LINE, "column"])
    made = made.sort_values("look", key=lambda looks: looks.isin(["ours", "ours speedup"]), kind="stable")
    made = made.assign(label=made["label"].str[0].str.upper() + made["label"].str[1:], key="")
    unit = f"{words_of_unit(experiment).capitalize()}; in" if experiment.unit == SECONDS else "In"
    caption = f"{unit} small type, the 95 % interval."
    columns = [case for case in words.values() if case in {*made["column"]}]
    return Table(f"{experiment.title}, then and now", caption, spread(made, columns))


def _from_low_to_high(row: Any) -> Value:
    """Return the speedup of a row of why.csv; ours has its interval from low to high in small type."""
    text = row.printed or format_speedup(row.speedup)
    if row.machine == PAPER:
        return Value(text)
    return Value(text, format_span([row.speedup_low, row.speedup_high]) if row.speedup_low else NO_INTERVAL)


def _compare_first(shown: Shown, paper: Paper, machine: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of why.csv behind a machine's finding, and the paper's own rows of the same table.

    They are of the first measured table among those with the paper's numbers of both a CPU and an accelerator, or among
    all tables if the paper has no such numbers. For a machine with an accelerator, they compare the machine's speedup
    with the paper's; for another machine, the CPU with the paper's accelerator, or else with the paper's CPU, the
    faster one over the slower. `side` and `base_side` name in words what is compared.
    """
    why = shown.table("why", paper=paper.name)
    sides = [(row, base) for row, base in why["comparison"].map(COMPARISONS)]
    why = why.assign(**pd.DataFrame(sides, why.index, ["side", "base_side"]))
    theirs = why[why["comparison"] == "theirs"]
    mine = why[(why["machine"] == machine) & (why["experiment"].isin(theirs["experiment"]) | theirs.empty)]
    found = _main_comparison(mine)
    first = found["experiment"].head(1)
    found = found[found["experiment"].isin(first)]
    if (found["speedup_high"] < 1).all() and not found["comparison"].eq("ours").any():
        ends = 1 / found[["speedup", "speedup_high", "speedup_low"]]
        turned = found[["base_side", "side", "base_seconds", "seconds"]]
        found = found.assign(
            **ends.set_axis(["speedup", "speedup_low", "speedup_high"], axis=1),
            **turned.set_axis(["side", "base_side", "seconds", "base_seconds"], axis=1),
        )
    return found, theirs[theirs["experiment"].isin(first)]


def explain_largest(shown: Shown, paper: Paper) -> str:
    """Say in two sentences of which factors the paper's largest speedup is made; empty if they are not known."""
    why = shown.table("why", paper=paper.name)
    theirs = why[(why["comparison"] == "theirs") & why[["peaks", "share", "base_share"]].notna().all(axis=1)]
    if theirs.empty:
        return ""
    (row,) = rows_of(theirs.loc[[theirs["speedup"].idxmax()]])
    title = f"{paper.experiments[row.experiment].title} {paper.experiments[row.experiment].column_words()[row.case]}"
    return (
        f"{title}, {_from_low_to_high(row).text}: {format_speedup(row.peaks)} is the hardware "
        f"({format_number(row.peak_gflops)} over {format_number(row.base_peak_gflops)} GFLOP/s, by data sheets). "
        f"{format_speedup(row.shares)} is the programs: the GPU's reached {format_share(row.share)} of its peak, the "
        f"CPU's {format_share(row.base_share)}."
    )


def _main_comparison(why: pd.DataFrame, *others: str) -> pd.DataFrame:
    """Return, of a machine's rows of why.csv, those of the comparison that says most; none if it has none.

    That is our GPU over our CPU; else our CPU over the paper's GPU, or over the paper's CPU; or else one of `others`.
    """
    names = ("ours", "cpu over their gpu", "cpu over their cpu", *others)
    said = next((name for name in names if (why["comparison"] == name).any()), "")
    return why[why["comparison"] == said]


def _cores(shown: Shown, machine: str, found: pd.DataFrame) -> tuple[str, str]:
    """Return the cores that the CPU rows in `found` used, and a verb: ("2 cores of laptop", "are")."""
    cells = shown.table("cells", machine=machine)
    ran = found.merge(cells, left_on=[*CASE, "row"], right_on=[*CASE, "label"])["threads"].dropna().unique()
    name = shown.aliases[machine]
    if len(ran) != 1:
        return f"the CPU of {name}", "is"
    return (f"one core of {name}", "is") if ran[0] == 1 else (f"{ran[0]} cores of {name}", "are")


# Why, comparisons of machines, and cost.


def lay_out_why(shown: Shown, paper: Paper, experiment: Experiment) -> Table | None:
    """Return a table of the factors of the paper's speedup and of ours (`_main_comparison`); None if we have none.

    why.csv has the other comparisons.
    """
    why = shown.table("why", paper=paper.name, experiment=experiment.name)
    if (why["machine"] == PAPER).all():
        return None
    ours = [_main_comparison(why[why["machine"] == name], "gpu over their gpu") for name in shown.machines]
    why = pd.concat([why[why["machine"] == PAPER], *ours])
    rows = list(rows_of(why))
    sides = [f"{' over '.join(COMPARISONS[row.comparison])}{shown.on(row.machine)}" for row in rows]
    sides = [f"{side[0].upper()}{side[1:]}" for side in sides]
    looks = ["theirs" if row.machine == PAPER else "ours" for row in rows]
    lines = why.assign(group=sides, look=looks, label=why["case"].map(experiment.column_words()))
    caption = "Each speedup is the product of its factors."
    return Table(f"{experiment.title}: why", caption, _with_factors(lines, rows))


def _with_factors(lines: pd.DataFrame, rows: Sequence[Any]) -> pd.DataFrame:
    """Return a Table's frame for rows of why.csv: the speedup and its factors, without factors that no row has."""
    # The speedup, and the factors whose product it is.
    fields = {
        "Speedup": [_speedup(row) for row in rows],
        "hardware: ratio of peaks, GFLOP/s": [_ratio(row.peaks, row.peak_gflops, row.base_peak_gflops) for row in rows],
        "algorithm, on one CPU here": [_ratio(row.algorithm) for row in rows],
        "efficiency ratio: shares of peaks": [
            _ratio(row.shares, row.share, row.base_share, write=format_share, of=PEAKS.get(row.comparison, MIXED))
            for row in rows
        ],
        "unexplained": [_ratio(row.rest) for row in rows],
    }
    frame = with_fields(lines, fields)
    return frame.loc[:, frame.map(lambda value: value.text != NOTHING).any()]


def _speedup(row: Any) -> Value:
    if row.machine == PAPER:
        return Value(row.printed or format_speedup(row.speedup))
    return measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x")


def _ratio(
    ratio: float | None, *sides: float | None, write: Callable[[float], str] = format_number, of: str = ""
) -> Value:
    """Return a factor and, in small type, the two numbers whose ratio it is, and which peaks they are shares `of`."""
    small = " over ".join(write(one) for one in sides if one)
    return Value(format_speedup(ratio), f"{small}{f' ({of})' * bool(small and of)}") if ratio else Value(NOTHING)


def lay_out_machines(shown: Shown) -> Table:
    """Return the comparison of machines: a line for each case, a column for each machine."""
    found = shown.table("machines")
    values = [
        Value("fastest")
        if row.verdict == "base"
        else measured_value(row.speedup, row.speedup_low, row.speedup_high, unit="x" + " =" * (row.verdict == SAME))
        for row in rows_of(found)
    ]
    caption = "Speed of each machine's fastest row in fp32 over the fastest machine's; = where the interval includes 1."
    return _by_machine(shown, found, values, "Machines beside one another", caption)


def lay_out_cost(shown: Shown) -> Table:
    """Return a table of what each case costs on each machine, on the machine's cheapest row in fp32."""
    cells = shown.table("cells")
    full = cells[(cells["cost"] > 0) & (cells["precision"] == FULL_PRECISION)]
    best = full.loc[full.groupby(["machine", *CASE], sort=False)["cost"].idxmin()]
    values = [Value(f"{format_number(row.cost)} {row.currency}", f"{row.work}: {row.label}") for row in rows_of(best)]
    caption = "Seconds at the price of an hour of the machine, on its cheapest row in fp32. Other rows: cells.csv."
    return _by_machine(shown, best, values, "What it costs", caption)


def _by_machine(shown: Shown, found: pd.DataFrame, values: Sequence[Value], title: str, caption: str) -> Table:
    """Return a table with a line for each case, under the title of its table, and a column for each machine."""
    places = [
        {"paper": paper.name, "experiment": name, "case": case, "label": words, "look": "ours",
         "key": f"{paper.name} {name} {case}",
         "group": f"{experiment.title}{f', {reference(paper)}' * (len(shown.papers) > 1)}"}
        for paper in shown.papers.values()
        for name, experiment in paper.experiments.items()
        for case, words in experiment.column_words().items()
    ]  # fmt: skip
    ours = pd.Series(list(values), found.index, dtype=object)
    columns = found["machine"].map(shown.aliases)
    rows = found[CASE].assign(column=columns, value=ours).merge(pd.DataFrame(places), on=CASE)
    return Table(title, caption, spread(rows, [*shown.aliases.values()]))


# Facts.


def lay_out_machine(shown: Shown, machine: str) -> Table:
    """Return a table of the facts about a machine, its rounds, and the software that measured them."""
    facts = shown.table("facts", machine=machine)
    facts = facts[facts["part"].isin(FACTS)]
    lines = facts.assign(group=facts["part"].str.capitalize(), look="ours", label=facts["fact"])
    frame = with_fields(lines, {"Value": [Value(text, kind="words") for text in facts["value"]]})
    caption = "Records that differ in hardware are never pooled. Other facts have all values that occurred."
    title = shown.describe(machine).replace(shown.aliases[machine], machine, 1)
    return Table(title, caption, frame, head="Fact")


def lay_out_protocol(paper: Paper, *, only_doubtful: bool = False) -> Table:
    """Return a table of how a paper measured, and how well each fact is known, or of the facts that are in doubt."""
    groups = {"The paper": paper.facts} | {one.title: one.facts for one in paper.experiments.values()}
    facts = [(group, "theirs", one.fact, one) for group, mine in groups.items() for one in mine]
    facts = [fact for fact in facts if not only_doubtful or fact[-1].confidence in DOUBTFUL]
    values = [Value(one.value, one.confidence, kind="words") for *_, one in facts]
    frame = with_fields(pd.DataFrame(facts, columns=[*LINE, "one"]), {"Value": values})
    caption = (
        "How each is known: stated in public, code of the authors, recalled, inferred from numbers, or chosen here."
    )
    return Table(f"What is known of the protocol of {reference(paper)}", caption, frame, head="Fact")


# For reviewers.


def say_time(rounds: pd.DataFrame) -> str:
    """Return how long rounds took on each machine; a round that several tables show counts once."""
    once = rounds.drop_duplicates(["machine", "profile", "started", "wall_seconds"])
    took = once.groupby("machine", sort=False)["wall_seconds"].sum()
    return join_words([f"{in_words(seconds)} on {machine}" for machine, seconds in took.items()])


# The parts of pages.


def front(shown: Shown, paper: Paper, write: Write) -> dict[str, Any]:
    """Return a paper's first page, its tables in the format of `write`: findings, claims, our numbers' precision."""
    claims = lay_out_claims(shown, paper)
    cells, verdicts = shown.table("cells"), shown.table("claims")
    is_first = paper is next(iter(shown.papers.values()))
    samples, precision = Samples(shown.table("rounds")), list[str]()
    for name in shown.machines:
        known = count_results(name, paper, cells, verdicts)[1]
        has_controls = known and is_first and not shown.smoke
        controls = count_controls(typed_rows_of(cells[cells["machine"] == name], Cell), samples) if has_controls else ""
        texts = [known, controls, _say_neighbours(cells[cells["machine"] == name])]
        precision += [f"{shown.aliases[name]}: {' '.join(filter(None, texts))}"] * bool(known)
    return {
        "name": paper.name,
        "findings": [finding for name in shown.machines if (finding := find(shown, paper, name))],
        "title": paper.title,
        "reference": reference(paper),
        "links": [(text, quote(address, safe=":/")) for text, address in paper.links.items()],
        "claim": paper.claim,
        "claims": write(claims) if len(claims.frame) or claims.notes else "",
        "forest": [_picture(shown, paper, "claims", f"Claims of {reference(paper)}")] * bool(len(claims.frame)),
        "drawn": next(filter(None, (_pictures(shown, paper, table) for table in paper.experiments.values())), []),
        "answers": list(map(write, lay_out_answers(shown, paper))),
        "why": explain_largest(shown, paper),
        "precision": precision,
    }


def _say_neighbours(cells: pd.DataFrame) -> str:
    """Say how slow the reference product was on a machine's CPU rows, and how far times were corrected; or nothing."""
    timed = cells[cells["is_cpu"].astype(bool) & (cells["seconds"] > 0)]
    slowness = timed.groupby("profile")["slowness"].median()
    slowed = [f"{1 / slow:.2f} ({name})" for name, slow in slowness.items() if slow > SLOWED]
    if not slowed:
        return ""
    most = (timed["seconds_measured"] / timed["seconds"]).max()
    return (
        f"Beside neighbours on the host, the reference product ran at {join_words(slowed)} of its fastest; times are "
        f"corrected for that, by up to {format_share(most - 1)}."
    )


def section(shown: Shown, paper: Paper, experiment: Experiment, write: Write) -> dict[str, Any]:
    """Return the section of one table: the table with our rows, the factors, and a figure for each machine."""
    tables = lay_out_published(shown, paper, experiment), lay_out_why(shown, paper, experiment)
    return {
        "title": experiment.title,
        "caveats": list(experiment.caveats),
        "tables": [write(table) for table in tables if table and len(table.frame)],
        "figures": _pictures(shown, paper, experiment),
    }


def _pictures(shown: Shown, paper: Paper, experiment: Experiment) -> list[dict[str, str]]:
    """Return the figures of a table, one for each machine of which it says something."""
    return [
        _picture(shown, paper, f"{experiment.name}/{name}-speedup", f"{experiment.title} on {shown.aliases[name]}")
        for name in shown.machines
        if shown.has_figure(paper, experiment, name)
    ]


def _picture(shown: Shown, paper: Paper, name: str, what: str) -> dict[str, str]:
    """Return the path of a figure, and the text for people who do not see it."""
    path = results_folder(shown.smoke) / "figures" / paper.name / f"{name}.svg"
    return {"path": str(path), "alt": f"Chart: {what}, by case. Its numbers are in the tables."}
