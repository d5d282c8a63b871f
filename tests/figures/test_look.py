"""What tells rows apart: in colour, in grey, and at 1."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from respeed.figures.axis import ends_of, ticks_of
from respeed.figures.style import COLORS, PAGE, SIZE
from respeed.figures.text import break_lines, plain, width_of


def lightness(color: str) -> float:
    """L* of CIELAB, 0 to 100: what is left of a colour in grey."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * float(luminance ** (1 / 3)) - 16


def test_colours_differ_in_grey() -> None:
    assert all(abs(lightness(one) - lightness(other)) > 5 for one, other in combinations(COLORS, 2))
    assert all(abs(lightness(one) - lightness(other)) > 10 for one, other in combinations(COLORS[:4], 2))


@given(st.text(max_size=200), st.floats(20, PAGE), st.integers(1, 4))
def test_lines_are_as_wide_as_asked_and_no_more_than_asked(text: str, width: float, most: int) -> None:
    lines = break_lines(text, SIZE, width, most=most)
    assert 1 <= len(lines) <= most
    assert all(width_of(line, SIZE) <= width for line in lines)


@given(st.text(max_size=60))
def test_nothing_is_lost_of_a_text_that_has_room(text: str) -> None:
    assert "".join(break_lines(text, SIZE, 200, most=99)).replace(" ", "") == plain(text).replace(" ", "")


def test_a_size_is_parted_before_its_x_and_words_behind_spaces() -> None:
    assert break_lines("20736x49152-patch24", SIZE, 60) == ["20736x49152-", "patch24"]
    assert break_lines("20736x49152", SIZE, 35) == ["20736", "x49152"]
    assert break_lines("all cores, feature-sign search", SIZE, 72) == ["all cores,", "feature-sign search"]


@given(st.floats(1e-6, 1e9), st.floats(1.0001, 1e8))
def test_an_axis_has_ticks_within_its_ends(low: float, factor: float) -> None:
    ends = ends_of([low, low * factor])
    ticks = ticks_of(*ends)
    assert ends[0] < low
    assert low * factor < ends[1]
    assert 2 <= len(ticks) <= 9
    assert all(ends[0] <= tick <= ends[1] for tick in ticks)
    assert sorted(set(ticks)) == pytest.approx(ticks)
