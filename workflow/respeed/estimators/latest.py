"""Which records count where the same was measured in several ways: a size added, other threads, another library."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from respeed.estimators.sessions import in_order


def latest_measurement(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each table and profile of a machine, and of its whole runs, the records that are of one measurement, the one
    that was gone on with last: of the same digest and the same version of the library."""
    groups: dict[tuple[str, ...], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    records = list(records)
    for record in records:
        round_id = record["id"]
        where = (
            round_id["machine"],
            round_id["paper"],
            round_id["experiment"],
            round_id["profile"],
            str(round_id["whole"]),
        )
        # Another version of the library is another measurement: its rounds are not drawn from the same distribution.
        version = record["provenance"].get("backend", {}).get("package", "")
        groups[where][f"{record['digest']} {version}"].append(record)
    places = {id(record): place for place, record in enumerate(in_order(records))}
    latest = []
    for by_digest in groups.values():
        # A process that never started cannot say its version: it is a missing round of the measurement it was for.
        for key in [key for key in by_digest if key.endswith(" ")]:
            named = [other for other in by_digest if other.startswith(key) and other != key]
            if named:
                by_digest[named[-1]] += by_digest.pop(key)
        latest += max(by_digest.values(), key=lambda group: max(places[id(record)] for record in group))
    return latest
