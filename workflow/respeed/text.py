"""Texts and numbers for people.

Texts from files, such as a label or the name of a CPU, lose the characters that cannot be printed. Numbers are written
with significant digits, commas and intervals, and times in a unit that suits them.
"""

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeGuard

# A line of a message, and a text of a record, is no longer than this.
MOST_LETTERS = 1500
# Line and paragraph separators, and characters without a glyph: control, format, private, unassigned, surrogates.
_NEVER = ("C", "Zl", "Zp")
# Letters and marks without a glyph: fillers of Hangul and Khmer, an empty cell of Braille, variation selectors.
_WITHOUT_GLYPH = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def is_unprintable(char: str) -> bool:
    """Return whether a line of text must not contain the character: it breaks or reverses the line, or has no glyph."""
    return unicodedata.category(char).startswith(_NEVER) or _WITHOUT_GLYPH.match(char) is not None


def name_unprintable(text: str) -> str | None:
    """Name the first character that cannot be printed, such as U+202E (RIGHT-TO-LEFT OVERRIDE); None without one."""
    for char in filter(is_unprintable, text):
        code = f"U+{ord(char):04X}"
        name = "a line break" if char in "\r\n" else unicodedata.name(char, "")
        return f"{code} ({name})" if name else code
    return None


def name_odd(text: str) -> str | None:
    """Name the first character that only looks like a blank or a mark of ASCII; None without one.

    Such are no-break blanks, and the wide marks of Chinese and Japanese keyboards.
    """
    for char in text:
        plain = unicodedata.normalize("NFKC", char)
        if not char.isascii() and plain.isascii() and not plain.isalnum():
            return f"U+{ord(char):04X} ({unicodedata.name(char, '')})"
    return None


def printable(text: str) -> str:
    """Return the text on one line: white space becomes spaces, and characters that cannot be printed are left out."""
    if text.isascii() and text.isprintable():
        return text
    spaced = re.sub(r"\s", " ", text)
    return "".join(char for char in spaced if not is_unprintable(char))


def squeeze(text: str) -> str:
    """Return the text with one space for each run of white space, so that no text can look like several lines."""
    return " ".join(text.split())


def escape_unprintable(text: str, keep: str = "") -> str:
    r"""Return the text with Python's escapes for characters that cannot be printed (\x1b, \u202e), except `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char in keep or not is_unprintable(char) else char.encode("unicode_escape").decode() for char in text
    )


def visible(text: str) -> str:
    """Return the text on one line of at most MOST_LETTERS, with escapes for characters that cannot be printed."""
    return clip(escape_unprintable(text))


def clip(text: str, most: int = MOST_LETTERS) -> str:
    """Return the text, cut to `most` letters if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shorten(text: str) -> str:
    """Return the beginning of a library's message, on one line."""
    return clip(squeeze(text), 200)


def first_line(error: BaseException) -> str:
    """Return an error's type and its first line; the lines after the first are the same for all errors of a device."""
    name = type(error).__name__
    line = shorten(str(error).strip().partition("\n")[0])
    return f"{name}: {line}" if line else name


def join_words(words: list[str]) -> str:
    """Return the words as a list for people: "a, b and c", or "a; b and c" if any word contains a comma."""
    comma = "; " if "," in "".join(words) else ", "
    first = comma.join(words[:-1])
    return f"{first} and {words[-1]}" if first else "".join(words)


def counted(number: int, noun: str) -> str:
    """Return a count in words: "1 record", "2 records"."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def in_words(seconds: float) -> str:
    """Return a duration for people, coarse as an estimate should be: "40 s", "2.5 min", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 600:
        return f"{seconds / 60:.1f} min"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


NO_INTERVAL = "(no interval)"
# Shown in place of a missing number.
NOTHING = "–"

# For times below so many seconds: the unit, and its length in seconds.
_TIMES = ((1e-3, "µs", 1e-6), (1.0, "ms", 1e-3), (1000.0, "s", 1.0), (6000.0, "min", 60.0), (math.inf, "h", 3600.0))


@dataclass(frozen=True)
class Value:
    """A field of a table for people: its `text` and, in small type, its `interval` (±3 %).

    If there is no number, `reason` says why. A field of words has the `kind` "words" or "verdict", and its `interval`
    is a remark. `source` is the key of the cell that a number comes from.
    """

    text: str = ""
    interval: str = ""
    reason: str = ""
    kind: str = "number"
    source: str = ""


def is_known(value: float | None) -> TypeGuard[float]:
    """Return whether `value` is a number: neither None nor NaN, which tables have where a number is missing."""
    return value is not None and not math.isnan(value)


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and no exponent; empty without a number.

    All digits before the decimal point are kept, even if these are more than `digits`: 223,741.
    """
    if not is_known(value):
        return ""
    if value == 0:
        return "0"
    # The exponent after rounding: 9.99 with two digits is 10, not 10.0.
    exponent = int(f"{value:.{digits - 1}e}".rpartition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def measured_value(value: float | None, low: float | None, high: float | None, *, unit: str = "") -> Value:
    """Return a number with its `unit`, and its interval in per cent of the number: ±3 %; empty without a number.

    Without an interval, NO_INTERVAL is shown. If an interval reaches farther on one side of the number, ± is the larger
    of the two distances.
    """
    if not is_known(value):
        return Value()
    interval = NO_INTERVAL
    if is_known(low) and is_known(high):
        interval = f"±{format_share(max(high / value - 1, 1 - low / value))}"
    return Value(f"{format_number(value)}{unit}", interval)


def measured_time(seconds: float | None, low: float | None, high: float | None) -> Value:
    """Return a time with its interval, in the unit in which it has few digits: 351 µs ±4 %. Empty without a number."""
    if not is_known(seconds):
        return Value()
    unit, length = next((unit, length) for below, unit, length in _TIMES if seconds < below)
    text = f"{format_number(seconds / length)} {unit}"
    return replace(measured_value(seconds, low, high), text=text)


def format_share(share: float) -> str:
    """Return a share in per cent, at least 0.1 %: with one decimal below 1 %, otherwise with none."""
    per_cent = 100 * share
    return f"{max(per_cent, 0.1):.{1 if per_cent < 0.95 else 0}f} %"


def format_whole_share(share: float) -> str:
    """Return a share in whole per cent: 87 %."""
    return f"{100 * share:.0f} %"


def format_span(values: Iterable[float], digits: int = 3) -> str:
    """Return the range of some numbers: 12.9 to 72.6; a single number if both ends read the same."""
    ordered = sorted(values)
    lowest = format_number(ordered[0], digits)
    highest = format_number(ordered[-1], digits)
    return lowest if lowest == highest else f"{lowest} to {highest}"


def format_speedup(value: float | None) -> str:
    """Return a speedup as papers print it, such as 12.9x."""
    return f"{format_number(value)}x" if is_known(value) else ""


def group_thousands(text: str) -> str:
    """Return a printed number with all its digits, and with commas: 223741 as 223,741, 38.60 as 38.60."""
    digits, point, decimals = text.strip().partition(".")
    return f"{int(digits):,}{point}{decimals}" if digits.isdecimal() else text.strip()
