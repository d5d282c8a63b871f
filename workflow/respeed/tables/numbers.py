"""How numbers are written for people: significant digits, thousands, an interval beside what has one."""

from dataclasses import dataclass

from respeed.estimators.intervals import Estimate

NO_INTERVAL = "(no interval)"


@dataclass(frozen=True)
class Value:
    """A number for people: its `text`, and apart from it its `interval` (±3 %), so that this can be set in small type.

    Without a text there is nothing to show, and `reason` says why; `mark` is the number of the note that does.
    """

    text: str = ""
    interval: str = ""
    reason: str = ""
    mark: str = ""

    @property
    def plain(self) -> str:
        """Number and interval as one text, or the reason that there is none."""
        return f"{self.text} {self.interval}".strip() or self.reason


def format_number(value: float, digits: int = 3) -> str:
    """`digits` significant digits without an exponent; more digits of a large whole number are kept: 223,741."""
    if value == 0:
        return "0"
    # The exponent after rounding: 9.99 with two digits is 10, not 10.0.
    exponent = int(f"{value:.{digits - 1}e}".rpartition("e")[2])
    decimals = digits - 1 - exponent
    return f"{value:,.{max(0, decimals)}f}"


def format_measured(value: float | None, low: float | None, high: float | None, *, bare: bool = False) -> str:
    """A number with its interval in per cent of it: 69.5 ±3 %; "no interval" where there is none. Empty for None.

    The interval need not lie evenly about the number: what is printed is its farther end. A `bare` number stands
    alone: that of a smoke run, which is no measurement.
    """
    if value is None:
        return ""
    if bare:
        return format_number(value)
    margin = Estimate(value, low, high).margin
    return f"{format_number(value)} {NO_INTERVAL if margin is None else f'±{format_share(margin)}'}"


def format_share(share: float) -> str:
    """A share in per cent: two digits, at least 0.1 %."""
    per_cent = 100 * share
    return f"{max(per_cent, 0.1):.{1 if per_cent < 1 else 0}f} %"


def format_whole_share(share: float) -> str:
    """A share in whole per cent: 87 %."""
    return f"{100 * share:.0f} %"


def format_duration(seconds: float | None) -> str:
    """A long time in the unit that people would use: 3.2 days, 5.1 weeks."""
    if seconds is None:
        return ""
    for unit, length in (("weeks", 14 * 86400.0), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f"{format_number(seconds / (7 * 86400.0 if unit == 'weeks' else length))} {unit}"
    return f"{format_number(seconds)} seconds"


def format_speedup(value: float | None) -> str:
    """A speedup as the paper prints it, such as 12.9x."""
    return "" if value is None else f"{format_number(value)}x"


def format_measured_speedup(value: float | None, low: float | None, high: float | None, *, bare: bool = False) -> str:
    """A speedup with its interval: 30.0x ±2 %."""
    return (
        f"{format_speedup(value)}{format_measured(value, low, high, bare=bare).removeprefix(format_number(value or 0))}"
    )


def measured_value(value: float | None, low: float | None, high: float | None, unit: str = "", *, bare: bool) -> Value:
    """A measured number, with `unit` behind it, and its interval; empty for None. See format_measured."""
    if value is None:
        return Value()
    text = format_number(value)
    return Value(text + unit, format_measured(value, low, high, bare=bare).removeprefix(text).strip())


def group_thousands(text: str) -> str:
    """The digits of a printed number as they are, with commas: 223741 as 223,741, 38.60 as 38.60."""
    whole, point, rest = text.strip().partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isdecimal() else text.strip()


def format_range(low: float | None, high: float | None) -> str:
    """An interval for people; a dash where there is none."""
    return "no interval" if low is None or high is None else f"{format_number(low)} to {format_number(high)}"
