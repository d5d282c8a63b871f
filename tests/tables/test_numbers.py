"""How numbers are written for people."""

import pytest

from respeed.tables.numbers import format_measured, format_measured_speedup, format_number


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (69.5, 67.4, 71.2, "69.5 ±3 %"),
        (69.5, 69.45, 69.6, "69.5 ±0.1 %"),
        (1376.0, 1300.0, 1380.0, "1,376 ±6 %"),
        (69.5, None, None, "69.5 (no interval)"),
        (None, None, None, ""),
    ],
)
def test_a_measured_number_carries_its_interval(
    value: float | None, low: float | None, high: float | None, text: str
) -> None:
    assert format_measured(value, low, high) == text
    assert format_measured_speedup(value, low, high) == text.replace(" ", "x ", 1)
    assert format_measured(value, low, high, bare=True) == text.split(" ", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [(38.6, "38.6"), (497.0, "497"), (223741.0, "223,741"), (0.00123456, "0.00123"), (9.999, "10.00"), (24.15, "24.1")],
)
def test_numbers_are_written_with_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert format_number(value) == text
