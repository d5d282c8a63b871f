"""What a machine can say of a claim that it cannot test, for want of the row that the claim is about.

A CPU row stands in for the accelerator, each time with the algorithm of the published row that it is set beside.
"""

from collections.abc import Mapping

from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.claim import Claim
from respeed.model.paper import Architecture, Paper
from respeed.tables.cells import Cell
from respeed.tables.claimed_rows import published_value
from respeed.tables.numbers import format_duration, format_number
from respeed.tables.totals import Total


def say_instead(
    claim: Claim, paper: Paper, cells: list[Cell], rounds: Mapping[CellKey, CellRounds], totals: list[Total]
) -> str:
    """A sentence or two made from what was measured in fp32; empty where that is nothing."""
    if claim.test == "total":
        return _of_total(claim, paper, cells, totals)
    if claim.test == "growth":
        return _of_growth(claim, paper, cells)
    if claim.threads:
        return _of_cores(claim, [cell for cell in cells if cell.published_seconds], rounds)
    return _beside_theirs(claim, paper, cells)


def _beside_theirs(claim: Claim, paper: Paper, cells: list[Cell]) -> str:
    """The fastest CPU row here beside the two published rows that the claim is about."""
    experiment = paper.experiments[claim.experiment]
    if claim.test == "largest":
        top = max(experiment.case_names(), key=lambda case: published_value(claim, paper, case) or 0.0)
        cells = [cell for cell in cells if cell.case == top]
    there = paper.architecture(claim.row)
    if there is None:
        return ""
    fast = [
        (cell.seconds or 0.0) / printed
        for case, cell in _fastest_cpu(cells, paper, claim, there).items()
        if (printed := paper.printed(claim.experiment, case, there.name))
    ]
    base = _fastest_published(claim, paper)
    slow = [
        printed / (cell.seconds or 1.0)
        for case, cell in (_fastest_cpu(cells, paper, claim, base).items() if base else ())
        if (printed := paper.printed(claim.experiment, case, base.name if base else ""))
    ]
    if not (fast and slow and base):
        return ""
    where = f"At {cells[0].case} the" if claim.test == "largest" else "The"
    with_what = ", each time with the algorithm that the paper ran there" if experiment.algorithms else ""
    return (
        f"{where} fastest CPU program here takes {_span(fast)} of the time of the paper's {there.label} "
        f"({_hardware(there)}), and is {_span(slow, 'x')} as fast as its CPU ({_hardware(base)}){with_what}."
    )


def _of_growth(claim: Claim, paper: Paper, cells: list[Cell]) -> str:
    """How the CPU changes from case to case: an accelerator gains where the CPU loses."""
    base = _fastest_published(claim, paper)
    fastest = {
        case: (cell, printed)
        for case, cell in (_fastest_cpu(cells, paper, claim, base).items() if base else ())
        if (printed := paper.printed(claim.experiment, case, base.name if base else ""))
    }
    if len(fastest) < 2:
        return ""
    if all(cell.work for cell, _ in fastest.values()):
        ours = [(cell.work or 0.0) / (cell.seconds or 1.0) / 1e9 for cell, _ in fastest.values()]
        theirs = [(cell.work or 0.0) / printed / 1e9 for cell, printed in fastest.values()]
        return (
            f"The fastest CPU program here does {_span(ours)} GFLOP/s over these cases, the paper's CPU "
            f"{_span(theirs)}: the rates differ by a factor of {_spread(ours)} here and of {_spread(theirs)} there."
        )
    (first, (cell, printed)), *_, (last, (last_cell, last_printed)) = fastest.items()
    ours_grow, theirs_grow = (last_cell.seconds or 0.0) / (cell.seconds or 1.0), last_printed / printed
    printed_as = paper.experiments[claim.experiment].columns
    return (
        f"From {printed_as.get(first, first)} to {printed_as.get(last, last)} the time of the paper's CPU algorithm "
        f"grows by a factor of {format_number(ours_grow)} here, of {format_number(theirs_grow)} there."
    )


def _of_cores(claim: Claim, cells: list[Cell], rounds: Mapping[CellKey, CellRounds]) -> str:
    """What all cores bring, where they are not as many as the claim is about."""
    single = {
        (cell.case, cell.package, cell.algorithm): cell
        for cell in cells
        if cell.architecture in claim.over and cell.seconds and rounds[cell.key].threads == 1
    }
    pairs = [
        (cell, base)
        for cell in cells
        if cell.architecture == claim.row
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


def _fastest_cpu(cells: list[Cell], paper: Paper, claim: Claim, there: Architecture) -> dict[str, Cell]:
    """By case the fastest CPU row here that runs what the published row ran."""
    algorithms = paper.experiments[claim.experiment].algorithms
    fastest: dict[str, Cell] = {}
    for cell in cells:
        algorithm = algorithms.get(cell.algorithm)
        if cell.is_cpu and cell.seconds and (algorithm is None or there.name in algorithm.published_for):
            rival = fastest.get(cell.case)
            if rival is None or cell.seconds < (rival.seconds or 0.0):
                fastest[cell.case] = cell
    return fastest


def _fastest_published(claim: Claim, paper: Paper) -> Architecture | None:
    """Of the rows that the claim compares with, the one that is fastest in most of the printed columns."""
    names = [
        min(printed, key=lambda name: printed[name])
        for case in paper.experiments[claim.experiment].case_names()
        if (printed := {name: value for name in claim.over if (value := paper.printed(claim.experiment, case, name))})
    ]
    return paper.architecture(max(names, key=names.count)) if names else None


def _hardware(row: Architecture) -> str:
    return row.hardware.label if row.hardware else row.label


def _span(values: list[float], mark: str = "") -> str:
    low, high = (f"{format_number(one, 2)}{mark}" for one in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _spread(values: list[float]) -> str:
    return format_number(max(values) / min(values), 2)
