"""What is shown of machines that are not shown in full, from the tidy tables: no record of theirs is read again."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from respeed.analysis.columns import load_table, rows_of
from respeed.paths import results_folder
from respeed.records.store import recorded_machines


@dataclass(frozen=True)
class Others:
    """All machines that have records, if `left_out` of them are not shown in full; empty if all of them are.

    `hardware` has the rows of hardware.csv by machine; `costs` those of cost.csv that are of the machines in
    full, or of a cheapest one.
    """

    left_out: int
    hardware: dict[str, dict[Any, Any]]
    spreads: list[Any]
    standings: list[Any]
    costs: pd.DataFrame = field(default_factory=pd.DataFrame)

    def spread_of(self, quantity: str, paper: str, experiment: str) -> dict[str, Any]:
        """By case."""
        wanted = (quantity, paper, experiment)
        return {one.case: one for one in self.spreads if (one.quantity, one.paper, one.experiment) == wanted}


def read_others(smoke: bool, in_full: Collection[str]) -> Others:
    """Read the tables that `respeed tables` wrote; none where all machines are shown in full."""
    left_out = len(recorded_machines(smoke)) - len(in_full)
    if not left_out:
        return Others(0, {}, [], [])
    folder = results_folder(smoke) / "tables"
    costs = load_table("cost", folder)
    hardware = load_table("hardware", folder)
    return Others(
        left_out=left_out,
        hardware={row["machine"]: row for row in hardware.to_dict("records")},
        spreads=list(rows_of(load_table("spread", folder))),
        standings=list(rows_of(load_table("standings", folder))),
        costs=costs[costs["machine"].isin(in_full) | (costs["standing"] == "cheapest")],
    )
