"""claims.yaml: what a repository says of its own speed, each sentence with the two commands that show it.

It may be a stranger's file: nothing of it runs before its reader allows that, by the checksum of what was shown.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from respeed.errors import UserError
from respeed.inputs.config import DIGITS
from respeed.inputs.consent import quote_word
from respeed.inputs.reader import fit, from_here, mistakes_of, parse_yaml, read_text
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


def read_claims(path: Path) -> tuple[tuple[Claim, ...], str]:
    """Return the claims of a file, and the checksum that allows them: the first digits of the SHA-256 of their text.

    Raises UserError, with a line for each mistake, if the file has any.
    """
    text = read_text(path)
    claims = fit(Claims, parse_yaml(text, str(from_here(path))), path).claims
    mistakes = []
    for number, claim in enumerate(claims):
        mistakes += [f"{from_here(path)}: claims.{number}.{line}" for line in mistakes_of(claim.at_values)]
    if mistakes:
        raise UserError(*mistakes)
    return claims, hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def say_commands(path: Path, claims: Sequence[Doubt], checksum: str) -> list[str]:
    """Return what the claims of a file would run, and how to allow it."""
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
