"""How numbers are written for people."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.text import (
    NO_INTERVAL,
    Value,
    format_number,
    group_thousands,
    measured_time,
    measured_value,
)


@pytest.mark.parametrize(
    ("value", "low", "high", "text", "interval"),
    [
        (69.5, 67.4, 71.2, "69.5", "±3 %"),
        (69.5, 69.45, 69.6, "69.5", "±0.1 %"),
        (1376.0, 1300.0, 1380.0, "1,376", "±6 %"),
        (69.5, None, None, "69.5", NO_INTERVAL),
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


@given(st.floats(1e-3, 1e6), st.floats(0.001, 0.9))
def test_the_interval_that_is_shown_reaches_the_farther_end(value: float, share: float) -> None:
    shown = measured_value(value, value * (1 - share), value * (1 + share / 2)).interval
    assert float(shown.strip("± %")) == pytest.approx(100 * share, rel=0.06, abs=0.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.51e-4, "351 µs"), (0.0716, "71.6 ms"), (2.0, "2.00 s"), (544, "544 s"), (1306, "21.8 min"), (7200, "2.00 h")],
)
def test_a_time_is_said_in_a_unit_that_gives_it_few_digits(seconds: float, text: str) -> None:
    assert measured_time(seconds, 0.99 * seconds, 1.01 * seconds) == Value(text, "±1 %")
    assert measured_time(None, None, None) == Value()


@pytest.mark.parametrize(
    ("value", "text"),
    [(38.6, "38.6"), (497.0, "497"), (223741.0, "223,741"), (0.00123456, "0.00123"), (9.999, "10.0"), (24.15, "24.1")],
)
def test_numbers_are_written_with_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("printed", "text"), [("223741", "223,741"), ("38.60", "38.60"), ("1234.5", "1,234.5"), ("1e5", "1e5")]
)
def test_a_printed_number_keeps_its_digits(printed: str, text: str) -> None:
    assert group_thousands(printed) == text
