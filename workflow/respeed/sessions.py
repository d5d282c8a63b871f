"""Sessions: stretches of measuring on one machine. A session can be set aside, so that nothing of it counts, and back.

A session is named by the moment at which its first process began, in UTC, such as 2026-11-28T10:15. The records of a
session that is set aside lie in ``_set-aside/<profile>`` in the machine's folder, where no table, plan or export
looks for records. Nothing is deleted.
"""

import math
import os

from respeed.errors import UserError, cannot_write, nearest
from respeed.paths import hold_folder
from respeed.records import SET_ASIDE, Record, Records, in_order, read_records

# Seconds. After such a pause, a machine may have other neighbours, clocks and temperatures.
PAUSE = 30 * 60.0


def split_sessions(records: Records) -> list[list[Record]]:
    """Split the records of one machine, in order of time, into sessions.

    A session ends when nothing is measured for longer than `PAUSE`.
    """
    sessions: list[list[Record]] = []
    until = -math.inf
    for record in in_order(records):
        if record.began - until > PAUSE:
            sessions.append([])
        sessions[-1].append(record)
        until = max(until, record.began + record.wall_seconds)
    return sessions


def number_sessions(records: Records) -> list[tuple[int, Record]]:
    """Return the records of one machine in order of time, each with the number of its session, from 0."""
    numbered = []
    for number, session in enumerate(split_sessions(records)):
        numbered += [(number, record) for record in session]
    return numbered


def name_session(records: Records) -> str:
    """Return the name of a session: when the first of its `records` began, to the minute."""
    return min(record.start.started for record in records)[:16]


def move_session(machine: str, smoke: bool, name: str, *, aside: bool) -> int:
    """Set the session of that `name` aside, or with `aside` false take it back; return how many records were moved.

    Raises UserError if the machine has no such session in use (or none set aside), or if a file cannot be moved. Files
    that were moved before such an error stay where they are, and the same call moves the others.
    """
    with os.fdopen(hold_folder(smoke)):
        records = read_records(smoke, machine, not aside)
        sessions = {name_session(session): session for session in split_sessions(records)}
        if name not in sessions:
            where = f"{machine} that is {'in use' if aside else 'set aside'}"
            raise UserError(f"sessions: no session of {where} began at {name!r}{nearest(name, sessions)}")
        for record in sessions[name]:
            home = record.path.parents[1] / SET_ASIDE if aside else record.path.parents[2]
            target = home / record.profile / record.path.name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                record.path.rename(target)
            except OSError as error:
                raise cannot_write(target, error) from None
        return len(sessions[name])
