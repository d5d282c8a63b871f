"""How numbers are written for people."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from respeed import text
from respeed.text import NO_INTERVAL, Value, measured_time, measured_value


@pytest.mark.parametrize(
    ("value", "low", "high", "shown", "interval"),
    [
        (69.5, 67.4, 71.2, "69.5", "±3 %"),
        (69.5, 69.45, 69.6, "69.5", "±0.1 %"),
        (1376.0, 1300.0, 1380.0, "1,376", "±6 %"),
        (69.5, math.nan, math.nan, "69.5", NO_INTERVAL),
    ],
)
def test_a_measured_number_carries_its_interval(
    value: float, low: float | None, high: float | None, shown: str, interval: str
) -> None:
    assert measured_value(value, low, high) == Value(shown, interval)
    assert measured_value(value, low, high, unit="x") == Value(f"{shown}x", interval)
    assert measured_value(None, low, high) == measured_value(math.nan, low, high) == Value()
    assert measured_time(2.0, 1.98, 2.02) == Value("2.00 s", "±1 %")


SAID = {
    lambda seconds: measured_time(seconds, None, None).text: {
        3.51e-4: "351 µs", 0.0716: "71.6 ms", 2.0: "2.00 s", 544: "544 s", 1306: "21.8 min", 7200: "2.00 h", None: "",
    },
    text.in_words: {0.2: "1 s", 89.4: "89 s", 90: "1.5 min", 600: "10 min", 5399: "90 min", 5400: "1.5 h"},
    text.format_share: {1e-5: "0.1 %", 0.0034: "0.3 %", 0.01: "1 %", 0.034: "3 %", 0.875: "88 %"},
    text.format_number: {38.6: "38.6", 497.0: "497", 223741.0: "223,741", 0.00123456: "0.00123", 9.999: "10.0"},
    text.group_thousands: {"223741": "223,741", "38.60": "38.60", "1234.5": "1,234.5", "1e5": "1e5"},
    text.format_whole_share: {0.0034: "0 %", 0.875: "88 %"},
    text.format_speedup: {12.88: "12.9x", None: "", 0.0: "0x"},
    text.format_span: {(72.6, 12.88, 40): "12.9 to 72.6", (3.001, 3.002): "3.00"},
    text.printable: {"a": "a", "a\tb\u2028\x1bé\u202e": "a b é", "a\nb": "a b"},
    text.visible: {"aé\x1b\u202e": "aé\\x1b\\u202e", "a" * 1500: "a" * 1500, "a" * 1501: "a" * 1499 + "…"},
    text.name_unprintable: {
        "é ": None, "a\n": "U+000A (a line break)", "\x1b\n": "U+001B", "\u202e": "U+202E (RIGHT-TO-LEFT OVERRIDE)",
    },
    text.shorten: {" One. Two!\nThree ": "One. Two! Three", "a" * 201: "a" * 199 + "…"},
}  # fmt: skip


@pytest.mark.parametrize("say", SAID, ids=lambda say: say.__name__)
def test_what_people_read_is_short_and_printable(say: Callable[[Any], str]) -> None:
    assert {one: say(one) for one in SAID[say]} == SAID[say]
    lists = ["", "a", "a and b", "a, b and c", "a; b,c and d"]
    assert [text.join_words(one) for one in ([], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "b,c", "d"])] == lists
