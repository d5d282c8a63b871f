"""What a cell's rate is a share of: the ceilings of its own profile, in the sessions that measured it."""

import statistics

from respeed.estimators.rounds import Ceilings, CellRounds


def ceilings_of(cell: CellRounds) -> Ceilings:
    """The median over the cell's rounds of what the session of each saw: of one session, simply its ceilings.

    A ceiling of another day would not do: a machine may be another one then, as far as its speed goes.
    """
    return Ceilings(
        _median([time.peak for time in cell.times.values()]),
        _median([time.bandwidth for time in cell.times.values()]),
    )


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value]
    return statistics.median(known) if known else None
