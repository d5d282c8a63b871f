"""The fastest, or the cheapest, of several rows."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any


def fastest_by(rows: Iterable[Any], *names: str, value: str = "seconds") -> dict[Any, Any]:
    """Of the rows that agree in the fields `names` the one with the smallest `value`, of equals the first; rows without
    one do not count. In the order in which they come."""
    place, size = attrgetter(*names), attrgetter(value)
    found: dict[Any, Any] = {}
    for row in rows:
        where = place(row)
        if (size(row) or 0) > 0 and (where not in found or size(row) < size(found[where])):
            found[where] = row
    return found
