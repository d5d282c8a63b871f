"""Which machine is the cheapest in each case, how much dearer the others are, and how sure that is."""

from collections.abc import Iterable, Sequence

from respeed.estimators.speedup import FULL_PRECISION
from respeed.numbers import format_number
from respeed.tables.cost import Cost
from respeed.text import join_words

# What a machine is that is neither the cheapest nor perhaps as cheap, and how sure that is.
BEHIND = {"dearer": "which is certain", "unproven": "which too few clean rounds leave open"}


def cheapest_rows(rows: Iterable[Cost]) -> list[Cost]:
    """Of every case and machine with a price the cheapest row in fp32."""
    found: dict[tuple[str, ...], Cost] = {}
    for row in rows:
        if row.cost and row.precision == FULL_PRECISION:
            where = (*row.column, row.machine)
            other = found.get(where)
            if other is None or row.cost < (other.cost or 0.0):
                found[where] = row
    return list(found.values())


def say_who_is_cheapest(rows: Sequence[Cost]) -> list[str]:
    """Sentences about the cheapest rows of machines in one table and currency: who is the cheapest, and how many times
    as much the same work costs on each of the others. None of a machine alone."""
    machines, cases = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("machine", "case"))
    if len(machines) < 2:
        return []
    leaders: dict[tuple[str, ...], list[str]] = {}
    for case in cases:
        first = tuple(row.machine for row in rows if row.case == case and row.standing not in BEHIND)
        leaders.setdefault(first, []).append(case)
    # Where the cheapest is not among the rows, nobody is first.
    says = [_say_first(first, _where(some, cases)) for first, some in leaders.items() if first]
    return [*says, *(text for name in machines for text in _say_behind([row for row in rows if row.machine == name]))]


def _say_first(machines: tuple[str, ...], where: str) -> str:
    if len(machines) == 1:
        return f"{machines[0]} is the cheapest{where}."
    return f"{join_words(list(machines))} are the cheapest and cannot be told apart{where}."


def _say_behind(rows: list[Cost]) -> list[str]:
    """How many times as much the work costs on one machine as on the cheapest, where that is sure and where not."""
    says = []
    for standing, how in BEHIND.items():
        behind = [row for row in rows if row.standing == standing]
        times = [row.dearer[0] for row in behind if row.dearer]
        if times:
            span = " to ".join(dict.fromkeys(map(format_number, (min(times), max(times)))))
            where = _where([row.case for row in behind], [row.case for row in rows])
            says.append(f"On {rows[0].machine} the same work costs {span} times as much{where}, {how}.")
    return says


def _where(some: list[str], every: list[str]) -> str:
    """In which of the cases; empty where there is but one."""
    if len(every) == 1:
        return ""
    return f" in all {len(every)} cases" if some == every else f" at {join_words(some)}"
