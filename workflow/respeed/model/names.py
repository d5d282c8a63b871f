"""What may be a name: it becomes a path, a wildcard and a word in a shell command."""

import re

from respeed.model.errors import UserError

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
# Snakemake takes a wildcard that ends so for one that would grow for ever.
MOST_REPEATS = 19
_REPEATS = re.compile(rf"(.+)\1{{{MOST_REPEATS}}}$")


def check_name(kind: str, name: str, where: str) -> str:
    """Return `name` if it can be used as one; UserError otherwise."""
    if NAME.fullmatch(name):
        if _REPEATS.search(name):
            raise UserError(
                f"{where}: {name!r} cannot be the name of a {kind}: its end says the same {MOST_REPEATS + 1} times"
            )
        return name
    raise UserError(
        f"{where}: {name!r} cannot be the name of a {kind}; use small letters, digits, - and _ (at most 64, "
        "starting with a letter or digit)"
    )
