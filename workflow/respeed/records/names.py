"""Names for machines that no records have yet."""

import itertools

from respeed.paths import records_folder

# Of a host's mark: enough to tell a handful of machines of one kind apart, in this folder and in others.
MARK_LETTERS = 4
LONGEST = 64


def is_free(machine: str) -> bool:
    """Whether nothing lies under this name, neither measured nor by the smoke preset."""
    return not any((records_folder(smoke) / machine).exists() for smoke in (False, True))


def free_name(machine: str, host: str | None) -> str:
    """A free name like this one: with the first letters of the host's mark, or else with a number."""
    marks = [host[:MARK_LETTERS]] if host else []
    names = (
        f"{machine[: LONGEST - 1 - len(ending)]}-{ending}"
        for ending in itertools.chain(marks, map(str, itertools.count(2)))
    )
    return next(name for name in names if is_free(name))
