"""What is shown of machines that are not shown in full, from the tidy tables: no record of theirs is read again."""

import csv
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from respeed.errors import UserError
from respeed.paths import results_folder
from respeed.records.files import recorded_machines
from respeed.tables.cost import Cost, read_cost
from respeed.tables.spread import Spread
from respeed.tables.standings import Standing


@dataclass(frozen=True)
class Others:
    """All machines that have records, if `left_out` of them are not shown in full; empty if all of them are.

    `hardware` has the rows of hardware.csv by machine, as texts; `costs` those of cost.csv that are of the machines in
    full, or of a cheapest one.
    """

    left_out: int
    hardware: dict[str, dict[str, str]]
    spreads: list[Spread]
    standings: list[Standing]
    costs: list[Cost] = field(default_factory=list)

    def spread_of(self, quantity: str, paper: str, experiment: str) -> dict[str, Spread]:
        """By case."""
        wanted = (quantity, paper, experiment)
        return {one.case: one for one in self.spreads if (one.quantity, one.paper, one.experiment) == wanted}


def read_others(smoke: bool, in_full: Collection[str]) -> Others:
    """Read the tables that `respeed tables` wrote; none where all machines are shown in full."""
    left_out = len(recorded_machines(smoke)) - len(in_full)
    if not left_out:
        return Others(0, {}, [], [])
    folder = results_folder(smoke) / "tables"
    spreads = [
        Spread(
            row["paper"], row["experiment"], row["case"], row["quantity"], int(row["machines"]),
            *(float(row[name]) for name in ("lowest", "lower_quartile", "median", "upper_quartile", "highest")),
        )
        for row in _rows(folder / "spread.csv")
    ]  # fmt: skip
    standings = [
        Standing(
            row["machine"], row["paper"], row["experiment"], float(row["share"]),
            int(row["rank"]) if row["rank"] else None,
            *(int(row[name]) for name in ("machines", "cases", "all_cases")),
        )
        for row in _rows(folder / "standings.csv")
    ]  # fmt: skip
    return Others(
        left_out=left_out,
        hardware={row["machine"]: row for row in _rows(folder / "hardware.csv")},
        spreads=spreads,
        standings=standings,
        costs=[
            row
            for row in map(read_cost, _rows(folder / "cost.csv"))
            if row.machine in in_full or row.standing == "cheapest"
        ],
    )


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise UserError(f"{path}: not found; build the tables first: respeed tables") from None
