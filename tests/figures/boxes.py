"""Where the words of a figure are."""

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from respeed.figures.style import STAMP_TEXT

# Points that the white around letters may overlap.
SLACK = 0.5


def words_of(figure: Figure) -> list[Text]:
    """Every text that can be read, but for the stamp, which lies behind all."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return [text for text in texts if text.get_visible() and text.get_text().strip() and text.get_text() != STAMP_TEXT]


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Texts that lie on one another."""
    boxes = {id(text): (text.get_text(), _box(text)) for text in words_of(figure)}
    return [
        (first, second)
        for (first, one), (second, other) in combinations(boxes.values(), 2)
        if one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1
    ]


def outside(figure: Figure) -> list[str]:
    """Texts that the edge of the page cuts."""
    page = figure.bbox
    return [
        text.get_text()
        for text in words_of(figure)
        if (box := _box(text)).x0 < page.x0 or box.x1 > page.x1 or box.y0 < page.y0 or box.y1 > page.y1
    ]


def _box(text: Text) -> Bbox:
    return text.get_window_extent().padded(-SLACK)
