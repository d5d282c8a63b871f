"""A claim of a paper: a sentence, and what it says in terms of cells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What a paper says of its tables, in a form that a machine can be held against.

    Most tests are about a speedup: the seconds of the fastest of our rows beside the published rows `over`, divided by
    those of the fastest beside the published row `row`. `test` is

    - each: the speedup in every case is the printed one;
    - largest: so is the largest of all cases;
    - growth: the speedup grows from case to case, in the table's order;
    - total: the speedup of the sum of all cases, at the paper's own rates, is what the sum of ours has;
    - faster: in every case it is above 1;
    - crossover: it is below 1 in the first cases and above 1 in the last ones;
    - limited: `row` alone, each case over its case `over_case`: faster, but by less than the ratio of the parameter
      `by`, such as threads, of the two;
    - memory: `row` alone: the last case moves its bytes as fast as a plain copy does.

    With `threads`, only rows of one thread and of so many count. What is published follows from published.csv.
    """

    name: str
    says: str
    test: str
    experiment: str
    row: str
    over: tuple[str, ...] = ()
    threads: int | None = None
    over_case: str = ""
    by: str = ""
