"""How numbers are written for people: significant digits, thousands, a mark where a number is not converged."""

import math

# Behind a number whose interval is wider than +-2 % or missing.
UNCONVERGED = "~"


def format_number(value: float, digits: int = 3) -> str:
    """`digits` significant digits without an exponent; more digits of a large whole number are kept: 223,741."""
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(0, decimals)}f}"


def format_seconds(value: float | None, status: str = "ok") -> str:
    """Seconds as printed in a table; empty for None."""
    if value is None:
        return ""
    return format_number(value) + (UNCONVERGED if status == "unconverged" else "")


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


def format_range(low: float | None, high: float | None) -> str:
    """An interval for people; a dash where there is none."""
    return "no interval" if low is None or high is None else f"{format_number(low)} to {format_number(high)}"
