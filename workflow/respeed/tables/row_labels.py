"""What rows, published and ours, and ratios of them are called."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from respeed.model.paper import Paper
from respeed.model.published import PublishedRow


def label_row(paper: Paper, row: PublishedRow) -> str:
    """A published row in words; with its algorithm, device and precision where another row has the same label."""
    alike = [other for other in paper.rows if (other.label, other.package) == (row.label, row.package)]
    if len(alike) == 1:
        return row.label
    return ", ".join(filter(None, [row.label, row.algorithm, row.device, row.precision]))


def tell_apart(profiles: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Facts of profiles by name; behind a label that several have stands the profile's name."""
    seen = Counter(facts["label"] for facts in profiles.values())
    return {
        name: {**facts, "label": f"{facts['label']} ({name})" if seen[facts["label"]] > 1 else facts["label"]}
        for name, facts in profiles.items()
    }


def across_precisions(row: str, base: Collection[str]) -> str:
    """Marks a ratio of numbers in different precisions: fp32 over fp64. Empty where they are the same, or not known."""
    others = [one for one in base if one and row and one != row]
    return f"{row} over {' and '.join(others)}" if others else ""
