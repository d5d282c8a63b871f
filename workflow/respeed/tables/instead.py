"""What a machine can say of a claim that it cannot test, for want of the row that the claim is about.

A CPU row stands in for the accelerator, each time with the algorithm of the published row that it is set beside.
"""

from collections.abc import Mapping

from respeed.analysis.labels import in_unit, label_row, words_of_unit
from respeed.estimators.rounds import CellKey, CellRounds
from respeed.estimators.speedup import FULL_PRECISION
from respeed.model.claim import Claim
from respeed.model.paper import Experiment, Paper
from respeed.model.published import PublishedRow
from respeed.numbers import format_duration, format_number
from respeed.tables.cells import Cell
from respeed.tables.claimed_rows import published_value
from respeed.tables.compared import NUMBERED
from respeed.tables.fastest import fastest_by_case
from respeed.tables.totals import Total


def say_instead(
    claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], totals: list[Total]
) -> str:
    """A sentence or two made from what was measured in fp32; empty where that is nothing."""
    if claim.test == "total":
        return _of_total(claim, paper, cells, totals)
    if claim.threads:
        return _of_cores(claim, [cell for cell in cells if cell.answers], rounds)
    said = ""
    if claim.test == "growth":
        said = _of_growth(claim, paper, cells)
    elif claim.test in NUMBERED:
        said = _beside_theirs(claim, paper, cells)
    if said or paper.prints(claim.experiment):
        return said
    return _by_themselves(paper.experiments[claim.experiment], cells)


def _beside_theirs(claim: Claim, paper: Paper, cells: list[Cell]) -> str:
    """The fastest CPU row here beside the two published rows that the claim is about."""
    experiment = paper.experiments[claim.experiment]
    if claim.test == "largest":
        top = max(experiment.case_names(), key=lambda case: published_value(claim, paper, case) or 0.0)
        cells = [cell for cell in cells if cell.case == top]
    there, base = paper.row(claim.row), _fastest_published(claim, paper)
    fast = [(cell.seconds or 0.0) / printed for cell, printed in _beside(cells, paper, claim, there)]
    slow = [printed / (cell.seconds or 1.0) for cell, printed in _beside(cells, paper, claim, base)]
    if not (fast and slow and base):
        return ""
    where = f"At {cells[0].case} the" if claim.test == "largest" else "The"
    with_what = ", each time with the algorithm that the paper ran there" if experiment.algorithms else ""
    takes = f"{_span(fast)} of the time" if max(fast) < 1 else f"{_span(fast, 'x')} the time"
    return (
        f"{where} fastest CPU program here takes {takes} of the paper's {label_row(paper, there)} "
        f"({_hardware(there)}), and is {_span(slow, 'x')} as fast as its CPU ({_hardware(base)}){with_what}."
    )


def _of_growth(claim: Claim, paper: Paper, cells: list[Cell]) -> str:
    """How the CPU changes from case to case: an accelerator gains where the CPU loses."""
    base = _fastest_published(claim, paper)
    fastest = _beside(cells, paper, claim, base)
    if len(fastest) < 2:
        return ""
    if all(cell.work for cell, _ in fastest):
        ours = [(cell.work or 0.0) / (cell.seconds or 1.0) / 1e9 for cell, _ in fastest]
        theirs = [(cell.work or 0.0) / printed / 1e9 for cell, printed in fastest]
        return (
            f"The fastest CPU program here does {_span(ours)} GFLOP/s over these cases, the paper's CPU "
            f"{_span(theirs)}: the rates differ by a factor of {_spread(ours)} here and of {_spread(theirs)} there."
        )
    (cell, printed), *_, (last_cell, last_printed) = fastest
    ours_grow, theirs_grow = (last_cell.seconds or 0.0) / (cell.seconds or 1.0), last_printed / printed
    printed_as = paper.experiments[claim.experiment].columns
    first, last = (printed_as.get(case, case) for case in (cell.case, last_cell.case))
    return (
        f"From {first} to {last} the time of the paper's CPU algorithm grows by a factor of "
        f"{format_number(ours_grow)} here, of {format_number(theirs_grow)} there."
    )


