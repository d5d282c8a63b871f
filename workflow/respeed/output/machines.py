"""Tables about machines and protocols: facts, and how a paper measured."""

import pandas as pd

from respeed.analysis.cells import reference
from respeed.analysis.tables import Fact
from respeed.model import Paper
from respeed.output.results import Results
from respeed.output.table import Line, Table
from respeed.text import Value, in_words, join_words

# The parts of facts.csv but for the summary.
FACTS = ("hardware", "rounds", "software", "measured", "profiles")
# How well a fact is known that no paper states and no code of its authors shows.
DOUBTFUL = ("recalled", "inferred")


def lay_out_machine(results: Results, machine: str) -> Table:
    """Return a table of the facts about a machine, its rounds, and the software that measured them."""
    lines = []
    for fact in results.rows(Fact, machine=machine):
        if fact.part in FACTS:
            value = Value(fact.value, kind="words")
            lines.append(Line(fact.part.capitalize(), fact.fact, {"Value": value}))
    caption = "Records that differ in hardware are never pooled. Other facts have all values that occurred."
    return Table(results.describe(machine, machine), caption, {"Value": "Value"}, lines, head="Fact")


def lay_out_protocol(paper: Paper, *, only_doubtful: bool = False) -> Table:
    """Return a table of how a paper measured, and how well each fact is known, or of the facts that are in doubt."""
    facts = [("The paper", fact) for fact in paper.facts]
    for table in paper.experiments.values():
        facts += [(table.title, fact) for fact in table.facts]
    lines = []
    for group, fact in facts:
        if not only_doubtful or fact.confidence in DOUBTFUL:
            value = Value(fact.value, fact.confidence, kind="words")
            lines.append(Line(group, fact.fact, {"Value": value}, "theirs"))
    caption = (
        "How each is known: stated in public, code of the authors, recalled, inferred from numbers, or chosen here."
    )
    return Table(
        f"What is known of the protocol of {reference(paper)}", caption, {"Value": "Value"}, lines, head="Fact"
    )


def say_time(rounds: pd.DataFrame) -> str:
    """Return how long rounds took on each machine; a round that several tables show counts once."""
    distinct = rounds.drop_duplicates(["machine", "profile", "started", "wall_seconds"])
    durations = distinct.groupby("machine", sort=False)["wall_seconds"].sum()
    texts = [f"{in_words(seconds)} on {machine}" for machine, seconds in durations.items()]
    return join_words(texts)
