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


def texts_of(figure: Figure) -> set[str]:
    return {text.get_text() for text in words_of(figure)}


def assert_legible(figure: Figure, name: object = "") -> None:
    """No text lies on another, or is cut by the edge of the page."""
    page, boxes = figure.bbox, {id(text): (text.get_text(), _box(text)) for text in words_of(figure)}
    for text in words_of(figure):
        if text.get_rotation():  # the boxes of names that lean are larger than they
            del boxes[id(text)]
    for (first, one), (second, other) in combinations(boxes.values(), 2):
        apart = one.x0 >= other.x1 or other.x0 >= one.x1 or one.y0 >= other.y1 or other.y0 >= one.y1
        assert apart, f"{name}: {first!r} and {second!r}"
    for text, box in boxes.values():
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, f"{name}: {text!r}"
        assert page.y0 <= box.y0 <= box.y1 <= page.y1, f"{name}: {text!r}"


def _box(text: Text) -> Bbox:
    return text.get_window_extent().padded(-SLACK)
