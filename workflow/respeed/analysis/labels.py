"""What papers, rows and units are called in tables and figures, and times in the unit that a paper prints."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from respeed.model.paper import Experiment, Paper, PublishedRow, Unit
from respeed.numbers import is_known

# The machine of what is the paper's own, in tables that have both.
PAPER = "paper"


def reference(paper: Paper) -> str:
    """A paper in a few words: Raina, Madhavan and Ng (ICML 2009)."""
    names = [author.split()[-1] for author in paper.authors]
    if len(names) > 3:
        names = [names[0], "others"]
    return f"{' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))} ({paper.venue} {paper.year})"


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


def in_unit(cell: Any, unit: Unit) -> tuple[float | None, float | None, float | None]:
    """A cell's time with its interval in a table's unit. The interval of a rate is that of its time, turned round."""
    value, low, high = (
        unit.value(seconds, cell.amount) if is_known(seconds) and seconds else None
        for seconds in (cell.seconds, cell.seconds_low, cell.seconds_high)
    )
    return (value, high, low) if unit.counted else (value, low, high)


def words_of_unit(experiment: Experiment) -> str:
    """What the numbers of a table are: seconds for 1,000,000 examples, milliseconds a step, examples a second."""
    name = experiment.unit.name
    if experiment.unit.counted:
        return name
    if experiment.case_examples:
        return f"{name} for a whole run of each case"
    return f"{name} for {experiment.examples:,} examples" if experiment.examples else f"{name} a step"
