"""Labels that are moved apart: laws of where they go."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.figures.apart import move_apart, stack_up

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
    sizes = [size for _, size in labels]
    assert move_apart(wanted, sizes, -100, 1000) == pytest.approx(wanted)


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
