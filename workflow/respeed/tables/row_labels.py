"""What published rows and ratios of them are called."""

from collections.abc import Collection

from respeed.model.paper import Paper
from respeed.model.published import PublishedRow


def label_row(paper: Paper, row: PublishedRow) -> str:
    """A published row in words; with its algorithm, device and precision where another row has the same label."""
    alike = [other for other in paper.rows if (other.label, other.package) == (row.label, row.package)]
    if len(alike) == 1:
        return row.label
    return ", ".join(filter(None, [row.label, row.algorithm, row.device, row.precision]))


def across_precisions(row: str, base: Collection[str]) -> str:
    """Marks a ratio of numbers in different precisions: fp32 over fp64. Empty where they are the same, or not known."""
    others = [one for one in base if one and row and one != row]
    return f"{row} over {' and '.join(others)}" if others else ""
