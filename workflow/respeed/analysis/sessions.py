"""The records of one machine in the order of their time: sessions, and which of several measurements counts.

When a record was begun is told by two clocks: the date, and the seconds since the machine was started, which nobody can
set. Where a record has the second, it orders the records of one start, so that a date that jumps changes nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

# Seconds. A machine that nothing was measured on for so long may be another by then: other neighbours, clocks, heat.
PAUSE = 30 * 60.0
# A date is told to the second.
ROUNDING = 2.0

Record = dict[str, Any]


def in_order(records: Iterable[Record]) -> list[Record]:
    """The records in the order of their time."""
    return [record for _, record in _begun(list(records))]


def number_sessions(records: Iterable[Record]) -> list[tuple[int, Record]]:
    """The records of one machine in the order of their time, each with the number of its session, from 0.

    A session ends where nothing is measured for longer than PAUSE. A run that was killed and soon goes on stays in it,
    also after the machine was started again; but of two starts that seem to be at the same time, a date was wrong, and
    they share no session.
    """
    found = _begun(list(records))
    numbers: dict[int, int] = {}
    session, until = -1, float("-inf")
    for begin, end, members in sorted(_stretches(found), key=lambda stretch: stretch[0]):
        session += not -ROUNDING <= begin - until <= PAUSE
        until = max(until, end)
        numbers |= dict.fromkeys(members, session)
    return [(numbers[id(record)], record) for _, record in found]


def latest_measurement(records: Iterable[Record]) -> list[Record]:
    """Of each table and profile of a machine, and of its whole runs, the records that are of one measurement, the one
    that was gone on with last: of the same digest and the same version of the library."""
    groups: dict[tuple[Any, ...], dict[tuple[str, str], list[Record]]] = defaultdict(lambda: defaultdict(list))
    records = list(records)
    for record in records:
        where = tuple(record["id"][name] for name in ("machine", "paper", "experiment", "profile", "whole"))
        # Another version of the library is another measurement: its rounds are not drawn from the same distribution.
        groups[where][record["digest"], library_of(record)].append(record)
    places = {id(record): place for place, record in enumerate(in_order(records))}
    latest = []
    for measurements in groups.values():
        # A process that never started cannot say its version: it is a missing round of the measurement it was for.
        for digest, version in list(measurements):
            named = [other for other in measurements if other[0] == digest and other[1]]
            if named and not version:
                measurements[named[-1]] += measurements.pop((digest, version))
        latest += max(measurements.values(), key=lambda mine: max(places[id(record)] for record in mine))
    return latest


def library_of(record: Mapping[str, Any]) -> str:
    """The version of what multiplied, as the measuring process found it; empty where it never started."""
    return str(record["provenance"].get("backend", {}).get("package", ""))


def _begun(records: list[Record]) -> list[tuple[float, Record]]:
    """When each was begun, seconds since 1970, in order; of one start all by the date that its latest record tells."""
    dates = {id(record): datetime.fromisoformat(record["started"]).timestamp() for record in records}
    starts: dict[str, tuple[float, float]] = {}
    for record in records:
        boot, seconds = _clock(record)
        if boot:
            starts[boot] = max(starts.get(boot, (-1.0, 0.0)), (seconds, dates[id(record)] - seconds))
    begun = []
    for record in records:
        boot, seconds = _clock(record)
        begun.append((starts[boot][1] + seconds if boot else dates[id(record)], record))
    return sorted(begun, key=lambda one: (one[0], one[1]["id"]["profile"]))


def _stretches(begun: list[tuple[float, Record]]) -> list[tuple[float, float, list[int]]]:
    """Of each start of the machine, what was measured without a pause: begin, end, and the records."""
    by_start: dict[str, list[tuple[float, float, list[int]]]] = defaultdict(list)
    for begin, record in begun:
        found, end = by_start[_clock(record)[0]], begin + record["wall_seconds"]
        if found and begin - found[-1][1] <= PAUSE:
            first, until, members = found[-1]
            found[-1] = (first, max(until, end), [*members, id(record)])
        else:
            found.append((begin, end, [id(record)]))
    return [stretch for found in by_start.values() for stretch in found]


def _clock(record: Mapping[str, Any]) -> tuple[str, float]:
    """Which start of the machine, and the seconds since then; "" of a record that does not tell, as earlier ones."""
    match record.get("clock"):
        case {"boot": str(boot), "seconds": float(seconds) | int(seconds)} if boot and 0 <= seconds < float("inf"):
            return boot, float(seconds)
    return "", 0.0
