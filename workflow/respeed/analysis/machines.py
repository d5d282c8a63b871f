"""Machines beside one another, each by its fastest row in fp32, whatever the algorithm.

results/tables/machines.csv: in each case every machine over the fastest of all. standings.csv: where each stands in
each table. spread.csv: how far they lie apart, for readers of many of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.columns import TABLES, apply_dtypes, make_frame, rows_of
from respeed.analysis.estimates import (
    FULL_PRECISION,
    RIVAL,
    TWO_LOOKS,
    Estimate,
    Sessions,
    compare_apart,
    compare_rounds,
    confidence_among,
    place_machines,
    verdict_of,
)
from respeed.analysis.rounds import CellKey, key_of, seconds_by_session

CASE = ["paper", "experiment", "case"]
# As pandas describes a sample, and as tables call it.
QUANTILES = {
    "count": "machines", "min": "lowest", "25%": "lower_quartile", "50%": "median", "75%": "upper_quartile",
    "max": "highest",
}  # fmt: skip


def fastest_by(rows: Iterable[Any], *names: str, value: str = "seconds") -> dict[Any, Any]:
    """Of the rows that agree in the fields `names` the one with the smallest `value`, of equals the first; rows without
    one do not count. In the order in which they come."""
    place, size = attrgetter(*names), attrgetter(value)
    found: dict[Any, Any] = {}
    for row in rows:
        where = place(row)
        if (size(row) or 0) > 0 and (where not in found or size(row) < size(found[where])):
            found[where] = row
    return found


def fastest_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Of every measured case and machine the fastest row in fp32, case by case."""
    timed = cells[(cells["seconds"] > 0) & (cells["precision"] == FULL_PRECISION)]
    return timed.loc[timed.groupby([*CASE, "machine"], sort=False)["seconds"].idxmin()]


def compare_to_best(
    rows: Sequence[Any], seconds: Mapping[CellKey, Sessions], value: str = "seconds", price: str = ""
) -> list[tuple[Any, Estimate, str, str]]:
    """Every row of one case over the base, that with the smallest `value` in full precision: the base, the ratio of
    seconds, or of seconds times the field `price`, which is exact; the verdict on it, and why not more can be said.

    As with speedups, the best of several rows is the luckiest: its rivals are compared with more confidence. Nothing
    where no row is in full precision.
    """
    size = attrgetter(value)
    full = [row for row in rows if row.precision == FULL_PRECISION]
    base = min(full, key=size, default=None)
    if base is None:
        return []
    rivals = [row for row in full if size(row) <= RIVAL * size(base)]
    found = []
    for row in rows:
        if row is base:
            found.append((base, Estimate(1.0, None, None), "base", ""))
            continue
        confidence = confidence_among(len(rivals)) if row in rivals else TWO_LOOKS
        pair = seconds[key_of(base)], seconds[key_of(row)]
        is_alone = row.machine == base.machine
        ratio = compare_rounds(*pair, confidence)[0] if is_alone else compare_apart(*pair, confidence)
        ratio = times(ratio, getattr(base, price) / getattr(row, price)) if price else ratio
        found.append((base, ratio, *verdict_of(ratio)))
    return found


def times(estimate: Estimate, factor: float) -> Estimate:
    """A number that is known exactly times one that is estimated."""
    low, high = (None if end is None else factor * end for end in (estimate.low, estimate.high))
    return Estimate(factor * estimate.value, low, high)


def compare_machines(cells: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """A row for every machine and case that more than one machine measured: the fastest machine's seconds over its. A
    machine whose verdict is indistinguishable shares the first place."""
    seconds, rows = seconds_by_session(rounds), []
    for _, column in fastest_rows(cells).groupby(CASE, sort=False):
        mine = list(rows_of(column)) if len(column) > 1 else []
        for cell, (base, ratio, verdict, reason) in zip(mine, compare_to_best(mine, seconds), strict=True):
            bases = {f"base_{name}": getattr(base, name) for name in ("machine", "algorithm", "profile")}
            speedup = {"speedup": ratio.value, "speedup_low": ratio.low, "speedup_high": ratio.high}
            rows.append(cell._asdict() | bases | speedup | {"verdict": verdict, "reason": reason})
    return make_frame(rows, "machines")


def rank_machines(cells: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """A row for every machine and table that more than one machine measured, the fastest first.

    `share` is its speed over that of the machines that share the first place, the geometric mean over `cases`. `rank`
    is one more than the number of machines that are proven to be faster, among the `machines` that measured
    `all_cases`: machines that cannot be told apart share a place. A machine that did not measure all has no rank.
    """
    fastest = fastest_rows(cells)
    fastest = fastest[fastest.groupby(CASE)["machine"].transform("size") > 1]
    speeds = _speeds(fastest, rounds)
    fastest = fastest.assign(speed=speeds.groupby("cell")["speed"].median())
    tables = []
    for _, table in fastest.groupby(["paper", "experiment"], sort=False):
        by_machine = table.groupby("machine", sort=False)
        rows = pd.DataFrame({"cases": by_machine.size()})
        most = rows["cases"].max()
        whole = list(rows.index[rows["cases"] == most])
        places = place_machines([speeds[speeds["cell"].isin(by_machine.groups[name])] for name in whole])
        rows["rank"] = pd.Series(places, index=whole, dtype="Int64").reindex(rows.index)
        first = table[table["machine"].map(rows["rank"] == 1)].groupby("case")["speed"].mean()
        behind = (table["speed"] - table["case"].map(first)).groupby(table["machine"]).mean()
        rows = rows.assign(share=np.exp(behind), machines=len(whole), all_cases=most)
        rows["paper"], rows["experiment"] = table["paper"].iloc[0], table["experiment"].iloc[0]
        rows = rows.rename_axis("machine").reset_index()
        tables.append(rows.sort_values(["rank", "share"], ascending=[True, False]))
    return apply_dtypes(pd.concat(tables), "standings") if tables else make_frame([], "standings")


def _speeds(cells: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """The rounds of cells: the index of the `cell`, its `case`, `speed` (the logarithm), `session`, and the `turn`."""
    where = ["machine", "paper", "measured_in", "case", "algorithm", "profile"]
    timed = rounds[rounds["seconds"].notna()].rename(columns={"experiment": "measured_in"})
    mine = cells[where].rename_axis("cell").reset_index()
    found = mine.merge(timed[[*where, "round", "session", "seconds_median"]], on=where)
    turn = found.groupby(["machine", "measured_in", "profile", "round"], sort=False).ngroup()
    return found.assign(speed=-np.log(found["seconds_median"]), turn=turn)


def measure_spread(cells: pd.DataFrame, speedups: pd.DataFrame) -> pd.DataFrame:
    """A row for every case and quantity that more than one machine has a number of, in fp32: the seconds of every
    machine's fastest row, or its accelerator's highest speedup."""
    full = speedups[(speedups["precision"] == FULL_PRECISION) & ~speedups["is_cpu"] & (speedups["speedup"] > 0)]
    seconds = fastest_rows(cells).groupby(CASE, sort=False)["seconds"]
    factors = full.groupby([*CASE, "machine"], sort=False)["speedup"].max().groupby(CASE, sort=False)
    spreads = [
        groups.describe().loc[groups.size() > 1].reset_index().assign(quantity=quantity)
        for quantity, groups in (("seconds", seconds), ("speedup", factors))
    ]
    found = pd.concat(spreads, ignore_index=True).rename(columns=QUANTILES)
    return apply_dtypes(found.reindex(columns=list(TABLES["spread"].columns)), "spread")
