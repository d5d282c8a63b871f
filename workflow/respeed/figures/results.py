"""What figures and the report are made of: the tidy tables of the machines that are shown, and their papers."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from respeed.analysis.cells import PAPER
from respeed.analysis.columns import load_table
from respeed.model.paper import Experiment, Paper
from respeed.paths import results_folder
from respeed.protocol import SMOKE_STAMP
from respeed.schedule.selection import machines_in_full, papers_shown


@dataclass(frozen=True)
class Results:
    """The papers and the `machines` that are shown, and the tables of all."""

    smoke: bool
    papers: dict[str, Paper]
    machines: tuple[str, ...]
    _read: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def stamp(self) -> str:
        """Return what stands on every page of a smoke run, which measures nothing."""
        return SMOKE_STAMP if self.smoke else ""

    def table(self, name: str, machine: str = "", paper: str = "", experiment: str = "") -> pd.DataFrame:
        """Return a tidy table's rows of the machines shown and of the papers themselves, or of those that are named."""
        if name not in self._read:
            every = load_table(name, results_folder(self.smoke) / "tables")
            every = every[every["machine"].isin([PAPER, *self.machines])]
            self._read[name] = every[every["paper"].isin(self.papers)] if "paper" in every else every
        frame = self._read[name]
        for column, value in (("machine", machine), ("paper", paper), ("experiment", experiment)):
            if value:
                frame = frame[frame[column] == value]
        return frame


@dataclass(frozen=True)
class Outcome:
    """What came out of one table on one machine."""

    results: Results
    paper: Paper
    experiment: Experiment
    machine: str

    def table(self, name: str, *machines: str) -> pd.DataFrame:
        """Return of a tidy table the rows of this one, on this machine or on those that are named."""
        frame = self.results.table(name, "", self.paper.name, self.experiment.name)
        return frame[frame["machine"].isin(machines or [self.machine])]

    @property
    def cases(self) -> tuple[str, ...]:
        """Return the names of the table's cases."""
        return self.experiment.case_names(self.results.smoke)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Return its cells. `row` tells its rows apart: a profile, and where the table tells several algorithms apart,
        one of them."""
        cells = self.table("cells")
        return cells.assign(row=cells["profile"] + (" " + cells["algorithm"] if self.experiment.algorithms else ""))


def load_results(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> Results:
    """Return those of all machines while they are few, or else of `machine` (see schedule.selection); `papers` are
    shown, and every other that there are records of. UserError where tables were not built."""
    known = set(load_table("facts", results_folder(smoke) / "tables")["machine"])
    shown = tuple(name for name in machines_in_full(smoke, machine) if name in known)
    return Results(smoke, papers_shown(smoke, papers), shown)
