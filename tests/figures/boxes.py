"""Where the words of a figure are."""

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text

from respeed.figures.style import STAMP_TEXT

# Points that the white around letters may overlap.
SLACK = 0.5


def words_of(figure: Figure) -> list[Text]:
    """Every text that can be read, but for the stamp, which lies behind all."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return [text for text in texts if text.get_visible() and text.get_text().strip() and text.get_text() != STAMP_TEXT]


def texts_of(figure: Figure) -> set[str]:
    return {" ".join(text.get_text().split()) for text in words_of(figure)}


def assert_legible(figure: Figure, name: object = "") -> None:
    """No text lies on another, or is cut by the edge of the page. Of names that lean the boxes are larger than they."""
    words, page = [text for text in words_of(figure) if text.get_rotation() % 90 == 0], figure.bbox
    boxes = [(text.get_text(), text.get_window_extent().padded(-SLACK)) for text in words]
    for (first, one), (second, other) in combinations(boxes, 2):
        assert not one.overlaps(other), f"{name}: {first!r} and {second!r}"
    for text, box in boxes:
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, f"{name}: {text!r}"
        assert page.y0 <= box.y0 <= box.y1 <= page.y1, f"{name}: {text!r}"
