"""A claim of a paper: a sentence, and what it says in terms of cells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What a paper says of its tables, in a form that a machine can be held against.

    All four tests are about a speedup: the seconds of the fastest row of the architectures `over`, divided by those of
    the fastest row of the architecture `row`. `test` is

    - each: the speedup in every case is the printed one;
    - largest: so is the largest of all cases;
    - growth: the speedup grows from case to case, in the table's order;
    - total: the speedup of the sum of all cases, at the paper's own rates, is what the sum of ours has.

    With `threads`, only rows of one thread and of so many count. What is published follows from published.csv.
    """

    name: str
    says: str
    test: str
    experiment: str
    row: str
    over: tuple[str, ...]
    threads: int | None = None
