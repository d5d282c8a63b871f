"""Which machine is the cheapest in each case, how much dearer the others are, and how sure that is."""

from collections.abc import Iterable, Sequence

from respeed.estimators.speedup import FULL_PRECISION
from respeed.tables.cost import Cost
from respeed.tables.numbers import format_number
from respeed.tables.text import join_words

# Why no more can be said of a machine that is not proven to be dearer.
ALIKE = "the two cannot be told apart"
OPEN = {"unproven": "too few rounds were clean to be sure"}


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
    machines = list(dict.fromkeys(row.machine for row in rows))
    if len(machines) < 2:
        return []
    first = {row.case: row.cheapest_machine for row in rows}
    winners = {name: [case for case, one in first.items() if one == name] for name in dict.fromkeys(first.values())}
    says = [f"{name} is the cheapest {_where(cases, len(first))}" for name, cases in winners.items()]
    others = (_say_dearer([row for row in rows if row.machine == name != first[row.case]]) for name in machines)
    return [f"{join_words(says)}.", *filter(None, others)]


def _where(cases: list[str], all_cases: int) -> str:
    if len(cases) == all_cases > 1:
        return f"in all {all_cases} cases"
    return f"at {join_words(cases)}"


def _say_dearer(rows: list[Cost]) -> str:
    """How many times as much the work costs on a machine as on the cheapest, and where that is sure."""
    times = [row.dearer[0] for row in rows if row.dearer]
    if not times:
        return ""
    span = " to ".join(dict.fromkeys(map(format_number, (min(times), max(times)))))
    sure = [row.case for row in rows if row.standing == "dearer"]
    certain = [f"certain {_where(sure, len(rows))}" if len(rows) > 1 else "certain"] if sure else []
    open_ones: dict[str, list[str]] = {}
    for row in rows:
        if row.standing != "dearer":
            open_ones.setdefault(OPEN.get(row.standing, ALIKE), []).append(row.case)
    doubts = [f"{f'at {join_words(cases)} ' * bool(sure)}{why}" for why, cases in open_ones.items()]
    return f"On {rows[0].machine} the same work costs {span} times as much ({'; '.join(certain + doubts)})."
