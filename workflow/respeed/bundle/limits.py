"""How much a bundle may hold. A larger one is refused before it is read."""

from respeed.errors import UserError
from respeed.records.layout import MANIFEST, Kind, place_of

MIB = 2**20
# A paper's rounds on all profiles of a machine are some hundred records; this has room for a hundred machines.
MAX_MEMBERS = 50_000
# Each has to be told from all that are here, and written; a report of more would take minutes.
MAX_MACHINES = 500
MAX_BYTES = 512 * MIB
# The largest seen have 0.02 MB (a round), 0.6 MB (what a program learns) and 0.3 MB (a hardware sheet of two cores;
# more cores are more rounds). A whole run adds 8 MB a day.
_LARGEST = {Kind.RECORD: 2 * MIB, Kind.LEARNING: 8 * MIB, Kind.SHEET: 8 * MIB}
_LARGEST_WHOLE = 16 * MIB
# A manifest has about 200 bytes a member.
_LARGEST_MANIFEST = 16 * MIB
# Real files shrink to a quarter, and at most to an eighth. A file of nothing but one letter shrinks to a thousandth.
MAX_RATIO = 40
# Numbers, texts, lists and objects of one file: a whole run of a day and a half. What holds more takes long to look at.
MAX_VALUES = 500_000
MAX_TEXT = 4000
# Numbers beyond are no facts of a measurement, and some programs cannot hold them exactly.
MAX_WHOLE = 2**63


def check_machines(count: int, where: str, advice: str) -> None:
    """UserError if a bundle or folder has more machines than one import takes."""
    if count > MAX_MACHINES:
        raise UserError(f"{where}: has {count} machines, more than the {MAX_MACHINES} that fit into one; {advice}")


def most_bytes(path: str) -> int:
    """The most that a member of that name may have."""
    if path == MANIFEST:
        return _LARGEST_MANIFEST
    place = place_of(path)
    if place is None:
        return MIB
    return _LARGEST_WHOLE if place.is_whole else _LARGEST.get(place.kind, MIB)


def too_large(path: str, size: int, packed_size: int) -> str | None:
    """Why a member of that name may not have so many bytes, and so many when it is packed; None if it may."""
    if size > (limit := most_bytes(path)):
        return f"has more than {limit // MIB} MiB, which no such file needs"
    if size > MAX_RATIO * packed_size:
        return f"unpacks to more than {MAX_RATIO} times its size, which no record does"
    return None
