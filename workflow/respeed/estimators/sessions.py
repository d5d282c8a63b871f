"""Sessions: stretches of measuring on one machine. What is quiet, and what is a ceiling, is known within one alone."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

# A machine that nothing was measured on for so long may be another one by then: other neighbours, clocks, heat.
PAUSE = timedelta(minutes=30)


def number_sessions(records: Iterable[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The records of one machine in the order of their time, each with the number of its session, from 0.

    A session ends where nothing is measured for longer than PAUSE. A run that was killed and soon goes on stays in it.
    """
    numbered: list[tuple[int, dict[str, Any]]] = []
    session, until = 0, None
    for record in sorted(records, key=lambda record: (record["started"], record["id"]["profile"])):
        begin = datetime.fromisoformat(record["started"])
        if until is not None and begin - until > PAUSE:
            session += 1
        end = begin + timedelta(seconds=record["wall_seconds"])
        until = end if until is None else max(until, end)
        numbered.append((session, record))
    return numbered
