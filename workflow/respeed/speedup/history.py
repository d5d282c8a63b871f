"""The history of a ratio: a file with a line of JSON for each time that it was measured."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Self

from pydantic import ValidationError, model_validator
from pydantic.dataclasses import dataclass

from respeed.analysis.estimates import Estimate
from respeed.errors import UserError, cannot_write
from respeed.inputs.reader import adapter, read_text
from respeed.machine import machine_slug
from respeed.model import FORM, Name, Positive
from respeed.speedup.doubt import Answer, Doubt, say_span

# As many lines as a claim has in a few centuries of days.
MOST_BYTES = 10**8
# Earlier ratios that are shown.
SHOWN = 3


@dataclass(frozen=True, config=FORM)
class Entry:
    """A ratio with its interval: of commands and their settings, at a value of the parameter, on a day, a machine."""

    settings: str
    value: str
    day: date
    machine: Name
    ratio: Positive
    low: Positive
    high: Positive

    @model_validator(mode="after")
    def _check_interval(self) -> Self:
        if not self.low <= self.ratio <= self.high:
            raise ValueError("the ratio lies outside its interval")
        return self

    @property
    def span(self) -> Estimate:
        """Return the ratio as an estimate."""
        return Estimate.between(self.ratio, self.low, self.high)


def read_history(path: Path) -> list[Entry]:
    """Return the entries of a file, the oldest first; none if there is no file; UserError if a line is none."""
    if not path.exists():
        return []
    entries = []
    for number, line in enumerate(read_text(path, MOST_BYTES).splitlines(), 1):
        try:
            entries.append(adapter(Entry).validate_json(line))
        except ValidationError:
            raise UserError(f"{path}:{number}: is no line of a history; remove it, or name another file") from None
    return entries


def add_to_history(path: Path, doubt: Doubt, answers: Sequence[Answer]) -> None:
    """Append the ratios that have an interval, and can be trusted, to a file."""
    day = datetime.now(UTC).date()
    lines = []
    for answer in answers:
        ratio = answer.ratio
        if answer.is_trusted and ratio.low and ratio.high:
            machine = machine_slug()
            entry = Entry(_settings(doubt), answer.trial.value, day, machine, ratio.value, ratio.low, ratio.high)
            lines.append(json.dumps(asdict(entry), default=str) + "\n")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        raise cannot_write(path, error) from None


def _settings(doubt: Doubt) -> str:
    """Return what decides a ratio, as JSON: the commands, and how they are run."""
    settings = doubt.settings
    for name in ("published", "tolerance", "minutes"):
        settings.pop(name, None)
    return json.dumps(settings, sort_keys=True)


def say_before(entries: Sequence[Entry], doubt: Doubt, answer: Answer) -> list[str]:
    """Return a line with earlier ratios of the same commands, and one more if the last on this machine has changed."""
    key = (_settings(doubt), answer.trial.value)
    same = [entry for entry in entries if (entry.settings, entry.value) == key]
    if not same:
        return []
    earlier = [f"{say_span(entry.span)} on {entry.day}, {entry.machine}" for entry in same[-SHOWN:]]
    lines = [f"before: {'; '.join(earlier)}"]
    local = [entry for entry in same if entry.machine == machine_slug()]
    if local and answer.is_trusted:
        last = local[-1]
        if answer.ratio.is_above(last.high) or answer.ratio.is_below(last.low):
            lines.append(f"changed since {last.day}: the two intervals do not meet")
    return lines
