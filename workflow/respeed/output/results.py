"""The results that tables and figures are made of: papers, machines, and the tidy tables."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from respeed.analysis.cells import PAPER
from respeed.analysis.columns import AnyRow, rows_of
from respeed.analysis.controls import say_failed
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import TABLES, Cell, Fact, group_by
from respeed.model import Experiment, Paper, Papers
from respeed.protocol import SMOKE_STAMP

# A name that was made of the hardware (`machine_slug`); its maker and its hash are left out in headings.
MADE_NAME = re.compile(r"^(?:amd-|intel-)?(.+-\d+c(?:-.+)?)-[0-9a-f]{4}$")

NAMES: dict[type, str] = {row_type: name for name, row_type in TABLES.items()}


@dataclass(frozen=True)
class Results:
    """The results to lay out: papers, machines, and the tidy tables by name, which may contain other machines too."""

    papers: Papers
    machines: Sequence[str]
    smoke: bool
    frames: Mapping[str, pd.DataFrame]

    @cached_property
    def stamp(self) -> str:
        """Return the warning above all results: a smoke run measures nothing, or controls failed; empty if neither."""
        if self.smoke:
            return SMOKE_STAMP
        return say_failed(self.rows(Cell), self.samples)

    @cached_property
    def samples(self) -> Samples:
        """Return the samples of the rounds that are shown."""
        return Samples(self.table("rounds"))

    def table(self, name: str) -> pd.DataFrame:
        """Return a tidy table's lines for the machines and papers shown."""
        frame = self.frames[name]
        frame = frame[frame["machine"].isin([PAPER, *self.machines])]
        if "paper" in frame:
            frame = frame[frame["paper"].isin(self.papers)]
        return frame

    def rows(self, row_type: type[AnyRow], **selected: str) -> list[AnyRow]:
        """Return the rows of the tidy table that the class declares, of the machines and papers shown.

        `selected` has the values of columns, by which the rows are grouped once: those of many machines are asked for
        thousands of times.
        """
        columns = tuple(selected)
        groups = self._groups.get((row_type, columns))
        if groups is None:
            rows = rows_of(self.table(NAMES[row_type]), row_type)
            groups = group_by(rows, lambda row: tuple(getattr(row, column) for column in columns))
            self._groups[row_type, columns] = groups
        return list(groups.get(tuple(selected.values()), ()))

    @cached_property
    def _groups(self) -> dict[tuple[type, tuple[str, ...]], dict[tuple[str, ...], list[Any]]]:
        """Return the rows that were asked for so far, by their class and the columns that select."""
        return {}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Return the short name of each machine, such as epyc-2c; if two would be the same, both names stay whole."""
        short = {name: MADE_NAME.sub(r"\1", name) for name in self.machines}
        count = Counter(short.values())
        return {name: alias if count[alias] == 1 else name for name, alias in short.items()}

    def on(self, machine: str) -> str:
        """Return " on " and a machine's short name; nothing for the paper, or if no other machine is shown."""
        if machine == PAPER or len(self.machines) < 2:
            return ""
        return f" on {self.aliases[machine]}"

    def describe(self, machine: str, name: str = "") -> str:
        """Return a machine's name, by default the short one, and its summary: "box: A CPU, 2 cores"."""
        summary = [fact.value for fact in self.rows(Fact, machine=machine, part="summary")]
        return ": ".join([name or self.aliases[machine], *summary])

    def has_figure(self, paper: Paper, experiment: Experiment, machine: str) -> bool:
        """Return whether a table has a figure of a machine: several of its cases were measured there.

        Algorithms are compared with printed numbers, of which tiny sizes have none.
        """
        if self.smoke and experiment.algorithms:
            return False
        cells = self.rows(Cell, machine=machine, paper=paper.name, experiment=experiment.name)
        measured = {cell.case for cell in cells if cell.seconds}
        return experiment.has_figure and len(measured) > 1
