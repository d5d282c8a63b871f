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


def format_speedup(value: float | None) -> str:
    """A speedup as the paper prints it, such as 12.9x."""
    return "" if value is None else f"{format_number(value)}x"


def format_range(low: float | None, high: float | None) -> str:
    """An interval for people; a dash where there is none."""
    return "no interval" if low is None or high is None else f"{format_number(low)} to {format_number(high)}"
