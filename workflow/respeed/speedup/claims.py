"""claims.yaml: what a repository says of its own speed, each sentence with the two commands that show it.

It may be a stranger's file: nothing of it runs before its reader allows that, by the checksum of what was shown.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from respeed.errors import UserError
from respeed.inputs.config import DIGITS
from respeed.inputs.consent import quote_word
from respeed.inputs.reader import fit, from_here, mistakes_of, read_yaml
from respeed.machine.software import checksum_of
from respeed.model import FORM, Positive, Text
from respeed.speedup.doubt import COMMANDS, Doubt
from respeed.text import counted


@dataclass(frozen=True, config=FORM, kw_only=True)
class Claim(Doubt):
    """A sentence with the number that it claims, and the doubt of it."""

    # With the defaults of Doubt, they would not be required.
    says: Text = Field()
    published: Positive = Field()


@dataclass(frozen=True, config=FORM)
class Claims:
    """The form of claims.yaml."""

    claims: Annotated[tuple[Claim, ...], Field(min_length=1, max_length=100)]


def read_claims(path: Path) -> tuple[Claim, ...]:
    """Return the claims of a file; raise UserError, with a line for each mistake, if it has any."""
    claims = fit(Claims, read_yaml(path), path).claims
    mistakes = []
    for number, claim in enumerate(claims):
        mistakes += [f"{from_here(path)}: claims.{number}.{line}" for line in mistakes_of(claim.at_values)]
    if mistakes:
        raise UserError(*mistakes)
    return claims


def find_checksum(path: Path) -> str:
    """Return the checksum that allows the commands of a file: the first digits of its SHA-256."""
    return checksum_of(path)[:DIGITS]


def say_denied(path: Path, allow: str | None) -> list[str]:
    """Return what a file would run, and how to allow it; nothing if `allow` is its checksum.

    Raises UserError if `allow` is another checksum.
    """
    claims = read_claims(path)
    checksum = find_checksum(path)
    if allow == checksum:
        return []
    if allow is not None:
        raise UserError(f"--allow: {from_here(path)} is another file than the one with this checksum; look at it again")
    lines = [f"{from_here(path)}: {counted(len(claims), 'claim')}; nothing of it has run"]
    for claim in claims:
        lines.append(f"  {_quoted(claim.says)}")
        for value, doubt in claim.at_values().items():
            at_value = f"at {_quoted(value)}, " if value else ""
            for name in COMMANDS:
                if command := getattr(doubt, name):
                    lines.append(f"    {at_value}{name}: {_quoted(command)}")
        for key, setting in claim.settings.items():
            if key not in COMMANDS:
                lines.append(f"    {key}: {_quoted(str(setting))}")
    return [*lines, f"if you trust these commands, and the programs that they name, add --allow {checksum}"]


def _quoted(text: str) -> str:
    """Return a text in which no letter passes for another."""
    return text if text.isascii() else quote_word(text)