def _of_cores(claim: Claim, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> str:
    """What all cores bring, where they are not as many as the claim is about."""
    single = {
        (cell.case, cell.package, cell.algorithm): cell
        for cell in cells
        if set(cell.answers) & set(claim.over) and cell.seconds and rounds[cell.key].threads == 1
    }
    pairs = [
        (cell, base)
        for cell in cells
        if claim.row in cell.answers
        and cell.seconds
        and (base := single.get((cell.case, cell.package, cell.algorithm)))
    ]
    if not pairs:
        return ""
    threads = sorted({rounds[cell.key].threads or 0 for cell, _ in pairs})
    times = [(base.seconds or 0.0) / (cell.seconds or 1.0) for cell, base in pairs]
    return f"{' or '.join(map(str, threads))} threads are {_span(times, 'x')} as fast as one."


def _of_total(claim: Claim, paper: Paper, cells: list[Cell], totals: list[Total]) -> str:
    mine = [
        one for one in totals if (one.paper, one.experiment) == (paper.name, claim.experiment) and one.headline_seconds
    ]
    theirs = {one.profile: one.headline_seconds or 0.0 for one in mine if one.machine == "paper"}
    here = {(cell.machine, cell.profile) for cell in cells if cell.is_cpu}
    ours = [one for one in mine if (one.machine, one.profile) in here]
    slow = [theirs[name] for name in claim.over if name in theirs]
    if not (ours and slow and claim.row in theirs):
        return ""
    best = min(ours, key=lambda one: one.headline_seconds or 0.0)
    return (
        f"A day's work of the paper's GPU ({format_duration(min(slow))} for its CPU, both at their own rates) takes "
        f"{format_duration(best.headline_seconds)} here ({best.label})."
    )


def _by_themselves(experiment: Experiment, cells: list[Cell]) -> str:
    """What the fastest CPU row does here, in the table's unit, where there is nothing to set it beside."""
    fastest = fastest_by_case(cell for cell in cells if cell.is_cpu)
    values = [value for cell in fastest.values() if (value := in_unit(cell, experiment.unit)[0])]
    if not values:
        return ""
    return f"The fastest CPU program here: {_span(values)} {words_of_unit(experiment)}."


def _beside(cells: list[Cell], paper: Paper, claim: Claim, there: PublishedRow | None) -> list[tuple[Cell, float]]:
    """In each case the fastest CPU row here that runs what the published row ran, and the seconds printed there."""
    if there is None:
        return []
    algorithms = paper.experiments[claim.experiment].algorithms
    alike = (
        cell
        for cell in cells
        if cell.is_cpu and (cell.algorithm not in algorithms or there.name in algorithms[cell.algorithm].published_for)
    )
    pairs = (
        (cell, paper.seconds(claim.experiment, case, there.name, cell.work, cell.traffic_of_fp32))
        for case, cell in fastest_by_case(alike).items()
    )
    return [(cell, printed) for cell, printed in pairs if printed]


def _fastest_published(claim: Claim, paper: Paper) -> PublishedRow | None:
    """Of the rows that the claim compares with, the one that is fastest in most of the printed columns."""
    found = (
        paper.fastest(claim.experiment, case, claim.over) for case in paper.experiments[claim.experiment].case_names()
    )
    names = [row.name for row in found if row]
    return paper.row(max(names, key=names.count)) if names else None


def _hardware(row: PublishedRow) -> str:
    label = row.hardware.label if row.hardware else row.device or row.label
    return label if row.precision in {"", FULL_PRECISION} else f"{label}, {row.precision}"


def _span(values: list[float], mark: str = "") -> str:
    low, high = (f"{format_number(one, 2)}{mark}" for one in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _spread(values: list[float]) -> str:
    return format_number(max(values) / min(values), 2)
