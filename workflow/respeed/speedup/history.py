"""The history of ratios: a file with a line of JSON for each time that one was measured."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from respeed.analysis.estimates import Estimate
from respeed.errors import UserError, cannot_write
from respeed.inputs.reader import adapter, read_text
from respeed.machine import machine_slug
from respeed.model import FORM, Name, Positive
from respeed.speedup.doubt import Answer, say_span

# As many lines as a claim has in a few centuries of days.
MOST_BYTES = 10**8
# Earlier ratios that are shown.
SHOWN = 3
# The settings that decide no ratio.
FREE = ("published", "tolerance", "minutes")


@dataclass(frozen=True, config=FORM)
class Entry:
    """A ratio with the ends of its interval: of commands by their settings, as JSON; on a day, on a machine."""

    settings: str
    day: date
    machine: Name
    ratio: Positive
    low: Positive
    high: Positive


def read_history(path: Path) -> list[Entry]:
    """Return the entries of a file, the oldest first; none if there is no file; UserError if a line is none."""
    entries = []
    lines = read_text(path, MOST_BYTES).splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(adapter(Entry).validate_json(line))
        except ValidationError:
            raise UserError(f"{path}:{number}: is no line of a history; remove it, or name another file") from None
    return entries


def add_to_history(path: Path, answers: Iterable[Answer]) -> None:
    """Append the ratios that have an interval, and can be trusted, to a file."""
    day = datetime.now(UTC).date()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            for answer in answers:
                ratio = answer.ratio
                if answer.is_trusted and ratio.low and ratio.high:
                    entry = Entry(_settings(answer), day, machine_slug(), ratio.value, ratio.low, ratio.high)
                    print(json.dumps(asdict(entry), default=str), file=file)
    except OSError as error:
        raise cannot_write(path, error) from None


def _settings(answer: Answer) -> str:
    """Return what decides a ratio: the commands, and how they are run."""
    settings = {name: value for name, value in answer.doubt.settings.items() if name not in FREE}
    return json.dumps(settings, sort_keys=True)


def list_earlier(entries: Sequence[Entry], answer: Answer) -> Iterator[str]:
    """Yield a note with earlier ratios of the same commands, and one if the last on this machine has changed."""
    same = [entry for entry in entries if entry.settings == _settings(answer)]
    texts = []
    for entry in same[-SHOWN:]:
        span = say_span(Estimate.between(entry.ratio, entry.low, entry.high))
        texts.append(f"{span} on {entry.day}, {entry.machine}")
    if texts:
        yield f"before: {'; '.join(texts)}"
    local = [entry for entry in same if entry.machine == machine_slug()]
    if local and answer.is_trusted:
        last = local[-1]
        if answer.ratio.is_above(last.high) or answer.ratio.is_below(last.low):
            yield f"changed since {last.day}: the two intervals do not meet"
