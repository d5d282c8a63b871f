"""Labels and axes: where they go, how they are broken, and what tells rows apart."""

from itertools import combinations, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from respeed.figures.labels import Look, make_label, move_apart, stack_up
from respeed.figures.style import COLORS, COLUMN, SIZE, break_lines, ends_of, plain, ticks_of, width_of

LABELS = st.lists(st.tuples(st.floats(0, 500), st.floats(1, 40)), min_size=1, max_size=12)


@given(LABELS)
def test_no_label_lies_on_another_and_they_keep_their_order(labels: list[tuple[float, float]]) -> None:
    wanted, sizes = zip(*labels, strict=True)
    low, high = -10.0, 510.0
    placed = move_apart(wanted, sizes, low, high)
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    for before, after in pairwise(order):
        assert placed[after] - placed[before] >= (sizes[before] + sizes[after]) / 2 - 1e-6
    assert all(place - size / 2 >= low - 1e-6 for place, size in zip(placed, sizes, strict=True))
    if sum(sizes) <= high - low:
        assert all(place + size / 2 <= high + 1e-6 for place, size in zip(placed, sizes, strict=True))


@given(LABELS)
def test_labels_that_have_room_stay_where_they_belong(labels: list[tuple[float, float]]) -> None:
    wanted = [50.0 * place for place in range(len(labels))]
    assert move_apart(wanted, [size for _, size in labels], -100, 1000) == pytest.approx(wanted)


def test_two_labels_of_one_place_move_equally_far() -> None:
    assert move_apart([10, 10], [4, 4], 0, 100) == [8, 12]


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(5, 100), st.floats(5, 30)), min_size=1, max_size=10))
def test_stacked_labels_cross_neither_each_other_nor_a_line(labels: list[tuple[float, float, float]]) -> None:
    lefts, widths, heights = zip(*labels, strict=True)
    bottoms = stack_up(lefts, widths, heights)
    for one, other in combinations(range(len(labels)), 2):
        left, right = sorted((one, other), key=lambda place: lefts[place])
        if lefts[left] < lefts[right] < lefts[left] + widths[left]:
            assert bottoms[left] >= bottoms[right] + heights[right]


def lightness(color: str) -> float:
    """L* of CIELAB, 0 to 100: what is left of a colour in grey."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * float(luminance ** (1 / 3)) - 16


def test_colours_differ_in_grey() -> None:
    assert all(abs(lightness(one) - lightness(other)) > 5 for one, other in combinations(COLORS, 2))
    assert all(abs(lightness(one) - lightness(other)) > 10 for one, other in combinations(COLORS[:4], 2))


@given(st.text(max_size=200), st.floats(20, COLUMN.width), st.integers(1, 4))
@example("many words " * 18, 50.0, 2)
def test_lines_are_as_wide_as_asked_and_no_more_than_asked(text: str, width: float, most: int) -> None:
    lines = break_lines(text, SIZE, width, most=most)
    assert 1 <= len(lines) <= most
    assert all(width_of(line, SIZE) <= width for line in lines)


@given(st.text())
@example("a\x1b[31m row\u202e of \ufffe\ud800 \x07")
def test_a_label_has_only_letters_that_can_be_printed(text: str) -> None:
    """XML holds no control character, no surrogate, and a mark of direction would turn what follows."""
    assert all(line.isprintable() for line in make_label(text, Look("black")).lines)


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
