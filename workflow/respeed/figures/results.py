"""What figures and the report are made of: the tidy tables of the machines that are shown in full, and their papers."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from respeed.analysis.cells import PAPER
from respeed.analysis.columns import load_table
from respeed.model.paper import Experiment, Paper
from respeed.paths import results_folder
from respeed.protocol import SMOKE_STAMP
from respeed.records.store import read_learning, recorded_machines
from respeed.schedule.selection import machines_in_full, papers_shown

# Of a cell, in the columns of rounds.csv that tell its rounds.
MEASURED = ["machine", "paper", "measured_in", "case", "algorithm", "profile"]


@dataclass(frozen=True)
class Results:
    """`machines` are shown in full, of `left_out` others only where they stand among all."""

    smoke: bool
    papers: dict[str, Paper]
    machines: tuple[str, ...]
    left_out: int
    _read: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def stamp(self) -> str:
        return SMOKE_STAMP if self.smoke else ""

    def table(self, name: str, machine: str = "", paper: str = "", experiment: str = "") -> pd.DataFrame:
        """A tidy table's rows of the machines in full and of the papers themselves, or of those that are named."""
        if name not in self._read:
            every = self.every(name)
            if "machine" in every:
                every = every[every["machine"].isin([PAPER, *self.machines])]
            self._read[name] = every[every["paper"].isin(self.papers)] if "paper" in every else every
        frame = self._read[name]
        for column, value in (("machine", machine), ("paper", paper), ("experiment", experiment)):
            if value:
                frame = frame[frame[column] == value]
        return frame

    def every(self, name: str) -> pd.DataFrame:
        """A tidy table's rows of all machines."""
        return load_table(name, results_folder(self.smoke) / "tables")

    @cached_property
    def learning(self) -> list[dict[str, Any]]:
        """What was learned on the machines that are shown in full."""
        return [record for machine in self.machines for record in read_learning(self.smoke, machine)]


@dataclass(frozen=True)
class Outcome:
    """What came out of one table on one machine."""

    results: Results
    paper: Paper
    experiment: Experiment
    machine: str

    def table(self, name: str, *machines: str) -> pd.DataFrame:
        """Of a tidy table the rows of this one, on this machine or on those that are named."""
        frame = self.results.table(name, "", self.paper.name, self.experiment.name)
        return frame[frame["machine"].isin(machines or [self.machine])]

    def spread(self, quantity: str) -> pd.DataFrame:
        """How far all machines lie apart, case by case; without a row where all are shown in full."""
        frame = self.results.table("spread", "", self.paper.name, self.experiment.name)
        return frame[(frame["quantity"] == quantity) & bool(self.results.left_out)]

    @property
    def cases(self) -> tuple[str, ...]:
        return self.experiment.case_names(self.results.smoke)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Its cells. `row` tells its rows apart: a profile, and where the table tells several algorithms apart, one of
        them. `each` has the seconds of every round, and `ceiling` is the highest rate of a bare product on the profile,
        GFLOP/s."""
        cells = self.table("cells")
        row = cells["profile"] + (" " + cells["algorithm"] if self.experiment.algorithms else "")
        rounds = self.results.table("rounds", self.machine, self.paper.name)
        timed = rounds[rounds["seconds"].notna()].rename(columns={"experiment": "measured_in"})
        found = timed.groupby(MEASURED, as_index=False).agg(each=("seconds", tuple), ceiling=("peak_gflops", "max"))
        cells = cells.assign(row=row).merge(found, "left", MEASURED)
        cells["each"] = [
            tuple(steps * second for second in each) if seconds > 0 and isinstance(each, tuple) else ()
            for steps, seconds, each in zip(cells["steps"], cells["seconds"], cells["each"], strict=True)
        ]
        return cells


def load_results(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> Results:
    """Those of all machines while they are few, or else of `machine` (see schedule.selection); `papers` are shown, and
    every other that there are records of. UserError where tables were not built."""
    in_full = machines_in_full(smoke, machine)
    left_out = len(recorded_machines(smoke)) - len(in_full)
    known = set(load_table("hardware", results_folder(smoke) / "tables")["machine"])
    return Results(smoke, papers_shown(smoke, papers), tuple(name for name in in_full if name in known), left_out)
