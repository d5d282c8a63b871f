"""What a paper claims, and whether it holds on each machine: results/tables/claims.csv."""

from collections.abc import Mapping
from dataclasses import dataclass

from respeed.estimators.rounds import CellKey, CellRounds
from respeed.model.paper import Paper
from respeed.tables.cells import Cell

COLUMNS = (
    "machine", "paper", "claim", "case", "published_low", "published_high", "speedup", "speedup_low", "speedup_high",
    "verdict", "reason", "instead", "profile", "base_profile", "says",
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """One row of claims.csv: a claim on a machine as a whole (`case` is empty), or one case of it.

    `verdict` is reproduced, larger, smaller, another shape, not settled or not testable here; `reason` says why, or what
    is missing, and `instead` what can be said all the same. Of a claim about several cases, `published_low` and
    `published_high` are the range of what was printed, `speedup_low` and `speedup_high` that of our intervals, and
    `speedup` is None. Not in the file: `published` and `here`, the same as texts for people ("12.9x to 72.6x").
    """

    machine: str
    paper: str
    claim: str
    case: str
    published_low: float | None
    published_high: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    verdict: str
    reason: str
    instead: str
    profile: str
    base_profile: str
    says: str
    published: str
    here: str


def make_claims(cells: list[Cell], rounds: Mapping[CellKey, CellRounds], papers: Mapping[str, Paper]) -> list[Verdict]:
    """For every machine and claim a row for the claim, then one for each of its cases."""
    return []
