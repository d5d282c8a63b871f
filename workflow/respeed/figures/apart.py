"""Where labels go that would lie on one another: as near as they can be to where they belong."""

from collections.abc import Sequence
from itertools import pairwise


def move_apart(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Middles of labels of the given sizes, in the order of what is wanted, none on another, all from `low` to `high`.

    The sum of squares of the moves is the least that it can be (isotonic regression, by pooling neighbours); if there
    is no room for all, they begin at `low` and go beyond `high`.
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    if not order:
        return []
    offsets = [0.0]
    for before, after in pairwise(order):
        offsets.append(offsets[-1] + (sizes[before] + sizes[after]) / 2)
    # Without their sizes, labels that would cross have the same place: the mean of what each of them wants.
    pools: list[tuple[float, int]] = []
    for place, offset in zip(order, offsets, strict=True):
        mean, count = wanted[place] - offset, 1
        while pools and pools[-1][0] >= mean:
            before_mean, before_count = pools.pop()
            mean = (before_mean * before_count + mean * count) / (before_count + count)
            count += before_count
        pools.append((mean, count))
    first = low + sizes[order[0]] / 2
    last = high - sizes[order[-1]] / 2 - offsets[-1]
    middles = [max(first, min(last, mean)) for mean, count in pools for _ in range(count)]
    placed = [0.0] * len(order)
    for place, middle, offset in zip(order, middles, offsets, strict=True):
        placed[place] = middle + offset
    return placed


def stack_up(lefts: Sequence[float], widths: Sequence[float], heights: Sequence[float]) -> list[float]:
    """How high labels stand, each to the right of a line that rises to it, so that no line crosses a label.

    A label stands above those whose lines it would lie across; the one furthest to the right stands lowest.
    """
    bottoms = [0.0] * len(lefts)
    done: list[int] = []
    for place in sorted(range(len(lefts)), key=lambda place: lefts[place], reverse=True):
        right = lefts[place] + widths[place]
        bottoms[place] = max((bottoms[other] + heights[other] for other in done if lefts[other] < right), default=0.0)
        done.append(place)
    return bottoms
