"""How numbers are written for people."""

import math

import pytest

from respeed.text import NO_INTERVAL, Value, format_number, group_thousands, measured_time, measured_value


@pytest.mark.parametrize(
    ("value", "low", "high", "text", "interval"),
    [
        (69.5, 67.4, 71.2, "69.5", "±3 %"),
        (69.5, 69.45, 69.6, "69.5", "±0.1 %"),
        (1376.0, 1300.0, 1380.0, "1,376", "±6 %"),
        (69.5, math.nan, math.nan, "69.5", NO_INTERVAL),
    ],
)
def test_a_measured_number_carries_its_interval(
    value: float, low: float | None, high: float | None, text: str, interval: str
) -> None:
    assert measured_value(value, low, high) == Value(text, interval)
    assert measured_value(value, low, high, unit="x") == Value(f"{text}x", interval)
    assert measured_value(value, low, high, bare=True) == Value(text)
    assert measured_value(None, low, high) == measured_value(math.nan, low, high) == Value()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.51e-4, "351 µs"), (0.0716, "71.6 ms"), (2.0, "2.00 s"), (544, "544 s"), (1306, "21.8 min"), (7200, "2.00 h")],
)
def test_a_time_is_said_in_a_unit_that_gives_it_few_digits(seconds: float, text: str) -> None:
    assert measured_time(seconds, 0.99 * seconds, 1.01 * seconds) == Value(text, "±1 %")
    assert measured_time(None, None, None) == Value()


def test_numbers_are_written_with_three_digits_and_no_exponent_and_printed_ones_keep_their_digits() -> None:
    numbers = {38.6: "38.6", 497.0: "497", 223741.0: "223,741", 0.00123456: "0.00123", 9.999: "10.0"}
    assert {one: format_number(one) for one in numbers} == numbers
    printed = {"223741": "223,741", "38.60": "38.60", "1234.5": "1,234.5", "1e5": "1e5"}
    assert {one: group_thousands(one) for one in printed} == printed
