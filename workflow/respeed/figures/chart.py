"""What a figure of rows and cases shows, however it is drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from respeed.figures.looks import BASE, Look


@dataclass(frozen=True)
class Point:
    """One number with its 95 % interval, and the single rounds that it was made of. Points of the same `program` are
    joined by a line."""

    case: str
    value: float
    low: float | None = None
    high: float | None = None
    rounds: tuple[float, ...] = ()
    program: str = ""


@dataclass(frozen=True)
class Series:
    """One row of a table; `ceiling` is the highest that it could be."""

    label: str
    look: Look
    points: tuple[Point, ...]
    ceiling: float | None = None


@dataclass(frozen=True)
class Chart:
    """`cases` are all columns in their order, `series` those with points, `base` a number that all are relative to and
    what it is, `spreads` those of many machines. `suffix` stands behind each number of the axis, which has these
    `ticks` or else round ones. `bars` and `dots` say what these are. With nothing to show, `why_empty` says so."""

    title: str
    note: str
    cases: tuple[str, ...]
    series: tuple[Series, ...]
    suffix: str = ""
    base: tuple[float, str] | None = None
    spreads: Mapping[str, Any] = field(default_factory=dict)
    why_empty: str = "nothing measured yet"
    ticks: tuple[float, ...] = ()
    bars: str = "95 % intervals"
    dots: str = "rounds"

    @property
    def labelled(self) -> list[Series]:
        """The series that have a label, and the base as one of them."""
        base = [Series(self.base[1], BASE, ())] if self.base and self.series else []
        return [*(one for one in self.series if not one.look.pale), *base]

    @property
    def how_to_read(self) -> str:
        """The note, and what the marks are that there are."""
        points = [point for one in self.series for point in one.points]
        marks = (
            (f"Bars: {self.bars}.", any(point.low for point in points)),
            (f"Faint points: single {self.dots}.", any(len(point.rounds) > 1 for point in points)),
            ("Pale: slower rows of the same algorithm.", any(one.look.pale for one in self.series)),
        )
        return " ".join([self.note, *(text for text, there in marks if there)])

    @property
    def values(self) -> list[float]:
        """All numbers that must be within the axis."""
        points = [point for one in self.series for point in one.points]
        marks = [mark for point in points for mark in (point.value, point.low, point.high, *point.rounds) if mark]
        spread = [mark for one in self.spreads.values() for mark in (one.lowest, one.highest)]
        return [*marks, *spread, *(one.ceiling for one in self.series if one.ceiling), *((self.base or ())[:1])]
